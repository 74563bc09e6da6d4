from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import pytest

MARKED = """
    import socket, threading
    import pytest

    @pytest.fixture
    def server(lasthop_host):
        listener = lasthop_host.listen()
        def serve():
            while True:
                connection, peer = listener.accept()
                connection.sendall(b"hello"); connection.close()
        threading.Thread(target=serve, daemon=True).start()
        return lasthop_host.address, listener.getsockname()[1]

    def fetch(server):
        with socket.create_connection(server, timeout=20) as client:
            return client.recv(100)
"""


@pytest.mark.usefixtures("links")
def test_a_marked_test_is_behind_its_link(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        MARKED
        + """
    @pytest.mark.lasthop(down="delay=40ms", up="delay=40ms", seed=7)
    @pytest.mark.parametrize("words", ["a", "b c"])
    def test_delay(server, words, tmp_path, capsys):
        import os, time
        assert os.path.exists("/sys/class/net") and "LASTHOP_HOST" in os.environ
        begin = time.monotonic()
        assert fetch(server) == b"hello"
        # A round trip for the handshake, half of one for the data at least.
        assert time.monotonic() - begin >= 0.12

    def test_elsewhere():
        import os
        assert "LASTHOP_HOST" not in os.environ
    """
    )
    result = pytester.runpytest_subprocess("-v", "-Wall")
    result.assert_outcomes(passed=3)
    assert "sent no packet" not in result.stdout.str()
    assert not list(pytester.path.glob("**/link.pcapng"))


@pytest.mark.usefixtures("links")
def test_a_failed_test_has_what_its_link_did(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        MARKED
        + """
    @pytest.mark.lasthop(profile="umts", down="loss=100%", seed=7)
    def test_timeout(server, record_property):
        record_property("mine", 1)
        print("said in the test")
        with socket.create_connection(server, timeout=0.5) as client:
            pass
    """
    )
    result = pytester.runpytest_subprocess("--lasthop-dir=evidence", "--junitxml=x.xml")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*TimeoutError*",
            "*Captured stdout call*",
            "said in the test",
            "*lasthop link*",
            "link *, seed 7, MTU 576",
            # On a busy machine, the answer may be sent again.
            "down *, [1-9] lost ([1-9] wireless error)*",
            "report:  *evidence/test_*test_timeout/link.html",
            "capture: *link.pcapng",
        ]
    )
    folder = pytester.path / "evidence/test_a_failed_test_has_what_its_link_did.py-test_timeout"
    assert {"link.html", "link.json", "link.pcapng", "link.parquet"} <= {
        path.name for path in folder.iterdir()
    }
    assert "said in the test" not in (folder / "link.json").read_text()
    found = {
        one.get("name"): one.get("value")
        for one in ET.parse(pytester.path / "x.xml").iter("property")
    }
    assert found["lasthop_seed"] == "7"
    assert found["mine"] == "1"
    assert found["lasthop_report"] == str(folder / "link.html")


@pytest.mark.usefixtures("links")
def test_outcomes_of_all_kinds(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
    import os, pytest, signal, warnings
    pytestmark = pytest.mark.lasthop(seed=1)

    @pytest.fixture(scope="module")
    def broken():
        raise RuntimeError("no fixture")

    @pytest.fixture
    def breaks():
        yield
        raise RuntimeError("no teardown")

    def test_skipped(): pytest.skip("not today")
    @pytest.mark.skip(reason="never")
    def test_never(): raise AssertionError
    @pytest.mark.xfail(reason="known", strict=True)
    def test_known(): assert 0
    def test_setup(broken): pass
    def test_teardown(breaks): pass
    def test_warns(): warnings.warn("old", DeprecationWarning)
    def test_killed(): os.kill(os.getpid(), signal.SIGKILL)
    def test_exits(): os._exit(7)
    """
    )
    result = pytester.runpytest_subprocess("-rsxE", "-Wdefault")
    result.assert_outcomes(passed=2, skipped=2, xfailed=1, errors=2, failed=2, warnings=2)
    result.stdout.fnmatch_lines_random(
        [
            "SKIPPED * not today",
            "SKIPPED * never",
            "*RuntimeError: no fixture*",
            "*RuntimeError: no teardown*",
            "*DeprecationWarning: old*",
            "*the test's process was ended by SIGKILL*",
            "*the test's process ended with status 7*",
            "*the test sent no packet over its link*",
        ]
    )


@pytest.mark.usefixtures("links")
def test_mistakes_in_a_mark(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
    import pytest, time

    @pytest.mark.lasthop(profil="lte")
    def test_parameter(): pass
    @pytest.mark.lasthop("lte")
    def test_positional(): pass
    @pytest.mark.lasthop(profile="ltee")
    def test_profile(): pass
    @pytest.mark.lasthop(timeout=1)
    def test_slow(): time.sleep(600)
    def test_unmarked(lasthop_host): pass
    """
    )
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(errors=4, failed=1)
    result.stdout.fnmatch_lines_random(
        [
            "*no parameter 'profil': did you mean 'profile'?*",
            "*takes keywords only, not ('lte',)*",
            "*there is no profile `ltee`: did you mean `lte`?*",
            "*the test did not end within 1 s*",
            "*mark the test with @pytest.mark.lasthop*",
        ]
    )


