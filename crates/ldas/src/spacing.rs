//! Biaz and mBiaz: a gap just as long as the lost packets would have filled is random loss (eq.
//! 5.1).
//!
//! T_min is the least time between two packets, T_i that between the last one in order and the
//! first one behind the n lost. Much earlier than (n+1) T_min it cannot come unless the packets
//! were missing on the bottleneck already, so a queue dropped them; later, it waited in a queue
//! itself.
//!
//! Whoever sees arrivals more coarsely, as a sender does whose acknowledgements each may deliver
//! several segments, has a gap in which d segments came besides the n lost: (n+d) T_min and
//! (n+d+bound) T_min. With d = 1 that is eq. 5.1.

use crate::{Judgement, Loss, Reason};

/// Data arriving at the receiver, or an acknowledgement at the sender.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arrival {
    /// When, in microseconds of any clock.
    pub at_us: f64,
    /// Segments that have arrived since the connection began, this one included: one more each time
    /// at the receiver; at the sender what its acknowledgements say, and it wraps.
    pub delivered: u32,
    /// Whether nothing is missing before it: at the receiver, whether it follows the one before; at
    /// the sender, whether nothing is selectively acknowledged.
    pub in_order: bool,
}

/// The detector: least spacing, and the latest gap.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spacing {
    /// How far the upper bound lies above the lower one, in T_min.
    bound: f64,
    /// Whether a gap is measured from the arrival before it, whatever that was, as the receiver
    /// does. A sender measures from the last acknowledgement in order until the hole is filled.
    from_any: bool,
    before: Option<(f64, u32)>,
    least_us: Option<f64>,
    /// The latest gap in microseconds, and the segments that came within it.
    gap: Option<(f64, u32)>,
}

impl Spacing {
    /// Width of Biaz's interval in quarters of T_min: n+1 to n+2.
    pub const BIAZ_QUARTERS: u32 = 4;
    /// Width of mBiaz's: n+1 to n+1.25.
    pub const MBIAZ_QUARTERS: u32 = 1;

    /// At the receiver, as published.
    #[must_use]
    pub fn at_receiver(bound_quarters: u32) -> Self {
        Self {
            bound: f64::from(bound_quarters) / 4.0,
            from_any: true,
            before: None,
            least_us: None,
            gap: None,
        }
    }

    /// At the sender, from its acknowledgements.
    #[must_use]
    pub fn at_sender(bound_quarters: u32) -> Self {
        Self { from_any: false, ..Self::at_receiver(bound_quarters) }
    }

    /// T_min in microseconds.
    #[must_use]
    pub const fn least_us(&self) -> Option<f64> {
        self.least_us
    }

    /// The latest gap: T_i in microseconds, and d. It stays until there is another.
    #[must_use]
    pub const fn gap(&self) -> Option<(f64, u32)> {
        self.gap
    }

    /// An arrival. One that delivers nothing in order is passed over, since it spaces nothing.
    pub fn arrival(&mut self, arrival: Arrival) {
        let Arrival { at_us: now, delivered, in_order } = arrival;
        let spaced = self.before.map(|(then, count)| (now - then, delivered.wrapping_sub(count)));
        if in_order {
            let Some((span, count)) = spaced.or(Some((0.0, 1))).filter(|(_, count)| *count > 0) else {
                return;
            };
            if span > 0.0 {
                let each = span / f64::from(count);
                self.least_us = Some(self.least_us.map_or(each, |least| least.min(each)));
            }
            self.before = Some((now, delivered));
        } else {
            self.gap = spaced;
            if self.from_any {
                self.before = Some((now, delivered));
            }
        }
    }

