//! Tests of the bottleneck against closed formulas and independent computations.
//!
//! This file contains the functions that drive a stage.

mod aqm;
mod controllers;
mod ecn;
mod fifo;
mod flows;
mod limits;
mod live;
mod row;
mod spec;
mod traces;

use super::*;
use crate::units::{BitRate, Span};
use packet::{Ecn, Frame, Layer};

/// The fate of a packet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Fate {
    pub number: u64,
    pub arrived: Time,
    /// Time at which it left or was lost.
    pub at: Time,
    pub sending: Sending,
    pub loss: Option<Loss>,
    pub marked: bool,
}

/// Builds a packet of `length` bytes of IP that arrives at `at`.
pub(crate) fn packet(number: u64, length: usize, at: Time) -> Packet {
    Packet::new(number, Frame::owned(Layer::Ip, vec![0; length]), at)
}

pub(crate) fn rate(bits: u64) -> RateSpec {
    RateSpec::Constant(BitRate::from_bits_per_second(bits).expect("not 0"))
}

pub(crate) fn bottleneck(rate: RateSpec, queue: &str) -> Bottleneck {
    let queue = queue.parse().expect("a limit");
    made(BottleneckSpec { rate, queue, ..BottleneckSpec::default() })
}

pub(crate) fn made(spec: BottleneckSpec) -> Bottleneck {
    Bottleneck::new(spec, &Seed::campaign(1).stage("bottleneck")).expect("a spec that can be")
}

pub(crate) const fn nanos(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

/// Handles all events until `now`, inclusive, and collects the packets that left.
pub(crate) fn advance(stage: &mut impl Stage, now: Time, fates: &mut Vec<Fate>) {
    let mut out = Outbox::default();
    let mut last = Time::ZERO;
    while stage.due() <= now && stage.due() != Time::NEVER {
        let due = stage.due();
        assert!(due >= last, "{due} is due after {last}");
        last = due;
        stage.advance(due, &mut out);
        collect(&mut out, due, fates);
    }
}

/// Notes the packets that left at `now`.
pub(crate) fn collect(out: &mut Outbox, now: Time, fates: &mut Vec<Fate>) {
    let (passed, lost) = (out.passed.drain(..), out.lost.drain(..));
    for packet in passed.chain(lost) {
        assert_eq!(packet.at, now, "a packet leaves at the instant at which the stage acts");
        let marked = packet.marks.iter().any(|mark| mark.effect == Effect::CongestionMarked);
        assert_eq!(marked, packet.frame.ecn() == Ecn::Ce, "none comes with CE");
        fates.push(Fate {
            number: packet.number,
            arrived: packet.arrived,
            at: packet.at,
            sending: packet.sending,
            loss: packet.loss(),
            marked,
        });
    }
}

/// Feeds packets of these lengths at these times, in order, and waits until the last has left.
/// Returns the fates in their order of time. Asserts that the number of packets is conserved.
pub(crate) fn drive(stage: &mut impl Stage, arrivals: impl IntoIterator<Item = (u64, usize)>) -> Vec<Fate> {
    let mut out = Outbox::default();
    let mut fates = Vec::new();
    let mut count = 0;
    for (at, length) in arrivals {
        advance(stage, nanos(at), &mut fates);
        stage.accept(packet(count, length, nanos(at)), &mut out);
        collect(&mut out, nanos(at), &mut fates);
        count += 1;
    }
    advance(stage, nanos(u64::MAX - 1), &mut fates);
    assert_eq!(fates.len() as u64, count, "in = passed + lost");
    assert_eq!(stage.waiting(), 0);
    fates
}

/// Returns the fates of packets that were not lost.
pub(crate) fn passed(fates: &[Fate]) -> Vec<Fate> {
    fates.iter().copied().filter(|fate| fate.loss.is_none()).collect()
}

/// Returns the numbers of packets that were lost.
pub(crate) fn lost(fates: &[Fate]) -> Vec<u64> {
    fates.iter().filter(|fate| fate.loss.is_some()).map(|fate| fate.number).collect()
}

/// Asserts that the mean of a series is within five standard errors of `expected`. The values may
/// depend on each other, so the error is computed from the means of 50 batches.
pub(crate) fn assert_mean(values: &[f64], expected: f64) {
    let size = values.len() / 50;
    let means: Vec<f64> =
        values.chunks_exact(size).map(|batch| batch.iter().sum::<f64>() / size as f64).collect();
    let mean = means.iter().sum::<f64>() / means.len() as f64;
    let variance = means.iter().map(|m| (m - mean).powi(2)).sum::<f64>() / (means.len() - 1) as f64;
    let error = (variance / means.len() as f64).sqrt();
    assert!((mean - expected).abs() < 5.0 * error, "{mean} ± {error}, expected {expected}");
    assert!(error < expected * 0.05, "{error} is too much of {expected} to say anything");
}
