//! Tests of fits to the losses of known channels.

use super::*;
use crate::packet::Packet;
use crate::seed::Seed;
use crate::stage::errors::{ErrorSpec, Errors, Form, ProcessSpec, Sojourn, Start};
use crate::stage::{Outbox, Stage};
use crate::units::Time;
use ::packet::{Frame, Layer};
use rand::RngExt;
use vocabulary::ChannelState;

const BLOCK: Span = Span::from_millis(10);

/// Returns the fates of packets at `instants` under a channel.
fn erasures(channel: TwoState<Span>, seed: u64, instants: impl Iterator<Item = Time>) -> Vec<(Time, bool)> {
    let spec = ErrorSpec::new(ProcessSpec::InTime { channel, errors: None });
    let mut stage = Errors::new(spec, &Seed::campaign(seed).stage("errors")).expect("a spec that can be");
    let mut out = Outbox::default();
    let judged = |at: Time| {
        stage.accept(Packet::new(0, Frame::owned(Layer::Ip, Vec::new()), at), &mut out);
        let (passed, lost) = out.take();
        let hit = passed.is_empty();
        let channel = passed.into_iter().chain(lost).next().and_then(|packet| packet.channel);
        assert_eq!(hit, channel == Some(ChannelState::Bad));
        (at, hit)
    };
    instants.map(judged).collect()
}

fn probability(value: f64) -> Probability {
    Probability::new(value).expect("in range")
}

fn blocks(p: f64, q: f64, seed: u64, count: u64) -> ErasureTrace {
    let form = Form::Transitions { p: probability(p), q: probability(q) };
    let channel =
        TwoState::with(form, Sojourn::Geometric, Some(BLOCK), Start::Stationary).expect("a channel");
    let instants = (0..count).map(|n| Time::from_nanos(n * BLOCK.as_nanos()));
    let lost = erasures(channel, seed, instants).into_iter().map(|packet| packet.1).collect();
    ErasureTrace::Blocks { lost, block: BLOCK }
}

fn exponential(good: Span, bad: Span) -> TwoState<Span> {
    let form = Form::Sojourns { good, bad };
    TwoState::with(form, Sojourn::Exponential, None, Start::Stationary).expect("a channel")
}

/// Returns the losses of packets with gaps of 1 to 7 ms, uniformly distributed.
fn irregular(channel: TwoState<Span>, seed: u64, count: usize) -> ErasureTrace {
    let mut stream = Seed::campaign(seed).stage("gaps").stream();
    let mut now = Time::ZERO;
    let instants = std::iter::repeat_with(|| {
        now += Span::from_micros(stream.random_range(1000..7000));
        now
    });
    ErasureTrace::Packets(erasures(channel, seed, instants.take(count)))
}

/// Logarithms of estimates: their observed spread, and the spread according to their intervals.
#[derive(Clone, Copy, Default)]
struct Spread {
    count: f64,
    sum: f64,
    squares: f64,
    claimed: f64,
}

impl Spread {
    fn add(&mut self, estimate: &Estimate<Span>) {
        let ln = |span: Span| span.as_secs_f64().ln();
        self.count += 1.0;
        self.sum += ln(estimate.value);
        self.squares += ln(estimate.value).powi(2);
        self.claimed += (ln(estimate.high) - ln(estimate.low)) / (2.0 * 1.96);
    }

    fn claimed_to_seen(self) -> f64 {
        let mean = self.sum / self.count;
        self.claimed / self.count / (self.squares / self.count - mean * mean).sqrt()
    }
}

fn holds<T: PartialOrd>(estimate: &Estimate<T>, truth: &T) -> usize {
    usize::from(estimate.low <= *truth && *truth <= estimate.high)
}

/// Asserts that `held` is 95 % of the trials, within five standard deviations.
#[track_caller]
fn about_95_percent(what: &str, held: usize, trials: u32) {
    let deviation = (f64::from(trials) * 0.95 * 0.05).sqrt();
    assert!((held as f64 - f64::from(trials) * 0.95).abs() < 5.0 * deviation, "{what}: {held} of {trials}");
}

