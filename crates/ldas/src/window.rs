//! The congestion window grows: slow start and additive increase (section 5.2.2, RFC 5681 section
//! 3.1), counted as Linux counts.

/// A congestion window. Segments throughout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// How many segments may be in flight.
    pub cwnd: u32,
    /// Below it slow start, from it on additive increase.
    pub ssthresh: u32,
    /// Segments acknowledged towards the next increase by one.
    pub counter: u32,
    /// The window never grows above this.
    pub clamp: u32,
}

/// How much of the window a sender uses. One that the window does not hold back does not grow it
/// (RFC 7661, Linux).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Whether the window held the sender back in the last round.
    pub is_cwnd_limited: bool,
    /// The most segments that were in flight in the last round.
    pub max_packets_out: u32,
}

impl Usage {
    /// Always as much as the window lets it.
    pub const FULL: Self = Self { is_cwnd_limited: true, max_packets_out: u32::MAX };
}

impl Window {
    /// A window of `cwnd` segments, with nothing counted and nothing to bound it.
    #[must_use]
    pub const fn new(cwnd: u32, ssthresh: u32) -> Self {
        Self { cwnd, ssthresh, counter: 0, clamp: u32::MAX }
    }

    /// Whether it is in slow start.
    #[must_use]
    pub const fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Whether the window is what limits such a sender. In slow start half of it is enough.
    #[must_use]
    pub fn limits(&self, usage: Usage) -> bool {
        usage.is_cwnd_limited
            || (self.in_slow_start() && u64::from(self.cwnd) < 2 * u64::from(usage.max_packets_out))
    }

    /// `acked` segments were acknowledged outside of recovery, to a sender that uses so much of it:
    /// by as much in slow start, but not beyond the threshold; what is left over counts for
    /// additive increase.
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

    /// One segment more for each window of segments acknowledged. A counter that was full before
    /// (the window has shrunk since) is worth one segment.
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

    /// N11: each of these is a step of tcp_slow_start() and tcp_cong_avoid_ai() worked out by hand.
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

    /// N15: a sender that is not held back by its window keeps it; in slow start half of it is
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
        /// N11: additive increase by the rule cwnd += 1/cwnd is a segment a window: k windows of
        /// ACKs are k segments, however they are divided up.
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
            // ACKs for more than one segment carry a rest into a window that is one longer.
            prop_assert!(window.cwnd == start + windows || (each > 1 && window.cwnd + 1 == start + windows), "{:?}", window);
            prop_assert!(window.counter < window.cwnd);
        }
    }
}
