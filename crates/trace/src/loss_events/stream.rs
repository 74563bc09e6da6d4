//! Sequence numbers of a stream as places on a line, without an end.
//!
//! [`crate::sequence_number::Unwrap`] follows the highest number; here the line is followed where
//! it is acknowledged, which goes on in jumps, and lost packets are placed beside it.

use super::{Cause, LostPacket};
use capture::Time;

/// A lost packet at its place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placed {
    pub left: Time,
    pub first: u64,
    pub end: u64,
    pub cause: Cause,
}

impl Placed {
    /// Whether some of it lies between two places.
    pub const fn lies_in(&self, from: u64, to: u64) -> bool {
        self.end > from && self.first < to
    }
}

/// A stream followed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Stream {
    /// The last number followed, and its place.
    last: Option<(u32, u64)>,
}

impl Stream {
    /// Where the first number lies, so that those before it have a place too.
    const ORIGIN: u64 = 1 << 40;

    /// The stream is at `number` now.
    pub fn follow(&mut self, number: u32) {
        self.last = Some((number, self.at(number)));
    }

    /// The place of `number` nearest to where the stream is.
    pub fn at(&self, number: u32) -> u64 {
        let Some((last, place)) = self.last else { return Self::ORIGIN };
        place.saturating_add_signed(i64::from(number.wrapping_sub(last).cast_signed()))
    }

    /// Where a lost packet lies.
    pub fn place(&self, packet: &LostPacket) -> Placed {
        let first = self.at(packet.sequence);
        Placed { left: packet.left, first, end: first + u64::from(packet.payload), cause: packet.cause }
    }
}
