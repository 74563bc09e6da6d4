//! The numbers of a page are those of `results::statistics`, it contains everything that ran, and
//! the file is consistent.

mod synthetic;

use report::{Page, PageOptions, html, open};
use results::factorial::analyze;
use results::statistics::{
    Bootstrap, Distribution, Estimator, effect, holm, mann_whitney, ols, stream, wilson,
};
use results::{Connection, Directory, Metric, PlannedWorkload, Protocol, cell_values, compare};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};

/// Returns the synthetic campaign, and its page as JSON.
fn page() -> (tempfile::TempDir, Directory, Value) {
    let folder = tempfile::tempdir().expect("a folder");
    synthetic::write(folder.path(), 7);
    let directory = Directory::open(folder.path()).expect("the campaign");
    let page = serde_json::to_value(Page::of(&directory, PageOptions::default())).expect("JSON");
    (folder, directory, page)
}

fn measure<'a>(page: &'a Value, metric: &str) -> &'a Value {
    let measures = page["measures"].as_array().expect("measures");
    measures.iter().find(|measure| measure["metric"] == metric).unwrap_or_else(|| panic!("no {metric}"))
}

#[test]
fn distributions_and_intervals_are_those_of_the_statistics() {
    let (_folder, directory, page) = page();
    for metric in
        [Metric::Goodput, Metric::Completion, Metric::RetransmissionRate, Metric::Timeouts, Metric::Rtt]
    {
        for (overloaded, key) in [(false, "good"), (true, "all")] {
            let cells = measure(&page, metric.name())[key]["cells"].as_array().expect("cells");
            assert_eq!(cells.len(), 9);
            for (cell, ours) in cells.iter().enumerate() {
                let values = cell_values(&directory, cell as u32, metric, "download", overloaded);
                let distribution = Distribution::of(&values).expect("values");
                let Value::Object(expected) = serde_json::to_value(distribution).expect("JSON") else {
                    panic!()
                };
                for (name, value) in expected {
                    assert_eq!(ours[&name], value, "{metric} {name} of cell {cell}");
                }
                for (name, estimator) in
                    [("median_interval", Estimator::Median), ("mean_interval", Estimator::Mean)]
                {
                    let interval = Bootstrap::default().interval(&values, estimator, &mut stream(7));
                    assert_eq!(
                        ours[name],
                        serde_json::to_value(interval).expect("JSON"),
                        "{metric} of cell {cell}"
                    );
                }
            }
        }
    }
}

/// The stops are those of the manifest, with the cells of the page.
#[test]
fn cells_that_were_repeated_until_precise_are_listed() {
    let (_folder, directory, page) = page();
    let control = directory.manifest.precision.as_ref().expect("a rule");
    let of = &page["precision"];
    assert_eq!(of["rule"], control.rule.in_words());
    assert_eq!([&of["unit"], &of["least"], &of["most"]], [&json!("bit/s"), &json!(5), &json!(10)]);
    let stops = of["stops"].as_array().expect("stops");
    assert_eq!(stops.len(), control.stops.len());
    for (shown, stop) in stops.iter().zip(&control.stops) {
        assert_eq!([&shown["cell"], &shown["reached"]], [&json!(stop.cell), &json!(stop.reached)]);
        assert_eq!([shown["mean"].as_f64(), shown["half_width"].as_f64()], [stop.mean, stop.half_width()]);
    }
}

/// The analysis is that of the crate `results`, without and with overloaded runs.
#[test]
fn factorial_analyses_are_those_of_the_statistics() {
    let (_folder, directory, page) = page();
    let all = page["factorial"].as_array().expect("analyses");
    assert_eq!(all.len(), 2);
    for (overloaded, key) in [(false, "good"), (true, "all")] {
        let design = &directory.manifest.factorial[0];
        let expected = analyze(&directory, design, overloaded).expect("an analysis");
        assert_eq!(all[0][key]["analysis"], serde_json::to_value(expected).expect("JSON"));
        assert_eq!(all[1][key]["analysis"], Value::Null);
        let why = all[1][key]["why"].as_str().expect("a reason");
        assert!(why.starts_with("repetition 3 of loss=lite-2, cc=cubic failed"), "{why}");
    }
    assert_eq!(all[0]["factors"], json!([["loss", ["lite-0", "lite-4"]], ["cc", ["reno", "newzag"]]]));
}

