//! Tests of parameters that change while the link runs.

use super::*;

fn set(stage: &mut Driven, toml: &str, now: Time) {
    stage.stage.set(spec(toml), now).expect("a spec that can be");
}

#[test]
fn a_channel_keeps_its_state_and_has_the_new_stays_from_then_on() {
    // The first stay is bad. At 95 ms, between two ticks, its mean changes. The rest of the stay is
    // geometric from the next tick on, whatever its former length.
    let mut lengths = Vec::new();
    for seed in 0..20_000 {
        let mut stage = losing("{ good = \"10s\", bad = \"100s\", start = \"bad\" }", seed);
        if !stage.hits(at(94.0)) {
            continue;
        }
        set(&mut stage, "process = { good = \"10s\", bad = \"50ms\" }", at(95.0));
        assert!(stage.hits(at(99.9)), "no tick yet");
        let more = (0..10_000).take_while(|tick| stage.hits(at(100.0 + 10.0 * f64::from(*tick)))).count();
        lengths.push(more as u64 + 1);
    }
    assert!(lengths.len() > 19_900 * 9 / 10);
    let (found, expected) = geometric(&lengths, 0.2);
    fits("what is left", &found, &expected);
}

#[test]
fn a_chain_in_packets_steps_on_before_the_next_packet() {
    // The state stays bad until the chain is set to leave it at every step. The change takes effect
    // exactly with the next packet.
    let mut stage = losing("{ p = \"0\", q = \"0\", start = \"bad\", evolves-in = \"packets\" }", 1);
    for _ in 0..1000 {
        assert!(stage.hits(at(1.0)));
        set(&mut stage, "process = { p = \"1\", q = \"1\", evolves-in = \"packets\" }", at(1.0));
        assert!(!stage.hits(at(1.0)));
        assert!(stage.hits(at(1.0)));
        set(
            &mut stage,
            "process = { p = \"0\", q = \"0\", start = \"bad\", evolves-in = \"packets\" }",
            at(1.0),
        );
    }
}

#[test]
fn a_change_does_not_depend_on_traffic() {
    let table = "{ good = \"300ms\", bad = \"100ms\" }";
    let (mut busy, mut idle) = (losing(table, 9), losing(table, 9));
    for n in 0..5000 {
        busy.hits(at(f64::from(n)));
    }
    for stage in [&mut busy, &mut idle] {
        set(stage, "process = { good = \"30ms\", bad = \"20ms\" }", at(5000.0));
    }
    assert!((0..100_000).all(|n| {
        let now = at(5000.0 + f64::from(n) * 3.7);
        busy.hits(now) == idle.hits(now)
    }));
}

#[test]
fn only_another_process_disturbs_the_schedule() {
    let table = "process = { good = \"300ms\", bad = \"100ms\" }";
    let (mut one, mut other) = (Driven::new(spec(table), 9), Driven::new(spec(table), 9));
    for n in 0..100_000 {
        let now = at(f64::from(n) * 3.7);
        if n % 1000 == 0 {
            set(&mut one, &format!("{table}\nexempt = {{ first = {n} }}"), now);
        }
        assert_eq!(one.hits(now), other.hits(now));
    }
}

#[test]
fn every_process_can_follow_every_other() {
    let tables = [
        ("{ loss = \"30%\" }", 0.3),
        ("{ good = \"70ms\", bad = \"30ms\" }", 0.3),
        ("{ ber = \"5e-5\" }", 1.0 - (1.0f64 - 5e-5).powi(8000)),
        (
            "{ good = \"70kB\", bad = \"30kB\", evolves-in = \"bytes\" }",
            1.0 - 0.7 * (-1000.0f64 / 70_000.0).exp(),
        ),
        ("{ good = 7, bad = 3, evolves-in = \"packets\" }", 0.3),
        ("{ loss = \"100%\" }", 1.0),
        ("{ good = \"7ms\", bad = \"3ms\", sojourn = \"exponential\" }", 0.3),
    ];
    let mut stage = losing("{ loss = \"0%\" }", 1).of_length(1000);
    let mut now = 0.0;
    for (from, (first, _)) in tables.iter().enumerate() {
        for (second, share) in tables.iter().cycle().skip(from).take(tables.len()) {
            set(&mut stage, &format!("process = {first}"), at(now));
            stage.hits(at(now));
            set(&mut stage, &format!("process = {second}"), at(now));
            let count = 40_000;
            let hits = (0..count).filter(|n| stage.hits(at(now + f64::from(*n) * 7.3))).count();
            now += 7.3 * f64::from(count);
            // The slowest process is that in bytes: neighbours have a correlation of exp(−1000 / 21
            // 000).
            let deviation = share_deviation(*share, (-1.0f64 / 21.0).exp(), f64::from(count));
            close(
                &format!("{first} to {second}"),
                hits as f64 / f64::from(count),
                *share,
                deviation.max(1e-12),
            );
        }
    }
}

#[test]
fn a_spec_that_is_refused_changes_nothing() {
    let mut stage = losing("{ loss = \"100%\" }", 1);
    assert!(stage.stage.set(spec("process = { trace = \"x\" }"), at(1.0)).is_err());
    assert!(stage.stage.set(spec("process = { loss = \"0%\" }\neffect = { flip = {} }"), at(1.0)).is_err());
    assert_eq!(stage.stage.spec(), &ErrorSpec::new(process("{ loss = \"100%\" }")));
    assert!(stage.hits(at(2.0)));
}

#[test]
fn a_transmission_that_began_before_a_process_did_is_judged_by_what_is_known() {
    let mut stage = losing("{ loss = \"0%\" }", 1);
    set(
        &mut stage,
        "process = { p = \"1\", q = \"1\", start = \"good\" }\nsampled = \"interval\"",
        at(100.0),
    );
    let sent = |start: f64, end: f64| Sending { start: at(start), end: at(end) };
    assert!(!stage.hits_sent(sent(50.0, 109.0)));
    assert!(stage.hits_sent(sent(50.0, 111.0)));
    assert!(!stage.hits_sent(sent(120.0, 130.0)));
}
