"""The parameters of a link, as keywords in Python and as options of the command."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from typing import TypedDict

StrPath = str | os.PathLike[str]


class LinkParameters(TypedDict, total=False):
    """The parameters of a link; `lasthop link --help` describes each."""

    profile: str
    """Link profile, by name or path; `lasthop profiles` lists them. Default: a perfect link."""
    loss: str
    """Loss profile, by name or path."""
    up: str | Sequence[str]
    """Parameters of the uplink, from the programs to the network: `"rate=500kbit,loss=10%"`."""
    down: str | Sequence[str]
    """Parameters of the downlink, from the network to the programs."""
    arq: str
    """Link layer with retransmissions: `"rlp"` or `"llp"`, with optional parameters."""
    seed: int
    """Random seed; the same seed gives the same errors at the same times. Default: drawn."""
    mtu: int
    """Maximum transmission unit in bytes. Default: the profile's, or 1500."""
    cc: str
    """Congestion control of both ends, by the kernel's name. Default: `"cubic"`."""
    publish: int | str | Sequence[int | str]
    """Ports of this host that are forwarded to servers behind the link: `8080` or `"8080:80"`."""
    capture: StrPath
    """File for a pcapng capture of both ends of the link, with the fate of each packet."""
    snaplen: int
    """Bytes of each packet to capture. Default: all."""
    events: StrPath
    """File for the fate of each packet, as Parquet."""
    json: StrPath
    """File for the summary, as JSON, of which `lasthop report` makes a page."""
    precise: bool
    """Busy-wait for the last microseconds before a packet leaves."""
    ethernet: bool
    """Carry Ethernet frames instead of IP packets."""


NAMES = frozenset(LinkParameters.__annotations__)
"""The names of the parameters."""


def check_names(parameters: Mapping[str, object], also: Sequence[str] = ()) -> None:
    """Raise `TypeError` for a name that is neither a link's parameter nor in `also`."""
    known = sorted({*NAMES, *also})
    for name in parameters:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            instead = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
            raise TypeError(f"a link has no parameter {name!r}: {instead}")


def arguments(parameters: LinkParameters) -> list[str]:
    """Return the options of `lasthop link` that these parameters are."""
    check_names(parameters)
    words: list[str] = []
    for name, value in parameters.items():
        if isinstance(value, bool):
            words += [f"--{name}"] * value
        elif isinstance(value, (str, int)):
            words.append(f"--{name}={value}")
        elif isinstance(value, os.PathLike):
            words.append(f"--{name}={os.fspath(value)}")
        elif isinstance(value, Sequence):
            words += [f"--{name}={one}" for one in value]
        elif value is not None:
            raise TypeError(f"{name}={value!r}: a link's parameter is no {type(value).__name__}")
    return words
