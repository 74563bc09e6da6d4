//! Sequence numbers of a stream as places that never wrap.
//!
//! [`crate::sequence_number::Unwrap`] follows the highest number that was sent. This module follows
//! the acknowledged numbers, which advance in jumps, and places lost packets relative to them.

use super::{Cause, LostPacket};
use capture::Time;

/// A lost packet with its places.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placed {
    pub left: Time,
    pub first: u64,
    pub end: u64,
    pub cause: Cause,
}

impl Placed {
    /// Returns whether any of it lies between two places.
    pub const fn lies_in(&self, from: u64, to: u64) -> bool {
        self.end > from && self.first < to
    }
}

/// Mapping from sequence numbers to places.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Stream {
    /// The latest number of the stream, and its place.
    last: Option<(u32, u64)>,
}

impl Stream {
    /// Place of the first number, so that numbers before it have a place, too.
    const ORIGIN: u64 = 1 << 40;

    /// Notes that the stream has reached `number`.
    pub fn follow(&mut self, number: u32) {
        self.last = Some((number, self.at(number)));
    }

    /// Returns the place of `number` that is nearest to the stream's latest one.
    pub fn at(&self, number: u32) -> u64 {
        let Some((last, place)) = self.last else { return Self::ORIGIN };
        place.saturating_add_signed(i64::from(number.wrapping_sub(last).cast_signed()))
    }

    /// Returns a lost packet with its places.
    pub fn place(&self, packet: &LostPacket) -> Placed {
        let first = self.at(packet.sequence);
        Placed { left: packet.left, first, end: first + u64::from(packet.payload), cause: packet.cause }
    }
}
