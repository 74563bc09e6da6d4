use super::*;
use crate::example::campaign;
use results::{Connection, PlannedWorkload};

fn names() -> [String; 2] {
    ["one".into(), "two".into()]
}

/// Returns the difference of the goodput of workload `w`.
fn difference(first: &Directory, second: &Directory) -> Difference {
    let names = names();
    Difference::of(Pair { first, second, names: &names }, Metric::Goodput, "w", false)
}

fn reasons(difference: &Difference) -> Vec<(&str, &str)> {
    let unmatched = difference.unmatched.iter();
    unmatched.map(|Unmatched { label, why }| (label.as_str(), why.as_str())).collect()
}

#[test]
fn differences_are_between_cells_of_equal_levels() {
    let first = campaign("/one", 1, &[("none", 100.0), ("some", 50.0)]);
    let second = campaign("/two", 2, &[("some", 60.0), ("more", 30.0)]);
    let difference = difference(&first, &second);
    assert_eq!(
        reasons(&difference),
        [("loss=none", "only `one` has this cell"), ("loss=more", "only `two` has this cell")]
    );
    let [cell] = &difference.cells[..] else { panic!("{difference:?}") };
    assert_eq!((cell.label.as_str(), cell.first.median, cell.second.median), ("loss=some", 51.0, 61.0));
    assert!((cell.change_percent.expect("a change") - 1000.0 / 51.0).abs() < 1e-9);
    assert_eq!((cell.a12, cell.too_few, cell.words().as_str()), (1.0, true, "n too small to tell"));
    // Two values against two: 2 of the 6 orders are as extreme.
    assert!((cell.p - 1.0 / 3.0).abs() < 1e-12 && (cell.corrected - cell.p).abs() < 1e-12);
}

#[test]
fn a_campaign_does_not_differ_from_itself() {
    let one = campaign("/one", 1, &[("none", 100.0), ("some", 50.0)]);
    let difference = difference(&one, &one);
    assert_eq!(difference.cells.len(), 2);
    for cell in &difference.cells {
        assert_eq!((cell.change_percent, cell.words().as_str()), (Some(0.0), "n too small to tell"));
        let more = CellDifference { too_few: false, ..cell.clone() };
        assert_eq!(more.words(), "negligible: neither is higher");
        assert_eq!(
            CellDifference { a12: 1.0, magnitude: Magnitude::Large, ..more }.words(),
            "large: higher in 100 % of pairs"
        );
        assert!((cell.corrected - 1.0).abs() < 1e-12);
    }
}

/// Each cell has one reason, and the true one: which campaign lacks what.
#[test]
fn each_cell_that_is_not_compared_says_what_is_missing_and_where() {
    let levels = [("good", 1.0), ("bad", 2.0), ("late", 3.0), ("unrun", 4.0), ("other", 5.0), ("odd", 6.0)];
    let first = campaign("/one", 1, &levels);
    let mut second = campaign("/two", 2, &levels);
    for (run, rows) in second.manifest.runs.iter_mut().zip(&mut second.connections) {
        match run.cell {
            1 => run.verdict = RunVerdict::Failed,
            2 => run.verdict = [RunVerdict::Overloaded, RunVerdict::DroppedCall][run.repetition as usize],
            4 => rows[0].workload = "voice".into(),
            5 => rows[0].protocol = results::Protocol::Program,
            _ => {}
        }
    }
    let unrun = |run: &results::RunRecord| run.cell == 3;
    let keep: Vec<bool> = second.manifest.runs.iter().map(|run| !unrun(run)).collect();
    let mut kept = keep.iter();
    second.connections.retain(|_| *kept.next().expect("as many as runs"));
    second.manifest.runs.retain(|run| !unrun(run));
    let difference = difference(&first, &second);
    assert_eq!(difference.cells.iter().map(|cell| &cell.label).collect::<Vec<_>>(), ["loss=good"]);
    assert_eq!(
        reasons(&difference),
        [
            ("loss=bad", "no run of `two` counts: 2 failed"),
            (
                "loss=late",
                "no run of `two` counts: 1 overloaded (--overloaded includes them), 1 with a dropped call"
            ),
            ("loss=unrun", "`two` has no run of this cell"),
            ("loss=other", "none of the 2 counted runs of `two` has a row of workload `w`"),
            ("loss=odd", "none of the 2 counted runs of `two` has a value of goodput"),
        ]
    );
    let names = names();
    let late =
        Difference::of(Pair { first: &first, second: &second, names: &names }, Metric::Goodput, "w", true);
    assert!(late.cells.iter().any(|cell| cell.label == "loss=late"), "counted when asked for");
}

/// A server in the background comes first in each run, and is not compared.
#[test]
fn the_workload_is_the_one_that_figures_of_both_are_about() {
    let served = |name: &str| {
        let mut directory = campaign("/x", 1, &[("none", 100.0)]);
        let planned = |name: &str, background| PlannedWorkload { name: name.into(), background };
        directory.manifest.workloads = vec![planned("nginx", true), planned(name, false)];
        for rows in &mut directory.connections {
            rows[0].workload = name.into();
            rows.insert(0, Connection { workload: "nginx".into(), ..Connection::default() });
        }
        directory
    };
    let names = names();
    let (page, other) = (served("page"), served("other"));
    let pair = |first, second| Pair { first, second, names: &names };
    assert_eq!(pair(&page, &page).workload(None).as_deref(), Ok("page"));
    assert_eq!(pair(&page, &page).workload(Some("nginx")).as_deref(), Ok("nginx"));
    assert_eq!(pair(&page, &other).workload(Some("nginx")).as_deref(), Ok("nginx"));
    let error = |pair: Pair<'_>, asked| pair.workload(asked).expect_err("no such workload").to_string();
    assert_eq!(
        error(pair(&page, &other), None),
        "the figures of `one` (`page`) and of `two` (`other`) show different workloads: choose one that both have with \
         --workload"
    );
    assert_eq!(
        error(pair(&page, &other), Some("page")),
        "`two` has no workload `page`: its workloads are other, nginx"
    );
    assert_eq!(pair(&page, &other).common_cells(), 1);
    let apart = campaign("/two", 2, &[("more", 30.0)]);
    assert_eq!(pair(&page, &apart).common_cells(), 0);
}
