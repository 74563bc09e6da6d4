//! Counters of what links did to their packets.
//!
//! They need no file, thread or clock. Summaries of parts of a run can be merged.

use crate::event::{EndedPacket, Outcome};
use crate::units::Span;
use packet::Check;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use vocabulary::{Direction, LinkId, Loss};

/// Counters for every direction of every link.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    ways: BTreeMap<(LinkId, Direction), Counters>,
}

/// Counters for one direction of one link. A packet that is still inside counts only in `packets`
/// and `bytes`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Packets that entered the link, without the copies that the link made.
    pub packets: u64,
    /// Bytes of `packets`, at the link's layer.
    pub bytes: u64,
    /// Packets and copies that reached the other end.
    pub delivered: u64,
    /// Bytes of `delivered`.
    pub delivered_bytes: u64,
    /// Packets and copies that were lost.
    pub lost: u64,
    /// `lost` by cause.
    pub lost_by_reason: Losses,
    /// Packets and copies delivered with wrong bytes.
    pub damaged: u64,
    /// `damaged` by the check with which a receiver detects the damage, as far as the emulator
    /// reported it.
    pub damaged_found_by: Checks,
    /// Copies that the link made, whether delivered or lost.
    pub duplicated: u64,
    /// Packets and copies delivered after a packet that had arrived after them.
    pub reordered: u64,
    /// Packets and copies delivered with a congestion mark that the link set.
    pub congestion_marked: u64,
    /// Time from entering the link to delivery, of delivered packets.
    pub delay: Spread,
    /// Time from entering the link to sending the first bit, of delivered packets.
    pub waiting: Spread,
}

/// Numbers of lost packets by cause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Losses([u64; Loss::ALL.len()]);

/// Numbers of damaged packets by the receiver's check that detects them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Checks([u64; Check::ALL.len()]);

/// Minimum, mean and maximum of time spans.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spread {
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
}

impl Summary {
    /// Counts a packet of `length` bytes that entered a link.
    pub fn entered(&mut self, link: LinkId, direction: Direction, length: u32) {
        let counters = self.counters(link, direction);
        counters.packets += 1;
        counters.bytes += u64::from(length);
    }

    /// Counts the end of a packet or a copy.
    pub fn ended(&mut self, ended: &EndedPacket) {
        self.counters(ended.link, ended.direction).ended(ended);
    }

    /// Returns the counters of one direction; all zero if there were no packets.
    #[must_use]
    pub fn way(&self, link: LinkId, direction: Direction) -> Counters {
        self.ways.get(&(link, direction)).cloned().unwrap_or_default()
    }

    /// Returns the sum of the counters of one direction over all links.
    #[must_use]
    pub fn total(&self, direction: Direction) -> Counters {
        let mut total = Counters::default();
        for ((_, way), counters) in &self.ways {
            if *way == direction {
                total.merge(counters);
            }
        }
        total
    }

    /// Iterates over every direction that has counters.
    pub fn iter(&self) -> impl Iterator<Item = (LinkId, Direction, &Counters)> {
        self.ways.iter().map(|(&(link, direction), counters)| (link, direction, counters))
    }

    /// Adds the counters of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (link, direction, counters) in other.iter() {
            self.counters(link, direction).merge(counters);
        }
    }

    fn counters(&mut self, link: LinkId, direction: Direction) -> &mut Counters {
        self.ways.entry((link, direction)).or_default()
    }
}

impl Counters {
    /// Counts the end of a packet or a copy.
    pub fn ended(&mut self, ended: &EndedPacket) {
        self.duplicated += u64::from(ended.copy);
        match ended.outcome {
            Outcome::Lost(loss) => {
                self.lost += 1;
                self.lost_by_reason.count(loss);
            }
            Outcome::Delivered => {
                self.delivered += 1;
                self.delivered_bytes += u64::from(ended.length);
                self.damaged += u64::from(ended.is_damaged());
                if let Some(check) = ended.found_by {
                    self.damaged_found_by.count(check);
                }
                self.reordered += u64::from(ended.overtaken > 0);
                self.congestion_marked += u64::from(ended.congestion_marked);
                self.delay.add(ended.left.since(ended.arrived));
                self.waiting.add(ended.sending.start.since(ended.arrived));
            }
        }
    }

