//! What one capture shows of one direction of a connection.
//!
//! Numbers are relative to the sender's first one, as in [`crate::connection::Seen`]. `order` is
//! the position of a packet among those of its interface, so that the order is known even where
//! time stamps are equal.

use crate::loss_events::Ends;
use crate::retransmission::Cause;

/// A packet with data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transmission {
    /// Position among the packets of the interface.
    pub order: u64,
    /// When it was captured, in nanoseconds since 1970.
    pub time: u64,
    /// Number of its first byte of data.
    pub first: u64,
    /// The number after its data.
    pub end: u64,
    /// Length in bytes at IP.
    pub length: u32,
    /// Identification in the IPv4 header; most senders use another one for each packet.
    pub identification: Option<u16>,
    /// Its time stamp (TSval).
    pub stamp: Option<u32>,
    /// Whether its checksum is wrong, so that a receiver drops it.
    pub damaged: bool,
    /// Why it was retransmitted; `None` for new data and for window probes.
    pub again: Option<Cause>,
}

/// A packet that came back with an acknowledgment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acknowledgment {
    /// Position among the packets of the interface.
    pub order: u64,
    /// When it was captured, in nanoseconds since 1970.
    pub time: u64,
    /// The next number expected.
    pub number: u64,
    /// The time stamp that it echoes (TSecr).
    pub echo: Option<u32>,
    /// Whether its checksum is wrong, so that the sender drops it.
    pub damaged: bool,
    /// Whether it is a duplicate acknowledgment (RFC 5681, RFC 6675).
    pub duplicate: bool,
    /// Range that a duplicate SACK reports (RFC 2883).
    pub twice: Option<(u64, u64)>,
    /// The other SACK blocks.
    pub sacks: Box<[(u64, u64)]>,
}

/// One direction of a connection, as captured at one point.
#[derive(Debug, Clone)]
pub struct Flow {
    /// Sender and receiver.
    pub ends: Ends,
    /// The connection's number on its interface, from 1.
    pub connection: usize,
    /// When the connection's first packet was captured, in nanoseconds since 1970.
    pub began: u64,
    /// Sequence number that is 0 in relative numbers, and whether it is that of a SYN.
    pub base: (u32, bool),
    /// The same for the other direction.
    pub peer_base: (u32, bool),
    /// Whether SACK is in use: both ends permit it, or blocks were seen.
    pub sack: bool,
    /// Smallest round-trip time sampled while the capture was read, including that of its SYN, in
    /// nanoseconds.
    pub sampled: Option<u64>,
    /// Packets with data, in the order of capture.
    pub transmissions: Vec<Transmission>,
    /// Packets with an acknowledgment that came back, in the order of capture.
    pub acknowledgments: Vec<Acknowledgment>,
}

impl Flow {
    /// Drops acknowledgments with wrong checksums, unless at least half are wrong. Likewise,
    /// transmissions do not count as damaged if at least half are.
    ///
    /// So many wrong checksums are not real: a host whose network card computes checksums captures
    /// wrong ones in all packets that it sends.
    pub(super) fn settle(&mut self) {
        let wrong = self.acknowledgments.iter().filter(|ack| ack.damaged).count();
        if 2 * wrong < self.acknowledgments.len() {
            self.acknowledgments.retain(|ack| !ack.damaged);
        }
        let wrong = self.transmissions.iter().filter(|sent| sent.damaged).count();
        if 2 * wrong >= self.transmissions.len() {
            self.transmissions.iter_mut().for_each(|sent| sent.damaged = false);
        }
    }

    /// Returns the sequence number in packets for a relative one.
    #[must_use]
    pub const fn sequence(&self, relative: u64) -> u32 {
        self.base.0.wrapping_add(relative as u32)
    }

    /// Returns the smallest round-trip time in nanoseconds; `None` without samples.
    #[must_use]
    pub fn least_round_trip(&self) -> Option<u64> {
        self.sampled.into_iter().chain(self.least_of_data()).min()
    }

    /// Returns the smallest time between a segment that was sent once and the acknowledgment that
    /// covers it, in nanoseconds.
    pub(super) fn least_of_data(&self) -> Option<u64> {
        let mut again: Vec<(u64, u64)> = self
            .transmissions
            .iter()
            .filter(|sent| sent.again.is_some())
            .map(|sent| (sent.first, sent.end))
            .collect();
        again.sort_unstable();
        let mut twice = super::ranges::Ranges::default();
        for (first, end) in again {
            twice.add(first, end);
        }
        let is_single = |sent: &&Transmission| sent.again.is_none() && !twice.touches(sent.first, sent.end);
        let mut acks = self.acknowledgments.iter();
        let mut highest = acks.next()?;
        let mut least: Option<u64> = None;
        for sent in self.transmissions.iter().filter(is_single) {
            while highest.number < sent.end || highest.order < sent.order {
                let Some(next) = acks.next() else { return least };
                highest = next;
            }
            let trip = highest.time.saturating_sub(sent.time);
            least = Some(least.map_or(trip, |least| least.min(trip)));
        }
        least
    }
}
