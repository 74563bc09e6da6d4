//! The windows that one end advertises, as tcptrace counts them.
//!
//! Where both ends scale (RFC 7323) the windows of the SYNs, which are not scaled, do not count: counting begins anew with
//! the first scaled window that is not zero. Windows of resets say nothing and add nothing, but the packets are counted.

/// Greatest shift count (RFC 7323 section 2.3).
const GREATEST_SHIFT: u8 = 14;

/// What was advertised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Windows {
    /// The greatest, in bytes.
    pub max: u64,
    /// The least that is not zero, in bytes.
    pub min: u64,
    /// How often it was zero.
    pub zero: u64,
    /// The one advertised last, in bytes.
    pub last: Option<u64>,
    total: u64,
    packets: u64,
    scaled: bool,
}

impl Windows {
    /// Counts the window field `window` of a packet; `shift` if both ends scale and it is no SYN.
    #[inline]
    pub fn add(&mut self, window: u16, shift: Option<u8>, reset: bool) {
        if reset {
            self.packets += 1;
            return;
        }
        let bytes = u64::from(window) << shift.unwrap_or(0).min(GREATEST_SHIFT);
        self.last = Some(bytes);
        self.zero += u64::from(bytes == 0);
        if shift.is_some() && bytes > 0 && !self.scaled {
            let (zero, last) = (self.zero, self.last);
            *self = Self { zero, last, scaled: true, ..Self::default() };
        }
        self.packets += 1;
        self.total += bytes;
        self.max = self.max.max(bytes);
        if bytes > 0 && (self.min == 0 || bytes < self.min) {
            self.min = bytes;
        }
    }

    /// Their mean, in bytes, rounded down.
    #[must_use]
    pub fn mean(&self) -> u64 {
        self.total.checked_div(self.packets).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_tcptrace_counts_them() {
        // Window fields behind a SYN with 500; observed with tcptrace 6.6.7: max, min, zero, mean.
        let cases: [(Option<u8>, &[u16], [u64; 4]); 5] = [
            (Some(1), &[100, 50], [200, 100, 0, 150]),
            (Some(1), &[0, 50], [100, 100, 1, 100]),
            (Some(2), &[0, 5, 0], [20, 20, 2, 10]),
            (None, &[100, 50], [500, 50, 0, 216]),
            (None, &[], [500, 500, 0, 500]),
        ];
        for (shift, fields, expected) in cases {
            let mut windows = Windows::default();
            windows.add(500, None, false);
            fields.iter().for_each(|field| windows.add(*field, shift, false));
            assert_eq!([windows.max, windows.min, windows.zero, windows.mean()], expected, "{fields:?}");
        }
    }

    #[test]
    fn resets_are_packets_without_a_window() {
        let mut windows = Windows::default();
        windows.add(1000, None, false);
        windows.add(99, None, true);
        assert_eq!((windows.mean(), windows.max, windows.last), (500, 1000, Some(1000)));
    }
}
