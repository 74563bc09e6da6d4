"""Run directories: what `lasthop run` leaves, as typed objects and data frames."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lasthop import _command
from lasthop._errors import RunDirectoryError
from lasthop._manifest import Cell, Manifest, Run, read_manifest
from lasthop._parameters import StrPath
from lasthop._tables import MemoryTable, ParquetTable, Table


@dataclass(frozen=True, slots=True)
class Distribution:
    """The values of a metric in the runs of a cell that count."""

    count: int
    """Number of values."""
    mean: float
    median: float
    q1: float
    """Lower quartile."""
    q3: float
    """Upper quartile."""
    min: float
    max: float
    interval: tuple[float, float] | None
    """95 % confidence interval of the mean (bootstrap); `None` with too few values."""


@dataclass(frozen=True, slots=True)
class CellSummary:
    """The figures of one cell."""

    cell: Cell
    metrics: Mapping[str, Distribution]
    """Distribution of each metric that has values: `goodput`, `completion`, `rtt`, …"""


@dataclass(frozen=True, slots=True)
class RunDirectory:
    """A run directory. `lasthop.run_directory()` opens it.

    As in the summary of `lasthop run`, only good runs count; methods with `overloaded` and
    `dropped_calls` include runs of these verdicts on request. Failed runs never count.
    """

    path: Path
    manifest: Manifest

    @property
    def runs(self) -> tuple[Run, ...]:
        """All runs that have ended, whatever their verdict."""
        return self.manifest.runs

    @property
    def report(self) -> Path:
        """The HTML report."""
        return self.path / "report.html"

    def counting(self, *, overloaded: bool = False, dropped_calls: bool = False) -> tuple[Run, ...]:
        """Return the runs that count."""
        wanted = {"good": True, "overloaded": overloaded, "dropped-call": dropped_calls}
        return tuple(run for run in self.runs if wanted.get(run.verdict, False))

    def cell(self, **levels: str) -> Cell:
        """Return the only cell with these levels: `directory.cell(loss="lite-1")`.

        Any name of a factor works as a key: `directory.cell(**{"link-rate": "2mbit"})`.
        """
        found = [
            cell for cell in self.manifest.cells if levels.items() <= dict(cell.levels).items()
        ]
        if len(found) != 1:
            wanted = ", ".join(f"{factor}={level}" for factor, level in levels.items())
            cells = "; ".join(map(str, found or self.manifest.cells))
            number = "no cell" if not found else f"{len(found)} cells"
            raise RunDirectoryError(
                f"{self.path} has {number} with {wanted or 'no levels'}: {cells}"
            )
        return found[0]

    def run(self, cell: Cell | int, repetition: int) -> Run:
        """Return one run, with the paths of its captures and event logs."""
        number = cell if isinstance(cell, int) else cell.number
        for run in self.runs:
            if (run.cell, run.repetition) == (number, repetition):
                return run
        raise RunDirectoryError(f"{self.path} has no run of cell {number}, repetition {repetition}")

    def results(self, *, overloaded: bool = False, dropped_calls: bool = False) -> Table:
        """Return the rows of `results.parquet` of runs that count.

        There is one for each connection, with its cell, its levels (`factor.NAME`), bytes, goodput,
        retransmissions and round-trip times.
        """
        return self._table("results.parquet", overloaded=overloaded, dropped_calls=dropped_calls)

    def losses(self, *, overloaded: bool = False, dropped_calls: bool = False) -> Table:
        """Return the rows of `losses.parquet` of runs that count.

        There is one for each loss event of a sender, with the sender's verdict and the true cause.
        Only campaigns that record losses have the file.
        """
        return self._table("losses.parquet", overloaded=overloaded, dropped_calls=dropped_calls)

    def points(self, *, overloaded: bool = False, dropped_calls: bool = False) -> Table:
        """Return the rows of `points.parquet` of runs that count.

        There is one for each flow at each end of a link, with its packets, bytes, retransmissions
        and spurious retransmissions. Only campaigns that record points have the file.
        """
        return self._table("points.parquet", overloaded=overloaded, dropped_calls=dropped_calls)

    def metrics(
        self,
        *,
        workload: str | None = None,
        overloaded: bool = False,
        dropped_calls: bool = False,
    ) -> Table:
        """Return one row for each run that counts.

        It has the cell, its levels (`factor.NAME`), the repetition, the verdict, and the value of
        each metric, which is empty where the run has none.

        `workload` is the name of the workload that the metrics are about, by default the one that
        the campaign's figures are about. `metric_units` has the metrics' units.
        """
        figures = self._figures(workload)
        cells = {cell.number: cell for cell in self.manifest.cells}
        counting = self._keys(overloaded=overloaded, dropped_calls=dropped_calls)
        return MemoryTable(
            [
                {
                    "cell": run["cell"],
                    **{f"factor.{name}": is_ for name, is_ in cells[run["cell"]].levels.items()},
                    "repetition": run["repetition"],
                    "verdict": run["verdict"],
                    **run["metrics"],
                }
                for run in figures["runs"]
                if (run["cell"], run["repetition"]) in counting
            ]
        )

    def metric_units(self) -> Mapping[str, str]:
        """Return the unit of each metric."""
        units: Mapping[str, str] = self._figures(None)["units"]
        return units

    def summary(
        self,
        *,
        workload: str | None = None,
        overloaded: bool = False,
        dropped_calls: bool = False,
    ) -> tuple[CellSummary, ...]:
        """Return the figures of each cell: those of `lasthop run --json`, to the digit."""
        options = ["--overloaded"] * overloaded + ["--dropped-calls"] * dropped_calls
        figures = self._figures(workload, *options)
        summaries = []
        for cell, figure in zip(self.manifest.cells, figures["cells"], strict=True):
            metrics = {
                name: _distribution(figure[name])
                for name in figures["units"]
                if figure[name] is not None
            }
            summaries.append(CellSummary(cell, metrics))
        return tuple(summaries)

    def _table(self, name: str, *, overloaded: bool, dropped_calls: bool) -> Table:
        file = self.path / name
        if not file.exists():
            why = "" if self.manifest.ended else ": the campaign has not ended; lasthop.resume() it"
            raise RunDirectoryError(f"{self.path} has no {name}{why}")
        return ParquetTable(file, self._keys(overloaded=overloaded, dropped_calls=dropped_calls))

    def _keys(self, *, overloaded: bool, dropped_calls: bool) -> frozenset[tuple[int, int]]:
        runs = self.counting(overloaded=overloaded, dropped_calls=dropped_calls)
        return frozenset((run.cell, run.repetition) for run in runs)

    def _figures(self, workload: str | None, *options: str) -> dict[str, Any]:
        chosen = [] if workload is None else [f"--workload={workload}"]
        output = _command.output_of("report", "--json", *chosen, *options, "--", self.path)
        figures: dict[str, Any] = json.loads(output)
        return figures


def run_directory(path: StrPath) -> RunDirectory:
    """Open the run directory of a campaign, finished or not.

        directory = lasthop.run_directory("runs/quickstart/20261126T200000-7")
        print(directory.summary()[0].metrics["goodput"].mean)
        frame = directory.results().polars()

    Raises `RunDirectoryError` if `path` is none.
    """
    place = Path(path).absolute()
    return RunDirectory(place, read_manifest(place))


def read_table(path: StrPath) -> Table:
    """Return a Parquet file of lasthop as a table: an event log of a run or of a link."""
    return ParquetTable(Path(path))


def _distribution(data: Mapping[str, Any]) -> Distribution:
    interval = data["interval"]
    ends = None if interval is None else (interval[0], interval[1])
    return Distribution(**{**data, "interval": ends})
