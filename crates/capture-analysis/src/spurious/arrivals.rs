//! Deliveries, from a capture at each end (section 14 item 21 of the specification of link-layer
//! tools): matches each packet at the receiver with one of the sender's packets.
//!
//! Packets match if their sequence numbers, their time stamps and the identifications in their IPv4
//! headers are the same. Where these do not distinguish the transmissions of a segment (IPv6
//! without time stamps), an arriving packet is the one that was sent between its neighbours. If
//! that is ambiguous, too, nothing is said of these transmissions. Segments that a network card or
//! the kernel split or joined on the way are compared byte by byte. Times are not used.
//!
//! A packet that arrives is not necessarily received. The receiver's TCP discards a segment whose
//! time stamp is older than the one that it echoes (PAWS, RFC 7323 section 5.3), as happens to an
//! original that arrives after a later retransmission. It discards damaged segments, too.

use super::delivery::{Delivery, Index};
use super::flow::{Flow, Transmission};

/// Returns what became of each transmission of `sender`, according to `receiver`.
///
/// `offset` is that of [`super::pair::offset`]. A transmission that was not seen at the receiver is
/// lost if a later one arrived. The last ones may still have been in flight when the capture ended,
/// and the first ones may have arrived before it began. If the receiver acknowledged bytes that its
/// capture does not have, the capture is incomplete, and nothing is said of these bytes.
#[must_use]
pub fn deliveries(sender: &Flow, receiver: &Flow, offset: i64) -> Vec<Delivery> {
    compare(sender, receiver, offset).0
}

/// Returns the indices of the transmissions of `sender` that arrived but were discarded by the
/// receiver's TCP, because their time stamps were too old.
#[must_use]
pub fn discarded(sender: &Flow, receiver: &Flow, offset: i64) -> Vec<usize> {
    compare(sender, receiver, offset).1
}

fn compare(sender: &Flow, receiver: &Flow, offset: i64) -> (Vec<Delivery>, Vec<usize>) {
    let sent = &sender.transmissions;
    let index = Index::new(sent);
    let mut matching = Matching {
        sent,
        index: &index,
        deliveries: vec![Delivery::default(); sent.len()],
        matched: vec![None; receiver.transmissions.len()],
        doubtful: vec![false; sent.len()],
    };
    let old = too_old(receiver);
    let shift = |number: u64| number.saturating_add_signed(-offset);
    let arrived: Vec<Transmission> = receiver
        .transmissions
        .iter()
        .zip(&old)
        .map(|(packet, old)| {
            let damaged = packet.damaged || *old;
            Transmission { first: shift(packet.first), end: shift(packet.end), damaged, ..*packet }
        })
        .collect();
    let undecided: Vec<usize> =
        (0..arrived.len()).filter(|&place| !matching.by_marks(&arrived[place], place)).collect();
    for place in undecided {
        matching.by_neighbours(&arrived[place], place);
    }
    let discarded =
        matching.matched.iter().zip(old).filter(|(_, old)| *old).filter_map(|(at, _)| *at).collect();
    (matching.finish(sender, sender.base.1 && receiver.base.1), discarded)
}

/// Returns which packets at the receiver have too old time stamps.
///
/// Such a stamp is older than the last one that the receiver had echoed or, if the next
/// acknowledgment still expects this very packet, than the one which that acknowledgment echoes.
fn too_old(receiver: &Flow) -> Vec<bool> {
    let mut acks = receiver.acknowledgments.iter().peekable();
    let mut recent: Option<u32> = None;
    let is_old = |packet: &Transmission| {
        while let Some(ack) = acks.next_if(|ack| ack.order < packet.order) {
            recent = ack.echo.or(recent);
        }
        let awaiting = acks.peek().filter(|ack| ack.number == packet.first).and_then(|ack| ack.echo);
        packet
            .stamp
            .zip(awaiting.or(recent))
            .is_some_and(|(stamp, recent)| stamp.wrapping_sub(recent).cast_signed() < 0)
    };
    receiver.transmissions.iter().map(is_old).collect()
}

