use super::*;
use crate::PlannedWorkload;
use crate::RunVerdict::{Failed, Good, Overloaded};
use crate::example::{campaign, expectation, factors, selection};

/// 1000 bit/s without loss, less with loss; `lite` regains half of the difference. Cells as in the
/// example.
fn example() -> Directory {
    campaign(&[
        (0, Good, 900.0),
        (0, Good, 1100.0),
        (1, Good, 700.0),
        (1, Good, 900.0),
        (2, Good, 300.0),
        (2, Good, 500.0),
        (2, Overloaded, 1.0),
        (2, Failed, 2.0),
        (3, Good, 1000.0),
        (4, Good, 900.0),
        (5, Good, 700.0),
    ])
}

fn range(low: f64, high: f64) -> Range {
    Range { low, high }
}

/// A server in the background has the first rows of each run: figures are not about it unless it is
/// named.
#[test]
fn an_expectation_without_a_workload_is_about_the_one_that_runs_wait_for() {
    let mut directory = campaign(&[(1, Good, 800.0)]);
    let planned = |name: &str, background| PlannedWorkload { name: name.into(), background };
    directory.manifest.workloads = vec![planned("nginx", true), planned("bulk", false)];
    let server = crate::example::connection("nginx", 5);
    directory.connections[0].insert(0, server);
    let mut one = Expectation { unit: "bit/s".into(), ..expectation() };
    let comparison = compare(&directory, &one);
    assert_eq!((comparison.ours, comparison.workload.as_str()), (Some(range(800.0, 800.0)), "bulk"));
    one.workload = Some("nginx".into());
    let comparison = compare(&directory, &one);
    assert_eq!((comparison.ours, comparison.workload.as_str()), (Some(range(40.0, 40.0)), "nginx"));
}

#[test]
fn one_cell_has_the_statistic_of_its_repetitions() {
    let mut one = expectation();
    one.of = selection(&[("lite", &["off"]), ("loss", &["one"])]);
    let comparison = compare(&example(), &one);
    assert_eq!(comparison.ours, Some(range(0.8, 0.8)), "in kbit/s, as published");
    assert!(comparison.within);
    assert_eq!(comparison.cells, [CellFigure { cell: 1, range: range(0.8, 0.8), runs: 2 }]);
    assert_eq!(comparison.note, "");
    one.unit = "bit/s".into();
    for (statistic, low, high) in [
        ("means", 800.0, 800.0),
        ("median", 800.0, 800.0),
        ("min", 700.0, 700.0),
        ("max", 900.0, 900.0),
        ("range", 700.0, 900.0),
    ] {
        one.statistic = Some(statistic.into());
        assert_eq!(compare(&example(), &one).ours, Some(range(low, high)), "{statistic}");
    }
}

#[test]
fn several_cells_have_a_range_and_say_what_was_left_out() {
    let mut off = expectation();
    off.of = selection(&[("lite", &["off"])]);
    off.unit = "bit/s".into();
    (off.low, off.high) = (450.0, 2000.0);
    let comparison = compare(&example(), &off);
    assert_eq!(comparison.ours, Some(range(400.0, 1000.0)));
    assert!(!comparison.within);
    assert_eq!(
        comparison.note,
        "ours and the published one overlap; runs left out: 1 overloaded and 1 failed"
    );
    off.statistic = Some("range".into());
    assert_eq!(compare(&example(), &off).ours, Some(range(300.0, 1100.0)));
}

#[test]
fn changes_are_against_the_cell_that_differs_in_what_against_names() {
    let mut falls = expectation();
    falls.metric = "degradation".into();
    falls.against = Some(selection(&[("loss", &["none"])]));
    falls.unit = "%".into();
    (falls.low, falls.high) = (10.0, 60.0);
    let comparison = compare(&example(), &falls);
    // Cells 0 and 3 are the references: 1 and 2 are compared with 0, 4 and 5 with 3.
    let means: Vec<_> =
        comparison.cells.iter().map(|cell| (cell.cell, cell.range.low.round(), cell.runs)).collect();
    assert_eq!(means, [(1, 20.0, 2), (2, 60.0, 2), (4, 10.0, 1), (5, 30.0, 1)]);
    assert!(comparison.within, "{comparison:?}");

    falls.metric = "goodput".into();
    let rise = compare(&example(), &falls);
    assert_eq!(rise.ours, Some(range(-60.0, -10.0)));
    assert_eq!(rise.note.split("; ").next(), Some("ours is 20.0 % below the published one"));
}

