//! Sequence numbers: arithmetic modulo 2^32 (RFC 9293 section 3.4, serial comparison as in RFC
//! 1982).

/// Returns whether `a` comes before `b`.
#[must_use]
pub const fn is_before(a: u32, b: u32) -> bool {
    signed_distance(b, a) < 0
}

/// Returns whether `a` comes after `b`.
#[must_use]
pub const fn is_after(a: u32, b: u32) -> bool {
    signed_distance(b, a) > 0
}

/// Returns the number of bytes from `from` to `to`, negative if `to` comes before.
#[must_use]
pub const fn signed_distance(from: u32, to: u32) -> i32 {
    to.wrapping_sub(from).cast_signed()
}

/// Returns the number of bytes from `from` forward to `to`.
#[must_use]
pub const fn distance(from: u32, to: u32) -> u32 {
    to.wrapping_sub(from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_holds_across_the_end_of_the_numbers() {
        assert!(is_before(u32::MAX, 0) && is_after(0, u32::MAX));
        assert!(is_before(1, 2) && !is_before(2, 2) && !is_after(2, 2));
        assert_eq!((signed_distance(2, u32::MAX), distance(u32::MAX, 2)), (-3, 3));
    }

    #[test]
    fn half_the_numbers_apart_is_before() {
        assert!(is_before(1 << 31, 0) && !is_after(1 << 31, 0));
    }
}
