//! Tests of traces of error events: valid notations, replay, and errors for invalid ones.

use super::*;
use crate::stage::spec::FromFile;

const TRACE: &str = "start,end\r\n# two bursts\n10,20 # ms\n\n30ms;0.04s\n40ms 45.5ms\n1s\t1.25s\n";

fn times(text: &str) -> Vec<(u64, u64)> {
    let trace = ErrorTrace::parse("errors.csv", text).unwrap_or_else(|error| panic!("{error}"));
    trace.bad_times().map(|(start, end)| (start.as_nanos(), end.as_nanos())).collect()
}

fn replay(text: &str, repeat: Option<Span>) -> Driven {
    let file = FromFile::with("errors.csv", ErrorTrace::parse("errors.csv", text).expect("a trace"));
    Driven::new(ErrorSpec::new(ProcessSpec::Trace { file, repeat }), 1)
}

#[test]
fn every_way_to_write_a_trace_reads() {
    // Adjacent bad times are merged.
    assert_eq!(
        times(TRACE),
        [(10_000_000, 20_000_000), (30_000_000, 45_500_000), (1_000_000_000, 1_250_000_000)]
    );
    assert_eq!(times("0,inf"), [(0, u64::MAX)]);
    assert_eq!(times(".5,1."), [(500_000, 1_000_000)]);
}

#[test]
fn errors_name_file_line_field_value_and_what_would_be_right() {
    for (text, error) in [
        ("1,2\n3,x\n", "errors.csv:2: end `x`: must be a time such as 120, 120ms or 1.5s"),
        ("# no\n-1,2", "errors.csv:2: start `-1`: must be a time such as 120, 120ms or 1.5s"),
        ("inf,inf", "errors.csv:1: start `inf`: must be a time such as 120, 120ms or 1.5s"),
        ("5,5", "errors.csv:1: end `5`: must be later than the start"),
        ("1,5\n4,6", "errors.csv:2: start `4`: must not be earlier than the end in the line above"),
        ("1,2,3", "errors.csv:1: start,end `1,2,3`: must have two fields: start and end of a bad time"),
        ("7", "errors.csv:1: start,end `7`: must have two fields: start and end of a bad time"),
        (
            "\n# nothing\n",
            "errors.csv:2: start,end ``: there must be at least one line with a start and an end",
        ),
        ("1,2\nstart,end", "errors.csv:2: start `start`: must be a time such as 120, 120ms or 1.5s"),
    ] {
        assert_eq!(ErrorTrace::parse("errors.csv", text).expect_err(text).to_string(), error);
    }
}

#[test]
fn a_trace_is_bad_when_it_says_so_and_then_good_or_begins_again() {
    let expected = |nanos: u64| times(TRACE).iter().any(|(start, end)| (*start..*end).contains(&nanos));
    let round = 1_300_000_000;
    let mut once = replay(TRACE, None);
    let mut again = replay(TRACE, Some(Span::from_nanos(round)));
    for n in 0..1_000_000 {
        let now = n * 12_345;
        assert_eq!(once.hits(Time::from_nanos(now)), expected(now), "at {now}");
        assert_eq!(again.hits(Time::from_nanos(now)), expected(now % round), "at {now}");
    }
    // Edges: the start belongs to the bad time, the end does not.
    let mut edges = replay("10,20", None);
    assert_eq!(
        [9.999_999, 10.0, 19.999_999, 20.0].map(|millis| edges.hits(at(millis))),
        [false, true, true, false]
    );
    // A round whose end and start are both bad, without a gap.
    let mut seamless = replay("0,5\n8,10", Some(Span::from_millis(10)));
    assert_eq!(
        [4.0, 6.0, 9.0, 10.0, 14.0, 15.0, 18.0].map(|ms| seamless.hits(at(ms))),
        [true, false, true, true, true, false, true]
    );
    let mut never_good = replay("0,10", Some(Span::from_millis(10)));
    assert!((0..10_000).all(|n| never_good.hits(at(f64::from(n)))));
    let mut for_ever = replay("5,inf", None);
    assert_eq!([4.0, 5.0, 1e12].map(|ms| for_ever.hits(at(ms))), [false, true, true]);
}

#[test]
fn a_round_must_hold_the_trace() {
    for (text, repeat, said) in [
        ("10,20", Span::from_millis(19), "repeat = 19ms: must be finite, and not shorter"),
        ("10,inf", Span::from_secs(3), "repeat = 3s: must be finite, and not shorter"),
        ("10,20", Span::MAX, "repeat = inf: must be finite, and not shorter"),
    ] {
        let file = FromFile::with("errors.csv", ErrorTrace::parse("errors.csv", text).expect("a trace"));
        let spec = ErrorSpec::new(ProcessSpec::Trace { file, repeat: Some(repeat) });
        let error = Errors::new(spec, &Seed::campaign(1)).expect_err(text).to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn a_profile_names_the_file_and_the_caller_reads_it() {
    let mut spec = spec("process = { trace = \"bad.csv\" }");
    spec.load(&mut |name| {
        assert_eq!(name, "bad.csv");
        Ok("0,1".to_owned())
    })
    .expect("it reads");
    assert!(Driven::new(spec.clone(), 1).hits(Time::ZERO));
    let error = spec.load(&mut |_| Ok("0,y".to_owned())).expect_err("no time");
    assert_eq!(error.to_string(), "bad.csv:1: end `y`: must be a time such as 120, 120ms or 1.5s");
}
