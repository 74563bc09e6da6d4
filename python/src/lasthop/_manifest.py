"""What a campaign ran, and how each of its runs ended: the manifest of a run directory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Literal

from lasthop._errors import RunDirectoryError
from lasthop._summary import Clock

Verdict = Literal["good", "overloaded", "dropped-call", "failed"]
"""How a run ended: as planned; the machine was too slow for it; a link layer disconnected; a
workload failed or the time limit was reached."""

SCHEMA = 1
"""Newest schema of run directories that this package reads."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a campaign."""

    name: str
    title: str
    description: str
    file: str
    """The file that it was read from, as named then."""
    text: str
    """The text of that file (TOML)."""


@dataclass(frozen=True, slots=True)
class Factor:
    """A parameter that the campaign varied."""

    name: str
    title: str
    levels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination of levels."""

    number: int
    levels: Mapping[str, str]
    """Level of each factor."""

    def __str__(self) -> str:
        """Return `loss=lite-1, cc=reno`; `all` if there are no factors."""
        return ", ".join(f"{factor}={level}" for factor, level in self.levels.items()) or "all"


@dataclass(frozen=True, slots=True)
class LinkCounters:
    """Counters of one direction of a link in a run."""

    link: str
    direction: Literal["up", "down"]
    profile: str
    """Parameters of the direction."""
    packets: int
    lost: Mapping[str, int]
    """Lost packets by reason."""
    damaged: int
    duplicated: int
    reordered: int
    bytes: int
    delivered_bytes: int
    delay_mean_ns: int | None
    waiting_mean_ns: int | None


@dataclass(frozen=True, slots=True)
class Run:
    """One repetition of one cell. The files that were kept are absolute paths."""

    cell: int
    """Number of the cell."""
    repetition: int
    """Number of the repetition, from 0. Repetition n of every cell has the same seed."""
    verdict: Verdict
    reasons: tuple[str, ...]
    """Why it failed or counts as overloaded, or what is missing."""
    seconds: float
    """Duration by the run's clock."""
    wall_seconds: float
    """Duration by the host's clock."""
    verified: bool | None
    """Whether a second run gave the same bytes; `None` if there was none."""
    links: tuple[LinkCounters, ...]
    captures: tuple[Path, ...]
    """Captures, as pcapng."""
    events: tuple[Path, ...]
    """Fates of packets, as Parquet."""
    senders: tuple[Path, ...]
    """States of TCP senders, as Parquet."""
    link_layers: tuple[Path, ...]
    """Records and blocks of link layers."""
    logs: tuple[Path, ...]
    """Outputs of commands."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What was run, on what, and how each run ended."""

    plan: Plan
    seed: int
    """Seed of the campaign, from which the runs' seeds are derived."""
    clock: Clock | None
    """Clock of the runs; `None` if not known."""
    lasthop: str
    """Version of lasthop that ran it."""
    kernel: str
    """Release of the kernel whose TCP was measured."""
    processor: str
    """Model name of the machine's processor."""
    processors: int
    """Number of processors that the campaign could use."""
    started: datetime
    """Start of the campaign, in UTC."""
    ended: datetime | None
    """End; `None` while it runs, and if it was interrupted."""
    measure: str
    """Name of the workload that figures are about; empty in old directories."""
    factors: tuple[Factor, ...]
    cells: tuple[Cell, ...]
    repetitions: int
    """Repetitions requested for each cell."""
    runs: tuple[Run, ...]
    """Runs that have ended, in the order of cell and repetition."""
    units: Mapping[str, str]
    """Unit of each column of the results that has one."""


def read_manifest(path: Path) -> Manifest:
    """Read the manifest and the journal of the run directory `path`.

    Raises `RunDirectoryError` if it is none, or of a newer schema than this package reads.
    """
    file = path / "manifest.json"
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        if data["schema"] > SCHEMA:
            message = f"{file}: schema {data['schema']} is newer than this package reads ({SCHEMA})"
            raise RunDirectoryError(f"{message}: install a newer lasthop")
        return _manifest(data, _runs(path))
    except FileNotFoundError:
        message = f"{path} is not a run directory of lasthop: it has no manifest.json"
        raise RunDirectoryError(message) from None
    except OSError as error:
        raise RunDirectoryError(f"cannot read {file}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise RunDirectoryError(f"{file}: {type(error).__name__}: {error}") from error


def _manifest(data: Mapping[str, Any], runs: tuple[Run, ...]) -> Manifest:
    machine = data["machine"]
    ended = data["ended_unix_ns"]
    return Manifest(
        plan=Plan(**{name: data["plan"][name] for name in Plan.__dataclass_fields__}),
        seed=data["seed"],
        clock=data["clock"],
        lasthop=data["lasthop"],
        kernel=data["kernel"],
        processor=machine["processor"],
        processors=machine["processors"],
        started=_time(data["started_unix_ns"]),
        ended=None if ended is None else _time(ended),
        measure=data.get("measure", ""),
        factors=tuple(
            Factor(factor["name"], factor["title"], tuple(factor["levels"]))
            for factor in data["factors"]
        ),
        cells=tuple(
            Cell(cell["number"], {level["factor"]: level["level"] for level in cell["levels"]})
            for cell in data["cells"]
        ),
        repetitions=data["repetitions"],
        runs=runs,
        units=data["units"],
    )


def _runs(path: Path) -> tuple[Run, ...]:
    """Read the journal.

    Of two lines about one run the later one counts. A last line without its end was cut off by a
    crash, and does not count.
    """
    journal = path / "runs.jsonl"
    if not journal.exists():
        return ()
    text = journal.read_bytes()
    runs = {}
    for line in text[: text.rfind(b"\n") + 1].splitlines():
        run = _run(json.loads(line)["run"], path)
        runs[run.cell, run.repetition] = run
    return tuple(run for _, run in sorted(runs.items()))


def _run(data: Mapping[str, Any], path: Path) -> Run:
    def files(name: str) -> tuple[Path, ...]:
        return tuple(path / file for file in data.get(name, ()))

    return Run(
        cell=data["cell"],
        repetition=data["repetition"],
        verdict=data["verdict"],
        reasons=tuple(data["reasons"]),
        seconds=data["seconds"],
        wall_seconds=data["wall_seconds"],
        verified=data.get("verified"),
        links=tuple(
            LinkCounters(**{name: link[name] for name in LinkCounters.__dataclass_fields__})
            for link in data["links"]
        ),
        captures=files("captures"),
        events=files("events"),
        senders=files("senders"),
        link_layers=files("link_layers"),
        logs=files("logs"),
    )


def _time(nanoseconds: int) -> datetime:
    return datetime.fromtimestamp(nanoseconds / 1e9, tz=timezone.utc)
