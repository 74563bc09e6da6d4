//! The Eifel retransmission timer of Ludwig and Sklower (LL-32; section 11.2 of the specification,
//! from public descriptions).
//!
//! GAIN = 1 / FLIGHT, at most 1/3, for samples of every segment. RTTVAR is frozen while the
//! round-trip time falls. It rises with GAIN if DELTA is above it, and falls with GAIN^2 otherwise.
//! RTO = max(SRTT + RTTVAR / GAIN, RTT + 2 ticks). The timer runs for the timeout minus the age of
//! the oldest outstanding segment.
//!
//! The descriptions leave the first sample open. Here it sets SRTT = RTT and RTTVAR = 2 GAIN RTT,
//! which gives the first timeout of all the other timers, 3 RTT. Values follow from these formulas,
//! not from the paper (ambiguity 22).

use crate::timer::{Estimate, Sample, Timer};

/// The Eifel timer.
#[derive(Debug, Clone)]
pub struct Eifel {
    tick_s: f64,
    /// SRTT and RTTVAR.
    state: Option<(f64, f64)>,
}

impl Eifel {
    /// Minimum of FLIGHT in the computation of the gain.
    pub const LEAST_FLIGHT: f64 = 3.0;

    /// Creates a timer with this tick in seconds; 0 means no ticks.
    #[must_use]
    pub fn new(tick_s: f64) -> Self {
        Self { tick_s, state: None }
    }
}

impl Timer for Eifel {
    fn sample(&mut self, sample: &Sample) -> Estimate {
        let rtt = sample.rtt_s;
        let gain = 1.0 / sample.flight.max(Self::LEAST_FLIGHT);
        let (srtt, rttvar, delta_s) = match self.state {
            None => (rtt, 2.0 * gain * rtt, 0.0),
            Some((srtt, rttvar)) => {
                let delta = rtt - srtt;
                let distance = delta - rttvar;
                let rttvar_gain = if distance >= 0.0 { gain } else { gain * gain };
                let change = if delta >= 0.0 { rttvar_gain * distance } else { 0.0 };
                (srtt + gain * delta, rttvar + change, delta)
            }
        };
        self.state = Some((srtt, rttvar));
        let unrounded_s = srtt + rttvar / gain;
        let rto_s = unrounded_s.max(rtt + 2.0 * self.tick_s);
        // The segments were sent evenly over the round trip, and the oldest one now is the next to
        // be acknowledged.
        let age = rtt * (1.0 - 1.0 / sample.flight.max(1.0));
        Estimate {
            delta_s,
            srtt_s: srtt,
            rttvar_s: rttvar,
            unrounded_s,
            floored_s: rto_s,
            ticks: None,
            rto_s,
            rexmt_s: rto_s - age,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timer(tick_s: f64, srtt: f64, rttvar: f64) -> Eifel {
        Eifel { tick_s, state: Some((srtt, rttvar)) }
    }

    fn sample(rtt_s: f64, flight: f64) -> Sample {
        Sample { at_s: 0.0, rtt_s, flight }
    }

    /// LL-32: the formulas, computed by hand, for a rise beyond RTTVAR, a rise within it, and a
    /// fall.
    #[test]
    fn ll_32_formulas() {
        let rise = timer(0.0, 10.0, 1.0).sample(&sample(15.0, 4.0));
        assert_eq!((rise.rttvar_s, rise.srtt_s, rise.rto_s), (2.0, 11.25, 11.25 + 8.0));
        let within = timer(0.0, 10.0, 3.0).sample(&sample(11.0, 4.0));
        assert_eq!((within.rttvar_s, within.srtt_s), (3.0 - 2.0 / 16.0, 10.25));
        let fall = timer(0.0, 10.0, 3.0).sample(&sample(6.0, 4.0));
        assert_eq!((fall.rttvar_s, fall.srtt_s, fall.rto_s), (3.0, 9.0, 21.0));
        // The flight counts as at least three.
        let small = timer(0.0, 9.0, 0.0).sample(&sample(12.0, 1.0));
        assert!((small.srtt_s - 10.0).abs() < 1e-12 && (small.rttvar_s - 1.0).abs() < 1e-12);
    }

    /// LL-32: the timeout is at least the round-trip time plus two ticks; the timer runs for the
    /// timeout minus the age of the oldest segment.
    #[test]
    fn ll_32_minimum_and_restart() {
        let least = timer(0.5, 10.0, 0.0).sample(&sample(10.0, 4.0));
        assert_eq!((least.unrounded_s, least.rto_s), (10.0, 11.0));
        // Of four segments over 10 s, the next one is 7.5 s old.
        assert!((least.rexmt_s - 3.5).abs() < 1e-12);
        // The first sample gives 3 RTT for any flight.
        for flight in [1.0, 8.0] {
            let first = Eifel::new(0.5).sample(&sample(2.0, flight));
            assert!((first.rto_s - 6.0).abs() < 1e-12 && (first.srtt_s - 2.0).abs() < 1e-12);
        }
    }
}
