"""A plugin of pytest: tests behind emulated wireless links.

* `@pytest.mark.lasthop(profile="lte", seed=7)` runs a test behind a link: the test function, its
  fixtures and all their sockets, in a process of its own.
* The fixture `lasthop_link` opens links, behind which the test starts programs; the test itself
  stays on the host.
* The fixture `lasthop_host` opens sockets at the other end of the link that a marked test is
  behind.

What the link did is attached to a test that fails: as a section of its report, as properties in
JUnit files, and as extras of pytest-html.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from lasthop._links import Link
from lasthop.pytest_plugin import marked
from lasthop.pytest_plugin.evidence import Evidence, Keep, of_item
from lasthop.pytest_plugin.host import HostEnd

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from lasthop._parameters import LinkParameters

_OUTCOMES = pytest.StashKey[dict[str, bool]]()
"""Whether each phase of a test passed."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of this plugin."""
    group = parser.getgroup("lasthop", "tests behind wireless links")
    group.addoption(
        "--lasthop-dir",
        metavar="DIR",
        help="directory for reports and captures of failed tests "
        "[default: in pytest's temporary directory]",
    )
    group.addoption(
        "--lasthop-keep",
        choices=[keep.value for keep in Keep],
        default=Keep.FAILED.value,
        help="tests whose reports, captures and event logs are kept [default: failed]; "
        "with none, nothing is recorded",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Describe the mark."""
    config.addinivalue_line(
        "markers",
        "lasthop(clock='real', serve=None, timeout=None, **parameters): run the test behind an "
        "emulated wireless link with these parameters: profile, loss, up, down, arq, seed, mtu, cc",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> object:
    """Run a marked test in a process behind a link."""
    mark = item.get_closest_marker("lasthop")
    if mark is None or marked.is_behind_a_link():
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in marked.run(item, mark):
        item.ihook.pytest_runtest_logreport(report=report)
    # Fixtures of the modules before were kept for this test, which did not need them here.
    item.session._setupstate.teardown_exact(nextitem)  # noqa: SLF001
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attach what the links of `lasthop_link` did to the report of a failed test."""
    report = yield
    outcomes = item.stash.setdefault(_OUTCOMES, {})
    outcomes[call.when] = not report.failed
    # The links have ended by now: they end with the fixture.
    if call.when == "teardown":
        for evidence in of_item(item):
            evidence.attach([report], failed=not all(outcomes.values()))
    return report


@pytest.fixture
def lasthop_link(request: pytest.FixtureRequest) -> Iterator[Callable[..., Link]]:
    """Open links behind which the test starts programs.

        def test_client(lasthop_link):
            link = lasthop_link(profile="lte", seed=7)
            link.run(["curl", f"http://{link.host}:8000/"], timeout=20, check=True)

    The function has the parameters of `lasthop.link`. The links end with the test.
    """
    with ExitStack() as links:

        def open_link(**parameters: Unpack[LinkParameters]) -> Link:
            evidence = Evidence.begin(request.node)
            link = Link(evidence.record(parameters))
            links.callback(lambda: evidence.end(link.close(), link.messages))
            return link

        yield open_link


@pytest.fixture
def lasthop_host() -> Iterator[HostEnd]:
    """Return the other end of the link that a test with `@pytest.mark.lasthop` is behind.

    @pytest.mark.lasthop(profile="lte", seed=7)
    def test_client(lasthop_host):
        server = lasthop_host.listen()
        client = socket.create_connection((lasthop_host.address, server.getsockname()[1]))
    """
    place = os.environ.get(marked.HOST_SOCKET)
    if place is None:
        pytest.fail(
            "lasthop_host is the other end of a test's own link: mark the test with "
            "@pytest.mark.lasthop(...)",
            pytrace=False,
        )
    with HostEnd(place, os.environ["LASTHOP_HOST"]) as host:
        yield host
