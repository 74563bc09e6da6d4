//! Tests of the files of delays.

use super::*;
use proptest::prelude::*;

fn course(text: &str, between: Between) -> Law {
    Law::Trace { file: FromFile::with("t", Course::parse("t", text).expect("a trace")), between }
}

#[test]
fn a_trace_steps_or_goes_straight_and_starts_again_at_its_last_row() {
    // 10 ms until 100 ms, then 30 ms until 200 ms.
    let text = "time_s,delay_ms\n5,10\n5.1,30\n5.2,50\n";
    let of = |between| {
        let times = [0, 50, 100, 150, 199, 200, 250, 1050];
        let mut fates = drive(&mut made(course(text, between), true), times.map(|at| (at * MS, 0)));
        fates.sort_by_key(|fate| fate.number);
        fates.iter().map(|fate| (fate.at - fate.arrived).as_nanos() as f64 / 1e6).collect::<Vec<_>>()
    };
    assert_eq!(of(Between::Step), [10.0, 10.0, 30.0, 30.0, 30.0, 10.0, 10.0, 10.0]);
    assert_eq!(of(Between::Linear), [10.0, 20.0, 30.0, 40.0, 49.8, 10.0, 20.0, 20.0]);
}

#[test]
fn a_million_packets_follow_the_straight_lines_of_a_trace() {
    let law = course("0s,10ms\n1s,20ms\n3s,0ms\n", Between::Linear);
    for (number, nanos) in (0u64..).zip(delays(&mut made(law, true), 1_000_000, 10_007)) {
        let at = number * 10_007 % 3_000_000_000;
        let expected =
            if at < 1_000_000_000 { 10e6 + at as f64 / 100.0 } else { 20e6 - (at as f64 - 1e9) / 100.0 };
        assert!((nanos as f64 - expected).abs() <= 0.5001, "{at}: {nanos}, expected {expected}");
    }
}

#[test]
fn a_trace_begins_when_it_is_set_and_goes_on_when_it_was_there() {
    let law = || course("0s,10ms\n1s,20ms\n2s,20ms\n", Between::Step);
    let mut stage = made(Law::Constant { delay: Span::ZERO }, true);
    let leaves = |stage: &mut Delay, at: u64| {
        stage.accept(packet(0, 0, nanos(at * MS)), &mut Outbox::default());
        let delay = stage.due() - nanos(at * MS);
        stage.clear(&mut Vec::new());
        delay.as_nanos() / MS
    };
    let spec = DelaySpec { law: law(), reorder: true, correlation: None };
    stage.set(spec.clone(), nanos(1500 * MS)).expect("a delay");
    assert_eq!((leaves(&mut stage, 1500), leaves(&mut stage, 2500)), (10, 20));
    stage.set(spec, nanos(2600 * MS)).expect("a delay");
    assert_eq!(leaves(&mut stage, 2700), 20);
}

#[test]
fn values_and_percentiles_are_read_with_units_or_a_heading() {
    let same = [
        "10ms\n20ms\n50ms\n",
        "delay_ms\n10\n20\n50\n",
        "# ping\ndelay_s\n0.05\r\n\n0.01\n0.02\n",
        "delay_us\n50000\n10ms\n20000\n",
        "percent,delay_ms\n0,10\n50,20\n100,50\n",
        "0%,10ms\n50%,20ms\n100%,50ms\n",
    ];
    let expected = Quantiles::of_values(&[10, 20, 50].map(Span::from_millis)).expect("values");
    for text in same {
        assert_eq!(Quantiles::parse("t", text).as_ref(), Ok(&expected), "{text}");
    }
}

#[test]
fn errors_name_file_line_field_value_and_what_would_be_right() {
    let values = |text: &str| Quantiles::parse("d.csv", text).expect_err(text).to_string();
    let wanted =
        "must be a time with its unit, such as 12.5ms, or a plain number under a heading such as delay_ms";
    assert_eq!(values("10ms\n20\n"), format!("d.csv:2: delay `20`: {wanted}"));
    assert_eq!(values("delay_ms\n-1\n"), format!("d.csv:2: delay `-1`: {wanted}"));
    assert_eq!(
        values("inf\n"),
        "d.csv:1: heading `inf`: must be a column name such as delay_ms, time_s or percent"
    );
    assert_eq!(values("1ms\ninf\n"), format!("d.csv:2: delay `inf`: {wanted}"));
    assert_eq!(
        values("rtt_ms\n1\n"),
        "d.csv:1: heading `rtt_ms`: must be a column name such as delay_ms, time_s or percent"
    );
    assert_eq!(
        values("delay_min\n1\n"),
        "d.csv:1: heading `delay_min`: must be a column name such as delay_ms, time_s or percent"
    );
    assert_eq!(
        values("1ms\n1ms,2ms\n"),
        "d.csv:2: line `1ms,2ms`: must have as many fields as the lines above"
    );
    assert_eq!(values("1ms,2ms,3ms\n"), "d.csv:1: line `1ms,2ms,3ms`: must have one field or two");
    assert_eq!(values(""), "d.csv:1: delay ``: there must be at least one value");
    assert_eq!(values("0,1ms\n101,2ms\n"), "d.csv:2: percent `101`: must be a number from 0 to 100");
    assert_eq!(values("0,1ms\n99,2ms\n"), "d.csv:2: percent `99,2ms`: must begin at 0 % and end at 100 %");
    assert!(
        values("0,1ms\n50,3ms\n100,2ms\n")
            .ends_with("percentages must increase, and delays must not decrease")
    );
    let trace = |text: &str| Course::parse("t.csv", text).expect_err(text).to_string();
    assert_eq!(trace("0s,1ms\n0s,2ms\n"), "t.csv:2: time `0s`: must be later than in the row above");
    assert_eq!(trace("1s,1ms\n0s,2ms\n"), "t.csv:2: time `0s`: must be later than in the row above");
    assert_eq!(
        trace("1s,1ms\n"),
        "t.csv:1: line `1s,1ms`: there must be at least two rows: the last one closes the trace"
    );
    assert_eq!(trace("1s\n"), "t.csv:1: line `1s`: must have two fields: time and delay");
    assert!(trace("").contains("at least two rows"));
}

proptest! {
    #[test]
    fn no_text_makes_a_parser_panic(
        text in prop_oneof![".*", "[0-9a-z,.%_\n-]{0,200}", "([0-9]{1,20}(ms|s|%)?,[0-9.]{1,20}ms\n){1,9}"],
    ) {
        if let Ok(quantiles) = Quantiles::parse("t", &text) {
            for uniform in [0.0, 0.3, 0.999_999] {
                prop_assert!(quantiles.at(uniform) >= 0.0);
            }
        }
        if let Ok(course) = Course::parse("t", &text) {
            for elapsed in [0, 1, u64::MAX] {
                course.at(elapsed, true);
                course.at(elapsed, false);
            }
        }
    }
}
