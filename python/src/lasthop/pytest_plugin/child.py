"""Tests with `@pytest.mark.lasthop`: the half that runs behind the link.

    python child.py JOB

Runs the only test of the job and writes each report and warning as a line of JSON.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    import warnings

    import pytest


def main(job_file: str) -> int:
    """Run the test and return pytest's exit status, or 0 if the reports tell of the failure."""
    with Path(job_file).open("rb") as file:
        job: dict[str, Any] = pickle.load(file)  # noqa: S301 -- the main process wrote it
    os.environ.update(job["environment"])
    os.chdir(job["directory"])
    sys.path[:] = job["path"]

    # Only now can pytest and the plugins be imported, from the paths of the main process.
    import pytest  # noqa: PLC0415

    place = Path(os.environ.get("LASTHOP_KEEP", "."), job["reports"])
    with place.open("w", encoding="utf-8") as reports:
        config = pytest.Config.fromdictargs(job["options"], job["arguments"])
        # Plugins know by this attribute that the main process writes files and reports.
        config.workerinput = job["worker"]  # type: ignore[attr-defined]
        config.pluginmanager.register(Recorder(config, reports), "lasthop-recorder")
        status = config.hook.pytest_cmdline_main(config=config)
    told = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
    return 0 if status in told else int(status)


class Recorder:
    """Writes reports and warnings as pytest makes them."""

    def __init__(self, config: pytest.Config, reports: IO[str]) -> None:
        self._config = config
        self._reports = reports

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write the report of a phase of the test."""
        self._write_report(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Write the report of a collection that failed."""
        if report.failed:
            self._write_report(report)

    def pytest_warning_recorded(
        self,
        warning_message: warnings.WarningMessage,
        when: str,
        nodeid: str,
        location: tuple[str, int, str] | None,
    ) -> None:
        """Write a warning."""
        self._write(
            {
                "warning": str(warning_message.message),
                "module": warning_message.category.__module__,
                "category": warning_message.category.__name__,
                "filename": warning_message.filename,
                "lineno": warning_message.lineno,
                "when": when,
                "nodeid": nodeid,
                "location": location,
            }
        )

    def _write_report(self, report: pytest.CollectReport | pytest.TestReport) -> None:
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._write({"report": data})

    def _write(self, line: dict[str, Any]) -> None:
        # Values of `record_property` can be anything.
        self._reports.write(json.dumps(line, default=str) + "\n")
        self._reports.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
