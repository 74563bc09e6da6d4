"""Links: programs behind an emulated wireless link, on this host's network."""

from __future__ import annotations

import errno
import json
import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from lasthop import _command
from lasthop._errors import LasthopError
from lasthop._parameters import LinkParameters, arguments
from lasthop._summary import LinkSummary, read_summary

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self, Unpack

_HOLDER = 'echo "$LASTHOP"; echo "$LASTHOP_HOST"; exec cat >/dev/null'
"""The first program behind an open link. It ends, and the link with it, when its standard input
does: so no link outlives the Python process that opened it, however that process ends."""

_PATIENCE = 30.0
"""Longest time in seconds for a link to end: it waits for connections that are closing."""

_REGISTRY = ("LASTHOP_STATE_DIR", "XDG_RUNTIME_DIR")
"""Variables by which the command finds its running links."""


@dataclass(frozen=True, slots=True)
class LinkStatus:
    """A running link at one moment. Pairs are up and down."""

    seconds: int
    """Time since the link started, in seconds."""
    up: str
    """Parameters of the uplink."""
    down: str
    """Parameters of the downlink."""
    packets: tuple[int, int]
    """Packets that have entered the link so far."""
    lost: tuple[int, int]
    """Packets that the link has lost so far."""


class Link:
    """A link that is up. `lasthop.link()` opens it; the end of the `with` block takes it down.

    Programs that `run` and `popen` start are behind the link. This process is not: it is at the
    other end, on the host, where programs behind the link reach its servers as `host.lasthop`.
    """

    def __init__(self, parameters: LinkParameters) -> None:
        """Open a link; `lasthop.link` has the parameters."""
        self._summary: LinkSummary | None = None
        self._folder = tempfile.TemporaryDirectory(prefix="lasthop-")
        parameters = LinkParameters(**parameters)
        self.seed: int = parameters.setdefault("seed", secrets.randbits(32))
        """Random seed of the link."""
        self._json = Path(parameters.setdefault("json", self._file("summary.json")))
        self.parameters = parameters
        """The parameters, with the seed that was drawn if none was given."""
        self._holder: subprocess.Popen[str] | None = None
        try:
            self._command = [
                _command.binary(),
                "link",
                *arguments(parameters),
                *("--", "/bin/sh", "-c", _HOLDER),
            ]
            with self._file("messages").open("w", encoding="utf-8") as messages:
                # A session of its own: Ctrl-C at the terminal is for this process, which then
                # ends the link in an orderly way.
                self._holder = subprocess.Popen(
                    self._command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=messages,
                    text=True,
                    start_new_session=True,
                )
            assert self._holder.stdout is not None
            self.id: str = self._holder.stdout.readline().strip()
            """Id of the link, as in `lasthop link list`."""
            self.host: str = self._holder.stdout.readline().strip()
            """Address of this host for programs behind the link: that of `host.lasthop`."""
            if not self.host:
                raise _command.failure(self.messages, self._holder.wait(), self._command)
        except BaseException:
            self._end()
            self._folder.cleanup()
            raise

    @property
    def messages(self) -> str:
        """The command's messages: the link's parameters, and what this machine cannot do."""
        if self._summary is not None:
            return self._last_messages
        return self._file("messages").read_text(encoding="utf-8")

    def command(self, command: Sequence[_command.Argument]) -> list[str]:
        """Return the command line that runs `command` behind the link.

        It is for libraries that start processes themselves, such as asyncio.
        The process that executes it becomes the program.
        """
        if isinstance(command, str):
            raise TypeError(f"a command is a list of words, not text: {command.split()!r}")
        return [_command.binary(), "link", "exec", self.id, "--", *_command.words(command)]

    @overload
    def run(
        self,
        command: Sequence[_command.Argument],
        *,
        text: Literal[True],
        timeout: float | None = ...,
        check: bool = ...,
        capture_output: bool = ...,
        input: str | None = ...,
        env: Mapping[str, str] | None = ...,
        **options: Any,
    ) -> subprocess.CompletedProcess[str]: ...
    @overload
    def run(
        self,
        command: Sequence[_command.Argument],
        *,
        text: Literal[False] | None = ...,
        timeout: float | None = ...,
        check: bool = ...,
        capture_output: bool = ...,
        input: bytes | None = ...,
        env: Mapping[str, str] | None = ...,
        **options: Any,
    ) -> subprocess.CompletedProcess[bytes]: ...
    def run(
        self,
        command: Sequence[_command.Argument],
        *,
        env: Mapping[str, str] | None = None,
        **options: Any,
    ) -> subprocess.CompletedProcess[Any]:
        """Run a command behind the link and wait for its end, as `subprocess.run` does.

        All keywords are those of `subprocess.run`, except `shell`. The exceptions are its own,
        too: `FileNotFoundError`, `TimeoutExpired`, and with `check=True` `CalledProcessError`.
        """
        return subprocess.run(  # noqa: PLW1510 -- `check` is one of the options
            self._checked(command, options), env=_found(env), **options
        )

    @overload
    def popen(
        self, command: Sequence[_command.Argument], *, text: Literal[True], **options: Any
    ) -> subprocess.Popen[str]: ...
    @overload
    def popen(
        self,
        command: Sequence[_command.Argument],
        *,
        text: Literal[False] | None = ...,
        **options: Any,
    ) -> subprocess.Popen[bytes]: ...
    def popen(
        self,
        command: Sequence[_command.Argument],
        *,
        env: Mapping[str, str] | None = None,
        **options: Any,
    ) -> subprocess.Popen[Any]:
        """Start a command behind the link, as `subprocess.Popen` does.

        The link ends it if it still runs when the link ends.
        """
        return subprocess.Popen(self._checked(command, options), env=_found(env), **options)

    def set(
        self, *, up: str | None = None, down: str | None = None, both: str | None = None
    ) -> None:
        """Change parameters of the running link: `link.set(down="rate=1mbit,delay=100ms")`.

        Raises `LasthopError` if a parameter is wrong, or cannot change while the link runs.
        """
        for direction, value in (("up", up), ("down", down), ("both", both)):
            if value is not None:
                _command.output_of("link", "set", self.id, direction, value)

    def status(self) -> LinkStatus:
        """Return the link's parameters and counters at this moment."""
        for line in _command.output_of("link", "list", "--json").splitlines():
            data = json.loads(line)
            if data["id"] == self.id:
                packets, lost = tuple(data["packets"]), tuple(data["lost"])
                return LinkStatus(data["seconds"], data["up"], data["down"], packets, lost)
        raise LasthopError(f"link {self.id} has ended")

    @property
    def summary(self) -> LinkSummary:
        """What the link did to the packets. It is there when the link has ended."""
        if self._summary is None:
            raise LasthopError("the link has no summary yet: it is there when the link has ended")
        return self._summary

    def close(self) -> LinkSummary:
        """Take the link down and return its summary.

        Programs that still run behind it get SIGTERM, and SIGKILL 2 s later. Before that the link
        carries the last segments of connections that were just closed, for at most 2 s.
        """
        if self._summary is None:
            status = self._end()
            try:
                self._last_messages = self.messages
                self._summary = read_summary(self._json)
            except FileNotFoundError:
                raise _command.failure(self._last_messages, status, self._command) from None
            finally:
                self._folder.cleanup()
        return self._summary

    def __enter__(self) -> Self:
        """Return the link, which is up."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take the link down."""
        self.close()

    def __repr__(self) -> str:
        """Return the link's id and parameters."""
        state = "up" if self._summary is None else "ended"
        return f"<lasthop.Link {self.id}, {state}: {' '.join(arguments(self.parameters))}>"

    def _file(self, name: str) -> Path:
        return Path(self._folder.name, name)

    def _checked(
        self, command: Sequence[_command.Argument], options: Mapping[str, object]
    ) -> list[str]:
        """Return the command line, and raise what subprocess would raise without a link."""
        if options.get("shell"):
            raise TypeError('shell=True is not possible here: run ["sh", "-c", LINE]')
        if self._summary is not None or self._holder is None or self._holder.poll() is not None:
            raise LasthopError(f"link {self.id} has ended")
        program = os.fspath(command[0])
        folder = options.get("cwd") or "."
        # A path is relative to the directory of the program; a name is searched for in PATH.
        place = Path(str(folder), program) if "/" in program else shutil.which(program)
        if place is None or not Path(place).exists():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), program)
        return self.command(command)

    def _end(self) -> int | None:
        """End the command that holds the link; return its exit status."""
        holder = self._holder
        if holder is None:
            return None
        assert holder.stdin is not None
        assert holder.stdout is not None
        holder.stdin.close()
        try:
            status = holder.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            # Another process has inherited our end of the pipe. The keeper of the link cleans up.
            holder.kill()
            status = holder.wait()
        holder.stdout.close()
        return status


def link(**parameters: Unpack[LinkParameters]) -> Link:
    """Open a link behind which programs can be run, and keep it up until it is closed.

        with lasthop.link(profile="lte", down="rate=2mbit,loss=1%", seed=7) as link:
            link.run(["curl", f"http://{link.host}:8000/file"], timeout=60, check=True)
        print(link.summary.down.lost_by_reason)

    Parameters, all optional: `profile`, `loss`, `up`, `down`, `arq`, `seed`, `mtu`, `cc`,
    `publish`, `capture`, `snaplen`, `events`, `json`, `precise`, `ethernet`. `LinkParameters`
    describes them. The clock is the host's; `run_behind_link` can use the virtual clock.

    Raises `LasthopError` if a parameter is wrong, or if this machine cannot make links;
    `lasthop doctor` tells why.
    """
    return Link(parameters)


def _found(env: Mapping[str, str] | None) -> Mapping[str, str] | None:
    """Return the environment `env`, in which the command finds its links."""
    if env is None:
        return None
    return {**{name: os.environ[name] for name in _REGISTRY if name in os.environ}, **env}
