"""What a link did in a test: its report, capture and event log, attached to a test that fails."""

from __future__ import annotations

import enum
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lasthop import _command
from lasthop._errors import LasthopError
from lasthop._parameters import LinkParameters

if TYPE_CHECKING:
    from lasthop._summary import LinkSummary


class Keep(enum.Enum):
    """Tests whose files are kept."""

    FAILED = "failed"
    ALL = "all"
    NONE = "none"


_EVIDENCE = pytest.StashKey[list["Evidence"]]()


@dataclass(slots=True)
class Evidence:
    """The files of one link of a test, in a folder of their own."""

    folder: Path
    keep: Keep
    parameters: LinkParameters = field(default_factory=LinkParameters)
    summary: LinkSummary | None = None
    messages: str = ""

    @classmethod
    def begin(cls, item: pytest.Item) -> Evidence:
        """Create the folder for a link of this test."""
        chosen = item.config.getoption("lasthop_dir")
        if chosen:
            base = Path(chosen).absolute()
        else:
            factory: pytest.TempPathFactory = item.config._tmp_path_factory  # type: ignore[attr-defined]  # noqa: SLF001
            base = factory.getbasetemp() / "lasthop"
        name = re.sub(r"[^\w.-]+", "-", item.nodeid.rpartition("/")[2]).strip("-")[:100]
        evidence = cls(_new_folder(base, name), Keep(item.config.getoption("lasthop_keep")))
        item.stash.setdefault(_EVIDENCE, []).append(evidence)
        return evidence

    def record(self, parameters: LinkParameters) -> LinkParameters:
        """Return the parameters of the link, with files for its summary, capture and event log.

        Files that the test names itself are kept.
        """
        files = LinkParameters(json=self.folder / "link.json")
        if self.keep is not Keep.NONE:
            files["capture"] = self.folder / "link.pcapng"
            files["events"] = self.folder / "link.parquet"
        files.update(parameters)
        self.parameters = files
        return self.parameters

    @property
    def json(self) -> Path:
        """File for the summary of the link."""
        return Path(self.parameters.get("json", self.folder / "link.json"))

    def end(self, summary: LinkSummary | None, messages: str) -> None:
        """Keep what the link said and did."""
        self.summary, self.messages = summary, messages

    def attach(self, reports: Sequence[pytest.TestReport], *, failed: bool) -> None:
        """Attach the link to the reports of its test, or remove its files if nobody wants them."""
        if self.summary is not None:
            for report in reports:
                report.user_properties.append(("lasthop_seed", self.summary.seed))
        if self.keep is Keep.NONE or (self.keep is Keep.FAILED and not failed):
            shutil.rmtree(self.folder, ignore_errors=True)
            return
        properties = {f"lasthop_{name}": str(path) for name, path in self._files().items()}
        for report in reports:
            report.user_properties.extend(properties.items())
        shown = next((report for report in reports if report.failed), reports[-1])
        if failed:
            # pytest shows sections of the teardown with a failed test if their title says so.
            when = f" (from {shown.when})" if shown.when == "teardown" else ""
            shown.sections.append((f"lasthop link{when}", self._text()))
        _add_extras(shown, self._files(), self._text())

    def _files(self) -> dict[str, Path]:
        """Return the files that exist, and write the HTML report, which is made of the others."""
        files = {
            "capture": Path(self.parameters.get("capture", "")),
            "events": Path(self.parameters.get("events", "")),
        }
        report = self.folder / "link.html"
        if not report.exists() and self.json.exists():
            try:
                _command.output_of("report", self.json, "--output", report)
            except LasthopError as error:
                self.messages += f"lasthop: no report: {error}\n"
        return {name: path for name, path in {"report": report, **files}.items() if path.is_file()}

    def _text(self) -> str:
        """Return what the section says: the link, what it did, and where its files are."""
        lines = [line.removeprefix("lasthop: ") for line in self.messages.splitlines()]
        lines = [line for line in lines if not line.startswith(("capture: ", "events: "))]
        lines += [f"{name + ':':<8} {path}" for name, path in self._files().items()]
        return "\n".join(lines)


def of_item(item: pytest.Item) -> list[Evidence]:
    """Return the evidence of all links of a test."""
    return item.stash.get(_EVIDENCE, [])


def _new_folder(base: Path, name: str) -> Path:
    number = 0
    while True:
        folder = base / (f"{name}-{number}" if number else name)
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            number += 1
        else:
            return folder


def _add_extras(report: pytest.TestReport, files: dict[str, Path], text: str) -> None:
    """Add links to the files to the report of pytest-html, if it is installed."""
    try:
        from pytest_html import extras  # noqa: PLC0415
    except ImportError:
        return
    added: list[Any] = [
        extras.url(path.as_uri(), name=f"lasthop {name}") for name, path in files.items()
    ]
    added.append(extras.text(text, name="lasthop link"))
    vars(report).setdefault("extras", []).extend(added)
