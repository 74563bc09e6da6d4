//! `struct timespec` of a 64-bit system, as programs give it.

use std::time::Duration;

/// Size in bytes.
pub const TIMESPEC: usize = 16;

/// Returns the duration, or `None` for one that the kernel refuses with EINVAL
/// (`timespec64_valid`).
#[must_use]
pub fn span(octets: &[u8; TIMESPEC]) -> Option<Duration> {
    let (seconds, rest) = octets.split_first_chunk()?;
    let seconds = u64::try_from(i64::from_ne_bytes(*seconds)).ok()?;
    let nanos = u32::try_from(i64::from_ne_bytes(*rest.first_chunk()?)).ok()?;
    (nanos < 1_000_000_000).then(|| Duration::new(seconds, nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Negative times, and nanoseconds of a second or more, are invalid.
    #[test]
    fn times_that_are_none() {
        let of = |seconds: i64, nanos: i64| {
            let mut octets = [0; TIMESPEC];
            octets[..8].copy_from_slice(&seconds.to_ne_bytes());
            octets[8..].copy_from_slice(&nanos.to_ne_bytes());
            span(&octets)
        };
        assert_eq!(of(1, 999_999_999), Some(Duration::new(1, 999_999_999)));
        assert_eq!(of(i64::MAX, 0), Some(Duration::from_secs(i64::MAX.unsigned_abs())));
        for (seconds, nanos) in [(-1, 0), (-1, 2_000_000_000), (0, 1_000_000_000), (0, -1), (0, 1 << 32)] {
            assert_eq!(of(seconds, nanos), None, "{seconds} {nanos}");
        }
    }
}
