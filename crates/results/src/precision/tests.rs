use super::stop::stop;
use super::*;
use crate::RunVerdict::{self, Failed, Good, Overloaded};
use crate::example::{campaign, cells, factors, selection};
use crate::requirement::values::Outcome;
use crate::selection::SelectionError;
use crate::{Besides, Directory};
use std::collections::BTreeSet;

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

/// So many values that swing by this much around 1000 bit/s.
fn swing(count: u32, by: f64) -> Vec<(RunVerdict, f64)> {
    (0..count).map(|number| (Good, if number % 2 == 0 { 1000.0 - by } else { 1000.0 + by })).collect()
}

fn rule(of: &[(&str, &[&str])]) -> Precision {
    Precision { of: selection(of), looks: LookAt::Every, ..Precision::new(Metric::Goodput, 0.02) }
}

fn stopped(directory: &Directory, rule: &Precision) -> Vec<Stop> {
    let looks = rule.looks(10, 40).expect("looks");
    stops(directory, rule, &looks, Besides::default()).expect("stops")
}

const ONE: &[(&str, &[&str])] = &[("lite", &["off"]), ("loss", &["none"])];

/// With values of 1000 ± d, an even number n of them has the half width t·d/√(n − 1): for d = 50
/// it is at most 20 from 27 on, where t of 26 degrees of freedom is 2.056.
#[test]
fn a_cell_stops_at_the_first_number_at_which_it_is_precise_enough() {
    let directory = runs(&[(0, &swing(40, 50.0))]);
    let [only] = &stopped(&directory, &rule(ONE))[..] else { panic!("one cell") };
    assert!(only.reached);
    let t = 2.045_230; // 29 degrees of freedom: at 27 and 29 the odd value moves the mean.
    let half = only.half_width().expect("a width");
    assert!(half <= 0.02, "{only:?}");
    let before = stopped(&runs(&[(0, &swing(only.repetitions - 1, 50.0))]), &rule(ONE));
    assert!(!before[0].reached && before[0].half_width().expect("a width") > 0.02, "{before:?}");
    let thirty = stopped(&runs(&[(0, &swing(30, 60.0))]), &rule(ONE));
    let expected = t * 60.0 / 29.0_f64.sqrt() / 1000.0;
    assert!((thirty[0].half_width().expect("a width") - expected).abs() < 1e-6, "{thirty:?}");
    assert_eq!((thirty[0].repetitions, thirty[0].mean), (30, Some(1000.0)));
}

#[test]
fn a_cell_that_varies_too_much_goes_on_to_the_last_look() {
    let directory = runs(&[(0, &swing(40, 500.0)), (1, &swing(10, 500.0)), (2, &swing(10, 1.0))]);
    let all = stopped(&directory, &rule(&[("lite", &["off"])]));
    let said: Vec<_> = all.iter().map(|stop| (stop.cell, stop.repetitions, stop.reached)).collect();
    assert_eq!(said, [(0, 40, false), (1, 10, false), (2, 10, true)]);
    assert_eq!(cells_open(&all), BTreeSet::from([0, 1]));
}

/// What came after the look that decided is no part of the stop: a resumed campaign stops where an
/// uninterrupted one does.
#[test]
fn later_runs_do_not_change_where_a_cell_stopped() {
    let few = [swing(10, 1.0), vec![(Good, 1.0); 5]].concat();
    let [only] = &stopped(&runs(&[(0, &few)]), &rule(ONE))[..] else { panic!("one cell") };
    assert_eq!((only.repetitions, only.reached, only.mean), (10, true, Some(1000.0)));
}

#[test]
fn both_cells_of_a_pair_are_repeated() {
    // Both swing by half, but together.
    let of = |factor: f64| -> Vec<_> {
        swing(20, 500.0).into_iter().map(|(verdict, value)| (verdict, factor * value)).collect()
    };
    let directory = runs(&[(1, &of(1.0)), (4, &of(1.5)), (2, &of(1.0)), (5, &swing(20, 1.0))]);
    let against = Some(selection(&[("lite", &["off"])]));
    let pairs = Precision { against, ..rule(&[("loss", &["one", "two"])]) };
    let all = stopped(&directory, &pairs);
    let said: Vec<_> =
        all.iter().map(|stop| (stop.cell, stop.reference, stop.repetitions, stop.reached)).collect();
    assert_eq!(said, [(4, Some(1), 10, true), (5, Some(2), 20, false)]);
    assert_eq!(all[0].mean, Some(1.5));
    assert_eq!(cells_open(&all), BTreeSet::from([2, 5]));
    assert_eq!(
        pairs.in_words(),
        "the 95 % interval of the mean of goodput over lite=off is within 2 % of it"
    );
}