struct Matching<'a> {
    sent: &'a [Transmission],
    index: &'a Index,
    deliveries: Vec<Delivery>,
    /// The transmission that each packet at the receiver is.
    matched: Vec<Option<usize>>,
    /// Transmissions that may have been delivered, as a packet that could also be another one.
    doubtful: Vec<bool>,
}

impl Matching<'_> {
    /// Returns the transmissions that the packet can be. Only one of them can be right where they
    /// have the same bytes.
    fn candidates(&self, packet: &Transmission) -> Vec<usize> {
        let near = self.index.near(packet.first, packet.end);
        let overlapping = near.filter(|&at| {
            let sent = &self.sent[at];
            sent.first < packet.end && packet.first < sent.end && sent.stamp == packet.stamp
        });
        let all: Vec<usize> = overlapping.collect();
        let is_alike = |at: &usize| {
            let sent = &self.sent[*at];
            (sent.first, sent.end, sent.identification) == (packet.first, packet.end, packet.identification)
        };
        let alike: Vec<usize> = all.iter().copied().filter(is_alike).collect();
        if alike.is_empty() { all } else { alike }
    }

    /// Matches a packet by its contents; returns whether these are sufficient.
    fn by_marks(&mut self, packet: &Transmission, place: usize) -> bool {
        let candidates = self.candidates(packet);
        let ends = candidates.windows(2).all(|pair| self.sent[pair[0]].end <= self.sent[pair[1]].first);
        if ends {
            for &at in &candidates {
                self.take(packet, place, at);
            }
        }
        ends
    }

    /// Matches a packet by the packets around it.
    fn by_neighbours(&mut self, packet: &Transmission, place: usize) {
        let before = self.matched[..place].iter().rev().find_map(|at| *at);
        let behind = self.matched[place + 1..].iter().find_map(|at| *at);
        let candidates = self.candidates(packet);
        let free = |at: &usize| {
            let between =
                before.is_none_or(|before| before <= *at) && behind.is_none_or(|behind| *at <= behind);
            between && !self.deliveries[*at].there.touches(packet.first, packet.end)
        };
        let mut fitting = candidates.iter().copied().filter(free);
        match (fitting.next(), fitting.next()) {
            (Some(at), None) => self.take(packet, place, at),
            _ => candidates.iter().for_each(|&at| self.doubtful[at] = true),
        }
    }

    fn take(&mut self, packet: &Transmission, place: usize, at: usize) {
        self.matched[place] = Some(self.matched[place].map_or(at, |other| other.max(at)));
        // A damaged packet can be matched, but the receiver drops it.
        if !packet.damaged {
            let sent = &self.sent[at];
            self.deliveries[at].there.add(packet.first.max(sent.first), packet.end.min(sent.end));
        }
    }

    /// Determines which deliveries are certain. `whole`: both captures begin with the connection,
    /// so no packet can have arrived before.
    fn finish(mut self, sender: &Flow, whole: bool) -> Vec<Delivery> {
        let seen = || self.matched.iter().flatten().copied();
        let (Some(first), Some(last)) = (seen().min(), seen().max()) else { return self.deliveries };
        let acknowledged = sender.acknowledgments.iter().map(|ack| ack.number).max().unwrap_or(0);
        let mut all = super::ranges::Ranges::default();
        for delivery in &self.deliveries {
            delivery.there.as_slice().iter().for_each(|&(low, high)| all.add(low, high));
        }
        let from = if whole { 0 } else { first };
        for (at, delivery) in self.deliveries.iter_mut().enumerate() {
            let sent = &self.sent[at];
            let is_missing = sent.end <= acknowledged && !all.covers(sent.first, sent.end);
            delivery.sure = (from..=last).contains(&at) && !self.doubtful[at] && !is_missing;
        }
        self.deliveries
    }
}
