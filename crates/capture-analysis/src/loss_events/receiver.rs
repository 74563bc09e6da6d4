//! Detectors at the receiver, replayed over an event log: the verdicts of Biaz, mBiaz, Spike and
//! ZigZag as they were published.
//!
//! They need information that only the receiver has, so no sender can run them. But an event log
//! records when each packet reached the first link of its path and when it left the last one, both
//! on one clock. The relative one-way trip time (ROTT) is the difference.
//!
//! There is a hole where data arrives beyond the next expected byte. The receiver estimates the
//! number of packets in it from its size and the largest segment so far. Segments that fill a hole
//! later are ignored, because these detectors were made for streams without retransmissions. If no
//! data arrives after lost packets (the last ones before a timeout), there is no hole.

mod journey;

pub use journey::{Arrived, Passages};

use super::stream::{Placed, Stream};
use super::{Ends, LostPacket, LostPackets, Truth};
use crate::TraceError;
use capture::Time;
pub use loss_differentiation::Detector;
use loss_differentiation::{Algorithm, Arrival, Form, Judgement, Loss, Signal};
use std::path::Path;

/// A hole in the data that arrived.
#[derive(Debug, Clone, PartialEq)]
pub struct Hole {
    /// When the packet after it arrived.
    pub at: Time,
    /// Packets in it, as the receiver counts them.
    pub n: u32,
    /// The packets in it that links had lost; none if packets overtook each other.
    pub truth: Truth,
    /// The judgement of each detector, in the order in which the detectors were given.
    pub judged: Vec<Judgement>,
}

/// Returns the detectors that were published for receivers, in their original form and initial
/// state.
#[must_use]
pub fn published() -> Vec<Detector> {
    let receivers = Algorithm::ALL.into_iter().filter(|algorithm| algorithm.is_the_receivers());
    receivers.map(|algorithm| Detector::new(algorithm, Form::Original)).collect()
}

/// Replays detectors over the arrivals of a flow, and returns the holes.
///
/// `arrivals` and `lost`, the packets of the flow that links lost, are in the order of time. Each
/// detector must be in its initial state. Detectors that use a sender's signals get no samples
/// here.
#[must_use]
pub fn replay(arrivals: &[Arrived], lost: Vec<LostPacket>, detectors: &[Detector]) -> Vec<Hole> {
    let mut detectors = detectors.to_vec();
    let mut lost = lost.into_iter().peekable();
    let (mut stream, mut waiting, mut holes) = (Stream::default(), Vec::<Placed>::new(), Vec::new());
    // Place after the highest byte that has arrived, largest segment, and number of packets.
    let (mut highest, mut largest, mut delivered) = (None, 0, 0_u32);
    for arrived in arrivals {
        if highest.is_none() {
            stream.follow(arrived.sequence);
        }
        let first = stream.at(arrived.sequence);
        let expected = highest.unwrap_or(first);
        let end = first + u64::from(arrived.payload);
        if first < expected {
            continue;
        }
        while let Some(packet) = lost.next_if(|packet| packet.left <= arrived.at) {
            waiting.push(stream.place(&packet));
        }
        largest = largest.max(arrived.payload);
        delivered = delivered.wrapping_add(1);
        let arrival = Arrival { at_us: micros(arrived.at), delivered, in_order: first == expected };
        for detector in &mut detectors {
            if let Some(entered) = arrived.entered.filter(|_| detector.signal() == Signal::OneWay) {
                detector.sample(micros(arrived.at) - micros(entered));
            }
            if detector.signal() == Signal::Arrivals {
                detector.arrival(arrival);
            }
        }
        if first > expected {
            let n = (first - expected).div_ceil(u64::from(largest)) as u32;
            let missing = waiting.extract_if(.., |packet| packet.lies_in(expected, first));
            let truth = Truth::of(&missing.collect::<Vec<_>>());
            let judged = detectors.iter().map(|detector| detector.judge(Loss { n, cwnd: 0 })).collect();
            holes.push(Hole { at: arrived.at, n, truth, judged });
        }
        highest = Some(end);
        waiting.retain(|packet| packet.end > end);
        stream.follow(arrived.sequence.wrapping_add(arrived.payload));
    }
    holes
}

/// Reads the holes of all flows with data from an event log (Parquet), in the order of their ends.
pub fn read(events: &Path, detectors: &[Detector]) -> Result<Vec<(Ends, Vec<Hole>)>, TraceError> {
    let failed = |source| TraceError::Events { path: events.to_owned(), source };
    let (mut passages, mut lost) = (Passages::default(), LostPackets::default());
    for fate in capture::fates::Reader::open(events).map_err(failed)? {
        let fate = fate.map_err(failed)?;
        passages.add(&fate);
        lost.add(&fate);
    }
    let flow = |ends| (ends, replay(&passages.arrivals(ends), lost.take(ends), detectors));
    Ok(passages.flows().into_iter().map(flow).collect())
}

fn micros(time: Time) -> f64 {
    time.as_nanos() as f64 / 1000.0
}

#[cfg(test)]
mod tests;
