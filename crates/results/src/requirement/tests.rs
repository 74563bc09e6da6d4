use super::values::{Outcome, outcomes};
use super::*;
use crate::RunVerdict::{self, Failed, Good, Overloaded};
use crate::example::{campaign, cells, factors, selection};
use crate::selection::SelectionError;
use crate::statistics::{Ends, QuantileEnds};
use crate::{Besides, Directory};
use std::collections::BTreeSet;

/// Goodput of at least `bound` in the cells that `of` selects.
fn at_least(bound: &str, of: &[(&str, &[&str])]) -> Requirement {
    Requirement {
        title: "fast enough".into(),
        line: 3,
        metric: Metric::Goodput,
        workload: None,
        of: selection(of),
        against: None,
        statistic: Statistic::MEDIAN,
        at_least: Some(Bound::parse("at-least", bound, Metric::Goodput, false).expect("a bound")),
        at_most: None,
        confidence: CONFIDENCE,
    }
}

/// A campaign whose cells have these runs, repetition by repetition.
fn runs(of: &[(u32, &[(RunVerdict, f64)])]) -> Directory {
    let rows: Vec<_> = of
        .iter()
        .flat_map(|(cell, runs)| runs.iter().map(|(verdict, value)| (*cell, *verdict, *value)))
        .collect();
    let mut directory = campaign(&rows);
    let numbers = of.iter().flat_map(|(_, runs)| 0..runs.len() as u32);
    for (run, repetition) in directory.manifest.runs.iter_mut().zip(numbers) {
        run.repetition = repetition;
        if run.verdict == Failed {
            run.reasons = vec!["curl: exit status 7".into()];
        }
    }
    directory
}

/// Ten values around 1000 bit/s.
fn values() -> Vec<(RunVerdict, f64)> {
    (0..10).map(|number| (Good, f64::from(960 + 10 * number))).collect()
}

fn judged(directory: &Directory, requirement: &Requirement) -> Vec<Judgement> {
    judge(directory, requirement, &Looks::new(10, 40), &BTreeSet::new(), Besides::default()).expect("judged")
}

const ONE: &[(&str, &[&str])] = &[("lite", &["off"]), ("loss", &["none"])];

#[test]
fn a_median_passes_fails_or_is_not_decided() {
    let directory = runs(&[(0, &values())]);
    for (bound, verdict) in [
        ("900 bit/s", Verdict::Pass),
        ("0.97 kbit/s", Verdict::Pass),
        ("980 bit/s", Verdict::NotDecided),
        ("1020 bit/s", Verdict::NotDecided),
        ("1.1 kbit/s", Verdict::Fail),
    ] {
        let [only] = &judged(&directory, &at_least(bound, ONE))[..] else { panic!("one cell") };
        assert_eq!((only.verdict, only.repetitions), (verdict, 10), "{bound}");
        assert_eq!(only.figure, Some(1005.0));
        // Of ten values at the first of five looks: the second and the ninth.
        assert_eq!(only.ends, Some(Ends { low: 970.0, high: 1040.0 }));
        assert_eq!(only.notes, Vec::<String>::new());
    }
}

#[test]
fn a_verdict_is_that_of_the_first_look_that_decides() {
    let later = [values(), vec![(Good, 1.0); 4]].concat();
    let [only] = &judged(&runs(&[(0, &later)]), &at_least("900 bit/s", ONE))[..] else { panic!("one cell") };
    assert_eq!((only.verdict, only.repetitions), (Verdict::Pass, 10));
}

#[test]
fn every_selected_cell_is_judged_and_what_is_open_goes_on() {
    let (fast, slow) = (values(), vec![(Good, 5.0); 10]);
    let directory = runs(&[(0, &fast), (1, &slow), (2, &fast[..3])]);
    let all = judged(&directory, &at_least("900 bit/s", &[("lite", &["off"])]));
    let verdicts: Vec<_> = all.iter().map(|judgement| judgement.verdict).collect();
    assert_eq!(verdicts, [Verdict::Pass, Verdict::Fail, Verdict::NotDecided]);
    assert_eq!(all[2].notes, ["3 of 10 repetitions have ended"]);
    assert_eq!(cells_undecided(&all), BTreeSet::from([2]));
    assert_eq!(all.iter().map(|judgement| judgement.verdict).max(), Some(Verdict::Fail));
}

