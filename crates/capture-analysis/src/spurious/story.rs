//! A sender's capture of one flow, with fast answers to the questions of all evidence.

use super::delivery::Index;
use super::flow::{Acknowledgment, Flow, Transmission};
use crate::retransmission::Cause;

/// One flow at the sender's side.
#[derive(Debug)]
pub struct Story<'a> {
    /// The flow.
    pub flow: &'a Flow,
    /// Index of its transmissions by their bytes.
    pub index: Index,
    /// Smallest round-trip time in nanoseconds.
    pub least_round_trip: Option<u64>,
    /// Number after the highest byte sent, up to each transmission.
    sent: Vec<u64>,
    /// Highest number acknowledged, up to each acknowledgment.
    edges: Vec<u64>,
    /// Number after the highest byte reported by SACK or ACK, up to each acknowledgment.
    told: Vec<u64>,
}

/// A retransmission to be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Again {
    /// Its index among the transmissions.
    pub at: usize,
    /// Why it was sent.
    pub cause: Cause,
    /// Its first byte that had been sent before.
    pub first: u64,
    /// Number after its last byte that had been sent before.
    pub end: u64,
    /// Index of the latest earlier transmission of any of these bytes.
    pub before: usize,
    /// Index of the first acknowledgment captured after it.
    pub acks: usize,
}

impl<'a> Story<'a> {
    /// Creates the queries for this flow.
    #[must_use]
    pub fn new(flow: &'a Flow) -> Self {
        let (mut edge, mut highest) = (0, 0);
        let (mut edges, mut told) = (Vec::new(), Vec::new());
        for ack in &flow.acknowledgments {
            edge = edge.max(ack.number);
            highest = ack.sacks.iter().fold(edge.max(highest), |highest, block| highest.max(block.1));
            edges.push(edge);
            told.push(highest);
        }
        let mut highest = 0;
        let up_to = |packet: &Transmission| {
            highest = highest.max(packet.end);
            highest
        };
        let sent = flow.transmissions.iter().map(up_to).collect();
        let index = Index::new(&flow.transmissions);
        Self { flow, index, least_round_trip: flow.least_round_trip(), sent, edges, told }
    }

    /// Returns the retransmissions, in the order of time.
    ///
    /// Keep-alives are left out, as are retransmissions of data whose earlier transmission was not
    /// captured.
    #[must_use]
    pub fn retransmissions(&self) -> Vec<Again> {
        let sent = &self.flow.transmissions;
        let again = |(at, packet): (usize, &Transmission)| {
            let cause = packet.again.filter(|cause| *cause != Cause::KeepAlive)?;
            let (mut first, mut end, mut before) = (u64::MAX, 0, 0);
            for earlier in self.index.earlier(sent, at) {
                first = first.min(sent[earlier].first.max(packet.first));
                end = end.max(sent[earlier].end.min(packet.end));
                before = before.max(earlier);
            }
            let acks = self.acks_behind(packet.order);
            (first < end).then_some(Again { at, cause, first, end, before, acks })
        };
        sent.iter().enumerate().filter_map(again).collect()
    }

    /// Returns the packet of a retransmission.
    #[must_use]
    pub fn packet(&self, again: &Again) -> &'a Transmission {
        &self.flow.transmissions[again.at]
    }

    /// Returns the number after the highest byte sent before the transmission at `at`; 0 for the
    /// first.
    #[must_use]
    pub fn sent_before(&self, at: usize) -> u64 {
        at.checked_sub(1).map_or(0, |before| self.sent[before])
    }

    /// Returns the index of the first acknowledgment after the packet at `order`.
    #[must_use]
    pub fn acks_behind(&self, order: u64) -> usize {
        self.flow.acknowledgments.partition_point(|ack| ack.order < order)
    }

    /// Returns the highest number acknowledged before the acknowledgment at `ack`; 0 for the first.
    #[must_use]
    pub fn edge_before(&self, ack: usize) -> u64 {
        ack.checked_sub(1).map_or(0, |before| self.edges[before])
    }

    /// Returns the number after the highest byte reported, by SACK or ACK, before the
    /// acknowledgment at `ack`; 0 for the first.
    #[must_use]
    pub fn told_before(&self, ack: usize) -> u64 {
        ack.checked_sub(1).map_or(0, |before| self.told[before])
    }

    /// Returns the first acknowledgment, from the one at `from` on, that brings the acknowledged
    /// number above `number`.
    #[must_use]
    pub fn beyond(&self, from: usize, number: u64) -> Option<usize> {
        let at = from + self.edges[from..].partition_point(|edge| *edge <= number);
        (at < self.edges.len()).then_some(at)
    }

    /// Returns the first acknowledgment, from the one at `from` on, that covers all of
    /// `first..end`, by its number or by a SACK block.
    #[must_use]
    pub fn covering(&self, from: usize, first: u64, end: u64) -> Option<usize> {
        let acknowledged = self.beyond(from, end - 1);
        let until = acknowledged.unwrap_or(self.edges.len());
        let acks = &self.flow.acknowledgments[from..until];
        acks.iter().position(|ack| covers(ack, first, end)).map(|at| at + from).or(acknowledged)
    }

    /// Returns whether the acknowledgments before the one at `ack`, back to that at `from`,
    /// reported that `first..end` had arrived.
    #[must_use]
    pub fn is_told(&self, from: usize, ack: usize, first: u64, end: u64) -> bool {
        self.edge_before(ack) >= end
            || self.flow.acknowledgments[from..ack.max(from)].iter().any(|ack| covers(ack, first, end))
    }

    /// Returns whether a duplicate is among the acknowledgments from `from` to before `ack`.
    #[must_use]
    pub fn is_duplicate_since(&self, from: usize, ack: usize) -> bool {
        self.flow.acknowledgments[from..ack.max(from)].iter().any(|ack| ack.duplicate)
    }

    /// Returns whether `first..end` was sent just once before the packet at `order`, by a
    /// transmission before the one at `at`.
    #[must_use]
    pub fn is_sent_once(&self, first: u64, end: u64, at: usize, order: u64) -> bool {
        let sent = &self.flow.transmissions;
        let mut there = self
            .index
            .near(first, end)
            .filter(|&other| sent[other].first < end && first < sent[other].end && sent[other].order < order);
        matches!((there.next(), there.next()), (Some(only), None) if only < at)
    }
}

/// Returns whether a SACK block of `ack` contains all of `first..end`.
fn covers(ack: &Acknowledgment, first: u64, end: u64) -> bool {
    ack.sacks.iter().any(|block| block.0 <= first && end <= block.1)
}