/// Four runs each, without loss and with, without `lite`; three with `lite`, which are too few for
/// an interval.
#[test]
fn an_interval_is_that_of_the_mean_or_of_the_ratio_of_means() {
    let (none, lossy) = ([900.0, 1100.0, 950.0, 1050.0], [700.0, 900.0, 750.0, 850.0]);
    let runs = [(0, &none[..]), (1, &lossy), (3, &none), (4, &lossy[..3])];
    let runs: Vec<_> =
        runs.iter().flat_map(|(cell, values)| values.iter().map(|value| (*cell, Good, *value))).collect();
    let directory = campaign(&runs);
    let mut one = expectation();
    one.of = selection(&[("lite", &["off"]), ("loss", &["one"])]);
    one.unit = "bit/s".into();
    one.statistic = Some("interval".into());
    let mean = Bootstrap::default().interval(&lossy, Estimator::Mean, &mut stream(0)).expect("an interval");
    for (low, high, within) in
        [(800.0, 800.0, true), (mean.high, 2000.0, true), (0.0, 699.0, false), (901.0, 901.0, false)]
    {
        (one.low, one.high) = (low, high);
        let comparison = compare(&directory, &one);
        let expected = (Some(range(mean.low, mean.high)), within);
        assert_eq!((comparison.ours, comparison.within), expected, "{low} to {high}");
        assert_eq!(comparison.note.is_empty(), within, "{}", comparison.note);
    }

    one.against = Some(selection(&[("loss", &["none"])]));
    one.unit = "%".into();
    let rise = compare(&directory, &one);
    let ours = rise.ours.expect("an interval");
    let ratio = Bootstrap::default().ratio(&lossy, &none, &mut stream(0)).expect("an interval");
    assert_eq!((ours.low, ours.high), ((ratio.low - 1.0) * 100.0, (ratio.high - 1.0) * 100.0));
    assert_eq!(rise.cells[0].runs, 4, "{rise:?}");
    one.metric = "degradation".into();
    assert_eq!(compare(&directory, &one).ours, Some(range(0.0 - ours.high, 0.0 - ours.low)));

    one.of = selection(&[("lite", &["on"]), ("loss", &["one"])]);
    let few = compare(&directory, &one);
    assert_eq!(few.ours, None);
    assert_eq!(few.note, "n too small: an interval needs 4 runs of each cell: lite=on, loss=one");
}

#[test]
fn a_reference_of_several_levels_is_all_their_runs() {
    let mut change = expectation();
    change.of = selection(&[("loss", &["none"]), ("lite", &["off"])]);
    change.against = Some(selection(&[("loss", &["one", "two"])]));
    change.unit = "%".into();
    // 1000 against the mean of 700, 900, 300 and 500.
    let ours = compare(&example(), &change).ours.unwrap();
    assert!((ours.low - 66.667).abs() < 0.001, "{ours:?}");
}

#[test]
fn where_ours_lies_is_said() {
    let ours = |low, high| place(range(low, high), range(3.0, 17.0), "%");
    assert_eq!(ours(20.04, 25.0), "ours is 3.04 % above the published one");
    assert_eq!(ours(0.0, 2.9999), "ours is 0.000100 % below the published one");
    assert_eq!(ours(1.0, 20.0), "ours is wider than the published one and contains it");
    assert_eq!(ours(16.0, 20.0), "ours and the published one overlap");
    assert_eq!(rounded(1234.5), "1234");
}

#[test]
fn what_cannot_be_compared_says_why() {
    let of = |change: &dyn Fn(&mut Expectation)| {
        let mut changed = expectation();
        change(&mut changed);
        let comparison = compare(&example(), &changed);
        assert_eq!((comparison.ours, comparison.within), (None, false));
        comparison.note
    };
    let metric = |metric: &str| of(&|changed| changed.metric = metric.into());
    let hint = |note: String| {
        let (_, hint) = note.split_once(": did you mean ")?;
        hint.split_once(" (expected one of ").map(|(hint, _)| hint.to_owned())
    };
    assert_eq!(hint(metric("godput")).as_deref(), Some("`goodput`?"));
    assert_eq!(hint(metric("degradatoin")).as_deref(), Some("`degradation`?"));
    assert_eq!(
        metric("degradation"),
        "`degradation` needs `against`: the cells whose goodput is the reference"
    );
    assert_eq!(
        of(&|changed| changed.statistic = Some("mode".into())),
        "there is no statistic `mode` (expected one of mean, means, median, min, max, range, interval)"
    );
    assert_eq!(
        of(&|changed| changed.unit = "s".into()),
        "`unit` = `s` does not fit the metric, which is in bit/s"
    );
    assert_eq!(
        of(&|changed| changed.low = 2.0),
        "`low` = 2 and `high` = 1 are not a range: expected finite numbers, `low` at most `high`"
    );
    assert_eq!(
        of(&|changed| changed.workload = Some("web".into())),
        "there is no workload `web` (expected one of bulk)"
    );
    assert_eq!(
        of(&|changed| changed.of = selection(&[("loss", &["three"])])),
        "no cell of this campaign is selected"
    );
    assert_eq!(
        of(&|changed| {
            changed.of = selection(&[("loss", &["none"])]);
            changed.against = Some(selection(&[("loss", &["none"])]));
            changed.unit = "%".into();
        }),
        "no cell of this campaign is selected"
    );
}

