//! The standard timer: RFC 6298, section 2.
//!
//! RTO = SRTT + max(G, 4 RTTVAR), at least one second (2.4), where G is the granularity of the
//! clock. An upper limit is optional and must be at least 60 s (2.5); there is none here.

use crate::bsd::Smoothed;
use crate::timer::{Estimate, Sample, Timer};

/// The timer of RFC 6298.
#[derive(Debug, Clone)]
pub struct Rfc6298 {
    granularity_s: f64,
    smoothed: Option<Smoothed>,
}

impl Rfc6298 {
    /// Minimum timeout (RFC 6298, 2.4), in seconds.
    pub const MINIMUM_S: f64 = 1.0;

    /// Creates a timer for a clock with this granularity in seconds.
    #[must_use]
    pub fn new(granularity_s: f64) -> Self {
        Self { granularity_s, smoothed: None }
    }
}

impl Timer for Rfc6298 {
    fn sample(&mut self, sample: &Sample) -> Estimate {
        let (smoothed, delta_s) = Smoothed::after(self.smoothed, sample.rtt_s);
        self.smoothed = Some(smoothed);
        let Smoothed { srtt, rttvar } = smoothed;
        let unrounded_s = srtt + (4.0 * rttvar).max(self.granularity_s);
        let rto_s = unrounded_s.max(Self::MINIMUM_S);
        Estimate {
            delta_s,
            srtt_s: srtt,
            rttvar_s: rttvar,
            unrounded_s,
            floored_s: rto_s,
            ticks: None,
            rto_s,
            rexmt_s: rto_s,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// M4, Eq. 10.4 of Schläger: three times a handshake of 0.3664 s, and of 0.6664 s.
    #[test]
    fn m4_the_first_timeout_is_three_times_the_first_sample() {
        for (rtt_s, expected) in [(0.3664, 1.0992), (0.6664, 1.9992)] {
            let first = Rfc6298::new(0.0).sample(&Sample { at_s: 0.0, rtt_s, flight: 1.0 });
            assert!((first.rto_s - expected).abs() < 1e-9, "{}", first.rto_s);
        }
    }

    #[test]
    fn section_2_of_rfc_6298() {
        let sample = |rtt_s| Sample { at_s: 0.0, rtt_s, flight: 1.0 };
        let mut timer = Rfc6298::new(0.1);
        let first = timer.sample(&sample(2.0));
        assert_eq!((first.srtt_s, first.rttvar_s, first.rto_s), (2.0, 1.0, 6.0));
        let second = timer.sample(&sample(10.0));
        // RTTVAR = 3/4 * 1 + 1/4 * 8, SRTT = 7/8 * 2 + 1/8 * 10.
        assert_eq!((second.rttvar_s, second.srtt_s, second.rto_s), (2.75, 3.0, 14.0));
        // With a constant round-trip time the variation vanishes, and the granularity remains.
        let mut last = second;
        for _ in 0..500 {
            last = timer.sample(&sample(2.0));
        }
        assert!((last.rto_s - 2.1).abs() < 1e-9);
        for _ in 0..500 {
            last = timer.sample(&sample(0.2));
        }
        assert!((last.rto_s - 1.0).abs() < 1e-9 && (last.unrounded_s - 0.3).abs() < 1e-9);
    }
}
