//! Sequence numbers that do not wrap.
//!
//! TCP counts modulo 2^32 (RFC 9293 section 3.4). [`Unwrap`] follows one direction of a connection
//! and maps every number to a *place*, a 64-bit number that never wraps. So places can be compared
//! directly, and a connection can carry more than 4 GiB.

/// Place of the first number, so that the places of numbers before it are not negative.
const ORIGIN: u64 = 1 << 40;

/// Mapping from the sequence numbers of one direction to places.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unwrap {
    /// The number that is 0 in relative numbers, and the highest place so far.
    base: Option<u32>,
    highest: u64,
}

impl Unwrap {
    /// Returns whether a number was seen.
    #[must_use]
    pub const fn is_set(&self) -> bool {
        self.base.is_some()
    }

    /// Returns the number that is 0 in relative numbers.
    #[must_use]
    pub const fn base(&self) -> Option<u32> {
        self.base
    }

    /// Makes `number` the one that is 0 in relative numbers, unless one is set.
    pub fn begin(&mut self, number: u32) {
        if self.base.is_none() {
            self.base = Some(number);
            self.highest = ORIGIN;
        }
    }

    /// Returns the place of `number`: of all possible places the one nearest to the highest so far.
    #[inline]
    #[must_use]
    pub fn place(&self, number: u32) -> u64 {
        let Some(base) = self.base else { return ORIGIN };
        let expected = (self.highest - ORIGIN) as u32;
        let distance = number.wrapping_sub(base).wrapping_sub(expected).cast_signed();
        self.highest.saturating_add_signed(i64::from(distance))
    }

    /// Notes that the stream has reached `place`.
    #[inline]
    pub fn advance(&mut self, place: u64) {
        self.highest = self.highest.max(place);
    }

    /// Returns the relative number of `place`: 0 is the SYN, 1 the first byte of data.
    ///
    /// Places before the SYN are 0, too.
    #[must_use]
    pub const fn relative(place: u64) -> u64 {
        place.saturating_sub(ORIGIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_on_where_tcp_begins_anew() {
        let mut unwrap = Unwrap::default();
        unwrap.begin(u32::MAX - 5);
        let mut number = u32::MAX - 5;
        let mut expected = 0;
        for _ in 0..10 {
            assert_eq!(Unwrap::relative(unwrap.place(number)), expected);
            unwrap.advance(unwrap.place(number));
            number = number.wrapping_add(1 << 30);
            expected += 1 << 30;
        }
    }

    #[test]
    fn what_comes_late_lies_before() {
        let mut unwrap = Unwrap::default();
        unwrap.begin(100);
        unwrap.advance(unwrap.place(5000));
        assert_eq!(unwrap.place(5000) - unwrap.place(4000), 1000);
        assert_eq!(Unwrap::relative(unwrap.place(50)), 0);
    }
}