#[test]
fn a_campaign_that_has_not_come_to_the_reference_yet_says_so() {
    let mut falls = expectation();
    falls.metric = "degradation".into();
    falls.against = Some(selection(&[("loss", &["none"])]));
    falls.of = selection(&[("lite", &["on"]), ("loss", &["one"])]);
    falls.unit = "%".into();
    let comparison = compare(&campaign(&[(4, Good, 900.0)]), &falls);
    assert_eq!(comparison.ours, None);
    assert_eq!(comparison.note, "no cells to compare with, or their mean is 0, for lite=on, loss=one");
}

#[test]
fn a_plan_is_checked_before_it_is_run() {
    let workloads = ["page".to_owned(), "nginx".to_owned()];
    let error = |of: &[(&str, &[&str])], against: Option<&[(&str, &[&str])]>| {
        let wrong = Expectation {
            of: selection(of),
            against: against.map(selection),
            unit: if against.is_some() { "%" } else { "bit/s" }.into(),
            ..expectation()
        };
        check(&wrong, &factors(), &workloads).err().map(|error| (error.field(), error.to_string()))
    };
    assert_eq!(error(&[("loss", &["none", "two"])], Some(&[("lite", &["off"])])), None);
    let factor = "the plan has no factor `los`: did you mean `loss`? (expected one of lite, loss)";
    assert_eq!(error(&[("los", &["none"])], None), Some(("where", factor.into())));
    let level = "factor `loss` has no level `tow`: did you mean `two`? (expected one of none, one, two)";
    assert_eq!(error(&[("loss", &["none", "tow"])], None), Some(("where", level.into())));
    assert_eq!(error(&[], Some(&[("loss", &["tow"])])), Some(("against", level.into())));
    let nameless = Expectation { metric: "godput".into(), ..expectation() };
    assert!(matches!(check(&nameless, &factors(), &workloads), Err(ExpectationError::Metric { .. })));
    let endless = Expectation { high: f64::NAN, ..expectation() };
    assert!(matches!(check(&endless, &factors(), &workloads), Err(ExpectationError::Range { .. })));
    let of = |workload: &str| Expectation { workload: Some(workload.into()), ..expectation() };
    assert_eq!(check(&of("nginx"), &factors(), &workloads), Ok(()), "a server, if it is named");
    let unknown = check(&of("pge"), &factors(), &workloads).expect_err("no such workload");
    let said = "there is no workload `pge`: did you mean `page`? (expected one of page, nginx)";
    assert_eq!((unknown.field(), unknown.to_string().as_str()), ("workload", said));
}

/// Runs with goodput and retransmissions: cell, bit/s, percent.
fn runs(of: &[(u32, f64, u64)]) -> Directory {
    let mut directory =
        campaign(&of.iter().map(|(cell, goodput, _)| (*cell, Good, *goodput)).collect::<Vec<_>>());
    for (connections, (_, _, percent)) in directory.connections.iter_mut().zip(of) {
        (connections[0].segments, connections[0].retransmissions) = (100, *percent);
    }
    directory
}

/// The fall at a retransmission rate of 2 %, compared with no loss.
fn at() -> Expectation {
    Expectation {
        metric: "degradation".into(),
        against: Some(selection(&[("loss", &["none"])])),
        at: Some(crate::At { metric: "retransmission-rate".into(), value: 2.0, unit: "%".into() }),
        unit: "%".into(),
        ..expectation()
    }
}

