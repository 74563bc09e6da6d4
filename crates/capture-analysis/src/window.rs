//! Windows that one end advertises, counted as tcptrace does.
//!
//! If both ends scale (RFC 7323), the unscaled windows of the SYNs do not count: counting restarts
//! at the first scaled window that is not zero. Resets, and packets with neither ACK nor SYN, have
//! no window. The mean, however, is over all packets or, if both ends were seen to scale, over all
//! packets since the first scaled window.

/// Greatest shift count (RFC 7323 section 2.3).
const GREATEST_SHIFT: u8 = 14;

/// Statistics of the windows that one end advertised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Windows {
    /// The largest, in bytes.
    pub max: u64,
    /// The smallest that is not zero, in bytes.
    pub min: u64,
    /// Number of windows of zero.
    pub zero: u64,
    /// The one advertised last, in bytes.
    pub last: Option<u64>,
    total: u64,
    /// All packets, and those since the first scaled window.
    packets: u64,
    scaled: u64,
}

/// Kind of packet that carries a window field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bearer {
    /// A SYN without ACK.
    Syn,
    /// Any packet with ACK.
    Ack,
    /// A reset, or a packet with neither SYN nor ACK.
    None,
}

impl Windows {
    /// Counts the field `window` of a packet. `shift` is set if both ends scale and it is not a
    /// SYN.
    #[inline]
    pub fn add(&mut self, window: u16, shift: Option<u8>, bearer: Bearer) {
        self.packets += 1;
        if bearer == Bearer::None {
            self.scaled += u64::from(self.scaled > 0);
            return;
        }
        let bytes = u64::from(window) << shift.unwrap_or(0).min(GREATEST_SHIFT);
        self.last = Some(bytes);
        self.zero += u64::from(bytes == 0 && bearer == Bearer::Ack);
        if self.scaled > 0 {
            self.scaled += 1;
        } else if shift.is_some() && bytes > 0 {
            (self.scaled, self.total, self.max, self.min) = (1, 0, 0, 0);
        }
        self.total += bytes;
        self.max = self.max.max(bytes);
        if bytes > 0 && (self.min == 0 || bytes < self.min) {
            self.min = bytes;
        }
    }

    /// Returns the mean in bytes, rounded down; `other` are the windows of the other end.
    #[must_use]
    pub fn mean(&self, other: &Self) -> u64 {
        let both_scale = self.scaled > 0 && other.scaled > 0;
        self.total.checked_div(if both_scale { self.scaled } else { self.packets }).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(shift: Option<u8>, fields: &[u16]) -> Windows {
        let mut windows = Windows::default();
        windows.add(500, None, Bearer::Syn);
        for field in fields {
            windows.add(*field, shift, Bearer::Ack);
        }
        windows
    }

    #[test]
    fn as_tcptrace_counts_them() {
        // Window fields after a SYN with 500, then max, min, zero and mean observed with tcptrace
        // 6.6.7.
        let cases: [(Option<u8>, &[u16], [u64; 4]); 5] = [
            (Some(1), &[100, 50], [200, 100, 0, 150]),
            (Some(1), &[0, 50], [100, 100, 1, 100]),
            (Some(2), &[0, 5, 0], [20, 20, 2, 10]),
            (None, &[100, 50], [500, 50, 0, 216]),
            (None, &[], [500, 500, 0, 500]),
        ];
        for (shift, fields, expected) in cases {
            let windows = windows(shift, fields);
            let other = self::windows(shift, &[1]);
            assert_eq!(
                [windows.max, windows.min, windows.zero, windows.mean(&other)],
                expected,
                "{fields:?}"
            );
        }
        // The other end has not sent a scaled window yet.
        assert_eq!(windows(Some(2), &[1000, 1000]).mean(&windows(Some(2), &[])), 2666);
    }

    #[test]
    fn resets_are_packets_without_a_window() {
        let mut windows = windows(None, &[]);
        windows.add(99, None, Bearer::None);
        assert_eq!((windows.mean(&Windows::default()), windows.max, windows.last), (250, 500, Some(500)));
    }
}
