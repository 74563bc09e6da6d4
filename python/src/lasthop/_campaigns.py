"""Campaigns: repeated experiments from a plan."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lasthop import _command
from lasthop._directories import RunDirectory, run_directory
from lasthop._errors import LasthopError
from lasthop._parameters import StrPath
from lasthop._summary import Clock

_LOOK = 0.5
"""Time in seconds between two looks at the journal."""
_BEGINNING = re.compile(r"repetitions, (\d+) runs to do, seed \d+, in (.*)")
"""The line in which the command names the number of runs and the run directory."""


class CampaignError(LasthopError):
    """Runs of a campaign failed. The others are in `directory`."""

    def __init__(self, message: str, directory: RunDirectory) -> None:
        super().__init__(message, status=1)
        self.directory = directory


def campaign(
    plan: StrPath,
    *,
    only: str | Sequence[str] = (),
    repetitions: int | None = None,
    seed: int | None = None,
    out: StrPath | None = None,
    clock: Clock = "real",
    verify: bool = False,
    jobs: int | None = None,
    check: bool = False,
    progress: bool = True,
) -> RunDirectory:
    """Run the campaign of a plan, as `lasthop run PLAN` does, and return its run directory.

        directory = lasthop.campaign("experiments/quickstart.toml", repetitions=5)

    * `only`: run only cells with these levels: `"loss=lite-1"`.
    * `repetitions`, `seed`: instead of the plan's.
    * `out`: the run directory; by default `runs/NAME/TIME-SEED` below the current directory.
    * `clock`: `"virtual"` runs in kernels whose clock jumps over idle time.
    * `verify`: do each run twice, and fail if a byte differs (virtual clock).
    * `jobs`: number of concurrent runs.
    * `check`: raise `CampaignError` if a run failed. By default failed runs are in
      `directory.runs`, and do not count.
    * `progress`: show on standard error how many runs are done, and runs that are not good.

    Ctrl-C ends the runs and leaves a directory that `resume` can continue. Raises `LasthopError`
    for an error in the plan, which is found before anything runs.
    """
    options = _command.options(
        only=only,
        repetitions=repetitions,
        seed=seed,
        out=out,
        clock=clock,
        verify=verify,
        jobs=jobs,
    )
    return _run([*options, _command.file(plan)], check=check, progress=progress)


def resume(
    directory: StrPath | RunDirectory,
    *,
    jobs: int | None = None,
    check: bool = False,
    progress: bool = True,
) -> RunDirectory:
    """Continue the interrupted campaign of a run directory, with its original settings."""
    path = directory.path if isinstance(directory, RunDirectory) else Path(directory)
    options = _command.options(resume=path, jobs=jobs)
    return _run(options, check=check, progress=progress)


def _run(options: list[str], *, check: bool, progress: bool) -> RunDirectory:
    ended = follow("run", options, progress=progress)
    directory = run_directory(ended["run_directory"])
    failed = [run for run in directory.runs if run.verdict == "failed"]
    if failed and check:
        first = f"cell {failed[0].cell}, repetition {failed[0].repetition}"
        reasons = "; ".join(failed[0].reasons)
        message = f"{len(failed)} of {len(directory.runs)} runs failed, the first of them {first}"
        raise CampaignError(f"{message}: {reasons}", directory)
    return directory


def follow(command: str, options: Sequence[str], *, progress: bool) -> dict[str, Any]:
    """Run `lasthop COMMAND --json OPTIONS`, show its progress, and return the object it printed.

    Raises `LasthopError` if it printed none.
    """
    words = [_command.binary(), command, "--json", *options]
    process = subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    shown = _Progress(process, shown=progress)
    try:
        assert process.stdout is not None
        output = process.stdout.read()
        status = process.wait()
    except BaseException:
        # At a terminal, Ctrl-C has already reached the command, which then ends its runs.
        process.send_signal(signal.SIGINT)
        process.wait()
        raise
    finally:
        shown.finish()
    lines = output.splitlines()
    if not lines:
        raise _command.failure(shown.messages, status, words)
    printed: dict[str, Any] = json.loads(lines[-1])
    return printed


class _Progress:
    """Passes the command's messages on to standard error, and counts the runs at a terminal."""

    def __init__(self, process: subprocess.Popen[str], *, shown: bool) -> None:
        self.messages = ""
        self._process = process
        self._shown = shown
        self._counted = shown and sys.stderr.isatty()
        self._of: tuple[int, Path] | None = None
        self._threads = [threading.Thread(target=self._read, daemon=True)]
        if self._counted:
            self._threads.append(threading.Thread(target=self._count, daemon=True))
        for thread in self._threads:
            thread.start()

    def finish(self) -> None:
        for thread in self._threads:
            thread.join()

    def _read(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self.messages += line
            if self._of is None and (begun := _BEGINNING.search(line)):
                self._of = (int(begun[1]), Path(begun[2]))
            if self._shown:
                self._write(line)

    def _count(self) -> None:
        """Show how many lines the journal has got since the beginning."""
        before: int | None = None
        while self._process.poll() is None:
            if self._of is not None:
                runs, path = self._of
                journal = path / "runs.jsonl"
                lines = journal.read_bytes().count(b"\n") if journal.exists() else 0
                before = lines if before is None else before
                self._write(f"{lines - before}/{runs} runs", "\r")
            time.sleep(_LOOK)

    def _write(self, text: str, end: str = "") -> None:
        # The escape sequence removes what the counter wrote in the line.
        begin = "\r\x1b[K" if self._counted else ""
        sys.stderr.write(begin + text + end)
        sys.stderr.flush()