/// The line of `statistics::regression`, whose change at 2 % is computed there by hand: a fall of
/// 27.72 %, from 17.16 to 36.79 %.
#[test]
fn a_line_through_the_runs_is_read_at_a_value() {
    let mut fall = at();
    fall.of = selection(&[("lite", &["off"])]);
    (fall.low, fall.high) = (17.0, 37.0);
    // Runs of the reference belong to the line, those of cells that are not selected do not.
    let off = [(0, 1000.0, 0), (1, 900.0, 1), (1, 700.0, 2), (2, 600.0, 3), (4, 1.0, 9)];
    let comparison = compare(&runs(&off), &fall);
    let ours = comparison.ours.expect("a figure");
    assert!((ours.low - 17.161).abs() < 1e-3 && (ours.high - 36.792).abs() < 1e-3, "{ours:?}");
    assert!(comparison.within);
    assert_eq!((comparison.note.as_str(), comparison.cells[0].cell, comparison.cells[0].runs), ("", 0, 4));

    fall.metric = "goodput".into();
    let change = compare(&runs(&off), &fall).ours.expect("a figure");
    assert_eq!((change.low, change.high), (-ours.high, -ours.low), "a rise is positive");
}

#[test]
fn each_reference_has_a_line_of_its_own() {
    // From 1000 to 800 at 2 %, and from 500 to 250 at 1 %, which is 0 at 2 %.
    let two = [(0, 1000.0, 0), (1, 900.0, 1), (1, 800.0, 2), (3, 500.0, 0), (5, 500.0, 0), (5, 250.0, 1)];
    let comparison = compare(&runs(&two), &at());
    assert_eq!(comparison.ours, Some(range(20.0, 100.0)), "the points are on the lines");
    assert_eq!(
        comparison.cells.iter().map(|line| (line.cell, line.runs)).collect::<Vec<_>>(),
        [(0, 3), (3, 3)]
    );
    assert!(comparison.note.contains("extrapolated: the runs have at most 1.00 %"), "{}", comparison.note);

    let none = compare(&runs(&[(0, 1000.0, 1), (1, 800.0, 1), (1, 700.0, 1)]), &at());
    assert_eq!(none.ours, None);
    let why =
        "no line through the 3 runs with lite=off, loss=one: retransmission-rate is the same in all runs";
    assert!(none.note.contains(why), "{}", none.note);
}

/// Two runs always lie on a line.
#[test]
fn two_runs_are_no_line() {
    let two = compare(&runs(&[(0, 1000.0, 0), (1, 800.0, 2)]), &at());
    assert_eq!(two.ours, None);
    let why = "no line through the 2 runs with lite=off, loss=one: n too small: a line needs 3 runs";
    assert!(two.note.contains(why), "{}", two.note);
}

#[test]
fn a_line_that_cannot_be_read_says_why() {
    let error = |change: &dyn Fn(&mut Expectation)| {
        let mut changed = at();
        change(&mut changed);
        check(&changed, &factors(), &[]).err().map(|error| error.to_string()).unwrap_or_default()
    };
    let place = |metric: &str, value: f64, unit: &str| {
        Some(crate::At { metric: metric.into(), value, unit: unit.into() })
    };
    assert_eq!(error(&|_| ()), "");
    let unknown = error(&|changed| changed.at = place("retransmision-rate", 5.0, "%"));
    let said =
        "`at`: there is no metric `retransmision-rate`: did you mean `retransmission-rate`? (expected one of";
    assert!(unknown.starts_with(said), "{unknown}");
    assert_eq!(
        error(&|changed| changed.at = place("retransmission-rate", 5.0, "s")),
        "`at`: `unit` = `s` does not fit the metric, which is in %"
    );
    for value in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let expected = format!(
            "`at`: `value` = {value} is out of range: expected a number above 0, where the line starts"
        );
        assert_eq!(error(&|changed| changed.at = place("retransmission-rate", value, "%")), expected);
    }
    assert_eq!(
        error(&|changed| (changed.metric, changed.against) = ("goodput".into(), None)),
        "`at` needs `against`: the cells from which the line through the runs starts"
    );
    assert_eq!(
        error(&|changed| changed.statistic = Some("range".into())),
        "`at` reads one line through all runs, so `statistic` = `range` has no meaning: leave it out"
    );
    assert_eq!(
        error(&|changed| changed.at = place("rtt", 0.2, "s")),
        "",
        "another unit of the same quantity"
    );
}

#[test]
fn what_a_part_of_a_plan_is_about() {
    let part = campaign(&[(0, Good, 1.0)]);
    let about = |levels: &[(&str, &[&str])]| {
        let mut expectation = expectation();
        expectation.of = selection(levels);
        concerns(&part, &expectation)
    };
    assert!(about(&[("loss", &["none"])]) && about(&[]));
    assert!(!about(&[("loss", &["three"])]));
}