#[test]
fn failed_runs_never_count_and_overloaded_ones_only_when_asked_for() {
    let (_folder, _directory, page) = page();
    let count = |key: &str, cell: usize| measure(&page, "goodput")[key]["cells"][cell]["count"].clone();
    assert_eq!([count("good", 4), count("all", 4)], [9, 9], "one run of cell 4 failed");
    assert_eq!([count("good", 7), count("all", 7)], [9, 10], "one run of cell 7 was overloaded");
    let troubles = page["troubles"].as_array().expect("troubles");
    let told: Vec<_> = troubles
        .iter()
        .map(|trouble| {
            (trouble["cell"].as_u64(), trouble["repetition"].as_u64(), trouble["verdict"].as_str())
        })
        .collect();
    assert_eq!(told, [(Some(4), Some(3), Some("failed")), (Some(7), Some(5), Some("overloaded"))]);
    assert!(troubles[0]["reasons"][0].as_str().is_some_and(|reason| reason.contains(synthetic::HOSTILE)));
    assert_eq!(page["runs"]["cell"].as_array().map(Vec::len), Some(90));
}

#[test]
fn tests_are_between_cells_that_differ_in_one_factor_and_corrected_together() {
    let (_folder, directory, page) = page();
    let tests = measure(&page, "goodput")["good"]["tests"].as_array().expect("tests");
    for factor in [0, 1] {
        let family: Vec<&Value> = tests.iter().filter(|test| test["factor"] == factor).collect();
        assert_eq!(family.len(), 9, "3 pairs of levels with 3 levels of the other factor");
        let values = |test: &Value, which: &str| {
            let cell = test[which].as_u64().expect("a cell") as u32;
            cell_values(&directory, cell, Metric::Goodput, "download", false)
        };
        let p: Vec<f64> = family
            .iter()
            .map(|test| mann_whitney(&values(test, "first"), &values(test, "second")).expect("values").p)
            .collect();
        for ((test, p), corrected) in family.iter().zip(&p).zip(holm(&p)) {
            let size = effect(&values(test, "first"), &values(test, "second")).expect("values");
            assert_eq!(test["p"].as_f64(), Some(*p));
            assert_eq!(test["corrected"].as_f64(), Some(corrected));
            assert_eq!(test["a12"].as_f64(), Some(size.a12));
            let levels =
                |which: &str| &page["cells"][test[which].as_u64().expect("a cell") as usize]["levels"];
            assert_eq!(levels("first")[1 - factor], levels("second")[1 - factor]);
            assert!(levels("first")[factor].as_u64() < levels("second")[factor].as_u64());
        }
    }
}

/// TL-22: goodput over retransmissions, with a line for each congestion control through the runs of
/// all loss profiles.
#[test]
fn lines_go_through_the_runs_of_the_levels_they_are_drawn_through() {
    let (_folder, directory, page) = page();
    let scatter = &page["scatters"][0];
    let of = |axis: &str| &page["measures"][scatter[axis].as_u64().expect("a place") as usize]["metric"];
    assert_eq!((of("x"), of("y")), (&"retransmission-rate".into(), &"goodput".into()));
    let lines = scatter["good"].as_array().expect("lines");
    // With the congestion control as the dots' level, lite-0 has no line, because all its
    // retransmission rates are 0.
    let without: Vec<_> = lines.iter().filter(|line| line["line"].is_null()).collect();
    assert_eq!((lines.len(), without.len()), (6, 1));
    assert_eq!((&without[0]["factor"], &without[0]["cells"]), (&1.into(), &json!([0, 1, 2])));
    for line in lines.iter().filter(|line| !line["line"].is_null()) {
        let cells: Vec<u32> = line["cells"]
            .as_array()
            .expect("cells")
            .iter()
            .map(|cell| cell.as_u64().expect("a place") as u32)
            .collect();
        let values = |metric| -> Vec<f64> {
            cells.iter().flat_map(|&cell| cell_values(&directory, cell, metric, "download", false)).collect()
        };
        let expected =
            ols(&values(Metric::RetransmissionRate), &values(Metric::Goodput), 0.95).expect("a line");
        let slope = line["line"]["slope"]["value"].as_f64().expect("a slope");
        assert!(
            (slope - expected.slope.value).abs() < 1e-6 * slope.abs(),
            "{slope} is not {}",
            expected.slope.value
        );
        assert_eq!(line["points"].as_u64(), Some(expected.points as u64));
    }
}