#[test]
fn intervals_of_blocks_hold_the_truth_in_95_percent_of_traces() {
    for (p, q) in [(0.005, 1.0 / 3.0), (0.02, 0.1), (0.3, 0.6), (0.7, 0.8)] {
        let trials = 1000;
        let (mut held, mut runs_refused, mut runs_tested) = ([0; 4], 0, 0);
        for seed in 0..u64::from(trials) {
            let fit = two_state(&blocks(p, q, seed, 5000)).expect("enough changes");
            let (found_p, found_q) = fit.per_block.expect("blocks have it");
            held[0] += holds(&found_p, &probability(p));
            held[1] += holds(&found_q, &probability(q));
            held[2] += holds(&fit.good, &Span::from_secs_f64(0.01 / p));
            held[3] += holds(&fit.bad, &Span::from_secs_f64(0.01 / q));
            for test in [fit.good_runs, fit.bad_runs].into_iter().flatten() {
                runs_tested += 1;
                runs_refused += u32::from(test.p_value < 0.01);
            }
        }
        for (what, held) in ["p", "q", "good", "bad"].into_iter().zip(held) {
            about_95_percent(&format!("{what} at p = {p}, q = {q}"), held, trials);
        }
        // The test of runs rejects true channels about as often as its level says: 1 %, here up to
        // 3 %.
        assert!(
            runs_tested > trials && f64::from(runs_refused) < 0.03 * f64::from(runs_tested),
            "{runs_refused}"
        );
    }
}

#[test]
fn intervals_of_packets_hold_the_truth_in_95_percent_of_traces() {
    // Bad stays are hardly longer than the gaps between packets, so many are missed.
    let (good, bad) = (Span::from_millis(100), Span::from_millis(5));
    let trials = 1000;
    let (mut held, mut runs_refused) = ([0; 2], 0);
    let mut spread = [Spread::default(); 2];
    for seed in 0..u64::from(trials) {
        let fit = two_state(&irregular(exponential(good, bad), seed, 4000)).expect("enough changes");
        held[0] += holds(&fit.good, &good);
        held[1] += holds(&fit.bad, &bad);
        spread[0].add(&fit.good);
        spread[1].add(&fit.bad);
        assert!(fit.independence.p_value < 1e-9);
        for test in [fit.good_runs, fit.bad_runs] {
            runs_refused += u32::from(test.expect("enough runs").p_value < 0.01);
        }
    }
    about_95_percent("good", held[0], trials);
    about_95_percent("bad", held[1], trials);
    // The width of intervals matches the spread of estimates, whose five standard deviations are 11
    // %.
    for (what, spread) in ["good", "bad"].into_iter().zip(spread) {
        let ratio = spread.claimed_to_seen();
        assert!((ratio - 1.0).abs() < 5.0 / (2.0 * f64::from(trials)).sqrt(), "{what}: {ratio}");
    }
    assert!(runs_refused < 2 * trials * 3 / 100, "{runs_refused}");
}

#[test]
fn a_long_trace_gives_its_channel_back() {
    let fit = two_state(&blocks(0.005, 0.1, 1, 2_000_000)).expect("enough changes");
    let form = fit.channel.form();
    let Form::Transitions { p, q } = form else { panic!("{form:?}") };
    assert!((p.get() / 0.005 - 1.0).abs() < 0.05 && (q.get() / 0.1 - 1.0).abs() < 0.05);
    assert_eq!(fit.channel.tick(), Some(BLOCK));
    assert!(fit.independence.p_value < 1e-12);
    let text = fit.to_string();
    assert!(
        text.contains("mean good 1.986s (1.947s to 2.026s), bad 99.08ms")
            && text.contains("q 10.09% (")
            && text.contains("chi-square"),
        "{text}"
    );

    let fit = two_state(&irregular(exponential(Span::from_secs(2), Span::from_millis(100)), 1, 1_000_000));
    let fit = fit.expect("enough changes");
    let seconds = |span: Span| span.as_secs_f64();
    assert!((seconds(fit.good.value) / 2.0 - 1.0).abs() < 0.1, "{:?}", fit.good);
    assert!((seconds(fit.bad.value) / 0.1 - 1.0).abs() < 0.1, "{:?}", fit.bad);
    assert_eq!(fit.channel.sojourn(), Sojourn::Exponential);
}

