"""Verdicts: campaigns that run until their requirements are decided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from lasthop import _command
from lasthop._campaigns import follow
from lasthop._directories import RunDirectory, run_directory
from lasthop._parameters import StrPath
from lasthop._summary import Clock

GateVerdict = Literal["pass", "fail", "not decided"]
"""A requirement holds, is broken, or would need more repetitions to decide."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on one requirement in one cell, or on one comparison."""

    title: str
    cell: str | None
    """Label of the cell; `None` for all cells."""
    verdict: GateVerdict
    explanation: str
    """The figure with its interval, the bound and the number of repetitions."""
    metric: str | None
    unit: str | None
    """Unit of `figure`, `low` and `high`."""
    figure: float | None
    """The statistic; for a comparison, how much worse the metric is, in percent."""
    low: float | None
    high: float | None
    """Ends of the interval of confidence; `None` if there is no such end."""
    line: int | None
    """Line of the requirement in the plan."""

    def __str__(self) -> str:
        """Return the line that `lasthop gate` prints."""
        name = f"{self.title}: {self.cell}" if self.cell is not None else self.title
        return f"{self.verdict:<11}  {name}: {self.explanation}"


@dataclass(frozen=True, slots=True)
class Gate:
    """What `gate` found. As text, it is a line for each verdict."""

    verdict: GateVerdict
    """The worst of all."""
    judgements: tuple[Judgement, ...]
    notes: tuple[str, ...]
    directory: RunDirectory

    @property
    def passed(self) -> bool:
        """Whether everything passes."""
        return self.verdict == "pass"

    def __str__(self) -> str:
        """Return a line for each verdict."""
        return "\n".join(str(judgement) for judgement in self.judgements)


def gate(
    plan: StrPath | RunDirectory,
    *,
    only: str | Sequence[str] = (),
    repetitions: int | None = None,
    max_repetitions: int | None = None,
    seed: int | None = None,
    out: StrPath | None = None,
    clock: Clock | None = None,
    verify: bool = False,
    jobs: int | None = None,
    against: StrPath | RunDirectory | None = None,
    metric: str | Sequence[str] = (),
    workload: str | None = None,
    tolerance: float | None = None,
    confidence: float | None = None,
    junit: StrPath | None = None,
    markdown: StrPath | None = None,
    overloaded: bool = False,
    progress: bool = True,
) -> Gate:
    """Run a plan until its `[[require]]` are decided, as `lasthop gate PLAN` does.

        gate = lasthop.gate("plan.toml", clock="virtual")
        assert gate.passed, gate

    Instead of a plan, the run directory of a campaign is judged as it is. The keywords are the
    options of `lasthop gate`; `only` to `jobs` are those of `campaign`. A requirement that is
    broken is a verdict, not an exception. Raises `LasthopError` for an error in the plan.
    """
    options = _command.options(
        only=only,
        repetitions=repetitions,
        max_repetitions=max_repetitions,
        seed=seed,
        out=out,
        clock=clock,
        verify=verify,
        jobs=jobs,
        against=against.path if isinstance(against, RunDirectory) else against,
        metric=metric,
        workload=workload,
        tolerance=tolerance,
        confidence=confidence,
        junit=junit,
        markdown=markdown,
        overloaded=overloaded,
    )
    judged = plan.path if isinstance(plan, RunDirectory) else plan
    found = follow("gate", [*options, _command.file(judged)], progress=progress)
    return Gate(
        verdict=found["verdict"],
        judgements=tuple(_judgement(line) for line in found["lines"]),
        notes=tuple(found["notes"]),
        directory=run_directory(found["run_directory"]),
    )


def _judgement(line: dict[str, Any]) -> Judgement:
    compared = "worse_percent" in line
    return Judgement(
        title=line["title"],
        cell=line["cell"],
        verdict=line["verdict"],
        explanation=line["explanation"],
        metric=line.get("metric"),
        unit="%" if compared else line.get("unit"),
        figure=line["worse_percent"] if compared else line.get("figure"),
        low=line.get("low"),
        high=line.get("high"),
        line=line["line"],
    )
