//! What a bottleneck lets happen: when it has sent a packet, and when its queue drops one.

use crate::spurious::flow::{Acknowledgment, Transmission};
use crate::spurious::story::Story;

/// Costs are negative logarithms of probabilities, in hundredths. That an acknowledgment comes at
/// another time than the bottleneck lets it, or a packet is dropped by another queue than a full
/// one, costs this at most: links stall and change their rates.
const STALL: u32 = 1000;

/// Values without which a quantile says nothing.
const ENOUGH: usize = 8;

/// A bottleneck with a queue.
#[derive(Debug, Clone, Copy)]
pub struct Path {
    /// The least round-trip time in nanoseconds.
    pub round_trip: u64,
    /// The least round-trip time of the longest packet in nanoseconds, and how long that is.
    data: (u64, u32),
    /// What the bottleneck needs for a byte at IP, in nanoseconds.
    byte_ns: f64,
    /// By how many nanoseconds it is off that on average: being off by so much costs one.
    deviation_ns: f64,
    /// The queue takes packets whose answer comes so much later, in nanoseconds, and drops those
    /// whose answer would come so much later.
    full_ns: Option<(f64, f64)>,
}

impl Path {
    /// From the gaps between duplicate acknowledgments, of which each answers one packet; `None`
    /// without enough of them.
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

    /// What the bottleneck needs for a packet, in nanoseconds.
    pub fn needs(&self, sent: &Transmission) -> f64 {
        self.byte_ns * f64::from(sent.length)
    }

    /// When the answer to `sent` comes, if that to the packet before it came at `before`; in
    /// nanoseconds, as `before`.
    pub fn behind(&self, before: f64, sent: &Transmission) -> f64 {
        let shorter = self.byte_ns * f64::from(self.data.1 - sent.length);
        let soonest = (sent.time + self.data.0) as f64 - shorter;
        (before + self.needs(sent)).max(soonest)
    }

    /// What it costs that an answer came at `time`.
    pub fn off(&self, time: u64, expected: f64) -> u32 {
        cost((expected - time as f64).abs(), self.deviation_ns)
    }

    /// What it costs that an answer came at `time` and not behind `soonest`.
    pub fn early(&self, time: u64, soonest: f64) -> u32 {
        cost(soonest - time as f64, self.deviation_ns)
    }

    /// What it costs that the queue took a packet whose answer came so much later, in nanoseconds.
    pub fn taken(&self, later: u64) -> u32 {
        self.full_ns.map_or(0, |(takes, _)| cost(later as f64 - takes - self.deviation_ns, self.deviation_ns))
    }

    /// What it costs that the queue dropped a packet whose answer would have come so much later, in
    /// nanoseconds.
    pub fn dropped(&self, later: u64) -> u32 {
        self.full_ns.map_or(0, |(_, drops)| cost(drops - later as f64 - self.deviation_ns, self.deviation_ns))
    }

    /// Learns from drops how long the queue is: how much later the answer to the packet behind
    /// came, and to that which was dropped would have come, in nanoseconds. One in twenty may be
    /// wrong to each side.
    pub fn learn(&mut self, drops: &[(u64, u64)]) {
        let takes = quantile(drops.iter().map(|drop| drop.0).collect(), 0.95);
        let lowest = quantile(drops.iter().map(|drop| drop.1).collect(), 0.05);
        self.full_ns = takes.zip(lowest).map(|(takes, lowest)| (takes as f64, lowest as f64));
    }
}

fn cost(off_ns: f64, deviation_ns: f64) -> u32 {
    ((100.0 * off_ns.max(0.0) / deviation_ns) as u32).min(STALL)
}

/// The median, and that of the distances from it.
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
