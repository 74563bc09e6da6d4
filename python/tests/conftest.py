from __future__ import annotations

import functools
import http.server
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import lasthop

pytest_plugins = ["pytester"]

# pytester gives the tests that it runs another home directory, which has no kernels.
os.environ.setdefault("LASTHOP_CACHE", str(Path.home() / ".cache/lasthop"))


@functools.cache
def why_no_links() -> str | None:
    """Return why this machine cannot make links, or `None` if it can."""
    try:
        lasthop.run_behind_link(["true"], timeout=60)
    except lasthop.LasthopError as error:
        return str(error)
    return None


@functools.cache
def why_no_guests() -> str | None:
    """Return why this machine has no virtual clock, or `None` if it has one."""
    try:
        lasthop.run_behind_link(["true"], clock="virtual", timeout=120)
    except lasthop.LasthopError as error:
        return str(error)
    return None


def skip(request: pytest.FixtureRequest, why: str) -> None:
    """Skip a test, and say so to scripts/check/test."""
    if place := os.environ.get("LASTHOP_SKIPPED"):
        with Path(place).open("a", encoding="utf-8") as skipped:
            skipped.write(f"python {request.node.name} skipped: {why}\n")
    pytest.skip(why)


@pytest.fixture
def links(request: pytest.FixtureRequest) -> None:
    """Skip the test where links cannot be made."""
    if why := why_no_links():
        skip(request, why)


@pytest.fixture
def guests(request: pytest.FixtureRequest) -> None:
    """Skip the test where there is no kernel of the virtual clock."""
    if why := why_no_guests():
        skip(request, why)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[int]:
    """Serve a file of 100 000 bytes on this host, and return the port."""
    folder = tmp_path / "served"
    folder.mkdir()
    (folder / "data").write_bytes(b"x" * 100_000)
    handler = functools.partial(QuietHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("", 0), handler) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        yield served.server_address[1]
        served.shutdown()


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *words: object) -> None:
        pass


@pytest.fixture(scope="session")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> lasthop.RunDirectory:
    """Run a small campaign: two levels, three repetitions."""
    if why := why_no_links():
        pytest.skip(why)
    plan = tmp_path_factory.mktemp("plan") / "small.toml"
    plan.write_text(PLAN)
    return lasthop.campaign(plan, out=plan.parent / "run", progress=False)


PLAN = """
title = "A small campaign"
seed = 7
repetitions = 3

[[factors]]
name = "loss"
levels = ["lite-0", "lite-4"]

[scenario]
[[scenario.links]]
name = "wlan"
between = ["mobile", "server"]
profile = "wifi-b"
loss = "{loss}"

[[workloads]]
name = "download"
kind = "bulk"
from = "server"
to = "mobile"
bytes = "60kB"

[capture]
keep = "all"

"""
