//! Model of a bottleneck: when it has sent a packet, and when its queue drops one.

use crate::spurious::flow::{Acknowledgment, Transmission};
use crate::spurious::story::Story;

/// Maximum cost of an acknowledgment at another time than the bottleneck allows, or of a drop by a
/// queue that is not full: links stall and change their rates. Costs are negative logarithms of
/// probabilities, in hundredths.
const STALL: u32 = 1000;

/// Minimum number of values for a meaningful quantile.
const ENOUGH: usize = 8;

/// A bottleneck with a queue.
#[derive(Debug, Clone, Copy)]
pub struct Path {
    /// Smallest round-trip time in nanoseconds.
    pub round_trip: u64,
    /// Smallest round-trip time of data in nanoseconds, taken as that of the longest packet, and
    /// that packet's length.
    data: (u64, u32),
    /// Time that the bottleneck needs for a byte at IP, in nanoseconds.
    byte_ns: f64,
    /// Typical deviation of that time for a packet, in nanoseconds; a deviation by this much
    /// costs 1.
    deviation_ns: f64,
    /// Delays until the answer at which the queue is full, in nanoseconds: the longest of packets
    /// that it takes, and the shortest of packets that it drops.
    full_ns: Option<(f64, f64)>,
}

impl Path {
    /// Estimates the path from the gaps between duplicate acknowledgments, each of which answers
    /// one packet; `None` if there are too few.
    pub fn of(story: &Story<'_>) -> Option<Self> {
        let gap = |pair: &[Acknowledgment]| {
            let is_one = pair[1].duplicate && pair[0].number == pair[1].number;
            is_one.then(|| pair[1].time.saturating_sub(pair[0].time))
        };
        let gaps: Vec<u64> = story.flow.acknowledgments.windows(2).filter_map(gap).collect();
        let length = median(story.flow.transmissions.iter().map(|sent| u64::from(sent.length)).collect())?;
        let (gap, off) = middle(gaps)?;
        Some(Self {
            round_trip: story.least_round_trip?,
            data: (
                story.flow.least_of_data()?,
                story.flow.transmissions.iter().map(|sent| sent.length).max()?,
            ),
            byte_ns: gap / length as f64,
            deviation_ns: (1.5 * off).max(0.03 * gap).max(1.0),
            full_ns: None,
        })
    }

    /// Returns the time that the bottleneck needs for a packet, in nanoseconds.
    pub fn needs(&self, sent: &Transmission) -> f64 {
        self.byte_ns * f64::from(sent.length)
    }

    /// Returns when the answer to `sent` comes, if that to the packet before it came at `before`;
    /// both in nanoseconds.
    pub fn behind(&self, before: f64, sent: &Transmission) -> f64 {
        let shorter = self.byte_ns * f64::from(self.data.1 - sent.length);
        let soonest = (sent.time + self.data.0) as f64 - shorter;
        (before + self.needs(sent)).max(soonest)
    }

    /// Returns the cost of an answer at `time` instead of `expected`.
    pub fn off(&self, time: u64, expected: f64) -> u32 {
        cost((expected - time as f64).abs(), self.deviation_ns)
    }

    /// Returns the cost of an answer at `time` if the earliest possible one is at `soonest`.
    pub fn early(&self, time: u64, soonest: f64) -> u32 {
        cost(soonest - time as f64, self.deviation_ns)
    }

    /// Returns the cost if the queue took a packet whose answer came `later` nanoseconds after it.
    pub fn taken(&self, later: u64) -> u32 {
        self.full_ns.map_or(0, |(takes, _)| cost(later as f64 - takes - self.deviation_ns, self.deviation_ns))
    }

    /// Returns the cost if the queue dropped a packet whose answer would have come `later`
    /// nanoseconds after it.
    pub fn dropped(&self, later: u64) -> u32 {
        self.full_ns.map_or(0, |(_, drops)| cost(drops - later as f64 - self.deviation_ns, self.deviation_ns))
    }

    /// Learns the length of the queue from drops.
    ///
    /// Each drop has the delays until the answer, in nanoseconds, of the packet after the dropped
    /// one, and of the dropped one if it had been taken. One in twenty may be wrong on each side.
    pub fn learn(&mut self, drops: &[(u64, u64)]) {
        let takes = quantile(drops.iter().map(|drop| drop.0).collect(), 0.95);
        let lowest = quantile(drops.iter().map(|drop| drop.1).collect(), 0.05);
        self.full_ns = takes.zip(lowest).map(|(takes, lowest)| (takes as f64, lowest as f64));
    }
}

fn cost(off_ns: f64, deviation_ns: f64) -> u32 {
    ((100.0 * off_ns.max(0.0) / deviation_ns) as u32).min(STALL)
}

/// Returns the median of the values, and the median of their distances from it.
fn middle(values: Vec<u64>) -> Option<(f64, f64)> {
    let middle = median(values.clone())?;
    let off = median(values.into_iter().map(|value| value.abs_diff(middle)).collect())?;
    Some((middle as f64, off as f64))
}

fn median(values: Vec<u64>) -> Option<u64> {
    quantile(values, 0.5)
}

fn quantile(mut values: Vec<u64>, share: f64) -> Option<u64> {
    let place = (values.len() as f64 * share) as usize;
    (values.len() >= ENOUGH).then(|| *values.select_nth_unstable(place).1)
}

#[cfg(test)]
mod tests;
