use super::*;
use crate::example::campaign;
use results::{Clock, Metric};
use std::path::PathBuf;

fn both() -> Directory {
    let first = campaign("/runs/one", 1, &[("none", 100.0), ("some", 50.0)]);
    let second = campaign("/runs/two", 2, &[("some", 60.0), ("more", 30.0)]);
    merge(&first, &second, &["one".into(), "two".into()])
}

#[test]
fn every_cell_keeps_its_runs_and_gets_a_level() {
    let both = both();
    let labels: Vec<_> = both.manifest.cells.iter().map(Cell::label).collect();
    assert_eq!(
        labels,
        ["loss=none, run=one", "loss=some, run=one", "loss=some, run=two", "loss=more, run=two"]
    );
    let goodput = |cell| results::cell_values(&both, cell, Metric::Goodput, "w", false);
    assert_eq!(
        (0..4).map(goodput).collect::<Vec<_>>(),
        [[100.0, 102.0], [50.0, 52.0], [60.0, 62.0], [30.0, 32.0]]
    );
}

#[test]
fn factors_have_the_levels_of_both() {
    let manifest = both().manifest;
    assert_eq!(manifest.factors[0].levels, ["none", "some", "more"]);
    assert_eq!(
        (manifest.factors[1].name.as_str(), &manifest.factors[1].levels[..]),
        (FACTOR, &["one".to_owned(), "two".into()][..])
    );
}

#[test]
fn files_are_found_from_anywhere() {
    let both = both();
    assert_eq!(both.manifest.runs[0].captures, ["/runs/one/captures/0.pcapng"]);
    assert_eq!(both.manifest.runs[4].captures, ["/runs/two/captures/0.pcapng"]);
    let joined = both.path.join(&both.manifest.runs[4].captures[0]);
    assert_eq!(joined, PathBuf::from("/runs/two/captures/0.pcapng"), "a whole path stays what it is");
}

#[test]
fn what_differs_is_said_with_names() {
    let manifest = both().manifest;
    assert_eq!(manifest.kernel, "6.1 (one), 6.2 (two)");
    assert_eq!(manifest.machine.processor, "P");
    assert_eq!(manifest.plan.title, "Plan: one against two");
    assert_eq!(manifest.plan.text, "same");
    assert!(manifest.plan.description.contains("two: Plan; seed 2, 4 runs"), "{}", manifest.plan.description);
    assert!(is_merged(&manifest));
    assert_eq!(manifest.clock, Some(Clock::Real));
}

/// The kernel and clock of a guest are not those of the other campaign.
#[test]
fn a_campaign_by_the_virtual_clock_beside_one_by_the_real_one() {
    let first = campaign("/runs/one", 1, &[("none", 100.0)]);
    let mut second = campaign("/runs/two", 2, &[("none", 100.0)]);
    second.manifest.clock = Some(Clock::Virtual);
    second.manifest.guest = Some(results::Guest {
        source: "linux-source-7.2 7.2.12-1".into(),
        key: "0123456789abcdef".into(),
        fallback: false,
        hz: 1000,
        start_unix_ns: 0,
        memory_mib: 512,
        verified: false,
        c_library: "gnu".into(),
        link_library: "0123456789abcdef".into(),
    });
    for (one, other, clock_of) in [(&first, &second, "two"), (&second, &first, "one")] {
        let manifest = merge(one, other, &["one".into(), "two".into()]).manifest;
        assert_eq!((manifest.clock, &manifest.guest), (None, &None));
        let page = serde_json::to_value(crate::about::of(&manifest)).expect("JSON");
        assert_eq!(page["clock_words"], "one real, one virtual: see above");
        let described = manifest.plan.description.split("\n\n");
        let described: Vec<_> = described.filter(|text| text.ends_with("virtual clock.")).collect();
        assert!(matches!(described[..], [text] if text.starts_with(clock_of)), "{described:?}");
        assert_eq!(manifest.kernel.matches("512 MiB").count(), 1, "{}", manifest.kernel);
    }
}

#[test]
fn each_expectation_is_asked_of_each() {
    let both = both();
    let titles: Vec<_> =
        both.manifest.expectations.iter().map(|expectation| expectation.title.as_str()).collect();
    assert_eq!(titles, ["goodput (one)", "goodput (two)"]);
    let cells: Vec<Vec<u32>> = both
        .manifest
        .expectations
        .iter()
        .map(|expectation| results::compare(&both, expectation).cells.iter().map(|cell| cell.cell).collect())
        .collect();
    assert_eq!(cells, [[0, 1], [2, 3]]);
}

#[test]
fn names_are_what_paths_differ_in() {
    let names = |one: &str, other: &str| super::names(Path::new(one), Path::new(other));
    assert_eq!(names("runs/umts/1-7", "runs/umts/2-7"), ["1-7", "2-7"]);
    assert_eq!(names("runs/a/1", "runs/b/1"), ["a", "b"]);
    assert_eq!(names("runs/a", "runs/a"), ["A", "B"]);
}
