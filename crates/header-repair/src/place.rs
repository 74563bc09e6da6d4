//! The sequence rule: where in the stream a damaged segment can belong (TL-31; P II-C step 4).
//!
//! Data are accepted at the next expected byte, or a whole number of segments behind it. Anything
//! else is a damaged sequence number, an old duplicate, or both damaged and out of order. The
//! "nearest" place never counts, only discrete places do (TL-34).
//!
//! The rule is weak where S is a power of two: a single wrong bit of the sequence number then leads
//! from one place to another. With other sizes it may lead to a place counted from `highest`, if an
//! earlier segment was not whole. Where the checksum would move a segment, its possible old places
//! ([`Bases::is_old`]) are checked too.
//!
//! The paper compares with one number, the last acknowledgment sent. Here there are three, because
//! segments wait between this code and the socket, and holes lie between the socket and the
//! furthest segment.

use crate::sequence::distance;

/// Where a segment lies in the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamPosition {
    /// It continues the received data.
    InOrder,
    /// It lies behind a hole.
    OutOfOrder,
}

/// The numbers from which whole segments are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bases {
    /// Next sequence number that the socket expects.
    pub rcv_nxt: u32,
    /// `rcv_nxt` once the socket has taken in everything that it was handed.
    pub contiguous: u32,
    /// Furthest end of any segment handed to the socket.
    pub highest: u32,
    /// S: payload of a whole segment in bytes; 0 if none was seen.
    pub payload: u16,
    /// Largest distance of a position from a base, in bytes.
    pub window: u32,
}

impl Bases {
    /// Returns the place of `len` bytes of payload at `seq`; `None` if they have none.
    #[must_use]
    pub fn place(&self, seq: u32, len: u32) -> Option<StreamPosition> {
        let place = if seq == self.rcv_nxt || seq == self.contiguous {
            StreamPosition::InOrder
        } else if [self.rcv_nxt, self.contiguous, self.highest]
            .into_iter()
            .any(|base| self.is_whole(base, seq))
        {
            StreamPosition::OutOfOrder
        } else {
            return None;
        };
        (distance(self.rcv_nxt, seq.wrapping_add(len)) <= self.window).then_some(place)
    }

    /// Returns whether an earlier segment may have had this sequence number: zero or more whole
    /// segments lie between it and a base. False while the segment size is unknown.
    #[must_use]
    pub fn is_old(&self, seq: u32) -> bool {
        self.payload > 0
            && [self.rcv_nxt, self.contiguous, self.highest].into_iter().any(|base| self.is_whole(seq, base))
    }

    /// Returns whether zero or more whole segments lie between `from` and `to`.
    fn is_whole(&self, from: u32, to: u32) -> bool {
        let distance = distance(from, to);
        let rest = distance.checked_rem(u32::from(self.payload)).unwrap_or(distance);
        distance <= self.window && rest == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use StreamPosition::{InOrder, OutOfOrder};

    /// 2 000 bytes before the numbers wrap, so that the places below lie on both sides.
    const RCV_NXT: u32 = 0u32.wrapping_sub(2000);

    fn bases() -> Bases {
        Bases {
            rcv_nxt: RCV_NXT,
            contiguous: RCV_NXT.wrapping_add(1000),
            highest: RCV_NXT.wrapping_add(5300),
            payload: 1000,
            window: 20_000,
        }
    }

    fn at(offset: i32, len: u32) -> Option<StreamPosition> {
        bases().place(RCV_NXT.wrapping_add_signed(offset), len)
    }

    #[test]
    fn the_next_byte_of_the_socket_and_of_what_waits_for_it_are_in_order() {
        assert_eq!((at(0, 1000), at(1000, 1000)), (Some(InOrder), Some(InOrder)));
    }

    #[test]
    fn whole_segments_behind_any_base_are_out_of_order() {
        for offset in [2000, 3000, 19_000, 5300, 6300, 7300] {
            assert_eq!(at(offset, 1000), Some(OutOfOrder), "{offset}");
        }
    }

    #[test]
    fn anything_else_has_no_place() {
        for offset in [1, 999, 1001, 2999, 5299, 5301, 4300, 6301, -1, -1000, -2000] {
            assert_eq!(at(offset, 1000), None, "{offset}");
        }
    }

    #[test]
    fn no_number_of_segments_leads_backwards() {
        // Modulo 2^32 these are whole segments ahead, since 2^32 - 296 is a multiple of 1000.
        for offset in [5300 - 1296, 5300 - 296, -296] {
            assert_eq!(at(offset, 1000), None, "{offset}");
        }
    }

    #[test]
    fn the_end_must_lie_in_the_window() {
        assert_eq!((at(19_000, 1000), at(19_000, 1001)), (Some(OutOfOrder), None));
        assert_eq!((at(0, 20_000), at(0, 20_001)), (Some(InOrder), None));
        assert_eq!((at(20_000, 0), at(21_000, 0)), (Some(OutOfOrder), None));
    }

    #[test]
    fn old_places_are_whole_segments_before_any_base() {
        let is_old = |offset: i32| bases().is_old(RCV_NXT.wrapping_add_signed(offset));
        for offset in [-1000, -19_000, -20_000, 0, 1000, 5300, 4300, 300, -700, -14_700] {
            assert!(is_old(offset), "{offset}");
        }
        for offset in [-1, -999, -1001, -20_001, -21_000, -14_701, -15_700, 2000, 6300, 301] {
            assert!(!is_old(offset), "{offset}");
        }
        assert!(!Bases { payload: 0, ..bases() }.is_old(RCV_NXT), "without a size nothing is known");
    }

    #[test]
    fn without_a_segment_size_only_the_bases_count() {
        let bases = Bases { payload: 0, ..bases() };
        let at = |offset: u32| bases.place(RCV_NXT.wrapping_add(offset), 10);
        assert_eq!((at(0), at(1000), at(5300)), (Some(InOrder), Some(InOrder), Some(OutOfOrder)));
        assert_eq!((at(2000), at(6300)), (None, None));
    }
}
