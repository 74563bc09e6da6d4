use super::*;
use crate::RunVerdict::{self, Failed, Good, Overloaded};
use crate::example::campaign;

/// A campaign of the first cell with these runs.
fn runs(of: &[(RunVerdict, f64)]) -> Directory {
    let rows: Vec<_> = of.iter().map(|(verdict, value)| (0, *verdict, *value)).collect();
    let mut directory = campaign(&rows);
    directory.manifest.cells.truncate(1);
    directory
}

fn good(values: impl IntoIterator<Item = u32>) -> Directory {
    runs(&values.into_iter().map(|value| (Good, f64::from(value))).collect::<Vec<_>>())
}

fn changes(first: &Directory, second: &Directory, tolerance: f64) -> Change {
    let comparison = Comparison {
        first,
        second,
        workload: "bulk",
        tolerance,
        confidence: 0.95,
        besides: Besides::default(),
    };
    let mut all = compare(&comparison, &[Metric::Goodput]);
    assert_eq!(all.len(), 1);
    all.remove(0)
}

#[test]
fn equal_runs_are_identical() {
    let directory = good([1000; 3]);
    let change = changes(&directory, &directory, 0.0);
    assert!(change.identical);
    assert_eq!(
        (change.verdict, change.change, change.low, change.high),
        (Verdict::Pass, Some(0.0), 0.0, 0.0)
    );
}

/// The values vary by a factor of ten, and each pair by a tenth.
#[test]
fn a_regression_shows_although_the_seeds_differ_more() {
    let before = good((1..=10).map(|number| 1000 * number));
    let after = good((1..=10).map(|number| 900 * number));
    let change = changes(&before, &after, 5.0);
    assert_eq!(change.verdict, Verdict::Fail);
    assert!((change.change.expect("a change") - 10.0).abs() < 1e-9);
    assert!((change.p_regressed - 0.5_f64.powi(10)).abs() < 1e-12, "{change:?}");
    let change = changes(&before, &after, 15.0);
    assert_eq!(change.verdict, Verdict::Pass, "it is tolerated");
    let change = changes(&after, &before, 0.0);
    assert_eq!(change.verdict, Verdict::Pass, "it improved");
}

#[test]
fn few_pairs_decide_nothing() {
    let change = changes(&good([1000; 4]), &good([900; 4]), 5.0);
    assert_eq!(change.verdict, Verdict::NotDecided);
    assert_eq!((change.low, change.high), (f64::NEG_INFINITY, f64::INFINITY));
}

#[test]
fn what_failed_only_now_regressed() {
    let before = good([1000; 10]);
    let mut with = vec![(Good, 1000.0); 10];
    with[3] = (Failed, 0.0);
    let change = changes(&before, &runs(&with), 5.0);
    assert_eq!(change.verdict, Verdict::Fail);
    assert!(change.notes[0].contains("first repetition 3"), "{:?}", change.notes);
    let change = changes(&runs(&with), &before, 5.0);
    assert_eq!(change.verdict, Verdict::Pass, "nine pairs are enough, and the tenth counts for neither");
    let change = changes(&runs(&with), &runs(&with), 5.0);
    assert_eq!((change.verdict, change.identical), (Verdict::Pass, false));
}

#[test]
fn pairs_without_a_value_count_for_neither_side() {
    let before = good([1000; 6]);
    let mut with = vec![(Good, 900.0); 6];
    assert_eq!(changes(&before, &runs(&with), 5.0).verdict, Verdict::Fail);
    with[0] = (Overloaded, 900.0);
    let change = changes(&before, &runs(&with), 5.0);
    assert_eq!(
        (change.verdict, change.notes),
        (Verdict::NotDecided, vec!["1 of 6 pairs without a value".into()])
    );
}

/// With many comparisons some small p comes by chance.
#[test]
fn many_comparisons_are_corrected() {
    let before = good([1000; 6]);
    let after = good([900; 6]);
    let comparison = Comparison {
        first: &before,
        second: &after,
        workload: "bulk",
        tolerance: 5.0,
        confidence: 0.95,
        besides: Besides::default(),
    };
    let alone = compare(&comparison, &[Metric::Goodput]);
    assert_eq!(alone[0].verdict, Verdict::Fail);
    let all = compare(&comparison, &[Metric::Goodput, Metric::Bytes, Metric::Completion, Metric::LossEvents]);
    let metrics: Vec<_> = all.iter().map(|change| change.metric).collect();
    assert_eq!(
        metrics,
        [Metric::Goodput, Metric::Bytes, Metric::Completion],
        "loss events have no direction"
    );
    assert!(all[2].identical, "all take eight seconds, so only two are tested");
    assert!((all[0].p_regressed - 2.0 * 0.5_f64.powi(6)).abs() < 1e-12);
}

#[test]
fn changes_are_signed_by_what_is_better() {
    let of = |before, after, better| worse_by(before, after, better).to_string();
    assert_eq!(of(100.0, 110.0, Better::Lower), "10");
    assert_eq!(of(100.0, 110.0, Better::Higher), "-10");
    assert_eq!(of(0.0, 0.0, Better::Lower), "0");
    assert_eq!(of(0.0, 2.0, Better::Lower), "inf");
    assert_eq!(of(0.0, 2.0, Better::Higher), "-inf");
}

#[test]
fn what_cannot_be_paired_is_refused_with_what_differs() {
    let one = good([1000; 3]);
    let checked = |first: &Directory, second: &Directory| {
        let ours = &second.manifest;
        check(&first.manifest, ours.seed, ours.clock, &ours.cells)?;
        check_runs(first, second, "bulk")
    };
    let refused = |first: &Directory, second: &Directory| {
        checked(first, second).map_err(|error| error.to_string()).expect_err("refused")
    };
    assert_eq!(checked(&one, &one), Ok(()));
    let mut other = one.clone();
    other.manifest.seed = 8;
    assert_eq!(refused(&one, &other), "its seed is 7, not 8: pairs need the same seed");
    let mut other = one.clone();
    other.manifest.clock = Some(crate::Clock::Virtual);
    assert!(refused(&one, &other).starts_with("it was run with the real clock, not the virtual one"));
    let mut other = one.clone();
    other.manifest.cells[0].levels[0].level = "of".into();
    assert_eq!(
        refused(&other, &one),
        "it has no cell `lite=off, loss=none`: did you mean `lite=of, loss=none`? (expected one of lite=of, loss=none)"
    );
    let mut none = one.clone();
    none.manifest.runs.clear();
    assert_eq!(refused(&none, &one), "cell `lite=off, loss=none` has no repetition in both");
    assert!(check_runs(&one, &one, "other").is_err());
    assert!(notes(&one.manifest, &one.manifest).is_empty());
    let mut newer = one.clone();
    newer.manifest.kernel = "6.18".into();
    assert_eq!(notes(&one.manifest, &newer.manifest), ["the kernel differs: 6.1.0 before, 6.18 now"]);
}