@pytest.mark.usefixtures("links")
def test_modules_and_folders_around_a_marked_test(pytester: pytest.Pytester) -> None:
    """Fixtures of wider scope are set up and torn down as if the marked tests were not there."""
    for name in ("a", "b"):
        folder = pytester.mkdir(name)
        (folder / f"test_{name}1.py").write_text(
            "import pytest\n@pytest.fixture(scope='module', autouse=True)\ndef wide():\n"
            f"    print('up {name}'); yield; print('down {name}')\n"
            f"def test_plain(): pass\n@pytest.mark.lasthop(seed=1)\ndef test_marked(): pass\n"
        )
        (folder / f"test_{name}2.py").write_text(
            "import pytest\n@pytest.mark.lasthop(seed=1)\nclass TestIt:\n"
            "    def test_marked(self): pass\n"
        )
    result = pytester.runpytest_subprocess("-s", "-p", "no:warnings")
    result.assert_outcomes(passed=6)


@pytest.mark.usefixtures("links")
def test_distributed_tests(pytester: pytest.Pytester) -> None:
    pytest.importorskip("xdist")
    pytester.makepyfile(
        MARKED
        + """
    @pytest.mark.lasthop(profile="lte", seed=7)
    @pytest.mark.parametrize("number", range(4))
    def test_one(server, number, worker_id):
        assert fetch(server) == b"hello"
        assert worker_id.startswith("gw")
        assert number != 3
    """
    )
    result = pytester.runpytest_subprocess("-n2", "--lasthop-dir=evidence")
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["*lasthop link*", "report: *link.html"])
    assert len(list(pytester.path.glob("evidence/*/link.html"))) == 1


@pytest.mark.usefixtures("links")
def test_the_fixture_keeps_the_test_on_the_host(pytester: pytest.Pytester, server: int) -> None:
    pytester.makepyfile(
        f"""
    import pytest

    def fetch(link):
        url = f"http://{{link.host}}:{server}/data"
        return link.run(["curl", "-s", url], capture_output=True, timeout=60).stdout

    def test_two_links(lasthop_link):
        first, second = lasthop_link(profile="wifi-b", seed=7), lasthop_link(profile="lte")
        assert len(fetch(first)) == len(fetch(second)) == 100_000
        assert first.id != second.id

    def test_fails(lasthop_link):
        link = lasthop_link(profile="wifi-b", down="loss=2%", seed=7)
        assert len(fetch(link)) == 1
    """
    )
    result = pytester.runpytest_subprocess("--lasthop-dir=evidence", "--junitxml=x.xml")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*assert 100000 == 1*",
            "*lasthop link (from teardown)*",
            "link *, seed 7, MTU 576",
            "report: *link.html",
        ]
    )
    assert [path.parent.name for path in pytester.path.glob("evidence/*/link.html")] == [
        "test_the_fixture_keeps_the_test_on_the_host.py-test_fails"
    ]
    text = (pytester.path / "x.xml").read_text()
    assert "lasthop_capture" in text


@pytest.mark.usefixtures("links")
def test_extras_of_pytest_html(pytester: pytest.Pytester) -> None:
    pytest.importorskip("pytest_html")
    pytester.makepyfile("import pytest\n@pytest.mark.lasthop(seed=1)\ndef test_fails(): assert 0\n")
    result = pytester.runpytest_subprocess("--html=x.html", "--lasthop-dir=evidence")
    result.assert_outcomes(failed=1)
    assert "lasthop report" in (pytester.path / "x.html").read_text()


@pytest.mark.usefixtures("links")
def test_nothing_is_recorded_if_nobody_wants_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("import pytest\n@pytest.mark.lasthop(seed=1)\ndef test_fails(): assert 0\n")
    result = pytester.runpytest_subprocess("--lasthop-keep=none", "--lasthop-dir=evidence")
    result.assert_outcomes(failed=1)
    assert not list((pytester.path / "evidence").iterdir())


@pytest.mark.usefixtures("guests")
def test_a_marked_test_in_virtual_time(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        MARKED
        + """
    @pytest.mark.lasthop(clock="virtual", profile="gsm", seed=7)
    def test_an_hour(server):
        import time
        time.sleep(3600)
        assert fetch(server) == b"hello"

    @pytest.mark.lasthop(clock="virtual", profile="gsm", seed=7)
    def test_fails(server):
        fetch(server)
        assert 0
    """
    )
    result = pytester.runpytest_subprocess("--lasthop-dir=evidence", "--lasthop-keep=all")
    result.assert_outcomes(passed=1, failed=1)
    summaries = sorted(pytester.path.glob("evidence/*/link.json"))
    seconds = [json.loads(path.read_text())["seconds"] for path in summaries]
    assert seconds[0] > 3600