#[test]
fn the_literature_is_compared_as_the_statistics_do() {
    let (_folder, directory, page) = page();
    let figures = page["literature"].as_array().expect("figures");
    assert_eq!(figures.len(), directory.manifest.expectations.len());
    for (figure, expectation) in figures.iter().zip(&directory.manifest.expectations) {
        let Value::Object(expected) = serde_json::to_value(compare(&directory, expectation)).expect("JSON")
        else {
            panic!()
        };
        for (name, value) in expected {
            assert_eq!(figure[&name], value);
        }
        assert_eq!(figure["id"], expectation.id.as_str());
    }
    assert_eq!(figures[1]["of"], "cc=cubic, loss=lite-4");
    assert_eq!(figures[1]["against"], "loss=lite-0");
}

#[test]
fn of_each_cell_one_capture_is_drawn_with_the_losses_of_its_event_log() {
    let (_folder, _directory, page) = page();
    let plots = page["sequences"]["plots"].as_array().expect("plots");
    assert_eq!(plots.len(), 9);
    assert_eq!(page["sequences"]["notes"][0], "Shown are 9 of the 18 runs with captures, one of each cell.");
    for (cell, plot) in plots.iter().enumerate() {
        let run = plot["run"].as_u64().expect("a run") as usize;
        assert_eq!(page["runs"]["cell"][run].as_u64(), Some(cell as u64));
        let lost = plot["losses"]["time"].as_array().map(Vec::len);
        let again = plot["segments"]["kind"].as_str().expect("letters").matches(['F', 'T', 'L', 'R']).count();
        let expected = [0, 1, 12][cell / 3];
        assert_eq!((lost, again), (Some(expected), expected), "cell {cell}");
    }
    let reasons = &plots[6]["losses"]["reasons"];
    assert_eq!(reasons[0], "wireless error (link wlan, stage errors)");
}

/// Each connection of `newzag` has one wireless loss classified as wireless and one classified as
/// congestion. One run of cell 7, the neighbour of cell 8, was overloaded, none of cell 8.
#[test]
fn verdicts_are_counted_beside_true_causes_by_cell_level_and_together() {
    let (_folder, directory, page) = page();
    let losses = &page["losses"];
    let cells = losses["good"]["cells"].as_array().expect("groups");
    assert_eq!(cells.len(), 9, "a congestion control a cell");
    let group = &cells[8];
    assert_eq!((&group["at"], &group["congestion_control"]), (&8.into(), &"newzag".into()));
    let causes: Vec<_> =
        group["causes"].as_array().expect("causes").iter().map(|row| &row["cause"]).collect();
    assert_eq!(causes, ["wireless", "congestion", "outage", "mixed", "none"]);
    let wireless = &group["causes"][0]["wireless"];
    let interval = wilson(10, 20, 0.95).expect("an interval");
    assert_eq!(
        (&wireless["of"], &wireless["all"], &wireless["value"]),
        (&10.into(), &20.into(), &0.5.into())
    );
    assert_eq!(wireless["interval"], serde_json::to_value(interval).expect("JSON"));
    assert_eq!(group["causes"][1]["timeouts"], 7, "three of ten connections end before their seventh loss");
    assert_eq!(group["causes"][4]["reductions"], 4);

    // Losses of Reno have no verdicts, but are there nevertheless.
    let reno = &cells[6]["causes"][0];
    assert_eq!(
        (&reno["wireless"]["all"], &reno["unjudged"], &reno["wireless"]["value"]),
        (&0.into(), &20.into(), &Value::Null)
    );
    assert_eq!(cells[6]["counts"], Value::Null);
    assert_eq!(cells[2]["causes"], json!([]), "looked at, and nothing was lost");

    let by_loss = losses["good"]["levels"][0].as_array().expect("groups");
    assert_eq!(by_loss.len(), 9, "three levels, three congestion controls");
    let by_control = losses["good"]["levels"][1].as_array().expect("groups");
    assert_eq!(by_control.len(), 3);
    assert_eq!(
        (&by_control[2]["at"], &by_control[2]["causes"][0]["wireless"]["all"]),
        (&2.into(), &40.into())
    );
    assert_eq!(losses["good"]["together"][2]["causes"], by_control[2]["causes"]);

    // Cell 7 had an overloaded run.
    let connections = |key: &str| losses[key]["cells"][7]["connections"].clone();
    assert_eq!([connections("good"), connections("all")], [9, 10]);

    let counts = &group["counts"];
    let (bins, differences) =
        (counts["bins"].as_array().expect("bins"), losses["differences"].as_array().expect("them"));
    assert_eq!(bins.len(), differences.len());
    assert_eq!((&differences[0], &bins[0]), (&(-5).into(), &10.into()), "1 counted, 9 lost");
    assert_eq!((&counts["least"], &counts["greatest"]), (&(-8).into(), &1.into()));
    let right = cell_values(&directory, 8, Metric::CountedRight, "download", false);
    let share = counts["right"]["value"].as_f64().expect("a share");
    assert!(
        (share * 100.0 - right.iter().sum::<f64>() / 10.0).abs() < 1e-9,
        "all connections have as many recoveries"
    );
}

