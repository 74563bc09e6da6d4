"""The summary of a link: what it did to the packets of the programs behind it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Clock = Literal["real", "virtual"]


@dataclass(frozen=True, slots=True)
class LinkLayerSummary:
    """Counters of a link layer with retransmissions (`arq`), in one direction."""

    frames: int
    """Numbered frames that were sent for the first time."""
    again: int
    """Numbered frames that were sent again."""
    erased: int
    """Blocks or frames of any kind that could not be decoded."""
    rejects: int
    """How often frames were asked for again."""
    resets: int
    """Resets of the link."""
    stalls: int
    """Blocks without new data because the window was full (RLP)."""


@dataclass(frozen=True, slots=True)
class DirectionSummary:
    """Counters of one direction of a link. Bytes are those of IP packets, headers included."""

    packets: int
    """Packets that entered the link."""
    bytes: int
    """Their bytes."""
    delivered: int
    """Packets that left the link."""
    delivered_bytes: int
    """Their bytes."""
    delivered_bps: float
    """`delivered_bytes` over the duration of the link, in bit/s."""
    lost: int
    """Packets that the link lost."""
    lost_by_reason: Mapping[str, int]
    """The same by reason: `error`, `queue-full`, `outage`, …"""
    damaged: int
    """Packets with changed bits."""
    damaged_found_by: Mapping[str, int]
    """The same by the check of a receiver that finds them."""
    duplicated: int
    """Packets that left more than once."""
    reordered: int
    """Packets that left after a packet that had entered later."""
    congestion_marked: int
    """Packets that the link marked with ECN."""
    delay_mean_ns: int | None
    """Mean time from entering to leaving in nanoseconds; `None` if no packet left."""
    waiting_mean_ns: int | None
    """Mean time in queues, likewise."""
    link_layer: LinkLayerSummary | None
    """Counters of the link layer; `None` without one."""

    @property
    def loss(self) -> float:
        """Share of the packets that were lost, from 0 to 1; 0 without packets."""
        return self.lost / self.packets if self.packets else 0.0


@dataclass(frozen=True, slots=True)
class Lateness:
    """How late packets left the emulator after their logical times, in nanoseconds."""

    median_ns: int
    p99_ns: int
    worst_ns: int
    mean_ns: int


@dataclass(frozen=True, slots=True)
class LinkSummary:
    """What a link did, from its start to its end."""

    link: str
    """Id of the link."""
    seed: int
    """Random seed: with the same seed, errors come at the same times."""
    seconds: float
    """Duration of the link by its clock."""
    clock: Clock
    """Clock of the link."""
    up: DirectionSummary
    """Uplink, from the programs behind the link to the network."""
    down: DirectionSummary
    """Downlink, from the network to the programs."""
    overloaded: bool
    """Whether the machine was too slow for the link, so that the link was not as requested."""
    overload_reasons: tuple[str, ...]
    """Why, one reason each."""
    lateness: Lateness
    """How late packets were."""

    def __str__(self) -> str:
        """Return a line for each direction, and one for each reason of an overload."""
        lines = [_line("up", self.up), _line("down", self.down)]
        return "\n".join(lines + [f"overloaded: {reason}" for reason in self.overload_reasons])


def read_summary(path: str | Path) -> LinkSummary:
    """Read the summary that `lasthop link --json FILE` wrote."""
    return summary_of(json.loads(Path(path).read_text(encoding="utf-8")))


def summary_of(data: Mapping[str, Any]) -> LinkSummary:
    """Return the summary in the JSON object of `lasthop link --json`."""
    seconds = data["seconds"]
    late = data["lateness_ns"]
    return LinkSummary(
        link=data["link"],
        seed=data["seed"],
        seconds=seconds,
        clock=data["clock"],
        up=_direction(data["up"], seconds),
        down=_direction(data["down"], seconds),
        overloaded=data["overloaded"],
        overload_reasons=tuple(data["overload_reasons"]),
        lateness=Lateness(late["median"], late["p99"], late["worst"], late["mean"]),
    )


def _direction(data: Mapping[str, Any], seconds: float) -> DirectionSummary:
    layer = data.get("link_layer")
    return DirectionSummary(
        packets=data["packets"],
        bytes=data["bytes"],
        delivered=data["delivered"],
        delivered_bytes=data["delivered_bytes"],
        delivered_bps=data["delivered_bytes"] * 8 / seconds if seconds else 0.0,
        lost=data["lost"],
        lost_by_reason=data["lost_by_reason"],
        damaged=data["damaged"],
        damaged_found_by=data["damaged_found_by"],
        duplicated=data["duplicated"],
        reordered=data["reordered"],
        congestion_marked=data["congestion_marked"],
        delay_mean_ns=data["delay_mean_ns"],
        waiting_mean_ns=data["waiting_mean_ns"],
        link_layer=None if layer is None else LinkLayerSummary(**layer),
    )


def _line(name: str, way: DirectionSummary) -> str:
    reasons = ", ".join(f"{count} {reason}" for reason, count in way.lost_by_reason.items())
    parts = [
        f"{way.packets} packets",
        f"{way.lost} lost ({reasons})" if way.lost else "none lost",
        f"{way.delivered_bps / 1000:.3g} kbit/s at IP level",
    ]
    if way.damaged:
        parts.insert(2, f"{way.damaged} damaged")
    if way.delay_mean_ns is not None:
        parts.append(f"{way.delay_mean_ns / 1e6:.1f} ms mean delay")
    return f"{name:<4} {', '.join(parts)}"
