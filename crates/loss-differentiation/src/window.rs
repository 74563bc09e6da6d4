//! Growth of the congestion window: slow start and additive increase (section 5.2.2, RFC 5681
//! section 3.1), counted as in Linux.

/// A congestion window. All values are in segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Most segments that may be in flight.
    pub cwnd: u32,
    /// Slow start threshold: slow start below it, additive increase from it on.
    pub ssthresh: u32,
    /// Segments acknowledged towards the next increase by one.
    pub counter: u32,
    /// Upper limit of the window's growth.
    pub clamp: u32,
}

/// How much of its window a sender uses. A sender that the window does not limit does not grow it
/// (RFC 7661, Linux).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Whether the window limited the sender in the last round.
    pub is_cwnd_limited: bool,
    /// Largest number of segments in flight in the last round.
    pub max_packets_out: u32,
}

impl Usage {
    /// The window always limits the sender.
    pub const FULL: Self = Self { is_cwnd_limited: true, max_packets_out: u32::MAX };
}

impl Window {
    /// Creates a window of `cwnd` segments without a clamp, and with an empty counter.
    #[must_use]
    pub const fn new(cwnd: u32, ssthresh: u32) -> Self {
        Self { cwnd, ssthresh, counter: 0, clamp: u32::MAX }
    }

    /// Returns whether the window is in slow start.
    #[must_use]
    pub const fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Returns whether the window limits a sender with this usage. In slow start, using more than
    /// half of the window is enough.
    #[must_use]
    pub fn limits(&self, usage: Usage) -> bool {
        usage.is_cwnd_limited
            || (self.in_slow_start() && u64::from(self.cwnd) < 2 * u64::from(usage.max_packets_out))
    }

    /// Grows the window for `acked` segments acknowledged outside recovery. In slow start it grows
    /// by as many, up to the threshold; the rest counts for additive increase. Nothing grows if the
    /// window does not limit the sender.
    pub fn grow(&mut self, acked: u32, usage: Usage) {
        if !self.limits(usage) {
            return;
        }
        let mut left = acked;
        if self.in_slow_start() {
            let room = self.ssthresh - self.cwnd;
            let taken = left.min(room);
            self.cwnd = (self.cwnd + taken).min(self.clamp);
            left -= taken;
        }
        if left > 0 {
            self.increase(left);
        }
    }

    /// Grows the window by one segment per window of acknowledged segments. A counter that is
    /// already full, because the window has shrunk, counts as one segment.
    fn increase(&mut self, acked: u32) {
        let round = self.cwnd.max(1);
        if self.counter >= round {
            self.counter = 0;
            self.cwnd = self.cwnd.saturating_add(1);
        }
        self.counter = self.counter.saturating_add(acked);
        let rounds = self.counter / round;
        self.counter -= rounds * round;
        self.cwnd = self.cwnd.saturating_add(rounds).min(self.clamp);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn after(mut window: Window, acks: &[u32]) -> (u32, u32) {
        for acked in acks {
            window.grow(*acked, Usage::FULL);
        }
        (window.cwnd, window.counter)
    }

    /// N11: each of these is a step of tcp_slow_start() and tcp_cong_avoid_ai(), computed by hand.
    #[test]
    fn slow_start_then_one_segment_a_window() {
        assert_eq!(after(Window::new(1, 64), &[1]), (2, 0));
        assert_eq!(after(Window::new(10, 64), &[2, 2]), (14, 0));
        assert_eq!(after(Window::new(10, 12), &[5]), (12, 3), "3 of 5 are left over");
        assert_eq!(after(Window::new(10, 12), &[2]), (12, 0));
        assert_eq!(after(Window::new(10, 10), &[9]), (10, 9));
        assert_eq!(after(Window::new(10, 10), &[9, 1]), (11, 0));
        assert_eq!(after(Window::new(4, 4), &[9]), (6, 1), "two windows at once");
        assert_eq!(
            after(Window { counter: 30, ..Window::new(10, 10) }, &[1]),
            (11, 1),
            "a full counter is one segment"
        );
        assert_eq!(after(Window { clamp: 11, ..Window::new(10, 64) }, &[5]), (11, 0));
        assert_eq!(after(Window { clamp: 10, ..Window::new(10, 10) }, &[10]), (10, 0));
        assert_eq!(after(Window::new(0, 0), &[1]), (1, 0), "no window at all is as good as one segment");
    }

    /// N15: a sender that its window does not limit keeps it. In slow start, more than half used is
    /// enough.
    #[test]
    fn who_does_not_use_the_window_does_not_grow_it() {
        let mut window = Window::new(10, 20);
        let usage = |is_cwnd_limited, max_packets_out| Usage { is_cwnd_limited, max_packets_out };
        window.grow(1, usage(false, 5));
        assert_eq!(window.cwnd, 10);
        window.grow(1, usage(false, 6));
        assert_eq!(window.cwnd, 11);
        window.cwnd = 20;
        window.grow(20, usage(false, 20));
        assert_eq!((window.cwnd, window.counter), (20, 0));
        window.grow(20, usage(true, 20));
        assert_eq!(window.cwnd, 21);
    }

    proptest! {
        /// N11: additive increase by cwnd += 1/cwnd is one segment per window: k windows of ACKs
        /// give k segments, however they are divided.
        #[test]
        fn a_segment_each_window(start in 2_u32..200, windows in 1_u32..20, each in 1_u32..4) {
            let mut window = Window::new(start, 2);
            let mut acked = 0;
            let needed: u32 = (0..windows).map(|grown| start + grown).sum();
            while acked < needed {
                let step = each.min(needed - acked);
                window.grow(step, Usage::FULL);
                acked += step;
            }
            // ACKs for more than one segment carry a remainder into a window that is one longer.
            prop_assert!(window.cwnd == start + windows || (each > 1 && window.cwnd + 1 == start + windows), "{:?}", window);
            prop_assert!(window.counter < window.cwnd);
        }
    }
}
