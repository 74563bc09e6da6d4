//! The Lite-Xmit-Timer: Karn and Jacobson's timer as in 4.4BSD-Lite (LL-31; section 11.2 of the
//! specification).
//!
//! SRTT += DELTA / 8, RTTVAR += (|DELTA| - RTTVAR) / 4, RTO = max(SRTT + 4 RTTVAR, 2 ticks). The
//! first sample sets SRTT = RTT and RTTVAR = RTT / 2.
//!
//! The model shows its faults. When the round-trip time falls, the timeout rises, because |DELTA|
//! has no sign. With many samples per round trip, the timeout collapses to the round-trip time.
//! Each acknowledgment restarts the timer with the whole timeout, whatever the age of the oldest
//! segment.
//!
//! This implementation uses real arithmetic. The code of 4.4BSD has integers scaled by 8 and 4,
//! measures round-trip times in ticks, and has an upper limit of 64 s, above which there is nothing
//! to compare (ambiguity 16).

use crate::timer::{Estimate, Sample, Timer};

/// The timer of 4.4BSD-Lite.
#[derive(Debug, Clone)]
pub struct Lite {
    tick_s: Option<f64>,
    smoothed: Option<Smoothed>,
}

/// Jacobson's SRTT and RTTVAR, which RFC 6298 shares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Smoothed {
    pub srtt: f64,
    pub rttvar: f64,
}

impl Smoothed {
    /// Returns the state after `rtt`, and DELTA.
    pub fn after(before: Option<Self>, rtt: f64) -> (Self, f64) {
        let Some(Self { srtt, rttvar }) = before else {
            return (Self { srtt: rtt, rttvar: rtt / 2.0 }, 0.0);
        };
        let delta = rtt - srtt;
        (Self { srtt: srtt + delta / 8.0, rttvar: rttvar + (delta.abs() - rttvar) / 4.0 }, delta)
    }
}

impl Lite {
    /// The tick of 4.4BSD, in seconds.
    pub const TICK_S: f64 = 0.5;

    /// Creates a timer with this tick in seconds; without a tick it has no minimum either.
    #[must_use]
    pub fn new(tick_s: Option<f64>) -> Self {
        Self { tick_s: tick_s.filter(|tick| *tick > 0.0), smoothed: None }
    }
}

impl Timer for Lite {
    fn sample(&mut self, sample: &Sample) -> Estimate {
        let (smoothed, delta_s) = Smoothed::after(self.smoothed, sample.rtt_s);
        self.smoothed = Some(smoothed);
        let Smoothed { srtt, rttvar } = smoothed;
        let unrounded_s = srtt + 4.0 * rttvar;
        let floored_s = self.tick_s.map_or(unrounded_s, |tick| unrounded_s.max(2.0 * tick));
        let ticks = self.tick_s.map(|tick| (floored_s / tick).ceil());
        let rto_s = self.tick_s.zip(ticks).map_or(floored_s, |(tick, ticks)| tick * ticks);
        Estimate {
            delta_s,
            srtt_s: srtt,
            rttvar_s: rttvar,
            unrounded_s,
            floored_s,
            ticks,
            rto_s,
            rexmt_s: rto_s,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(timer: &mut Lite, rtts: &[f64]) -> Estimate {
        let sample = |&rtt_s: &f64| Sample { at_s: 0.0, rtt_s, flight: 1.0 };
        rtts.iter().map(|rtt| timer.sample(&sample(rtt))).last().expect("samples")
    }

    /// LL-31: the formulas, computed by hand.
    #[test]
    fn ll_31_formulas() {
        let first = samples(&mut Lite::new(None), &[2.0]);
        assert_eq!((first.srtt_s, first.rttvar_s, first.rto_s, first.ticks), (2.0, 1.0, 6.0, None));
        // DELTA = 8: SRTT 3, RTTVAR 1 + 7/4.
        let second = samples(&mut Lite::new(None), &[2.0, 10.0]);
        assert_eq!((second.delta_s, second.srtt_s, second.rttvar_s, second.rto_s), (8.0, 3.0, 2.75, 14.0));
        // DELTA = -8 raises the timeout just as much above SRTT: the first of its faults.
        let fallen = samples(&mut Lite::new(None), &[10.0, 2.0]);
        assert_eq!((fallen.delta_s, fallen.srtt_s, fallen.rttvar_s), (-8.0, 9.0, 5.0 + 3.0 / 4.0));
    }

    /// LL-31: the minimum of two ticks, and rounding up to whole ticks.
    #[test]
    fn ll_31_ticks() {
        let least = samples(&mut Lite::new(Some(0.5)), &[0.01; 50]);
        assert_eq!((least.floored_s, least.ticks, least.rto_s), (1.0, Some(2.0), 1.0));
        let above = samples(&mut Lite::new(Some(0.5)), &[0.7]);
        assert_eq!((above.ticks, above.rto_s), (Some(5.0), 2.5));
        assert!((above.unrounded_s - 2.1).abs() < 1e-12);
    }
}