/// Without recorded loss events there is no such section.
#[test]
fn without_loss_events_there_are_none() {
    let (_folder, mut directory, _) = page();
    for connection in directory.connections.iter_mut().flatten() {
        connection.losses = connection.losses.as_ref().map(|_| Vec::new());
    }
    let page = serde_json::to_value(Page::of(&directory, PageOptions::default())).expect("JSON");
    assert_eq!(page["losses"], Value::Null);
}

#[test]
fn loss_events_have_the_times_of_the_window_that_they_are_marked_in() {
    let (_folder, mut directory, page) = page();
    let windows = &page["sequences"]["plots"][8]["windows"];
    let events = &windows["events"];
    // Time 0 is that of the first packet.
    assert_eq!((&events["time"][0], &events["time"][1]), (&850_000.into(), &450_000.into()));
    assert_eq!(events["cause"].as_array().map(Vec::len), Some(8));
    assert_eq!(
        (&events["n"][2], &events["lost"][2], &events["verdict"][2]),
        (&3.into(), &4.into(), &"congestion".into())
    );
    assert_eq!(
        (&events["kind"][6], &events["n"][6], &events["reason"][6]),
        (&"timeout".into(), &Value::Null, &"timeout".into())
    );
    assert_eq!((&events["rtt_us"][0], &events["mean_ns"][0]), (&158_250.into(), &164_000_000.into()));
    assert_eq!((&windows["ssthresh"][0], &events["ssthresh"][0]), (&Value::Null, &9.into()));

    // If two connections have the ports, it is unknown to which of them the events belong.
    let run = page["sequences"]["plots"][8]["run"].as_u64().expect("a place") as usize;
    let twin = directory.connections[run][0].clone();
    directory.connections[run].push(twin);
    let page = serde_json::to_value(Page::of(&directory, PageOptions::default())).expect("JSON");
    assert_eq!(page["sequences"]["plots"][8]["windows"]["events"], Value::Null);
}

#[test]
fn points_are_bounded_and_a_capture_that_is_gone_is_named() {
    let (folder, directory, _) = page();
    fs::remove_file(folder.path().join("captures/0-0.pcapng")).expect("it was there");
    let options = PageOptions { sequence_points: 900, ..PageOptions::default() };
    let page = serde_json::to_value(Page::of(&directory, options)).expect("JSON");
    let notes = page["sequences"]["notes"].to_string();
    assert!(notes.contains("captures/0-0.pcapng"), "{notes}");
    assert!(!notes.contains(folder.path().to_str().expect("a path")), "{notes}");
    for plot in page["sequences"]["plots"].as_array().expect("plots") {
        let points = plot["segments"]["time"].as_array().map_or(0, Vec::len);
        assert!((10..=50).contains(&points), "{points}");
        assert!(plot["thinned"].as_str().is_some_and(|text| text.contains(" of 30")), "{}", plot["thinned"]);
    }
}

#[test]
fn nothing_that_a_campaign_says_ends_an_element_of_the_file() {
    let (_folder, directory, page) = page();
    let text = html::file(&Page::of(&directory, PageOptions::default())).expect("a file");
    assert_eq!(text.matches("</script").count(), 2, "of the numbers and of the script, and no other");
    assert!(!text.contains("<b>bold"));
    let data = text
        .split("id=\"data\">")
        .nth(1)
        .and_then(|rest| rest.split("</script>").next())
        .expect("the element");
    let read: Value = serde_json::from_str(data).expect("JSON");
    for part in ["about", "factors", "cells", "troubles"] {
        assert_eq!(read[part], page[part]);
    }
    assert_eq!(read["sequences"]["plots"].as_array().map(Vec::len), Some(9));
    assert!(
        !text.contains("src=\"") && !text.contains("@import") && !text.contains("<link rel=\"stylesheet")
    );
}

