from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import lasthop


def test_a_campaign_is_typed(campaign: lasthop.RunDirectory) -> None:
    manifest = campaign.manifest
    assert (manifest.plan.title, manifest.seed, manifest.clock) == ("A small campaign", 7, "real")
    assert [str(cell) for cell in manifest.cells] == ["loss=lite-0", "loss=lite-4"]
    assert manifest.ended is not None
    assert manifest.ended > manifest.started
    assert len(campaign.runs) == 6
    cell = campaign.cell(loss="lite-4")
    run = campaign.run(cell, 2)
    assert (run.cell, run.repetition) == (1, 2)
    assert [path.suffix for path in run.captures] == [".pcapng"]
    assert all(path.is_file() for path in [*run.captures, *run.events, campaign.report])
    assert {(way.link, way.direction) for way in run.links} == {("wlan", "up"), ("wlan", "down")}
    with pytest.raises(lasthop.RunDirectoryError, match="no cell with loss=lite-9: loss=lite-0"):
        campaign.cell(loss="lite-9")


def test_figures_are_those_of_the_summary(campaign: lasthop.RunDirectory) -> None:
    # On a busy machine runs are overloaded; their figures are as good as others for this.
    command = [lasthop.binary(), "run", "--json", "--quiet", "--overloaded"]
    command.append(f"--resume={campaign.path}")
    printed = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    frame = campaign.metrics(overloaded=True).polars()
    for cell, summary in zip(printed["cells"], campaign.summary(overloaded=True), strict=True):
        assert summary.metrics.keys() == {
            name for name in campaign.metric_units() if cell[name] is not None
        }
        for name, distribution in summary.metrics.items():
            assert distribution.mean == cell[name]["mean"], name
            values = frame.filter(frame["cell"] == summary.cell.number)[name].drop_nulls().to_list()
            assert len(values) == distribution.count
            assert sum(values) / len(values) == pytest.approx(distribution.mean, rel=1e-15)
    assert campaign.metric_units()["goodput"] == "bit/s"


def test_tables_of_each_library_are_equal(campaign: lasthop.RunDirectory) -> None:
    for table in (campaign.results(overloaded=True), campaign.metrics(overloaded=True)):
        polars, pandas, rows = table.polars(), table.pandas(), table.rows()
        assert polars.columns == list(pandas.columns) == list(rows[0])
        assert len(polars) == len(pandas) == len(rows) == 6
        assert polars["factor.loss"].to_list() == pandas["factor.loss"].tolist()
    results = campaign.results(overloaded=True)
    assert results.polars()["goodput_bps"].to_list() == results.pandas()["goodput_bps"].tolist()
    events = lasthop.read_table(campaign.runs[0].events[0])
    assert len(events.polars()) == len(events.pandas()) > 50


def test_only_runs_that_count(campaign: lasthop.RunDirectory, tmp_path: Path) -> None:
    copy = tmp_path / "run"
    copy.mkdir()
    for name in ("manifest.json", "results.parquet"):
        (copy / name).write_bytes((campaign.path / name).read_bytes())
    verdicts = ["good", "overloaded", "failed", "dropped-call", "good", "good"]
    lines = []
    for line in (campaign.path / "runs.jsonl").read_text().splitlines():
        ended = json.loads(line)
        place = 3 * ended["run"]["cell"] + ended["run"]["repetition"]
        ended["run"]["verdict"] = verdicts[place]
        lines.append(json.dumps(ended))
    # The last line was cut off by a crash; the first one stands twice.
    (copy / "runs.jsonl").write_text("\n".join([lines[0], *lines, lines[0][:50]]))
    directory = lasthop.run_directory(copy)
    assert [run.verdict for run in directory.runs] == verdicts
    counts = {
        (overloaded, dropped): len(
            directory.results(overloaded=overloaded, dropped_calls=dropped).rows()
        )
        for overloaded in (False, True)
        for dropped in (False, True)
    }
    assert counts == {(False, False): 3, (True, False): 4, (False, True): 4, (True, True): 5}
    assert len(directory.metrics(overloaded=True).rows()) == 4
    means = [cell.metrics["goodput"].count for cell in directory.summary(overloaded=True)]
    assert means == [2, 2]


