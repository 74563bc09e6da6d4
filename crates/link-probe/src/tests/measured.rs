//! Tests that a fitted profile is the profile of the simulated link.

use super::*;
use crate::files::files;
use crate::fit::{Fitted, Way, fit};

fn fitted(profile: &LinkProfile, plan: Plan) -> Fitted {
    fit(&measure(profile, plan, 1)).unwrap_or_else(|error| panic!("{error}"))
}

/// Asserts a rate to half a per cent, and to what five standard errors of the share of losses do to
/// it.
fn assert_rate(way: &Way, bits: f64) {
    let rate = way.rate.as_bits_per_second() as f64;
    let counts = way.losses.counts;
    let tolerance = 0.005 + 5.0 * (counts.share() / counts.sent as f64).sqrt();
    assert!((rate / bits - 1.0).abs() < tolerance, "{rate} instead of {bits}");
    assert!(way.saturated);
}

/// Asserts the lengths of the queues, of which the second is that of a link with losses.
fn assert_queues(fitted: &Fitted) {
    assert_eq!(fitted.ways[0].queue, Some(20));
    assert!(fitted.ways[1].queue.is_some_and(|queue| queue.abs_diff(50) <= 2), "{:?}", fitted.ways[1]);
}

/// Asserts a constant delay of a round trip to 10 us.
fn assert_delay(fitted: &Fitted, ms: f64) {
    assert_eq!(fitted.delay.correlation, None, "{:?}", fitted.delay);
    let least = fitted.delay.percentiles[0].1.as_secs_f64() * 1e3;
    assert!((least - ms).abs() < 0.01, "{least} ms instead of {ms} ms");
}

const KNOWN: &str = "[up]\nrate = \"1Mbit\"\nqueue = \"20p\"\ndelay = \"10ms\"\n\
                     [down]\nrate = \"5Mbit\"\nqueue = \"50p\"\ndelay = \"30ms\"\nerrors = { process = { loss = \"2%\" } }\n";

#[test]
fn rate_queue_delay_and_loss_are_those_of_the_link() {
    let fitted = fitted(&profile(KNOWN, &[]), plan());
    let [up, down] = &fitted.ways;
    assert_rate(up, 1e6);
    assert_rate(down, 5e6);
    assert_queues(&fitted);
    assert_delay(&fitted, 40.0);
    assert_eq!((up.losses.counts.lost, &up.losses.two_state), (0, &None));
    // Five standard deviations of a binomial distribution.
    let counts = down.losses.counts;
    let expected = 0.02 * counts.sent as f64;
    assert!(counts.sent > 500, "{counts:?}");
    assert!((counts.lost as f64 - expected).abs() < 5.0 * (expected * 0.98).sqrt(), "{counts:?}");
    assert_eq!(down.losses.two_state, None);
    let text = fitted.to_profile("A title", "A source");
    let again = parsed(&text, &[]);
    assert!(again.up.to_string().contains("1Mbit/s counted at IP, drop-tail 20p; delay: "), "{}", again.up);
    assert!((again.up.delay().as_secs_f64() - 0.02).abs() < 10e-6, "{}", again.up);
}

#[test]
fn both_directions_together_have_the_same_rates_on_a_duplex_link() {
    let fitted = fitted(&profile(KNOWN, &[]), Plan { together: true, ..plan() });
    // The client's feedback takes 1 % of the uplink.
    let up = fitted.ways[0].rate.as_bits_per_second();
    assert!((985_000..=1_000_000).contains(&up), "{up}");
    assert_rate(&fitted.ways[1], 5e6);
}

/// A recording of a recorded link gives the same values, for the fit and for the traces.
#[test]
fn a_recording_of_a_recorded_link_agrees_with_it() {
    let first = measure(&profile(KNOWN, &[]), plan(), 1);
    let known = fit(&first).expect("fits");
    let files = files(&first, &known, "a test");
    let text = |name: &str| &files.iter().find(|(known, _)| known == name).expect(name).1;
    let again = fitted(&parsed(text("profile.toml"), &files), plan());
    assert_rate(&again.ways[0], 1e6);
    assert_rate(&again.ways[1], 5e6);
    assert_queues(&again);
    assert_delay(&again, 40.0);
    // The traces have whole milliseconds, and an opportunity of 1400 bytes at a time.
    let traced = fitted(&parsed(text("replay.toml"), &files), plan());
    for (way, bits) in traced.ways.iter().zip([1e6, 5e6]) {
        let rate = way.rate.as_bits_per_second() as f64;
        assert!((rate / bits - 1.0).abs() < 0.03, "{rate} instead of {bits}");
    }
    // A large packet takes 11.2 ms up and 2.2 ms down; the base delay of CellReplay includes them.
    let least = traced.delay.percentiles[0].1.as_secs_f64() * 1e3;
    assert!((40.0..56.0).contains(&least), "{least} ms");
    assert!(text("probes.csv").lines().count() > 1000);
}

