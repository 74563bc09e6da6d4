//! Throughput over time of one direction of a connection: what was sent and what arrived in each
//! bin of time, and what arrived on average since the start. tcptrace's throughput graph (`-T`;
//! LTCP thesis, appendix B.2.2) shows the same three things.
//!
//! *Sent* is payload, sent for the first time or again. *Delivered* is payload that the other end
//! told to have, by acknowledgement or by SACK, each byte once and when it was told first. A bin
//! lasts 1, 2, 3, 4, 5, 6 or 8 times a power of ten of milliseconds: the shortest with which there
//! are at most [`MOST_BINS`] and, on average over the connection, at least [`LEAST_SEGMENTS`] data
//! segments in each, so that it is never shorter than a segment takes on the link.

use serde::Serialize;
use std::collections::BTreeMap;

/// More bins than this are not there.
pub const MOST_BINS: u64 = 250;

/// Data segments that a bin has at least, on average. tcptrace's red line is over ten, each dot of
/// it.
pub const LEAST_SEGMENTS: u64 = 5;

/// Lengths of bins, times a power of ten.
const LENGTHS: [u64; 7] = [1, 2, 3, 4, 5, 6, 8];

/// Bins while it is not known how long the connection lasts. They are joined by tens, which leaves
/// at least three in each of the final ones, and those are then whole multiples.
const FINE: usize = 8192;

/// The shortest bin.
const MILLISECOND: u64 = 1_000_000;

/// What one end sent over time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Throughput {
    /// Length of a bin in nanoseconds. The last one ends with the connection, and lasts at least
    /// half as long and less than half as long again; if it is the only one it may be shorter.
    pub bin_ns: u64,
    /// When the connection ended, in nanoseconds since its first packet.
    pub end_ns: u64,
    /// From the first packet on.
    pub bins: Vec<Rates>,
}

/// Rates of a bin in bit/s of payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Rates {
    /// Of what was sent in it.
    pub sent: u64,
    /// Of what was delivered in it.
    pub delivered: u64,
    /// Of what was delivered from the first packet to the end of the bin.
    pub average: u64,
}

/// Counts while packets come.
#[derive(Debug, Clone)]
pub(crate) struct Meter {
    width_ns: u64,
    /// Bytes sent and delivered.
    bins: Vec<[u64; 2]>,
    segments: u64,
    delivered: Delivered,
}

/// Which numbers the other end has.
#[derive(Debug, Clone, Default)]
struct Delivered {
    /// Ranges that do not touch one another: first numbers and the numbers behind the last ones.
    ranges: BTreeMap<u64, u64>,
    /// Behind the last byte of data that was seen; a FIN has a number but is no byte.
    end: u64,
}

impl Meter {
    pub(crate) fn new() -> Self {
        Self { width_ns: MILLISECOND, bins: Vec::new(), segments: 0, delivered: Delivered::default() }
    }

    /// Payload with the relative numbers `first..first + bytes` was sent, the first time or again.
    pub(crate) fn sent(&mut self, time_ns: u64, first: u64, bytes: u64) {
        if bytes == 0 {
            return;
        }
        self.segments += 1;
        self.delivered.end = self.delivered.end.max(first + bytes);
        self.bin(time_ns)[0] += bytes;
    }

    /// The other end has the relative numbers `first..last`: of an acknowledgement those from 1 on.
    pub(crate) fn arrived(&mut self, time_ns: u64, first: u64, last: u64) {
        let bytes = self.delivered.add(first, last);
        if bytes > 0 {
            self.bin(time_ns)[1] += bytes;
        }
    }

    fn bin(&mut self, time_ns: u64) -> &mut [u64; 2] {
        while time_ns / self.width_ns >= FINE as u64 {
            self.bins = joined(&self.bins, 10);
            self.width_ns *= 10;
        }
        let place = (time_ns / self.width_ns) as usize;
        if self.bins.len() <= place {
            self.bins.resize(place + 1, [0, 0]);
        }
        &mut self.bins[place]
    }

    /// The rates of a connection that lasted so long; `None` without data.
    pub(crate) fn finish(mut self, duration_ns: u64) -> Option<Throughput> {
        if self.segments == 0 || duration_ns == 0 {
            return None;
        }
        // The bins go until the end, also if nothing was sent there.
        self.bin(duration_ns);
        let spacing = u128::from(duration_ns) * u128::from(LEAST_SEGMENTS) / u128::from(self.segments);
        let bin_ns = length(duration_ns.div_ceil(MOST_BINS).max(u64::try_from(spacing).unwrap_or(u64::MAX)));
        let mut bins = joined(&self.bins, (bin_ns / self.width_ns).max(1) as usize);
        // What came with the last packet itself is in the bin that would begin then.
        let whole = (duration_ns / bin_ns) as usize + usize::from(duration_ns % bin_ns >= bin_ns.div_ceil(2));
        for [sent, delivered] in bins.split_off(bins.len().min(whole.max(1))) {
            let last = bins.last_mut()?;
            *last = [last[0] + sent, last[1] + delivered];
        }
        Some(Throughput { bin_ns, end_ns: duration_ns, bins: rates(&bins, bin_ns, duration_ns) })
    }
}

impl Delivered {
    /// How many bytes of `first..last` were not there before.
    fn add(&mut self, first: u64, last: u64) -> u64 {
        let (mut first, mut last) = (first.max(1), last.min(self.end));
        if first >= last {
            return 0;
        }
        let mut new = last - first;
        let touching = |ranges: &BTreeMap<u64, u64>, first, last| {
            let (&start, &end) = ranges.range(..=last).next_back()?;
            (end >= first).then_some((start, end))
        };
        let asked = (first, last);
        while let Some((start, end)) = touching(&self.ranges, first, last) {
            self.ranges.remove(&start);
            new -= end.min(asked.1).saturating_sub(start.max(asked.0));
            (first, last) = (first.min(start), last.max(end));
        }
        self.ranges.insert(first, last);
        new
    }
}

/// Each `count` bins as one.
fn joined(bins: &[[u64; 2]], count: usize) -> Vec<[u64; 2]> {
    let sum = |part: &[[u64; 2]]| part.iter().fold([0, 0], |sum, bin| [sum[0] + bin[0], sum[1] + bin[1]]);
    bins.chunks(count).map(sum).collect()
}

/// The shortest length of a bin that is no shorter than `least`, in nanoseconds.
fn length(least: u64) -> u64 {
    let powers = std::iter::successors(Some(MILLISECOND), |power| power.checked_mul(10));
    let mut lengths = powers.flat_map(|power| LENGTHS.map(|length| length.saturating_mul(power)));
    lengths.find(|length| *length >= least).unwrap_or(u64::MAX)
}

fn rates(bins: &[[u64; 2]], bin_ns: u64, end_ns: u64) -> Vec<Rates> {
    let rate = |bytes: u64, time_ns: u64| {
        let rate = u128::from(bytes) * 8 * 1_000_000_000 / u128::from(time_ns.max(1));
        u64::try_from(rate).unwrap_or(u64::MAX)
    };
    let mut total = 0;
    let of = |(place, [sent, delivered]): (usize, &[u64; 2])| {
        total += delivered;
        let start = place as u64 * bin_ns;
        let end = if place + 1 == bins.len() { end_ns } else { start + bin_ns };
        let length = end - start;
        Rates { sent: rate(*sent, length), delivered: rate(*delivered, length), average: rate(total, end) }
    };
    bins.iter().enumerate().map(of).collect()
}

#[cfg(test)]
mod tests;
