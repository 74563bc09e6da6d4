"""A single command behind a link, by the real or the virtual clock."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lasthop import _command
from lasthop._parameters import LinkParameters, StrPath, arguments
from lasthop._summary import Clock, LinkSummary, read_summary

if TYPE_CHECKING:
    from typing_extensions import Unpack

_GRACE = 5.0
"""Time in seconds between SIGTERM and SIGKILL for a command that exceeds its time limit."""


@dataclass(frozen=True, slots=True)
class BehindLink:
    """A command that has run behind a link of its own."""

    process: subprocess.CompletedProcess[str]
    """The ended command, with its output."""
    summary: LinkSummary
    """What the link did to its packets."""


def run_behind_link(
    command: Sequence[_command.Argument],
    *,
    clock: Clock = "real",
    serve: str | None = None,
    keep: StrPath | None = None,
    timeout: float | None = None,
    check: bool = False,
    cwd: StrPath | None = None,
    **parameters: Unpack[LinkParameters],
) -> BehindLink:
    """Run one command behind a link of its own, as `lasthop link -- COMMAND` does.

        result = lasthop.run_behind_link(
            ["curl", "-sO", "http://host.lasthop/file"],
            clock="virtual", profile="gsm", serve="python3 -m http.server 80",
        )
        print(result.process.returncode, result.summary.seconds)

    * `clock`: `"virtual"` runs both ends in a kernel of their own whose clock jumps over idle
      time. There the command reaches only the program of `serve`, and the files that it writes are
      gone at the end, except those in the folder `$LASTHOP_KEEP`.
    * `serve`: a shell line that runs at the other end of the link while the command runs.
    * `keep`: the folder that the files in `$LASTHOP_KEEP` are copied to (virtual clock).
    * `timeout`: time limit in seconds of the host's clock.
    * `check`: raise `CalledProcessError` for an exit status other than 0.
    * the parameters of a link, as those of `lasthop.link`.

    Raises `subprocess.TimeoutExpired`, and `LasthopError` if lasthop itself failed.
    """
    with tempfile.TemporaryDirectory(prefix="lasthop-") as folder:
        summary = Path(parameters.setdefault("json", Path(folder, "summary.json")))
        words = [_command.binary(), "link", *arguments(parameters)]
        words += [f"--clock={clock}"]
        words += [f"--serve={serve}"] if serve is not None else []
        words += [f"--keep={os.fspath(keep)}"] if keep is not None else []
        words += ["--", *_command.words(command)]
        process = _run(words, timeout, cwd)
        if not summary.exists():
            raise _command.failure(process.stderr, process.returncode, words)
        process.args = list(command)
        if check:
            process.check_returncode()
        return BehindLink(process, read_summary(summary))


def _run(
    words: list[str], timeout: float | None, cwd: StrPath | None
) -> subprocess.CompletedProcess[str]:
    with subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
    ) as process:
        try:
            stdout, stderr = process.communicate(timeout=timeout)
        except BaseException:
            # The command takes the link down if it is told to end; it cannot if it is killed.
            process.send_signal(signal.SIGTERM)
            try:
                process.communicate(timeout=_GRACE)
            except subprocess.TimeoutExpired:
                process.kill()
            raise
    return subprocess.CompletedProcess(words, process.returncode, stdout, stderr)