/// Nine of ten runs reach the bound by far, but they are survivors.
#[test]
fn a_failed_run_fails() {
    let mut with = values();
    with[4] = (Failed, 0.0);
    let [only] = &judged(&runs(&[(0, &with)]), &at_least("1 bit/s", ONE))[..] else { panic!("one cell") };
    assert_eq!(only.verdict, Verdict::Fail);
    assert_eq!(only.notes, ["1 of 10 runs failed: curl: exit status 7"]);
}

/// Its value could be any: it moves both ends outwards.
#[test]
fn an_overloaded_run_could_have_had_any_value() {
    let mut with = values();
    with[0] = (Overloaded, 960.0);
    let directory = runs(&[(0, &with)]);
    let [only] = &judged(&directory, &at_least("970 bit/s", ONE))[..] else { panic!("one cell") };
    assert_eq!((only.verdict, only.ends), (Verdict::Pass, Some(Ends { low: 970.0, high: 1050.0 })));
    assert_eq!(only.notes, ["1 of 10 runs without a value: overloaded"]);
    with[1] = (Overloaded, 970.0);
    let directory = runs(&[(0, &with)]);
    let [only] = &judged(&directory, &at_least("1 bit/s", ONE))[..] else { panic!("one cell") };
    assert_eq!(only.verdict, Verdict::NotDecided, "{only:?}");
    let counted =
        judge(&directory, &at_least("970 bit/s", ONE), &Looks::new(10, 40), &BTreeSet::new(), true.into());
    assert_eq!(counted.expect("judged")[0].verdict, Verdict::Pass, "--overloaded counts it");
}

#[test]
fn a_mean_of_equal_values_is_decided_only_where_nothing_is_random() {
    let directory = runs(&[(0, &[(Good, 1000.0); 10])]);
    let mean = Requirement { statistic: Statistic::Mean, ..at_least("900 bit/s", ONE) };
    let [only] = &judged(&directory, &mean)[..] else { panic!("one cell") };
    assert_eq!(only.verdict, Verdict::NotDecided);
    assert!(only.notes[0].starts_with("all values are equal"), "{:?}", only.notes);
    let exact = BTreeSet::from([0]);
    let looks = Looks::new(1, 40);
    for (bound, verdict) in [("1000 bit/s", Verdict::Pass), ("1001 bit/s", Verdict::Fail)] {
        let mean = Requirement { statistic: Statistic::Mean, ..at_least(bound, ONE) };
        let all = judge(&directory, &mean, &looks, &exact, Besides::default()).expect("judged");
        assert_eq!((all[0].verdict, all[0].repetitions), (verdict, 1), "{bound}: at once");
    }
}

#[test]
fn ratios_are_of_repetitions_with_the_same_seed() {
    // Both swing by a factor of ten, but together.
    let swing: Vec<f64> = (0..10).map(|number| if number % 2 == 0 { 1000.0 } else { 10_000.0 }).collect();
    let of = |factor: f64| swing.iter().map(|value| (Good, factor * value)).collect::<Vec<_>>();
    let directory = runs(&[(1, &of(1.0)), (4, &of(1.5))]);
    let mut ratio = at_least("0 bit/s", &[("loss", &["one"])]);
    ratio.against = Some(selection(&[("lite", &["off"])]));
    for (bound, verdict) in [("1.4", Verdict::Pass), ("140 %", Verdict::Pass), ("1.6", Verdict::Fail)] {
        ratio.at_least = Some(Bound::parse("at-least", bound, Metric::Goodput, true).expect("a bound"));
        let [only] = &judged(&directory, &ratio)[..] else { panic!("one cell") };
        assert_eq!((only.verdict, only.figure), (verdict, Some(1.5)), "{bound}");
        assert_eq!(only.reference.as_ref().map(|cell| cell.number), Some(1));
    }
    assert_eq!(ratio.figure(1.5), "1.5");
    ratio.at_least = Some(Bound::parse("at-least", "140 %", Metric::Goodput, true).expect("a bound"));
    assert_eq!((ratio.figure(1.5).as_str(), ratio.bounds_in_words().as_str()), ("150 %", "at least 140 %"));
}