    /// Adds the counters of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.packets += other.packets;
        self.bytes += other.bytes;
        self.delivered += other.delivered;
        self.delivered_bytes += other.delivered_bytes;
        self.lost += other.lost;
        for (mine, theirs) in self.lost_by_reason.0.iter_mut().zip(other.lost_by_reason.0) {
            *mine += theirs;
        }
        self.damaged += other.damaged;
        for (mine, theirs) in self.damaged_found_by.0.iter_mut().zip(other.damaged_found_by.0) {
            *mine += theirs;
        }
        self.duplicated += other.duplicated;
        self.reordered += other.reordered;
        self.congestion_marked += other.congestion_marked;
        self.delay.merge(&other.delay);
        self.waiting.merge(&other.waiting);
    }
}

impl Losses {
    /// Returns the number of packets lost by this cause.
    #[must_use]
    pub fn of(&self, loss: Loss) -> u64 {
        self.0[loss as usize]
    }

    /// Iterates over causes of at least one loss, with the number of packets.
    pub fn iter(&self) -> impl Iterator<Item = (Loss, u64)> + '_ {
        Loss::ALL.into_iter().map(|loss| (loss, self.of(loss))).filter(|&(_, count)| count > 0)
    }

    fn count(&mut self, loss: Loss) {
        self.0[loss as usize] += 1;
    }
}

impl Checks {
    /// Returns the number of packets that this check detects.
    #[must_use]
    pub fn of(&self, check: Check) -> u64 {
        self.0[check as usize]
    }

    /// Iterates over checks that detect at least one packet, with the number of packets.
    pub fn iter(&self) -> impl Iterator<Item = (Check, u64)> + '_ {
        Check::ALL.into_iter().map(|check| (check, self.of(check))).filter(|&(_, count)| count > 0)
    }

    fn count(&mut self, check: Check) {
        self.0[check as usize] += 1;
    }
}

impl Spread {
    /// Returns the number of spans.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the minimum; `None` if there are no spans.
    #[must_use]
    pub fn min(&self) -> Option<Span> {
        (self.count > 0).then(|| Span::from_nanos(self.min))
    }

    /// Returns the mean, rounded down to a nanosecond; `None` if there are no spans.
    #[must_use]
    pub fn mean(&self) -> Option<Span> {
        (self.count > 0).then(|| Span::from_nanos((self.sum / u128::from(self.count)) as u64))
    }

    /// Returns the sum in nanoseconds.
    #[must_use]
    pub fn sum_nanos(&self) -> u128 {
        self.sum
    }

    /// Returns the maximum; `None` if there are no spans.
    #[must_use]
    pub fn max(&self) -> Option<Span> {
        (self.count > 0).then(|| Span::from_nanos(self.max))
    }

    /// Adds a span.
    pub fn add(&mut self, span: Span) {
        let nanos = span.as_nanos();
        self.merge(&Self { count: 1, sum: u128::from(nanos), min: nanos, max: nanos });
    }

    /// Adds the spans of `other`.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        self.min = if self.count == 0 { other.min } else { self.min.min(other.min) };
        self.max = self.max.max(other.max);
        self.count += other.count;
        self.sum += other.sum;
    }
}

impl Serialize for Losses {
    /// Serializes to a map from the cause's name to the number, without zeros.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|(loss, count)| (loss.name(), count)))
    }
}

impl Serialize for Checks {
    /// Serializes to a map from the check's name to the number, without zeros.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|(check, count)| (check.name(), count)))
    }
}

impl Serialize for Spread {
    /// Serializes to nanoseconds; `null` if there are no spans.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[allow(clippy::struct_field_names, reason = "a name in JSON ends in its unit")]
        struct Text {
            min_ns: Option<u64>,
            mean_ns: Option<u64>,
            max_ns: Option<u64>,
        }
        let nanos = |span: Option<Span>| span.map(Span::as_nanos);
        Text { min_ns: nanos(self.min()), mean_ns: nanos(self.mean()), max_ns: nanos(self.max()) }
            .serialize(serializer)
    }
}

#[cfg(test)]
mod tests;
