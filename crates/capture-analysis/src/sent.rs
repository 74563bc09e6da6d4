//! What one direction of a connection has sent, as ranges of sequence numbers.
//!
//! There are two parts: the segments in flight, each with the time when it was sent, and below them
//! the acknowledged bytes, as ranges that are joined where they touch.
//!
//! * At most [`FLIGHT`] segments are in flight. In a capture without acknowledgments (one direction
//!   only) the oldest then count as acknowledged; such a capture gives no round-trip times anyway.
//! * Acknowledged ranges are separated by holes: bytes that were not captured. So memory does not
//!   depend on the length of a connection; each hole takes about 40 bytes. The number of holes is
//!   not limited, because a limit would make the byte counts wrong.

use std::collections::{BTreeMap, VecDeque};

/// Maximum number of segments in flight: a window of 12 MB in segments of 1460 bytes.
pub const FLIGHT: usize = 8192;

/// A range in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Place of its first byte (see [`crate::sequence_number`]).
    pub first: u64,
    /// Place after its last byte.
    pub end: u64,
    /// When it was last sent, in nanoseconds.
    pub time: u64,
    /// Number of its retransmissions.
    pub again: u32,
}

/// Segments that an acknowledgment covered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Covered {
    /// The last of them.
    pub last: Piece,
    /// Whether any of them had been sent again.
    pub retransmitted: bool,
}

/// What a segment has in common with those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Novelty {
    /// Bytes that had been sent before.
    pub old: u64,
    /// Whether it is out of order by tcptrace's definition; see [`Sent::add`].
    pub out_of_order: bool,
    /// When the first of these bytes that is still in flight was last sent, in nanoseconds, and how
    /// often it had been retransmitted; `None` if none is in flight.
    pub before: Option<(u64, u32)>,
}

/// Ranges sent by one direction.
#[derive(Debug, Clone, Default)]
pub struct Sent {
    /// Ends of the acknowledged ranges, by their starts. Ranges do not touch.
    acknowledged: BTreeMap<u64, u64>,
    flight: VecDeque<Piece>,
}

impl Sent {
    /// Returns whether no segments are in flight.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.flight.is_empty()
    }

    /// Returns the number of segments in flight.
    #[must_use]
    pub fn segments(&self) -> usize {
        self.flight.len()
    }

    /// Returns the place after the last byte sent; `None` if nothing was sent.
    #[must_use]
    pub fn end(&self) -> Option<u64> {
        let last = self.flight.back().map(|piece| piece.end);
        last.or_else(|| self.acknowledged.last_key_value().map(|range| *range.1))
    }

    /// Returns the place of the first byte in flight.
    #[must_use]
    pub fn oldest(&self) -> Option<u64> {
        self.flight.front().map(|piece| piece.first)
    }

    /// Adds `first..end`, sent at `time`.
    ///
    /// A segment is out of order by tcptrace's definition if it fills a hole, and its bytes after
    /// the last such hole are none, or end inside a segment that was there before.
    #[inline]
    pub fn add(&mut self, first: u64, end: u64, time: u64) -> Novelty {
        if self.end().is_none_or(|last| last <= first) {
            self.push(Piece { first, end, time, again: 0 });
            return Novelty::default();
        }
        self.insert(first, end, time)
    }

    /// Marks everything below `place` as acknowledged. Returns the segments that this covers, if
    /// any.
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

    /// Releases the memory of a connection that has ended.
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

    /// Adds a range that does not lie after everything else.
    fn insert(&mut self, first: u64, end: u64, time: u64) -> Novelty {
        let mut novelty = Novelty::default();
        let mut at = first;
        // Acknowledged ranges lie below the segments in flight.
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
                // After everything else, so not out of order.
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

    /// Adds to the acknowledged ranges a range that none of them overlaps.
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
