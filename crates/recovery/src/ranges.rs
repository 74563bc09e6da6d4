//! Which parts of the stream came from damaged segments (TL-06): a ring that drops the oldest.

use arrayvec::ArrayVec;
use std::ops::Range;

/// Ranges of the stream that were accepted unconfirmed, in the order of their arrival. Only the
/// segment is known to be damaged, not the byte.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ranges {
    held: ArrayVec<Range<u64>, { Self::CAPACITY }>,
    overflowed: bool,
}

impl Ranges {
    /// How many are held.
    pub const CAPACITY: usize = 63;

    /// Adds one; the oldest goes if there is no room.
    pub fn note(&mut self, range: Range<u64>) {
        if self.held.is_full() {
            self.held.remove(0);
            self.overflowed = true;
        }
        self.held.push(range);
    }

    /// Those held, oldest first; offsets count from the first byte of the stream.
    #[must_use]
    pub fn held(&self) -> &[Range<u64>] {
        &self.held
    }

    /// Whether any was dropped.
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
