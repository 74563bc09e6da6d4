//! Offset and drift of two machines' clocks, estimated from the packets between them (LL-17).
//!
//! A delay measured across two clocks contains the difference of the clocks, and varies with
//! queues. But the smallest delays are all alike, so the lower edge of the delays over time is a
//! line whose slope is the drift. Of all lines with every point on or above them, it is the one
//! nearest to the points on average: the edge of the lower convex hull at the points' mean time.
//! (S. Moon, P. Skelly, D. Towsley, Estimation and removal of clock skew from network delay
//! measurements, Infocom 1999, find it by linear programming; the hull gives the same line.)
//!
//! There are two such edges, for the data and for the acknowledgments. The drift is the smaller of
//! their slopes: a queue that grows or drains all the time and never runs empty tilts an edge by
//! per cents, while clocks differ by millionths. Then the offset is half the difference of the two
//! smallest delays, as if both directions were equally long. Half their sum bounds the error.

use crate::spurious::flow::{Acknowledgment, Flow, Transmission};
use crate::spurious::pair::offset;
use rustc_hash::FxHashMap;
use std::hash::Hash;

/// A packet captured at both ends: when it was sent and when it arrived.
///
/// Each time is in nanoseconds since time zero, by the clock of that end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passage {
    /// Time by the clock of the end that sent it.
    pub sent: i64,
    /// Time by the clock of the end that received it.
    pub arrived: i64,
}

impl Passage {
    /// Returns the delay as the two clocks show it, in nanoseconds.
    const fn delay_ns(&self) -> f64 {
        // The time stamps of a damaged capture may be off by centuries.
        self.arrived.saturating_sub(self.sent) as f64
    }
}

/// The receiver's clock relative to the sender's.
///
/// It shows `t + offset_ns + drift * t` when the sender's shows `t` since its zero.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Nanoseconds by which the receiver's clock was ahead at the sender's zero.
    pub offset_ns: f64,
    /// Relative gain of the receiver's clock: 1e-6 is a microsecond per second.
    pub drift: f64,
    /// Largest possible error of the offset, in nanoseconds: half the smallest round-trip time.
    pub error_ns: f64,
}

/// Estimates offset and drift of the clocks.
///
/// `data` went from the sender to the receiver, `answers` back. `None` unless there are packets
/// both ways, and those of one way have two different times.
#[must_use]
pub fn estimate(data: &[Passage], answers: &[Passage]) -> Option<Estimate> {
    // Delays as the two clocks show them, over the sender's time.
    let there: Vec<(f64, f64)> =
        data.iter().map(|passage| (passage.sent as f64, passage.delay_ns())).collect();
    let back: Vec<(f64, f64)> =
        answers.iter().map(|passage| (passage.arrived as f64, passage.delay_ns())).collect();
    let slopes = [lower_edge(&there), lower_edge(&back).map(|slope| -slope)];
    let drift = slopes.into_iter().flatten().min_by(|one, other| one.abs().total_cmp(&other.abs()))?;
    let least = |points: &[(f64, f64)], slope: f64| {
        points.iter().map(|(time, delay)| delay - slope * time).fold(f64::INFINITY, f64::min)
    };
    let (there, back) = (least(&there, drift), least(&back, -drift));
    if !there.is_finite() || !back.is_finite() {
        return None;
    }
    Some(Estimate { offset_ns: (there - back) / 2.0, drift, error_ns: there.midpoint(back).max(0.0) })
}

/// Returns the slope of the lower convex hull at the points' mean time.
fn lower_edge(points: &[(f64, f64)]) -> Option<f64> {
    let mut sorted = points.to_vec();
    sorted.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.total_cmp(&other.1)));
    let count = sorted.len() as f64;
    let mean = sorted.iter().map(|point| point.0).sum::<f64>() / count;
    let mut hull: Vec<(f64, f64)> = Vec::new();
    for point in sorted {
        if hull.last().is_some_and(|last| last.0 >= point.0) {
            continue;
        }
        // The last corner is not on the hull if it lies on or above the line from the one before it
        // to this point.
        while let [.., before, last] = hull[..]
            && (last.1 - before.1) * (point.0 - before.0) >= (point.1 - before.1) * (last.0 - before.0)
        {
            hull.pop();
        }
        hull.push(point);
    }
    let right = hull.partition_point(|corner| corner.0 < mean).clamp(1, hull.len().max(2) - 1);
    let [left, right] = hull.get(right - 1..=right)?.try_into().ok()?;
    Some((right.1 - left.1) / (right.0 - left.0))
}

/// Returns the packets of a flow that can be identified in both captures: data, and
/// acknowledgments.
///
/// Times are since the connection's first packet at each end.
#[must_use]
pub fn passages(sender: &Flow, receiver: &Flow) -> (Vec<Passage>, Vec<Passage>) {
    let above = offset(sender, receiver);
    let shifted = |number: u64| number.saturating_add_signed(-above);
    let data = matched(
        sender.transmissions.iter().map(|sent| (data_key(sent, sent.first), since(sent.time, sender))),
        receiver
            .transmissions
            .iter()
            .map(|sent| (data_key(sent, shifted(sent.first)), since(sent.time, receiver))),
    );
    let answers = matched(
        receiver
            .acknowledgments
            .iter()
            .map(|ack| (ack_key(ack, shifted(ack.number)), since(ack.time, receiver))),
        sender.acknowledgments.iter().map(|ack| (ack_key(ack, ack.number), since(ack.time, sender))),
    );
    (data, answers)
}

fn since(time: u64, flow: &Flow) -> i64 {
    time.wrapping_sub(flow.began).cast_signed()
}

fn data_key(sent: &Transmission, first: u64) -> (u64, u64, Option<u32>, Option<u16>) {
    (first, sent.end - sent.first, sent.stamp, sent.identification)
}

fn ack_key(ack: &Acknowledgment, number: u64) -> (u64, Option<u32>) {
    (number, ack.echo)
}

/// Returns the packets whose key occurs exactly once on each side.
fn matched<K: Hash + Eq>(
    sent: impl Iterator<Item = (K, i64)>,
    arrived: impl Iterator<Item = (K, i64)>,
) -> Vec<Passage> {
    let once = |side: &mut dyn Iterator<Item = (K, i64)>| {
        let mut times: FxHashMap<K, Option<i64>> = FxHashMap::default();
        for (key, time) in side {
            times.entry(key).and_modify(|time| *time = None).or_insert(Some(time));
        }
        times
    };
    let mut sent = sent;
    let mut arrived = arrived;
    let (sent, arrived) = (once(&mut sent), once(&mut arrived));
    let pair =
        |(key, time): (&K, &Option<i64>)| Some(Passage { sent: (*time)?, arrived: (*arrived.get(key)?)? });
    let mut passages: Vec<Passage> = sent.iter().filter_map(pair).collect();
    passages.sort_unstable_by_key(|passage| passage.sent);
    passages
}

#[cfg(test)]
mod tests;