#[test]
fn a_slow_link_is_measured_without_filling_it_beforehand() {
    let tables = "[up]\nrate = \"9600bit\"\ndelay = \"150ms\"\n[down]\nrate = \"9600bit\"\nqueue = \"5p\"\ndelay = \"150ms\"\n";
    let slow = Plan { size: 548, train: 3, light: 60 * SECOND, heavy: 60 * SECOND, ..plan() };
    let fitted = fitted(&profile(tables, &[]), slow);
    for way in &fitted.ways {
        assert_rate(way, 9600.0);
        assert_eq!(way.losses.counts.lost, 0);
    }
    assert_eq!(fitted.ways[1].queue, Some(5));
    assert_delay(&fitted, 300.0);
}

#[test]
fn a_delay_that_varies_becomes_percentiles() {
    let tables = "[up]\nrate = \"10Mbit\"\ndelay = \"10ms\"\n[down]\nrate = \"10Mbit\"\n\
                  delay = { kind = \"uniform\", mean = \"40ms\", jitter = \"20ms\", correlation = \"2s\" }\n";
    let long = Plan { light: 400 * SECOND, ..plan() };
    let fitted = fitted(&profile(tables, &[]), long);
    // From 30 to 70 ms, evenly.
    for (percent, time) in &fitted.delay.percentiles {
        let expected = 30.0 + 0.4 * f64::from(*percent);
        assert!(
            (time.as_secs_f64() * 1e3 - expected).abs() < 4.0,
            "{percent} %: {time} instead of {expected} ms"
        );
    }
    let correlation = fitted.delay.correlation.expect("it varies").as_secs_f64();
    assert!((1.0..3.0).contains(&correlation), "{correlation}");
    let again = parsed(&fitted.to_profile("t", "s"), &[]);
    assert!(again.down.to_string().contains("drawn from 9 percentiles"), "{}", again.down);
}

#[test]
fn bursts_of_losses_are_two_states() {
    let tables = "[up]\nrate = \"10Mbit\"\n[down]\nrate = \"10Mbit\"\ndelay = \"10ms\"\n\
                  errors = { process = { good = \"2s\", bad = \"200ms\", sojourn = \"exponential\" } }\n";
    let long = Plan { light: 300 * SECOND, interval: 20 * MILLI, ..plan() };
    let fitted = fitted(&profile(tables, &[]), long);
    let (good, bad) = fitted.ways[1].losses.two_state.expect("two states");
    // 130 bad periods or so: two standard errors of a mean stay are 18 % of it.
    assert!((1.5..2.7).contains(&good.as_secs_f64()), "{good}");
    assert!((0.15..0.27).contains(&bad.as_secs_f64()), "{bad}");
}

#[test]
fn a_link_faster_than_the_limit_is_said_to_be_so() {
    let tables = "[up]\nrate = \"1Gbit\"\n[down]\nrate = \"1Gbit\"\ndelay = \"5ms\"\n";
    let limited = Plan { max_rate: 10_000_000, light: 2 * SECOND, heavy: 2 * SECOND, ..plan() };
    let fitted = fitted(&profile(tables, &[]), limited);
    for way in &fitted.ways {
        assert!(!way.saturated && way.queue.is_none(), "{way:?}");
        let rate = way.rate.as_bits_per_second() as f64;
        assert!((rate / 10e6 - 1.0).abs() < 0.01, "{rate}");
    }
    assert!(fitted.to_profile("t", "s").contains("never saturated: the rate is a lower bound"));
}

#[test]
fn a_light_phase_without_an_answer_says_how_to_go_on() {
    let tables = "[up]\nrate = \"1Mbit\"\n[down]\nrate = \"1Mbit\"\n";
    let mut recording = measure(&profile(tables, &[]), Plan { light: SECOND, heavy: SECOND, ..plan() }, 1);
    recording.round_trips.clear();
    assert_eq!(
        fit(&recording).expect_err("no delay").to_string(),
        "no small packet came back: measure longer (--light)"
    );
    recording.heavy[0].clear();
    let error = fit(&recording).expect_err("no rate").to_string();
    assert_eq!(error, "uplink: only 0 packets arrived while it was saturated: measure longer (--heavy)");
}
