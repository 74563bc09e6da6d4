"""Tests with `@pytest.mark.lasthop`: the parent's half.

The test runs in a process of its own (`child.py`), which `lasthop link` starts behind the link. It
has the same configuration as this process, as pytest-xdist gives it to its workers, and runs the
one test with all its fixtures. Its reports come back in a file, a line each.
"""

from __future__ import annotations

import json
import os
import pickle
import shlex
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from lasthop import _command
from lasthop._errors import LasthopError
from lasthop._parameters import LinkParameters, arguments, check_names
from lasthop._summary import Clock, read_summary
from lasthop.pytest_plugin.evidence import Evidence

HOST_SOCKET = "LASTHOP_HOST_SOCKET"
"""Environment variable of a marked test: the Unix socket of its helper process on the host."""
_BEHIND = "LASTHOP_TEST"
"""Environment variable with the node id of the test that a process runs behind a link."""
_GRACE = 5.0
"""Time in seconds between SIGTERM and SIGKILL for a test that exceeds its time limit."""
_OWN_FAILURE = 125
"""Exit status of `lasthop link` if lasthop itself failed."""
_BY_SIGNAL = 128
"""Added to a signal's number, the exit status of a program that it ended."""
_OWN = ("clock", "serve", "timeout")
"""Keywords of the mark that are not parameters of the link."""
_CHANGED_OPTIONS: dict[str, Any] = {
    "xmlpath": None,
    "htmlpath": None,
    "no_cov": True,
    "numprocesses": None,
    "dist": "no",
    "tx": [],
    "looponfail": False,
    "usepdb": False,
    "trace": False,
    "lf": False,
    "failedfirst": False,
    "newfirst": False,
    "stepwise": False,
    "verbose": 0,
}
"""Options that are different in the process of a test."""


def is_behind_a_link() -> bool:
    """Return whether this process runs a marked test behind its link."""
    return _BEHIND in os.environ


def run(item: pytest.Item, mark: pytest.Mark) -> list[pytest.TestReport]:
    """Run a marked test behind its link and return its reports, complete in any case."""
    try:
        order = _Order.of(item, mark)
        ended = order.run()
    except (LasthopError, OSError, TypeError) as error:
        return [_report(item, "setup", str(error)), _report(item, "teardown")]
    reports = list(_complete(item, ended))
    failed = any(report.failed for report in reports)
    order.evidence.attach(reports, failed=failed)
    passed = any(report.when == "call" and report.passed for report in reports)
    if passed and not failed and ended.sent_nothing:
        message = (
            "the test sent no packet over its link: client and server were both behind it; "
            "open the server's socket with the fixture lasthop_host"
        )
        item.warn(pytest.PytestWarning(message))
    return reports


@dataclass(slots=True)
class _Ended:
    """A process of a test that has ended."""

    reports: list[pytest.TestReport]
    why: str | None
    """Why the reports may be incomplete."""
    sent_nothing: bool
    """Whether the test sent no packet over its link."""


