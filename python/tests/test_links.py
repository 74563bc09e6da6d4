from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import lasthop


def curl(link: lasthop.Link, port: int) -> list[str]:
    return [
        "curl",
        "-sS",
        "-o",
        "/dev/null",
        "-w",
        "%{size_download}",
        f"http://{link.host}:{port}/data",
    ]


@pytest.mark.usefixtures("links")
def test_commands_behind_a_link_and_its_summary(server: int, tmp_path: Path) -> None:
    capture, events = tmp_path / "x.pcapng", tmp_path / "x.parquet"
    with lasthop.link(
        profile="wifi-b", down="loss=5%", seed=7, capture=capture, events=events
    ) as link:
        assert link.seed == 7
        for _ in range(2):
            ended = link.run(
                curl(link, server), capture_output=True, text=True, timeout=60, check=True
            )
            assert ended.stdout == "100000"
        assert link.status().packets[1] > 300
        with pytest.raises(lasthop.LasthopError, match="no summary yet"):
            _ = link.summary
    down = link.summary.down
    assert down.packets > 300
    assert down.lost == sum(down.lost_by_reason.values()) > 0
    assert 0 < down.loss < 0.2
    assert down.delay_mean_ns is not None
    assert (link.summary.seed, link.summary.clock) == (7, "real")
    assert f"{down.packets} packets, {down.lost} lost" in str(link.summary)
    fates = lasthop.read_table(events).polars()
    assert len(fates) == down.packets + link.summary.up.packets
    assert capture.read_bytes()[:4] == b"\x0a\x0d\x0d\x0a"


@pytest.mark.usefixtures("links")
def test_a_link_changes_while_it_is_up() -> None:
    ping = ["ping", "-c", "1", "host.lasthop"]
    with lasthop.link() as link:
        link.set(down="delay=60ms")
        assert "60ms" in link.status().down
        said = link.run(ping, capture_output=True, text=True).stdout
        assert float(said.split("time=")[1].split()[0]) >= 60
        with pytest.raises(lasthop.LasthopError, match="there is no `dely`"):
            link.set(up="dely=60ms")


@pytest.mark.usefixtures("links")
def test_commands_fail_as_without_a_link() -> None:
    with lasthop.link() as link:
        with pytest.raises(FileNotFoundError):
            link.run(["no-such-program"])
        with pytest.raises(subprocess.CalledProcessError) as error:
            link.run(["sh", "-c", "exit 3"], check=True)
        assert error.value.returncode == 3
        with pytest.raises(subprocess.TimeoutExpired):
            link.run(["sleep", "600"], timeout=0.2)
        assert link.run(["cat"], input=b"x", capture_output=True).stdout == b"x"
        env = {"A": "b", "PATH": os.environ["PATH"]}
        said = link.run(["env"], env=env, capture_output=True, text=True).stdout.splitlines()
        assert "A=b" in said
        assert f"LASTHOP_HOST={link.host}" in said
    with pytest.raises(lasthop.LasthopError, match="has ended"):
        link.run(["true"])


@pytest.mark.usefixtures("links")
def test_an_error_is_the_commands_message() -> None:
    with pytest.raises(lasthop.LasthopError) as error:
        lasthop.link(profile="umtss")
    assert error.value.status == 125
    assert str(error.value).startswith("there is no profile `umtss`: did you mean `umts`?")


def test_wrong_parameters_are_found_here() -> None:
    with pytest.raises(TypeError, match="no parameter 'profil': did you mean 'profile'"):
        lasthop.link(profil="lte")  # type: ignore[call-arg]


@pytest.mark.usefixtures("links")
def test_programs_end_with_the_link() -> None:
    with lasthop.link() as link:
        program = link.popen(["sh", "-c", "echo started; sleep 600"], stdout=subprocess.PIPE)
        # A program that is still on its way into the link may be killed at once.
        assert program.stdout is not None
        assert program.stdout.readline() == b"started\n"
    assert program.wait(timeout=60) == -signal.SIGTERM


@pytest.mark.usefixtures("links")
def test_an_asynchronous_program() -> None:
    async def run(link: lasthop.Link) -> int:
        process = await asyncio.create_subprocess_exec(
            *link.command(["ping", "-c", "1", link.host])
        )
        return await process.wait()

    with lasthop.link() as link:
        assert asyncio.run(run(link)) == 0


@pytest.mark.usefixtures("links")
def test_a_server_behind_the_link_is_published() -> None:
    with lasthop.link(publish="18231:8231") as link:
        program = link.popen(
            [sys.executable, "-m", "http.server", "8231"], stderr=subprocess.DEVNULL
        )
        url = "http://127.0.0.1:18231/"
        fetch = [
            "curl",
            "-s",
            "-o",
            "/dev/null",
            "--retry",
            "50",
            "--retry-connrefused",
            "--retry-delay",
            "0",
            url,
        ]
        assert subprocess.run(fetch, check=False).returncode == 0
        program.terminate()
        program.wait()


def runs(pid: str) -> bool:
    """Return whether a process runs; a zombie does not."""
    try:
        return ") Z " not in Path("/proc", pid, "stat").read_text()
    except OSError:
        return False


LEAVES = """
import lasthop, os, sys, time
link = lasthop.link()
program = link.popen(["sleep", "600"])
print(link.id, program.pid, flush=True)
time.sleep(600)
"""


@pytest.mark.usefixtures("links")
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_of_a_process_that_is_ended(ending: signal.Signals, tmp_path: Path) -> None:
    # A killed process leaves its temporary folder.
    process = subprocess.Popen(
        [sys.executable, "-c", LEAVES],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert process.stdout is not None
    _, program = process.stdout.readline().split()
    process.send_signal(ending)
    process.wait()
    process.stdout.close()
    deadline = time.monotonic() + 30
    while runs(program):
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.usefixtures("links")
def test_a_single_command() -> None:
    result = lasthop.run_behind_link(
        ["sh", "-c", "echo out; echo err >&2; exit 4"], profile="umts", seed=3, timeout=60
    )
    assert (result.process.returncode, result.process.stdout) == (4, "out\n")
    assert "err\n" in result.process.stderr
    assert result.summary.seed == 3
    with pytest.raises(subprocess.TimeoutExpired):
        lasthop.run_behind_link(["sleep", "600"], timeout=1)
    with pytest.raises(subprocess.CalledProcessError):
        lasthop.run_behind_link(["false"], check=True)


@pytest.mark.usefixtures("guests")
def test_a_single_command_by_the_virtual_clock(tmp_path: Path) -> None:
    result = lasthop.run_behind_link(
        ["sh", "-c", 'sleep 3600; curl -s http://host.lasthop:8000/ | wc -c >"$LASTHOP_KEEP/size"'],
        clock="virtual",
        profile="gsm",
        seed=7,
        serve="python3 -m http.server 8000",
        keep=tmp_path,
        cwd="/usr/share/common-licenses",
        timeout=120,
    )
    assert result.process.returncode == 0, result.process.stderr
    assert result.summary.seconds > 3600
    assert result.summary.clock == "virtual"
    assert int((tmp_path / "size").read_text()) > 100