#[test]
fn evenly_spaced_packets_and_blocks_agree() {
    // A chain observed at its ticks: p = π (1 − e^(−r tick)), q = (1 − π)(1 − e^(−r tick)).
    let ErasureTrace::Blocks { lost, block } = blocks(0.02, 0.2, 4, 50_000) else { unreachable!() };
    let at = |n: usize| Time::from_nanos(n as u64 * block.as_nanos());
    let packets = ErasureTrace::Packets(lost.iter().enumerate().map(|(n, lost)| (at(n), *lost)).collect());
    let (chain, continuous) = (
        two_state(&ErasureTrace::Blocks { lost, block }).expect("a fit"),
        two_state(&packets).expect("a fit"),
    );
    let (p, q) = chain.per_block.expect("blocks have it");
    let (good, bad) = (continuous.good.value.as_secs_f64(), continuous.bad.value.as_secs_f64());
    let mixed = -(-block.as_secs_f64() * (1.0 / good + 1.0 / bad)).exp_m1();
    assert!((bad / (good + bad) * mixed - p.value.get()).abs() < 1e-7);
    assert!((good / (good + bad) * mixed - q.value.get()).abs() < 1e-7);
    assert!((chain.log_likelihood - continuous.log_likelihood).abs() < 1e-6);
    assert!((chain.log_likelihood_independent - continuous.log_likelihood_independent).abs() < 1e-9);
}

#[test]
fn a_likelihood_by_hand() {
    // 0 0 1 1 1 0 1 0: out of good 1 stays and 2 leave; out of bad 2 stay and 2 leave.
    let trace = ErasureTrace::parse_blocks("x", "0011 1010 # end", BLOCK).expect("blocks");
    let fit = two_state(&trace).expect("both ways");
    let expected = (1.0f64 / 3.0).ln() + 2.0 * (2.0f64 / 3.0).ln() + 4.0 * 0.5f64.ln();
    assert!((fit.log_likelihood - expected).abs() < 1e-12);
    let independent = 4.0 * (4.0f64 / 7.0).ln() + 3.0 * (3.0f64 / 7.0).ln();
    assert!((fit.log_likelihood_independent - independent).abs() < 1e-12);
    assert_eq!((fit.count, fit.lost), (8, 4));
    assert_eq!((fit.good.value, fit.bad.value), (Span::from_millis(15), Span::from_millis(20)));
    assert_eq!((fit.good_runs, fit.bad_runs), (None, None));
    // Jeffreys' interval of 2 in 3: 2.5 % of Beta(2.5, 1.5), with density x^1.5 (1 − x)^0.5, lie
    // beyond each end.
    let (p, _) = fit.per_block.expect("blocks have it");
    let mass = |from: f64, to: f64| {
        let step = (to - from) / 100_000.0;
        (0..100_000)
            .map(|n| from + (f64::from(n) + 0.5) * step)
            .map(|x| x.powf(1.5) * (1.0 - x).sqrt() * step)
            .sum::<f64>()
    };
    let whole = mass(0.0, 1.0);
    assert!((mass(0.0, p.low.get()) / whole - 0.025).abs() < 1e-5);
    assert!((mass(p.high.get(), 1.0) / whole - 0.025).abs() < 1e-5);
    assert_eq!(fit.good.low, Span::from_secs_f64(0.01 / p.high.get()));
}