@dataclass(slots=True)
class _Order:
    """A marked test, and how to run it."""

    item: pytest.Item
    evidence: Evidence
    clock: Clock
    serve: str | None
    timeout: float | None
    parameters: LinkParameters
    lines: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def of(cls, item: pytest.Item, mark: pytest.Mark) -> _Order:
        if mark.args:
            raise TypeError(f"@pytest.mark.lasthop takes keywords only, not {mark.args!r}")
        check_names(mark.kwargs, also=_OWN)
        given = dict(mark.kwargs)
        clock, serve, timeout = (
            given.pop("clock", "real"),
            given.pop("serve", None),
            given.pop("timeout", None),
        )
        evidence = Evidence.begin(item)
        return cls(item, evidence, clock, serve, timeout, evidence.record(LinkParameters(**given)))  # type: ignore[typeddict-item]

    def run(self) -> _Ended:
        # Paths of Unix sockets are short, those of pytest's folders may be long.
        with tempfile.TemporaryDirectory(prefix="lasthop-") as folder:
            reports = Path(folder, "reports")
            job = Path(folder, "job")
            job.write_bytes(pickle.dumps(self._job(reports)))
            words = self._words(Path(folder), job)
            messages, why = self._run(words, folder)
            if reports.exists():
                self.lines = [json.loads(line) for line in reports.read_text().splitlines()]
        summary = self.evidence.json
        self.evidence.end(read_summary(summary) if summary.exists() else None, messages)
        counted = self.evidence.summary
        return _Ended(
            reports=list(self._reports()),
            why=why,
            # The host's kernel may send some of its own, such as multicast reports.
            sent_nothing=counted is not None and counted.up.packets == 0,
        )

    def _words(self, folder: Path, job: Path) -> list[str]:
        here = Path(__file__).parent
        words = [_command.binary(), "link", f"--clock={self.clock}", *arguments(self.parameters)]
        if self.clock == "virtual":
            words.append(f"--keep={folder}")
        if "lasthop_host" in getattr(self.item, "fixturenames", ()):
            helper = [sys.executable, str(here / "host_process.py"), str(folder / "host")]
            words.append(
                f"--serve=exec {shlex.join([*helper, *([self.serve] if self.serve else [])])}"
            )
        elif self.serve is not None:
            words.append(f"--serve={self.serve}")
        return [*words, "--", sys.executable, str(here / "child.py"), str(job)]

    def _job(self, reports: Path) -> dict[str, Any]:
        """Return what the process needs to know; it is read by `child.py`."""
        config = self.item.config
        options = {**vars(config.option), **_CHANGED_OPTIONS}
        options["plugins"] = [*(options.get("plugins") or ()), "no:terminal"]
        options["rootdir"] = str(config.rootpath)
        options["inifilename"] = None if config.inipath is None else str(config.inipath)
        options["basetemp"] = str(self.evidence.folder / "tmp")
        # Test files are arguments, not an option.
        options.pop("file_or_dir", None)
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith("LASTHOP")
        }
        return {
            "options": {name: value for name, value in options.items() if _is_plain(value)},
            "arguments": [f"{self.item.path}::{self.item.nodeid.partition('::')[2]}"],
            "worker": {"workerid": "master", **getattr(config, "workerinput", {})},
            "directory": str(config.invocation_params.dir),
            "path": sys.path,
            "environment": {
                **(environment if self.clock == "virtual" else {}),
                _BEHIND: self.item.nodeid,
                HOST_SOCKET: str(reports.parent / "host"),
            },
            # In a guest, only files in this folder survive.
            "reports": reports.name if self.clock == "virtual" else str(reports),
        }

    def _run(self, words: list[str], folder: str) -> tuple[str, str | None]:
        """Run the process; return its messages, and why its reports may be incomplete."""
        shown = self.item.config.getoption("capture") == "no"
        with Path(folder, "output").open("w+", encoding="utf-8", errors="replace") as output:
            process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=None if shown else output,
                stderr=output,
                cwd=self.item.config.invocation_params.dir,
            )
            why = None
            try:
                status = process.wait(self.timeout)
            except BaseException as error:
                status = _ended(process)
                if not isinstance(error, subprocess.TimeoutExpired):
                    raise
                why = f"the test did not end within {self.timeout} s"
            output.seek(0)
            said = output.read()
        if why is None and status == _OWN_FAILURE:
            raise _command.failure(said, status, words)
        if why is None and status != 0:
            why = f"the test's process ended with status {status}"
            if status - _BY_SIGNAL in signal.valid_signals():
                name = signal.Signals(status - _BY_SIGNAL).name
                why = f"the test's process was ended by {name}"
        rest = [line for line in said.splitlines() if not line.startswith("lasthop: ")]
        ours = "\n".join(line for line in said.splitlines() if line.startswith("lasthop: "))
        return ours + "\n", why if why is None or not rest else "\n".join([why, *rest])

    def _reports(self) -> Iterator[pytest.TestReport]:
        """Return the reports that came back, and pass the warnings on to pytest."""
        for line in self.lines:
            if "warning" in line:
                _warn(self.item, line)
                continue
            report = self.item.ihook.pytest_report_from_serializable(
                config=self.item.config, data=line["report"]
            )
            if isinstance(report, pytest.TestReport):
                # Place and reason of a skip, which JSON made a list.
                if isinstance(report.longrepr, list):
                    path, line_number, reason = report.longrepr
                    report.longrepr = (str(path), int(line_number), str(reason))
                report.user_properties = [
                    (str(name), value) for name, value in report.user_properties
                ]
                yield report
            else:
                # The test could not be collected there.
                yield _report(self.item, "setup", str(report.longrepr))


def _complete(item: pytest.Item, ended: _Ended) -> Iterator[pytest.TestReport]:
    """Return the reports, with those that are missing because the process ended early."""
    phases = {report.when for report in ended.reports}
    yield from ended.reports
    if "teardown" not in phases:
        if "setup" not in phases:
            yield _report(item, "setup")
        yield _report(item, "call", ended.why or "the test's process ended without its reports")
        yield _report(item, "teardown")


def _report(item: pytest.Item, when: Any, why: str | None = None) -> pytest.TestReport:
    return pytest.TestReport(
        nodeid=item.nodeid,
        location=item.location,
        keywords={},
        outcome="passed" if why is None else "failed",
        longrepr=why,
        when=when,
    )


def _warn(item: pytest.Item, line: dict[str, Any]) -> None:
    """Record a warning that the test's process recorded."""
    category = getattr(sys.modules.get(line["module"]), line["category"], UserWarning)
    message = warnings.WarningMessage(
        category(line["warning"]), category, line["filename"], line["lineno"]
    )
    item.ihook.pytest_warning_recorded.call_historic(
        kwargs={
            "warning_message": message,
            "when": line["when"],
            "nodeid": line["nodeid"],
            "location": line["location"],
        }
    )


def _ended(process: subprocess.Popen[bytes]) -> int:
    """End the process in an orderly way, so that its link is taken down and has a summary."""
    process.terminate()
    try:
        return process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def _is_plain(value: object) -> bool:
    """Return whether the process of the test can have this value of an option."""
    try:
        pickle.dumps(value)
    except Exception:  # noqa: BLE001 -- any class can refuse to be pickled in its own way
        return False
    return type(value).__module__ in ("builtins", "pathlib")