#[test]
fn runs_without_a_value_are_told() {
    let mut with = swing(12, 1.0);
    with[3] = (Failed, 0.0);
    with[4] = (Overloaded, 5.0);
    let [only] = &stopped(&runs(&[(0, &with)]), &rule(ONE))[..] else { panic!("one cell") };
    assert_eq!((only.repetitions, only.values, only.reached), (10, 8, true));
    assert_eq!(
        only.notes,
        ["1 of 10 without a value: curl: exit status 7", "1 of 10 without a value: overloaded"]
    );
    let none = vec![Outcome::Failed("all of them".into()); 10];
    let looks = Looks::new(10, 10);
    let stop = stop(0.02, &looks, &StudentEnds::separate(0.95, &looks), &none);
    assert_eq!((stop.reached, stop.mean, stop.low, stop.half_width()), (false, None, None, None));
}

/// By the virtual clock, a cell in which nothing is random has equal runs.
#[test]
fn equal_values_are_precise() {
    for value in [0.0, 7.0] {
        let [only] = &stopped(&runs(&[(0, &[(Good, value); 10])]), &rule(ONE))[..] else {
            panic!("one cell")
        };
        assert_eq!((only.reached, only.half_width()), (true, Some(0.0)));
    }
    let [around_zero] = &stopped(&runs(&[(0, &[(Good, 0.0), (Good, 1.0)])]), &rule(ONE))[..] else {
        panic!("one cell")
    };
    assert!(!around_zero.reached);
}

#[test]
fn looks_that_share_the_error_need_more_repetitions() {
    let directory = runs(&[(0, &swing(40, 31.0))]);
    let every = stopped(&directory, &rule(ONE)).remove(0).repetitions;
    let few = stopped(&directory, &Precision { looks: LookAt::Few, ..rule(ONE) }).remove(0).repetitions;
    assert!(every < few, "{every} and {few}");
    assert!([10, 14, 20, 28, 40].contains(&few));
}

#[test]
fn what_is_wrong_is_found_before_anything_runs() {
    let bulk = ["bulk".to_owned()];
    let check = |rule: &Precision| rule.check(&factors(), &bulk, &cells());
    let good = rule(ONE);
    assert_eq!(check(&good), Ok(()));
    let itself = Precision { against: Some(selection(ONE)), ..good.clone() };
    assert_eq!(check(&itself), Err(SelectionError::NoCell { without: true }.into()));
    let workload = Precision { workload: Some("bluk".into()), ..good.clone() };
    assert_eq!(check(&workload).expect_err("an error").field(), "workload");
    let confidence = Precision { confidence: 1.0, ..good.clone() };
    assert_eq!(check(&confidence).expect_err("an error").field(), "confidence");
    assert_eq!(good.looks(9, 40), Err(PrecisionError::TooFew { least: 9 }));
    assert_eq!(good.looks(10, 5).expect("looks").repetitions(), [10], "the least number is always made");
    for (text, share) in [("2 %", 0.02), ("0.5%", 0.005)] {
        assert_eq!(within(text), Ok(share));
    }
    for text in ["2", "0 %", "100 %", "-1 %", "two %", ""] {
        let error = within(text).expect_err("an error").to_string();
        assert_eq!(error, format!("`{text}` is not a percentage above 0 % and below 100 %, such as `2 %`"));
    }
    let error = "evry".parse::<LookAt>().expect_err("an error").to_string();
    assert!(error.starts_with("there is no `evry`: did you mean `every`?"), "{error}");
}

#[test]
fn a_manifest_has_the_rule_and_the_stops() {
    let directory = runs(&[(0, &swing(40, 31.0))]);
    let rule = rule(ONE);
    let control = RunControl { stops: stopped(&directory, &rule), rule };
    let text = serde_json::to_string(&control).expect("JSON");
    assert_eq!(serde_json::from_str::<RunControl>(&text).expect("a rule"), control);
}
