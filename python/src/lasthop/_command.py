"""Finding the command `lasthop`, and running it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from lasthop._errors import BinaryError, LasthopError
from lasthop._version import __version__

VARIABLE = "LASTHOP_BINARY"
"""Environment variable with the path of the command, if it is not the one of this package."""

Argument = str | os.PathLike[str]
Option = Argument | float | Sequence[str] | None
"""Value of an option as a keyword."""


def binary() -> str:
    """Return the path of the command, after a check of its version.

    It is the one that `LASTHOP_BINARY` names, or the one that was installed with this package, or
    else the first in `PATH`.

    Raises `BinaryError` if there is none, or if it is of another version than this package.
    """
    named = os.environ.get(VARIABLE)
    if named:
        return _checked(named)
    for scheme in (sysconfig.get_default_scheme(), f"{os.name}_user"):
        if (place := Path(sysconfig.get_path("scripts", scheme), "lasthop")).is_file():
            return _checked(str(place))
    found = shutil.which("lasthop")
    if found is None:
        message = (
            "there is no command lasthop beside this package or in PATH: "
            f"install the wheel (pip install lasthop), or set {VARIABLE} to the command's path"
        )
        raise BinaryError(message)
    return _checked(found)


@cache
def _checked(path: str) -> str:
    try:
        output = subprocess.run(
            [path, "--version"], capture_output=True, text=True, check=True, timeout=60
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise BinaryError(f"cannot run {path}: {error}") from error
    name, _, version = output.strip().partition(" ")
    if name != "lasthop" or not version:
        raise BinaryError(f"{path} is another program: it calls itself {output.strip()!r}")
    if version != __version__:
        message = (
            f"{path} is lasthop {version}, and this package is for {__version__}: "
            f"install both in the same version (pip install lasthop=={version})"
        )
        raise BinaryError(message)
    return path


def words(arguments: Iterable[Argument]) -> list[str]:
    """Return arguments of a command as text."""
    return [os.fspath(argument) for argument in arguments]


def options(**values: Option) -> list[str]:
    """Return the command's options for keywords: `max_repetitions=9` is `--max-repetitions=9`.

    `None` and `False` are absent, `True` is an option without a value, and a sequence repeats it.
    """
    given: list[str] = []
    for keyword, value in values.items():
        name = f"--{keyword.replace('_', '-')}"
        if value is True:
            given.append(name)
        elif isinstance(value, (str, int, float, os.PathLike)) and value is not False:
            given.append(f"{name}={os.fspath(value) if isinstance(value, os.PathLike) else value}")
        elif isinstance(value, Sequence):
            given += [f"{name}={one}" for one in value]
    return given


def file(path: Argument) -> str:
    """Return a file's name as an argument that is not read as an option."""
    # Words after "--" are options of sbatch, so a name that looks like an option gets a folder.
    name = str(Path(path))
    return f"./{name}" if name.startswith("-") else name


def output_of(*arguments: Argument) -> str:
    """Run `lasthop ARGUMENTS` and return its standard output.

    Raises `LasthopError` with the command's message if it fails.
    """
    command = [binary(), *words(arguments)]
    ended = subprocess.run(
        command, check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    if ended.returncode != 0:
        raise failure(ended.stderr, ended.returncode, command)
    return ended.stdout


def failure(stderr: str, status: int | None, command: Sequence[str]) -> LasthopError:
    """Return the error that a failed command reported on its standard error."""
    return LasthopError(message_in(stderr, command), status=status, command=command)


def message_in(stderr: str, command: Sequence[str]) -> str:
    """Return the command's last message, with its further lines, without the name in front."""
    lines = stderr.strip().splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith("lasthop: ")]
    message = "\n".join(lines[starts[-1] :] if starts else lines)
    return message.removeprefix("lasthop: ") or f"{' '.join(command)} failed without a message"