#[test]
fn independent_losses_do_not_ask_for_two_states() {
    let mut stream = Seed::campaign(3).stream();
    let mut refused = 0;
    for _ in 0..1000 {
        let lost = (0..2000).map(|_| stream.random_bool(0.1)).collect();
        let fit = two_state(&ErasureTrace::Blocks { lost, block: BLOCK }).expect("enough changes");
        refused += u32::from(fit.independence.p_value < 0.05);
    }
    // 5 % of 1000, within five standard deviations.
    assert!((50 - 35..50 + 35).contains(&refused), "{refused}");
    // Packets that alternate more often than independent ones: no channel in continuous time does
    // so.
    let alternating = (0..1000u64).map(|n| (Time::from_nanos(n * 1_000_000), n % 2 == 0)).collect();
    let error = two_state(&ErasureTrace::Packets(alternating)).expect_err("no channel").to_string();
    assert!(error.contains("500 of 1000 lost"), "{error}");
}

#[test]
fn runs_that_are_not_geometric_are_found() {
    // Bursts of exactly 5 blocks: the mean implies q = 0.2, but the lengths do not match. Good runs
    // are geometric.
    let mut stream = Seed::campaign(3).stream();
    let mut lost = Vec::new();
    for _ in 0..500 {
        lost.push(false);
        while !stream.random_bool(0.1) {
            lost.push(false);
        }
        lost.extend([true; 5]);
    }
    let constant = two_state(&ErasureTrace::Blocks { lost: lost.clone(), block: BLOCK }).expect("a fit");
    assert!(constant.bad_runs.expect("enough").p_value < 1e-12);
    assert!(constant.good_runs.expect("enough").p_value > 1e-3);
    let at = |n: usize| Time::from_nanos(n as u64 * 10_000_000);
    let packets = lost.into_iter().enumerate().map(|(n, lost)| (at(n), lost)).collect();
    let in_time = two_state(&ErasureTrace::Packets(packets)).expect("a fit");
    assert!(in_time.bad_runs.expect("enough").p_value < 1e-12);
    assert!(in_time.good_runs.expect("enough").p_value > 1e-3);
}

#[test]
fn what_cannot_be_fitted_is_said() {
    let said = |trace: Result<ErasureTrace, crate::stage::spec::TraceError>| {
        two_state(&trace.expect("a trace")).expect_err("no fit").to_string()
    };
    let blocks = |text: &str| ErasureTrace::parse_blocks("x", text, BLOCK);
    assert!(said(blocks("")).starts_with("0 of 0 lost"));
    assert!(said(blocks("00000")).starts_with("0 of 5 lost"));
    assert!(said(blocks("00111")).contains("never changes state and back"));
    assert!(said(ErasureTrace::parse_blocks("x", "0110", Span::ZERO)).starts_with("block = 0ms"));
    assert!(said(ErasureTrace::parse_packets("x", "1,0\n1,1\n2,0")).contains("packet 1 (from 0) at 0.001"));
    assert!(said(ErasureTrace::parse_packets("x", "1,0\n2,1")).contains("never changes state and back"));
}

#[test]
fn traces_read_and_errors_name_the_place() {
    let packets =
        ErasureTrace::parse_packets("t.csv", "# ms\n0.5, 0\r\n\n2ms 1 # lost\n1s;0\n").expect("packets");
    let times = [(500_000, false), (2_000_000, true), (1_000_000_000, false)];
    assert_eq!(
        packets,
        ErasureTrace::Packets(times.map(|(nanos, lost)| (Time::from_nanos(nanos), lost)).to_vec())
    );
    for (text, error) in [
        ("1,0\n2,yes", "t.csv:2: lost `yes`: must be 0 (arrived) or 1 (lost)"),
        ("2,0\n1,0", "t.csv:2: time `1`: must not be earlier than the one above"),
        ("x,0", "t.csv:1: time `x`: must be a time such as 120.5 (milliseconds), 120ms or 1.5s"),
        ("1", "t.csv:1: time,lost `1`: must have two fields: a time, and 0 or 1"),
    ] {
        assert_eq!(ErasureTrace::parse_packets("t.csv", text).expect_err(text).to_string(), error);
    }
    let error = ErasureTrace::parse_blocks("t.txt", "01\n0,2", BLOCK).expect_err("a 2").to_string();
    assert_eq!(error, "t.txt:2: block `2`: must be 0 (arrived) or 1 (lost)");
}
