//! Tests of errors against closed formulas.
//!
//! This file contains the functions that drive a stage, and the statistical bounds.

mod blocks;
mod bytes;
mod damage;
mod exempt;
mod live;
mod rates;
mod sampling;
mod spec;
mod trace;

use super::*;
use crate::units::Span;
use ::packet::{Frame, Layer};
use statrs::distribution::{ChiSquared, ContinuousCDF};
use vocabulary::{ChannelState, Sending};

/// Parses a specification from TOML.
fn spec(toml: &str) -> ErrorSpec {
    toml::from_str(toml).unwrap_or_else(|error| panic!("{toml}: {error}"))
}

/// Returns the error of a specification in TOML, when it is parsed or when a stage is built from
/// it.
fn refused(toml: &str) -> String {
    match toml::from_str::<ErrorSpec>(toml) {
        Ok(spec) => Errors::new(spec, &Seed::campaign(1)).expect_err(toml).to_string(),
        Err(error) => error.message().to_owned(),
    }
}

/// Parses a process from an inline TOML table.
fn process(table: &str) -> ProcessSpec {
    spec(&format!("process = {table}")).process
}

/// Builds a stage that loses the packets hit by the process `table`.
fn losing(table: &str, seed: u64) -> Driven {
    Driven::new(ErrorSpec::new(process(table)), seed)
}

fn at(millis: f64) -> Time {
    Time::from_nanos((millis * 1e6) as u64)
}

/// A stage through which one packet passes repeatedly, because tests drive millions of packets.
struct Driven {
    stage: Errors,
    packet: Option<Packet>,
    next: u64,
    out: Outbox,
}

impl Driven {
    fn new(spec: ErrorSpec, seed: u64) -> Self {
        let stage = Errors::new(spec, &Seed::campaign(seed).stage("errors")).expect("a spec that can be");
        let packet = Packet::new(0, Frame::owned(Layer::Ip, Vec::new()), Time::ZERO);
        Self { stage, packet: Some(packet), next: 0, out: Outbox::default() }
    }

    /// Sets the length of the packets in bytes.
    fn of_length(mut self, length: usize) -> Self {
        self.packet = Some(Packet::new(0, Frame::owned(Layer::Ip, vec![0; length]), Time::ZERO));
        self
    }

    /// Returns whether the next packet, which arrives at `at`, is lost.
    fn hits(&mut self, at: Time) -> bool {
        self.hits_sent(Sending { start: at, end: at })
    }

    /// Returns whether the next packet, which the limiter has just sent, is lost.
    fn hits_sent(&mut self, sending: Sending) -> bool {
        let mut packet = self.packet.take().expect("it came back");
        packet.number = self.next;
        self.next += 1;
        (packet.at, packet.sending) = (sending.end, sending);
        packet.marks = crate::fate::Marks::default();
        self.stage.accept(packet, &mut self.out);
        let lost = self.out.lost.pop();
        let hit = lost.is_some();
        self.packet = lost.or_else(|| self.out.passed.pop());
        hit
    }

    /// Returns the fate of a packet: `Ok` if it passes, `Err` if it is lost.
    fn fate(&mut self, packet: Packet) -> Result<Packet, Packet> {
        self.stage.accept(packet, &mut self.out);
        self.out.passed.pop().ok_or_else(|| self.out.lost.pop().expect("no packet disappears"))
    }
}

/// Asserts that `found` is within five standard deviations of its model.
#[track_caller]
fn close(what: &str, found: f64, expected: f64, deviation: f64) {
    assert!(
        (found - expected).abs() <= 5.0 * deviation,
        "{what}: {found}, expected {expected} ± {deviation}"
    );
}

/// Returns the standard deviation of the share of hits among `count` samples of a two-state chain
/// whose neighbours have the correlation `rho`.
fn share_deviation(share: f64, rho: f64, count: f64) -> f64 {
    (share * (1.0 - share) / count * (1.0 + rho) / (1.0 - rho)).sqrt()
}

/// Asserts by a chi-square test that `found` matches `expected`. Classes with fewer than 5 expected
/// are merged with the next ones.
#[track_caller]
fn fits(what: &str, found: &[u64], expected: &[f64]) {
    let (mut chi_square, mut classes) = (0.0, 0);
    let (mut seen, mut wanted) = (0.0, 0.0);
    let mut left: f64 = expected.iter().sum();
    for (&found, &expected) in found.iter().zip(expected) {
        seen += found as f64;
        wanted += expected;
        left -= expected;
        if wanted >= 5.0 && left >= 5.0 {
            chi_square += (seen - wanted).powi(2) / wanted;
            classes += 1;
            (seen, wanted) = (0.0, 0.0);
        }
    }
    chi_square += (seen - wanted).powi(2) / wanted;
    assert!(classes >= 1, "{what}: too few classes");
    let p_value = ChiSquared::new(f64::from(classes)).expect("above 0").sf(chi_square);
    // This p-value is as rare as five standard deviations.
    assert!(
        p_value > 5.7e-7,
        "{what}: chi-square {chi_square} with {classes} degrees of freedom, p = {p_value}"
    );
}

/// Returns how many of `lengths` are 1, 2, ..., and how many are expected if each step is the last
/// with probability `leave`.
fn geometric(lengths: &[u64], leave: f64) -> (Vec<u64>, Vec<f64>) {
    let longest = lengths.iter().max().copied().unwrap_or(1) as usize;
    let mut found = vec![0; longest + 1];
    for length in lengths {
        found[*length as usize - 1] += 1;
    }
    let count = lengths.len() as f64;
    let mut expected: Vec<f64> =
        (0..longest).map(|shorter| count * leave * (1.0 - leave).powf(shorter as f64)).collect();
    expected.push(count * (1.0 - leave).powf(longest as f64));
    (found, expected)
}

/// Returns the lengths of complete runs of `true` and of `false`.
fn run_lengths(states: &[bool]) -> [Vec<u64>; 2] {
    let mut runs: Vec<(bool, u64)> =
        states.chunk_by(|one, other| one == other).map(|run| (run[0], run.len() as u64)).collect();
    runs.pop();
    runs.remove(0);
    [true, false].map(|state| runs.iter().filter(|run| run.0 == state).map(|run| run.1).collect())
}

fn mean(lengths: &[u64]) -> f64 {
    lengths.iter().sum::<u64>() as f64 / lengths.len() as f64
}