#[test]
fn a_single_run_of_lasthop_link_is_a_campaign_of_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    synthetic::download::write(
        &path("x.pcapng"),
        &path("x.parquet"),
        1_795_000_000_000_000_000,
        3,
        &[40, 41],
    );
    fs::write(path("x.json"), summary(2)).expect("a summary");
    fs::write(path("other.json"), "{}").expect("something else");
    for from in [folder.path().to_owned(), path("x.json")] {
        let directory = open(&from).expect("a run");
        let manifest = &directory.manifest;
        assert_eq!(
            (manifest.seed, manifest.cells.len(), manifest.factors.len(), manifest.runs.len()),
            (3, 1, 0, 1)
        );
        assert_eq!(manifest.started_unix_ns, 1_795_000_000_000_000_000);
        let run = &manifest.runs[0];
        assert_eq!(
            (&run.captures[..], &run.events[..]),
            (&["x.pcapng".to_owned()][..], &["x.parquet".to_owned()][..])
        );
        assert_eq!(run.links[1].lost, [("error".to_owned(), 2)].into());
        assert_eq!(run.links[1].profile, "umts");
        let [connection] = &directory.connections[0][..] else { panic!("{:?}", directory.connections) };
        let sent = u64::from(synthetic::download::SEGMENTS) + 2;
        assert_eq!((connection.segments, connection.retransmissions, connection.from_port), (sent, 2, 80));
        let page = serde_json::to_value(Page::of(&directory, PageOptions::default())).expect("JSON");
        assert_eq!(page["sequences"]["plots"][0]["losses"]["time"].as_array().map(Vec::len), Some(2));
        assert_eq!(measure(&page, "retransmissions")["values"][0], 2.0);
    }
    fs::write(path("y.json"), summary(0)).expect("a second summary");
    let error = open(folder.path()).expect_err("two runs").to_string();
    assert!(error.contains("x.json") && error.contains("y.json"), "{error}");
}

#[test]
fn a_path_without_a_run_says_what_would_be_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let error = open(folder.path()).expect_err("nothing is there").to_string();
    assert!(error.contains("manifest.json") && error.contains("--json"), "{error}");
    let error = open(&folder.path().join("gone")).expect_err("nothing is there").to_string();
    assert!(error.contains("gone"), "{error}");
    let file = folder.path().join("no.json");
    fs::write(&file, "{\"seed\": 1}").expect("a file");
    let error = open(&file).expect_err("no summary").to_string();
    assert!(error.contains("missing field"), "{error}");
    let file = folder.path().join("x.pcapng");
    fs::write(&file, b"\x0a\x0d\x0d\x0a\x1c\x00\x00\x00").expect("a file");
    let error = open(&file).expect_err("a capture").to_string();
    let path = file.display();
    assert_eq!(
        error,
        format!("{path} is a capture (pcapng), not a run: read it with `lasthop analyze {path}`")
    );
}

/// A summary from before the clock was recorded may be of either clock.
#[test]
fn the_clock_of_a_single_run_is_the_one_that_it_went_by() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("x.json");
    for (clock, words) in [
        (Some("virtual"), "virtual: idle time is skipped"),
        (Some("real"), "real: the host's clock"),
        (None, "not recorded"),
    ] {
        let mut object: Value = serde_json::from_str(&summary(0)).expect("JSON");
        if let Some(clock) = clock {
            object["clock"] = clock.into();
        }
        fs::write(&file, object.to_string()).expect("a summary");
        let directory = open(&file).expect("a run");
        let page = serde_json::to_value(Page::of(&directory, PageOptions::default())).expect("JSON");
        assert_eq!((&page["about"]["clock"], &page["about"]["clock_words"]), (&clock.into(), &words.into()));
    }
}