#[test]
fn a_ratio_to_nothing_is_unknown() {
    let directory = runs(&[(1, &[(Good, 0.0); 10]), (4, &values())]);
    let mut ratio = at_least("0 bit/s", &[("loss", &["one"])]);
    ratio.against = Some(selection(&[("lite", &["off"])]));
    let [only] = &judged(&directory, &ratio)[..] else { panic!("one cell") };
    assert_eq!(only.verdict, Verdict::NotDecided);
    assert_eq!(only.notes, ["10 of 10 runs without a value: the value in the cell to compare with is 0"]);
}

#[test]
fn extremes_are_those_of_the_runs_that_were_made() {
    let directory = runs(&[(0, &values())]);
    let max = |bound: &str| Requirement {
        statistic: Statistic::Max,
        at_most: Some(Bound::parse("at-most", bound, Metric::Goodput, false).expect("a bound")),
        at_least: None,
        ..at_least("0 bit/s", ONE)
    };
    for (bound, verdict) in [("1050 bit/s", Verdict::Pass), ("1049 bit/s", Verdict::Fail)] {
        let [only] = &judged(&directory, &max(bound))[..] else { panic!("one cell") };
        assert_eq!((only.verdict, only.figure, only.ends), (verdict, Some(1050.0), None));
    }
    let mut with = values();
    with[0] = (Overloaded, 0.0);
    let [only] = &judged(&runs(&[(0, &with)]), &max("1050 bit/s"))[..] else { panic!("one cell") };
    assert_eq!(only.verdict, Verdict::NotDecided, "the overloaded run may have been faster");
}

#[test]
fn a_range_has_two_ways_to_fail() {
    let directory = runs(&[(0, &values())]);
    let between = |least: &str, most: &str| Requirement {
        at_most: Some(Bound::parse("at-most", most, Metric::Goodput, false).expect("a bound")),
        ..at_least(least, ONE)
    };
    for (least, most, verdict) in [
        ("900 bit/s", "1100 bit/s", Verdict::Pass),
        ("1100 bit/s", "1200 bit/s", Verdict::Fail),
        ("800 bit/s", "900 bit/s", Verdict::Fail),
        ("1000 bit/s", "1100 bit/s", Verdict::NotDecided),
    ] {
        let [only] = &judged(&directory, &between(least, most))[..] else { panic!("one cell") };
        assert_eq!(only.verdict, verdict, "{least} to {most}");
    }
}

#[test]
fn repetitions_count_from_the_first_without_gaps() {
    let mut directory = runs(&[(0, &values())]);
    directory.manifest.runs.remove(5);
    directory.connections.remove(5);
    let found = outcomes(&directory, 0, Metric::Goodput, "bulk", Besides::default());
    assert_eq!(found.len(), 5);
    assert_eq!(found[0], Outcome::Value(960.0));
    assert_eq!(
        outcomes(&directory, 0, Metric::Loss, "bulk", Besides::default())[0],
        Outcome::Unknown("no value of loss".into())
    );
}

#[test]
fn bounds_have_units_of_the_metric() {
    let parse = |text, metric, ratio| Bound::parse("at-least", text, metric, ratio);
    let value = |text, metric, ratio| parse(text, metric, ratio).map(|bound| bound.value);
    assert_eq!(value("4 Mbit/s", Metric::Goodput, false), Ok(4e6));
    assert_eq!(value("4e3kbit/s", Metric::Goodput, false), Ok(4e6));
    assert_eq!(value("300 ms", Metric::Completion, false), Ok(0.3));
    assert_eq!(value("5 %", Metric::RetransmissionRate, false), Ok(5.0));
    assert_eq!(value("5", Metric::Timeouts, false), Ok(5.0));
    assert_eq!(value("5events", Metric::LossEvents, false), Ok(5.0));
    assert_eq!(value("0.9", Metric::Fairness, false), Ok(0.9));
    assert_eq!(value("95 %", Metric::Goodput, true), Ok(0.95));
    let wrong = |text, metric, ratio| parse(text, metric, ratio).expect_err("an error").to_string();
    assert_eq!(
        wrong("4", Metric::Goodput, false),
        "the unit of `4` does not fit: expected one of goodput (bit/s, kbit/s, Mbit/s, Gbit/s, byte/s, kB/s), such as `4 bit/s`"
    );
    assert_eq!(
        wrong("4 mbit", Metric::Goodput, true),
        "the unit of `4 mbit` does not fit: expected a ratio to `against`, such as `1.2` or `120 %`"
    );
    assert_eq!(wrong("fast", Metric::Rtt, false), "`fast` is not a number with a unit, such as `4 Mbit/s`");
}

