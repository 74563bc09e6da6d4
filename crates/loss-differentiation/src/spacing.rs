//! Biaz and mBiaz: a gap of just the length that the lost packets would have filled means random
//! loss (eq. 5.1).
//!
//! T_min is the minimum time between two packets. T_i is the time from the last packet in order to
//! the first one behind the n lost ones. If that arrives much earlier than (n+1) T_min, the packets
//! were already missing on the bottleneck, so a queue dropped them. If it arrives later, it waited
//! in a queue itself.
//!
//! A sender sees arrivals more coarsely, because each acknowledgement may deliver several segments.
//! Then d segments arrive in the gap in addition to the n lost ones, and the bounds are (n+d) T_min
//! and (n+d+bound) T_min. With d = 1 that is eq. 5.1.

use crate::{Judgement, Loss, Reason};

/// Data arriving at the receiver, or an acknowledgement at the sender.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arrival {
    /// Time in microseconds of any clock.
    pub at_us: f64,
    /// Number of segments that have arrived since the start of the connection, including this one.
    /// At the receiver it grows by one each time. At the sender it comes from the acknowledgements.
    /// It may wrap.
    pub delivered: u32,
    /// Whether nothing is missing before it. At the receiver: whether it directly follows the
    /// previous packet. At the sender: whether nothing is selectively acknowledged.
    pub in_order: bool,
}

/// The detector: minimum spacing, and the latest gap.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spacing {
    /// Distance of the upper bound from the lower one, in T_min.
    bound: f64,
    /// Whether a gap is measured from the previous arrival of any kind, as at the receiver. A
    /// sender measures from the last acknowledgement in order until the hole is filled.
    from_any: bool,
    before: Option<(f64, u32)>,
    least_us: Option<f64>,
    /// The latest gap in microseconds, and the number of segments that arrived within it.
    gap: Option<(f64, u32)>,
}

impl Spacing {
    /// Width of Biaz's interval in quarters of T_min: n+1 to n+2.
    pub const BIAZ_QUARTERS: u32 = 4;
    /// Width of mBiaz's interval: n+1 to n+1.25.
    pub const MBIAZ_QUARTERS: u32 = 1;

    /// Creates a detector at the receiver, as published.
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

    /// Creates a detector at the sender, which uses acknowledgements.
    #[must_use]
    pub fn at_sender(bound_quarters: u32) -> Self {
        Self { from_any: false, ..Self::at_receiver(bound_quarters) }
    }

    /// Returns T_min in microseconds.
    #[must_use]
    pub const fn least_us(&self) -> Option<f64> {
        self.least_us
    }

    /// Returns the latest gap: T_i in microseconds, and d.
    #[must_use]
    pub const fn gap(&self) -> Option<(f64, u32)> {
        self.gap
    }

    /// Takes an arrival. One in order that delivers nothing is ignored, because it measures no
    /// spacing.
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

    /// Returns wireless if (n+d) T_min <= T_i < (n+d+bound) T_min. A loss without a gap is
    /// congestion.
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
    use crate::LossVerdict::{Congestion, Wireless};
    use proptest::prelude::*;

    fn arrival(at: u32, delivered: u32, in_order: bool) -> Arrival {
        Arrival { at_us: f64::from(at), delivered, in_order }
    }

    /// Returns a receiver with T_min = 100 us that lost packets and sees the next one `gap` us
    /// after the previous one.
    fn receiver(quarters: u32, gap: u32) -> Spacing {
        let mut spacing = Spacing::at_receiver(quarters);
        for (at, delivered) in [(1000, 1), (1100, 2), (1250, 3)] {
            spacing.arrival(arrival(at, delivered, true));
        }
        spacing.arrival(arrival(1250 + gap, 4, false));
        spacing
    }

    /// N1, N2: the table of eq. 5.1, with the lower bound included and the upper one excluded.
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
        // The receiver continues to measure from the packet behind the hole; the gap itself is not
        // a spacing.
        spacing.arrival(arrival(140, 3, true));
        assert_eq!(spacing.least_us(), Some(50.0));
    }

    /// Spec 3.2.1 generalised: the gap is from the last ACK in order to the one that starts
    /// recovery. It holds the d segments that duplicate ACKs reported.
    #[test]
    fn a_sender_counts_what_was_delivered_within_the_gap() {
        let mut spacing = Spacing::at_sender(Spacing::BIAZ_QUARTERS);
        // Delayed ACKs: two segments every 200 us.
        for (at, delivered) in [(0, 2), (200, 4), (400, 6)] {
            spacing.arrival(arrival(at, delivered, true));
        }
        // One lost, three behind it: at 100 us each, the third arrives 400 us after the last ACK in
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
        // The hole is filled: the next ACK in order covers all that has arrived since.
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
        /// N1, N2: the detector matches eq. 5.1 for any series of spacings, and whatever mBiaz
        /// calls random, Biaz does too (AMB-N2).
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
            // In quarters of microseconds, so that all numbers are whole.
            let (lost, gap) = (u64::from(n.max(1)), u64::from(gap));
            let (t, n1) = (u64::from(least), lost + 1);
            prop_assert_eq!(random[0], n1 * t <= gap && gap < (lost + 2) * t);
            prop_assert_eq!(random[1], n1 * t <= gap && 4 * gap < (4 * n1 + 1) * t);
            prop_assert!(random[0] || !random[1]);
        }
    }
}
