//! Throughput over time of one direction of a connection: what was sent and what was delivered in
//! each time bin, and the average delivery rate since the start. tcptrace's throughput graph (`-T`;
//! LTCP thesis, appendix B.2.2) shows the same three curves.
//!
//! *Sent* is payload, sent for the first time or retransmitted. *Delivered* is payload that the
//! other end acknowledged, cumulatively or by SACK; each byte counts once, when it was first
//! acknowledged.
//!
//! A bin lasts 1, 2, 3, 4, 5, 6 or 8 times a power of ten of milliseconds. It is the shortest such
//! time with at most [`MOST_BINS`] bins and, on average over the connection, at least
//! [`LEAST_SEGMENTS`] data segments in each. So a bin is never shorter than a segment's
//! transmission time on the link.

use serde::Serialize;
use std::collections::BTreeMap;

/// Maximum number of bins.
pub const MOST_BINS: u64 = 250;

/// Minimum number of data segments in a bin, on average. In tcptrace's red line, each dot is an
/// average over ten.
pub const LEAST_SEGMENTS: u64 = 5;

/// Lengths of bins, times a power of ten.
const LENGTHS: [u64; 7] = [1, 2, 3, 4, 5, 6, 8];

/// Maximum number of bins while the duration of the connection is unknown. When more are needed,
/// each ten are joined into one. This leaves at least three bins for each final one, and each final
/// bin consists of whole bins.
const FINE: usize = 8192;

/// The shortest bin, in nanoseconds.
const MILLISECOND: u64 = 1_000_000;

/// Throughput of one direction over time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Throughput {
    /// Length of a bin in nanoseconds. The last bin ends with the connection; its length is at
    /// least 0.5 and less than 1.5 times this. An only bin may be shorter.
    pub bin_ns: u64,
    /// Duration of the connection, in nanoseconds since its first packet.
    pub end_ns: u64,
    /// Rates of the bins, from the first packet on.
    pub bins: Vec<Rates>,
}

/// Rates of a bin in bit/s of payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Rates {
    /// Sent in this bin.
    pub sent: u64,
    /// Delivered in this bin.
    pub delivered: u64,
    /// Delivered from the first packet to the end of this bin, on average.
    pub average: u64,
}

/// Byte counters while the capture is read.
#[derive(Debug, Clone)]
pub(crate) struct Meter {
    width_ns: u64,
    /// Bytes sent and bytes delivered in each bin.
    bins: Vec<[u64; 2]>,
    segments: u64,
    delivered: Delivered,
}

/// Sequence numbers that the other end has.
#[derive(Debug, Clone, Default)]
struct Delivered {
    /// Ranges that do not touch one another: first numbers, and the numbers after the last ones.
    ranges: BTreeMap<u64, u64>,
    /// Number after the last byte of data that was seen; a FIN has a number but is not a byte.
    end: u64,
}

impl Meter {
    pub(crate) fn new() -> Self {
        Self { width_ns: MILLISECOND, bins: Vec::new(), segments: 0, delivered: Delivered::default() }
    }

    /// Counts payload `first..first + bytes` in relative numbers, sent for the first time or again.
    pub(crate) fn sent(&mut self, time_ns: u64, first: u64, bytes: u64) {
        if bytes == 0 {
            return;
        }
        self.segments += 1;
        self.delivered.end = self.delivered.end.max(first + bytes);
        self.bin(time_ns)[0] += bytes;
    }

    /// Notes that the other end has the relative numbers `first..last`; an acknowledgement has them
    /// from 1 on.
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

    /// Returns the rates of a connection of this duration; `None` without data.
    pub(crate) fn finish(mut self, duration_ns: u64) -> Option<Throughput> {
        if self.segments == 0 || duration_ns == 0 {
            return None;
        }
        // The bins extend to the end of the connection, even if nothing was sent there.
        self.bin(duration_ns);
        let spacing = u128::from(duration_ns) * u128::from(LEAST_SEGMENTS) / u128::from(self.segments);
        let bin_ns = length(duration_ns.div_ceil(MOST_BINS).max(u64::try_from(spacing).unwrap_or(u64::MAX)));
        let mut bins = joined(&self.bins, (bin_ns / self.width_ns).max(1) as usize);
        // Bytes of the last packet are in the bin that would begin at its time.
        let whole = (duration_ns / bin_ns) as usize + usize::from(duration_ns % bin_ns >= bin_ns.div_ceil(2));
        for [sent, delivered] in bins.split_off(bins.len().min(whole.max(1))) {
            let last = bins.last_mut()?;
            *last = [last[0] + sent, last[1] + delivered];
        }
        Some(Throughput { bin_ns, end_ns: duration_ns, bins: rates(&bins, bin_ns, duration_ns) })
    }
}

impl Delivered {
    /// Adds `first..last` and returns the number of its bytes that were not there before.
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

/// Joins each `count` bins into one.
fn joined(bins: &[[u64; 2]], count: usize) -> Vec<[u64; 2]> {
    let sum = |part: &[[u64; 2]]| part.iter().fold([0, 0], |sum, bin| [sum[0] + bin[0], sum[1] + bin[1]]);
    bins.chunks(count).map(sum).collect()
}

/// Returns the shortest allowed length of a bin that is at least `least`, in nanoseconds.
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
