"""TCP over wireless links on the real Linux TCP: links, campaigns and their results in Python.

    import lasthop

    with lasthop.link(profile="lte", down="loss=1%", seed=7) as link:
        link.run(["curl", "-sO", f"http://{link.host}:8000/file"], timeout=60, check=True)
    print(link.summary.down.lost)

    directory = lasthop.campaign("plan.toml", clock="virtual")
    frame = directory.metrics().polars()

With pytest, the mark `@pytest.mark.lasthop(...)` and the fixture `lasthop_link` put tests and
programs behind links.
"""

from lasthop._behind import BehindLink, run_behind_link
from lasthop._campaigns import CampaignError, campaign, resume
from lasthop._command import binary
from lasthop._directories import (
    CellSummary,
    Distribution,
    RunDirectory,
    read_table,
    run_directory,
)
from lasthop._errors import (
    BinaryError,
    LasthopError,
    MissingLibraryError,
    RunDirectoryError,
)
from lasthop._gate import Gate, GateVerdict, Judgement, gate
from lasthop._links import Link, LinkStatus, link
from lasthop._manifest import Cell, Factor, LinkCounters, Manifest, Plan, Run
from lasthop._parameters import LinkParameters
from lasthop._summary import DirectionSummary, LinkLayerSummary, LinkSummary, read_summary
from lasthop._tables import Table
from lasthop._version import __version__

__all__ = [
    "BehindLink",
    "BinaryError",
    "CampaignError",
    "Cell",
    "CellSummary",
    "DirectionSummary",
    "Distribution",
    "Factor",
    "Gate",
    "GateVerdict",
    "Judgement",
    "LasthopError",
    "Link",
    "LinkCounters",
    "LinkLayerSummary",
    "LinkParameters",
    "LinkStatus",
    "LinkSummary",
    "Manifest",
    "MissingLibraryError",
    "Plan",
    "Run",
    "RunDirectory",
    "RunDirectoryError",
    "Table",
    "__version__",
    "binary",
    "campaign",
    "gate",
    "link",
    "read_summary",
    "read_table",
    "resume",
    "run_behind_link",
    "run_directory",
]