def test_what_is_no_run_directory(tmp_path: Path, campaign: lasthop.RunDirectory) -> None:
    with pytest.raises(lasthop.RunDirectoryError, match=r"is not a run directory.*manifest\.json"):
        lasthop.run_directory(tmp_path)
    (tmp_path / "manifest.json").write_text('{"schema": 1000}')
    with pytest.raises(lasthop.RunDirectoryError, match="schema 1000 is newer"):
        lasthop.run_directory(tmp_path)
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(lasthop.RunDirectoryError, match=r"manifest\.json: JSONDecodeError"):
        lasthop.run_directory(tmp_path)
    with pytest.raises(lasthop.RunDirectoryError, match=r"has no losses\.parquet"):
        campaign.losses()
    with pytest.raises(lasthop.LasthopError, match="no such workload; it has download"):
        campaign.metrics(workload="upload")


def test_errors_of_a_plan_come_before_anything_runs(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text("title = 3")
    with pytest.raises(lasthop.LasthopError, match=r"plan\.toml") as error:
        lasthop.campaign(plan, out=tmp_path / "run", progress=False)
    assert error.value.status == 1
    assert not (tmp_path / "run").exists()


REQUIRED = """
[[require]]
title = "something arrives"
metric = "goodput"
where = { loss = "lite-0" }
statistic = "mean"
confidence = 0.5
at-least = "1 kbit/s"

[[require]]
title = "faster than light"
metric = "goodput"
where = { loss = "lite-0" }
statistic = "mean"
confidence = 0.5
at-least = "1000 Gbit/s"
"""


def test_a_gate_is_typed(
    campaign: lasthop.RunDirectory, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(campaign.manifest.plan.text + REQUIRED)
    gate = lasthop.gate(
        plan, only="loss=lite-0", out=tmp_path / "run", junit=tmp_path / "gate.xml", overloaded=True
    )
    assert (gate.passed, gate.verdict) == (False, "fail")
    titles = ["no run fails", "something arrives", "faster than light"]
    assert [judgement.title for judgement in gate.judgements] == titles
    assert [judgement.verdict for judgement in gate.judgements] == ["pass", "pass", "fail"]
    fails = gate.judgements[2]
    assert (fails.cell, fails.metric, fails.unit) == ("loss=lite-0", "goodput", "bit/s")
    assert plan.read_text().splitlines()[(fails.line or 0) - 1] == "[[require]]"
    assert fails.low is not None
    assert fails.figure is not None
    assert fails.low <= fails.figure <= 1e12
    assert str(gate).splitlines()[2].startswith("fail         faster than light: loss=lite-0: mean")
    assert (tmp_path / "gate.xml").is_file()
    assert gate.directory.path == tmp_path / "run"
    assert "runs to do" in capsys.readouterr().err
    # The finished campaign, judged again and compared with itself.
    again = lasthop.gate(
        gate.directory, against=gate.directory, metric=["goodput"], overloaded=True, progress=False
    )
    assert again.judgements[:3] == gate.judgements
    compared = again.judgements[3]
    assert (compared.verdict, compared.figure, compared.unit) == ("pass", 0.0, "%")


@pytest.mark.usefixtures("links")
def test_failed_runs_are_in_the_directory(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'title = "fails"\nrepetitions = 1\n[[scenario.links]]\nname = "air"\n'
        'between = ["a", "b"]\n'
        '[[workloads]]\nname = "x"\nkind = "command"\nnode = "a"\ncommand = "exit 3"\n'
    )
    directory = lasthop.campaign(plan, out=tmp_path / "one", progress=False)
    assert [run.verdict for run in directory.runs] == ["failed"]
    assert directory.counting() == ()
    with pytest.raises(lasthop.CampaignError, match="1 of 1 runs failed") as error:
        lasthop.campaign(plan, out=tmp_path / "two", progress=False, check=True)
    assert error.value.directory.path == tmp_path / "two"


def test_a_missing_library_is_named(campaign: lasthop.RunDirectory) -> None:
    script = (
        "import sys; sys.modules['polars'] = None; import lasthop\n"
        f"lasthop.run_directory({str(campaign.path)!r}).results().polars()"
    )
    said = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    expected = "MissingLibraryError: this table needs polars: pip install 'lasthop[polars]'"
    assert expected in said.stderr
