//! Spike: losses while delays are in a spike are congestion (section 5.1).
//!
//! A spike starts above the minimum delay plus one margin and ends below it plus a smaller margin.
//! The margins are fixed, 20 and 5 ms, and suit links whose queues are about that long.

use crate::{Judgement, Loss, LossVerdict, Quantum, Reason};

/// The detector: a state machine over delays.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spike {
    start_us: f64,
    end_us: f64,
    quantum: Quantum,
    /// The minimum delay and the latest one; `None` before the first.
    seen: Option<(f64, f64)>,
    inside: bool,
}

impl Spike {
    /// A spike starts this far above the minimum delay, in microseconds.
    pub const START_US: u32 = 20_000;
    /// A spike ends less than this far above the minimum delay, in microseconds.
    pub const END_US: u32 = 5_000;

    /// Creates a detector without samples, with these margins in microseconds.
    #[must_use]
    pub fn new(start_us: u32, end_us: u32, quantum: Quantum) -> Self {
        Self { start_us: f64::from(start_us), end_us: f64::from(end_us), quantum, seen: None, inside: false }
    }

    /// Returns the minimum delay so far, in microseconds.
    #[must_use]
    pub fn least_us(&self) -> Option<f64> {
        self.seen.map(|(least, _)| least)
    }

    /// Returns whether delays are in a spike.
    #[must_use]
    pub const fn is_inside(&self) -> bool {
        self.inside
    }

    /// Takes a delay, in microseconds. It counts for the minimum before it is compared. A delay
    /// exactly at a border changes nothing.
    pub fn sample(&mut self, delay_us: f64) {
        let delay = self.quantum.read(delay_us);
        let least = self.seen.map_or(delay, |(least, _)| least.min(delay));
        self.seen = Some((least, delay));
        if !self.inside && delay > least + self.start_us {
            self.inside = true;
        } else if self.inside && delay < least + self.end_us {
            self.inside = false;
        }
    }

    /// Returns congestion in a spike, wireless outside. The limit is the border at which that would
    /// change.
    #[must_use]
    pub fn judge(&self, _: Loss) -> Judgement {
        let Some((least, latest)) = self.seen else { return Judgement::congestion(Reason::NoSample) };
        let border = least + if self.inside { self.end_us } else { self.start_us };
        Judgement {
            verdict: if self.inside { LossVerdict::Congestion } else { LossVerdict::Wireless },
            reason: Reason::Detector,
            measured: Some(latest),
            floor: None,
            limit: Some(border),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LOSS: Loss = Loss { n: 1, cwnd: 10 };

    fn spike() -> Spike {
        Spike::new(Spike::START_US, Spike::END_US, Quantum::MICROSECOND)
    }

    /// N3: a spike starts above 20 ms and ends below 5 ms, and at neither border itself.
    #[test]
    fn a_spike_with_its_two_borders() {
        use LossVerdict::{Congestion as C, Wireless as W};
        let mut spike = spike();
        assert_eq!(spike.judge(LOSS), Judgement::congestion(Reason::NoSample));
        let steps = [
            (50_000, W, 70_000),
            (70_000, W, 70_000), // at the border
            (70_001, C, 55_000),
            (60_000, C, 55_000), // lower, but not low enough
            (55_000, C, 55_000), // at the border
            (54_999, W, 70_000),
            (69_000, W, 70_000),
            (30_000, W, 50_000), // a new minimum moves both borders
            (54_999, C, 35_000),
            (34_000, W, 50_000),
        ];
        for (delay, verdict, limit) in steps {
            spike.sample(f64::from(delay));
            let judged = spike.judge(LOSS);
            assert_eq!((judged.verdict, judged.limit), (verdict, Some(f64::from(limit))), "{delay}");
        }
    }

    proptest! {
        /// N3: the latest delay outside the band between the borders determines the state.
        #[test]
        fn the_latest_crossing_decides(delays in prop::collection::vec(0_u32..60_000, 1..60)) {
            let mut machine = spike();
            let (mut least, mut inside) = (u32::MAX, false);
            for delay in delays {
                machine.sample(f64::from(delay));
                least = least.min(delay);
                inside = match delay - least {
                    20_001.. => true,
                    0..5_000 => false,
                    _ => inside,
                };
                prop_assert_eq!(machine.is_inside(), inside);
                prop_assert_eq!(machine.least_us(), Some(f64::from(least)));
                prop_assert_eq!(machine.judge(LOSS).verdict == LossVerdict::Congestion, inside);
            }
        }
    }
}
