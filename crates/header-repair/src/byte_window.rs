//! The byte window: damage is accepted in one part of the stream only (TL-05; T 3.2).

/// Bytes of the stream in which damage is acceptable; offsets count from the stream's first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteWindow {
    /// Offset of the first byte.
    pub from: u64,
    /// Number of bytes.
    pub len: u64,
}

impl ByteWindow {
    /// Returns whether `len` bytes at `offset` lie entirely inside the window.
    #[must_use]
    pub const fn covers(&self, offset: u64, len: u64) -> bool {
        self.from <= offset && offset.saturating_add(len) <= self.end()
    }

    /// Returns whether the whole window has been received once the first `received` bytes of the
    /// stream are there. Lite then reads back as switched off.
    #[must_use]
    pub const fn is_over(&self, received: u64) -> bool {
        received >= self.end()
    }

    const fn end(&self) -> u64 {
        self.from.saturating_add(self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_wholly_inside_is_covered() {
        let window = ByteWindow { from: 100, len: 50 };
        for (offset, len, covered) in [
            (100, 50, true),
            (99, 1, false),
            (100, 51, false),
            (149, 1, true),
            (150, 0, true),
            (150, 1, false),
        ] {
            assert_eq!(window.covers(offset, len), covered, "{len} at {offset}");
        }
    }

    #[test]
    fn it_is_over_when_its_last_byte_is_there() {
        let window = ByteWindow { from: 100, len: 50 };
        assert!(!window.is_over(149) && window.is_over(150));
    }

    #[test]
    fn the_end_of_the_numbers_is_no_wrap() {
        let window = ByteWindow { from: u64::MAX - 1, len: 100 };
        assert!(window.covers(u64::MAX - 1, 1) && !window.covers(0, 1));
    }
}