/// With few repetitions there is no interval if its ends could only be the outermost values, and no
/// line through two runs.
#[test]
fn of_too_few_runs_there_is_no_interval_and_no_line() {
    let (_folder, mut directory, _) = page();
    let keep = |cell: u32, repetition: u32| {
        let most = if cell == 8 { 2 } else { 5 };
        // Two runs are left for the line through cells 6, 7 and 8.
        if (6..8).contains(&cell) { false } else { repetition < most }
    };
    let runs = directory.manifest.runs.drain(..).zip(directory.connections.drain(..));
    let kept: Vec<_> = runs.filter(|(run, _)| keep(run.cell, run.repetition)).collect();
    (directory.manifest.runs, directory.connections) = kept.into_iter().unzip();
    let page = serde_json::to_value(Page::of(&directory, PageOptions::default())).expect("JSON");
    assert_eq!(page["least"], json!({ "mean": 4, "median": 6, "line": 3 }));
    let cells = &measure(&page, "goodput")["good"]["cells"];
    let of = |cell: usize| {
        let cell = &cells[cell];
        (cell["count"].as_u64(), cell["mean_interval"].is_null(), cell["median_interval"].is_null())
    };
    assert_eq!([of(0), of(8)], [(Some(5), false, true), (Some(2), true, true)]);
    let lines = page["scatters"][0]["good"].as_array().expect("lines");
    let two = lines.iter().find(|line| line["cells"] == json!([6, 7, 8])).expect("the last level");
    assert_eq!((&two["points"], &two["line"]), (&2.into(), &Value::Null));
}

/// The page does not open with a server that is first in the plan, and so has the first row of each
/// run.
#[test]
fn the_page_opens_with_what_runs_wait_for() {
    let (_folder, mut directory, _) = page();
    for rows in directory.connections.iter_mut().filter(|rows| !rows.is_empty()) {
        let server = Connection {
            workload: "nginx".into(),
            protocol: Protocol::Program,
            complete: true,
            end_ns: 1_000_000_000_000,
            ..Connection::default()
        };
        rows.insert(0, server);
    }
    directory.manifest.measure.clear();
    directory.manifest.workloads.insert(0, PlannedWorkload { name: "nginx".into(), background: true });
    let page = serde_json::to_value(Page::of(&directory, PageOptions::default())).expect("JSON");
    let measures = page["measures"].as_array().expect("measures");
    let of = |measure: &Value| (measure["workload"].clone(), measure["background"].clone());
    assert_eq!(of(&measures[0]), ("download".into(), false.into()));
    assert_eq!(of(measures.last().expect("some")), ("nginx".into(), true.into()));
    for figure in page["literature"].as_array().expect("figures") {
        assert_eq!(figure["workload"], "download");
    }
}

/// Output of `lasthop link --json` with this number of packets lost on the way down.
fn summary(lost: u64) -> String {
    let way = |lost: u64| {
        json!({
            "packets": 305, "lost": lost, "damaged": 0, "duplicated": 0, "reordered": 0, "bytes": 170_000, "delivered": 303,
            "delivered_bytes": 169_000, "congestion_marked": 0, "delay_mean_ns": 70_000_000, "waiting_mean_ns": null,
            "lost_by_reason": if lost > 0 { json!({ "error": lost }) } else { serde_json::json!({}) },
        })
    };
    json!({
        "link": "1", "seed": 3, "seconds": 4.0, "up": way(0), "down": way(lost), "overloaded": false,
        "overload_reasons": [], "lateness_ns": { "median": 1, "p99": 2, "worst": 3 },
    })
    .to_string()
}

/// The built scripts contain the hash of their source, computed as `web/stamp.ts` does.
#[test]
fn the_built_pages_are_those_of_their_source() {
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web");
    let mut files: Vec<PathBuf> =
        ["package-lock.json", "stamp.ts", "vite.config.ts"].map(PathBuf::from).into();
    let mut folders = vec![PathBuf::from("src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(web.join(&folder)).expect("the source of the page") {
            let entry = entry.expect("a file");
            let path = folder.join(entry.file_name());
            if entry.path().is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    let mut names: Vec<String> = files.iter().map(|path| path.to_str().expect("a name").to_owned()).collect();
    names.sort();
    let mut hash = Sha256::new();
    for name in names {
        let bytes = fs::read(web.join(&name)).expect("a file");
        hash.update(format!("{name}\n{}\n", bytes.len()));
        hash.update(bytes);
    }
    let digest = hash.finalize().iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
    for script in [
        include_str!("../assets/report.js"),
        include_str!("../assets/layers.js"),
        include_str!("../assets/live.js"),
    ] {
        let stamp = script.lines().next().unwrap_or_default();
        assert_eq!(
            stamp,
            format!("/*! source {digest} */"),
            "the page is stale: run `npm run build` in web/"
        );
    }
}