#[test]
fn statistics_have_names() {
    for name in ["median", "mean", "p95", "p99.9", "p5", "min", "max"] {
        assert_eq!(name.parse::<Statistic>().map(|known| known.to_string()), Ok(name.to_owned()));
    }
    for name in ["p0", "p100", "95", "average", "pfive"] {
        assert!(name.parse::<Statistic>().is_err(), "{name}");
    }
    let error = "medain".parse::<Statistic>().expect_err("an error").to_string();
    assert!(error.starts_with("there is no statistic `medain`: did you mean `median`?"), "{error}");
}

#[test]
fn what_is_wrong_is_found_before_anything_runs() {
    let bulk = ["bulk".to_owned()];
    let check = |requirement: &Requirement| requirement.check(&factors(), &bulk, &cells());
    let good = at_least("1 bit/s", ONE);
    assert_eq!(check(&good), Ok(()));
    let unknown = Requirement { workload: Some("bluk".into()), ..good.clone() };
    assert!(matches!(check(&unknown), Err(RequirementError::Selection(SelectionError::Workload { .. }))));
    let itself = Requirement { against: Some(selection(ONE)), ..good.clone() };
    assert_eq!(check(&itself), Err(SelectionError::NoCell { without: true }.into()));
    let several = Requirement {
        against: Some(selection(&[("lite", &["on"]), ("loss", &["one", "two"])])),
        ..good.clone()
    };
    assert_eq!(
        check(&several),
        Err(SelectionError::References { cell: "lite=off, loss=none".into(), found: 2 }.into())
    );
    assert_eq!(check(&Requirement { at_least: None, ..good.clone() }), Err(RequirementError::Unbounded));
    for confidence in [0.4, 1.0, f64::NAN] {
        let error = check(&Requirement { confidence, ..good.clone() }).expect_err("an error");
        assert_eq!(error.field(), "confidence");
    }
    let at_most = Some(Bound::parse("at-most", "0.5 bit/s", Metric::Goodput, false).expect("a bound"));
    let error = check(&Requirement { at_most, ..good.clone() }).expect_err("an error");
    assert_eq!(
        error.to_string(),
        "`at-least` = 1 bit/s is above `at-most` = 0.5 bit/s: no value is between them"
    );
}

/// At 95 % an upper end of the 95th percentile takes 59 values.
#[test]
fn what_could_never_pass_is_found_as_well() {
    let p95 = Requirement {
        statistic: Statistic::Quantile(0.95),
        at_most: Some(Bound::parse("at-most", "9 bit/s", Metric::Goodput, false).expect("a bound")),
        at_least: None,
        ..at_least("1 bit/s", ONE)
    };
    let needed = p95.needs_more_than(&Looks::new(10, 40)).expect("more");
    assert!(QuantileEnds::new(0.95, 0.05, &Looks::new(10, needed)).exist().1);
    assert!((59..70).contains(&needed), "{needed}");
    assert_eq!(p95.needs_more_than(&Looks::new(10, needed)), None);
    let mean = Requirement { statistic: Statistic::Mean, ..at_least("1 bit/s", ONE) };
    assert_eq!(mean.needs_more_than(&Looks::new(3, 6)), Some(10));
    assert_eq!(at_least("1 bit/s", ONE).needs_more_than(&Looks::new(3, 4)), Some(5));
}
