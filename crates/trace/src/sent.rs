//! What one direction of a connection has sent, as ranges of sequence numbers.
//!
//! Two parts: what is on its way, segment by segment with the time it was sent, and below it what
//! was acknowledged, as ranges that grow together.
//!
//! * At most [`FLIGHT`] segments are on their way. In a capture without acknowledgments (one
//!   direction only) the oldest are taken for acknowledged: no round-trip time can be measured
//!   there anyway.
//! * What was acknowledged is one range for each hole: bytes that went by without being captured. A
//!   connection needs the same memory whatever its length, and some 40 bytes for each hole. Their
//!   number has no limit, since bytes would be counted wrongly beyond it.

use std::collections::{BTreeMap, VecDeque};

/// Most segments on their way that are told apart: a window of 12 MB in segments of 1460 bytes.
pub const FLIGHT: usize = 8192;

/// A range on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Place of its first byte.
    pub first: u64,
    /// Place behind its last byte.
    pub end: u64,
    /// When it was last sent, in nanoseconds.
    pub time: u64,
    /// How often it was sent again.
    pub again: u32,
}

/// What an acknowledgment covered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Covered {
    /// The last segment.
    pub last: Piece,
    /// Whether any of them had been sent again.
    pub retransmitted: bool,
}

/// What a segment was, compared with those before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Novelty {
    /// Bytes that had been sent before.
    pub old: u64,
    /// Whether it filled a hole: tcptrace's out of order. See [`Sent::add`].
    pub out_of_order: bool,
    /// When the first of those bytes was sent before, in nanoseconds, and how often again; only if
    /// it was on its way.
    pub before: Option<(u64, u32)>,
}

/// The ranges.
#[derive(Debug, Clone, Default)]
pub struct Sent {
    /// Where ranges end, by where they begin. They do not touch.
    acknowledged: BTreeMap<u64, u64>,
    flight: VecDeque<Piece>,
}

impl Sent {
    /// Whether nothing is on its way.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.flight.is_empty()
    }

    /// Segments on their way.
    #[must_use]
    pub fn segments(&self) -> usize {
        self.flight.len()
    }

    /// Place behind the last byte sent; `None` before the first.
    #[must_use]
    pub fn end(&self) -> Option<u64> {
        let last = self.flight.back().map(|piece| piece.end);
        last.or_else(|| self.acknowledged.last_key_value().map(|range| *range.1))
    }

    /// Place of the first byte on its way.
    #[must_use]
    pub fn oldest(&self) -> Option<u64> {
        self.flight.front().map(|piece| piece.first)
    }

    /// Adds `first..end`, sent at `time`.
    ///
    /// Out of order is what tcptrace calls so: the bytes behind the last hole that the segment
    /// fills are none, or end inside a segment that was there before.
    #[inline]
    pub fn add(&mut self, first: u64, end: u64, time: u64) -> Novelty {
        if self.end().is_none_or(|last| last <= first) {
            self.push(Piece { first, end, time, again: 0 });
            return Novelty::default();
        }
        self.insert(first, end, time)
    }

    /// Everything below `place` has arrived; what that covers.
    #[inline]
    pub fn acknowledge(&mut self, place: u64) -> Option<Covered> {
        let mut covered: Option<Covered> = None;
        while let Some(&piece) = self.flight.front()
            && piece.end <= place
        {
            self.flight.pop_front();
            self.settle(piece.first, piece.end);
            let retransmitted = piece.again > 0 || covered.is_some_and(|covered| covered.retransmitted);
            covered = Some(Covered { last: piece, retransmitted });
        }
        covered
    }

    /// Gives back the memory of a connection that has ended.
    pub fn shrink(&mut self) {
        self.flight.shrink_to_fit();
    }

    fn push(&mut self, piece: Piece) {
        if self.flight.len() == FLIGHT
            && let Some(oldest) = self.flight.pop_front()
        {
            self.settle(oldest.first, oldest.end);
        }
        self.flight.push_back(piece);
    }

    /// Adds a range that is not behind everything else.
    fn insert(&mut self, first: u64, end: u64, time: u64) -> Novelty {
        let mut novelty = Novelty::default();
        let mut at = first;
        // What was acknowledged lies lowest.
        let border = self.acknowledged.last_key_value().map_or(0, |range| *range.1);
        if at < border {
            let upto = end.min(border);
            self.fill(at, upto, &mut novelty);
            at = upto;
        }
        let mut index = self.flight.partition_point(|piece| piece.end <= at);
        while at < end {
            let Some(piece) = self.flight.get_mut(index) else {
                self.push(Piece { first: at, end, time, again: 0 });
                // Behind everything: not out of order.
                novelty.out_of_order = false;
                break;
            };
            if at < piece.first {
                let upto = end.min(piece.first);
                self.flight.insert(index, Piece { first: at, end: upto, time, again: 0 });
                novelty.out_of_order = true;
                index += 1;
                at = upto;
                continue;
            }
            let upto = end.min(piece.end);
            novelty.old += upto - at;
            novelty.before.get_or_insert((piece.time, piece.again));
            piece.time = time;
            piece.again += 1;
            if upto == piece.end {
                novelty.out_of_order = false;
            }
            index += 1;
            at = upto;
        }
        if self.flight.len() > FLIGHT
            && let Some(oldest) = self.flight.pop_front()
        {
            self.settle(oldest.first, oldest.end);
        }
        novelty
    }

    /// Adds `first..end`, all of it below the highest acknowledged byte.
    fn fill(&mut self, first: u64, end: u64, novelty: &mut Novelty) {
        let mut at = first;
        while at < end {
            let known =
                self.acknowledged.range(..=at).next_back().map(|range| *range.1).filter(|known| at < *known);
            let Some(known) = known else {
                let next = self.acknowledged.range(at..).next().map_or(end, |range| *range.0);
                let upto = end.min(next);
                self.settle(at, upto);
                novelty.out_of_order = true;
                at = upto;
                continue;
            };
            let upto = end.min(known);
            novelty.old += upto - at;
            if upto == known {
                novelty.out_of_order = false;
            }
            at = upto;
        }
    }

    /// Adds a range, of which nothing is there yet, to those acknowledged.
    fn settle(&mut self, first: u64, end: u64) {
        let end = self.acknowledged.remove(&end).unwrap_or(end);
        match self.acknowledged.range_mut(..first).next_back() {
            Some((_, before)) if *before == first => *before = end,
            _ => {
                self.acknowledged.insert(first, end);
            }
        }
    }
}

#[cfg(test)]
mod tests;