    /// Wireless if (n+d) T_min <= T_i < (n+d+bound) T_min. A loss without a gap is none that the
    /// rule knows: congestion.
    #[must_use]
    pub fn judge(&self, loss: Loss) -> Judgement {
        let Some(least) = self.least_us else { return Judgement::congestion(Reason::NoSample) };
        let (span, delivered) = self.gap.unwrap_or((0.0, 0));
        let packets = f64::from(loss.packets()) + f64::from(delivered);
        let (floor, limit) = (packets * least, (packets + self.bound) * least);
        Judgement { floor: Some(floor), ..Judgement::ruled(floor <= span && span < limit, span, limit) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Verdict::{Congestion, Wireless};
    use proptest::prelude::*;

    fn arrival(at: u32, delivered: u32, in_order: bool) -> Arrival {
        Arrival { at_us: f64::from(at), delivered, in_order }
    }

    /// A receiver with T_min = 100 us that lost packets and sees the next one `gap` us after the
    /// last.
    fn receiver(quarters: u32, gap: u32) -> Spacing {
        let mut spacing = Spacing::at_receiver(quarters);
        for (at, delivered) in [(1000, 1), (1100, 2), (1250, 3)] {
            spacing.arrival(arrival(at, delivered, true));
        }
        spacing.arrival(arrival(1250 + gap, 4, false));
        spacing
    }

    /// N1, N2: the table of eq. 5.1, its lower bound included and its upper one not.
    #[test]
    fn the_bounds_as_printed() {
        let cases = [
            (1, 199, Congestion, Congestion),
            (1, 200, Wireless, Wireless),
            (1, 224, Wireless, Wireless),
            (1, 225, Wireless, Congestion),
            (1, 299, Wireless, Congestion),
            (1, 300, Congestion, Congestion),
            (4, 499, Congestion, Congestion),
            (4, 500, Wireless, Wireless),
            (4, 525, Wireless, Congestion),
            (4, 600, Congestion, Congestion),
        ];
        for (n, gap, biaz, mbiaz) in cases {
            let loss = Loss { n, cwnd: 0 };
            assert_eq!(receiver(Spacing::BIAZ_QUARTERS, gap).judge(loss).verdict, biaz, "Biaz {n} {gap}");
            assert_eq!(receiver(Spacing::MBIAZ_QUARTERS, gap).judge(loss).verdict, mbiaz, "mBiaz {n} {gap}");
        }
        let judged = receiver(Spacing::MBIAZ_QUARTERS, 210).judge(Loss { n: 1, cwnd: 0 });
        assert_eq!((judged.floor, judged.measured, judged.limit), (Some(200.0), Some(210.0), Some(225.0)));
    }

    #[test]
    fn without_two_packets_in_order_there_is_no_least_spacing() {
        let mut spacing = Spacing::at_receiver(4);
        spacing.arrival(arrival(10, 1, true));
        spacing.arrival(arrival(90, 2, false));
        assert_eq!(spacing.judge(Loss { n: 1, cwnd: 0 }), Judgement::congestion(Reason::NoSample));
        assert_eq!(spacing.gap(), Some((80.0, 1)));
        // The receiver measures on from the packet behind the hole; the gap itself is no spacing.
        spacing.arrival(arrival(140, 3, true));
        assert_eq!(spacing.least_us(), Some(50.0));
    }

    /// Spec 3.2.1 generalised: the gap is from the last ACK in order to the one at which recovery
    /// starts, and it holds the d segments that duplicate ACKs told of.
    #[test]
    fn a_sender_counts_what_was_delivered_within_the_gap() {
        let mut spacing = Spacing::at_sender(Spacing::BIAZ_QUARTERS);
        // Delayed ACKs: two segments every 200 us.
        for (at, delivered) in [(0, 2), (200, 4), (400, 6)] {
            spacing.arrival(arrival(at, delivered, true));
        }
        // One lost, three behind it: at 100 us each the third comes 400 us after the last ACK in
        // order.
        for (at, delivered) in [(600, 7), (700, 8), (800, 9)] {
            spacing.arrival(arrival(at, delivered, false));
        }
        assert_eq!((spacing.least_us(), spacing.gap()), (Some(100.0), Some((400.0, 3))));
        let judged = spacing.judge(Loss { n: 1, cwnd: 0 });
        assert_eq!((judged.verdict, judged.floor, judged.limit), (Wireless, Some(400.0), Some(500.0)));
        assert_eq!(
            spacing.judge(Loss { n: 2, cwnd: 0 }).verdict,
            Congestion,
            "two lost would have taken longer"
        );
        // Filled: the next ACK in order spaces all that came since.
        spacing.arrival(arrival(1600, 14, true));
        assert_eq!(spacing.least_us(), Some(100.0));
        spacing.arrival(arrival(1600, 15, true));
        assert_eq!(spacing.least_us(), Some(100.0), "at the same time is no spacing");
        spacing.arrival(arrival(1640, 15, true));
        spacing.arrival(arrival(1650, 16, true));
        assert_eq!(spacing.least_us(), Some(50.0), "an ACK that delivers nothing spaces nothing");
    }

    #[test]
    fn the_count_of_delivered_segments_wraps() {
        let mut spacing = Spacing::at_sender(4);
        spacing.arrival(arrival(0, u32::MAX, true));
        spacing.arrival(arrival(300, 2, true));
        assert_eq!(spacing.least_us(), Some(100.0));
    }

    proptest! {
        /// N1, N2: the detector is eq. 5.1 for any row of spacings, and what mBiaz calls random
        /// Biaz does too (AMB-N2).
        #[test]
        fn the_detector_is_the_formula(spacings in prop::collection::vec(1_u32..5_000, 1..50), n in 0_u32..8, tenths in 0_u32..120) {
            let least = spacings.iter().copied().min().expect("one");
            let gap = (least * tenths).div_ceil(10).max(1);
            let random = [Spacing::BIAZ_QUARTERS, Spacing::MBIAZ_QUARTERS].map(|quarters| {
                let mut spacing = Spacing::at_receiver(quarters);
                let mut now = 0;
                spacing.arrival(arrival(now, 0, true));
                for (count, span) in spacings.iter().enumerate() {
                    now += span;
                    spacing.arrival(arrival(now, count as u32 + 1, true));
                }
                spacing.arrival(arrival(now + gap, spacings.len() as u32 + 1, false));
                spacing.judge(Loss { n, cwnd: 0 }).verdict == Wireless
            });
            // In quarters of microseconds, whole numbers.
            let (lost, gap) = (u64::from(n.max(1)), u64::from(gap));
            let (t, n1) = (u64::from(least), lost + 1);
            prop_assert_eq!(random[0], n1 * t <= gap && gap < (lost + 2) * t);
            prop_assert_eq!(random[1], n1 * t <= gap && 4 * gap < (4 * n1 + 1) * t);
            prop_assert!(random[0] || !random[1]);
        }
    }
}
