//! The parts of the stream that came from damaged segments (TL-06): a ring that drops the oldest.

use arrayvec::ArrayVec;
use std::ops::Range;

/// Ranges of the stream that were accepted unconfirmed, in order of arrival. Only the segment is
/// known to be damaged, not which byte.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ranges {
    held: ArrayVec<Range<u64>, { Self::CAPACITY }>,
    overflowed: bool,
}

impl Ranges {
    /// Most ranges that are kept.
    pub const CAPACITY: usize = 63;

    /// Adds a range; drops the oldest if there is no room.
    pub fn note(&mut self, range: Range<u64>) {
        if self.held.is_full() {
            self.held.remove(0);
            self.overflowed = true;
        }
        self.held.push(range);
    }

    /// Returns the ranges, oldest first; offsets count from the first byte of the stream.
    #[must_use]
    pub fn held(&self) -> &[Range<u64>] {
        &self.held
    }

    /// Returns whether any range was dropped.
    #[must_use]
    pub const fn has_overflowed(&self) -> bool {
        self.overflowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_goes_and_it_is_said() {
        let mut ranges = Ranges::default();
        for n in 0..63 {
            ranges.note(n..n + 1);
        }
        assert!(!ranges.has_overflowed());
        ranges.note(100..101);
        assert!(ranges.has_overflowed());
        assert_eq!(ranges.held().len(), 63);
        assert_eq!((&ranges.held()[0], &ranges.held()[62]), (&(1..2), &(100..101)));
    }
}
