//! The retransmission timer of Linux, from its rules.
//!
//! SRTT is computed as in all timers. The mean deviation MDEV follows |DELTA| with a gain of 1/4.
//! If DELTA is negative and |DELTA| exceeds MDEV, the gain is 1/32, because the timeout would
//! otherwise rise when the round-trip time falls. The timeout is SRTT + V. V follows the maximum of
//! 4 MDEV within a round trip, which is at least 200 ms. V rises at once. At the end of a round
//! trip, it falls by a quarter of the way to this maximum. A round trip ends with the
//! acknowledgment of data sent after it began.
//!
//! The minimum applies to V, not to the timeout, so the timeout is at least SRTT + 200 ms. The
//! upper limit of 120 s is left out. Linux's integers of microseconds are real numbers here.

use crate::timer::{Estimate, Sample, Timer};

/// The retransmission timer of Linux.
#[derive(Debug, Clone, Default)]
pub struct Linux {
    state: Option<State>,
}

#[derive(Debug, Clone, Copy)]
struct State {
    srtt: f64,
    /// Mean deviation.
    mdev: f64,
    /// Maximum of 4 MDEV in the present round trip.
    greatest: f64,
    /// V: what is added to SRTT.
    addend: f64,
    /// Start of the present round trip.
    round: f64,
}

impl Linux {
    /// Minimum that is added to SRTT (`TCP_RTO_MIN`), in seconds.
    pub const FLOOR_S: f64 = 0.2;
}

impl State {
    fn first(sample: &Sample) -> Self {
        let mdev = sample.rtt_s / 2.0;
        let addend = (4.0 * mdev).max(Linux::FLOOR_S);
        Self { srtt: sample.rtt_s, mdev, greatest: addend, addend, round: sample.at_s }
    }

    fn next(&mut self, sample: &Sample) -> f64 {
        let delta = sample.rtt_s - self.srtt;
        self.srtt += delta / 8.0;
        let beyond = delta.abs() - self.mdev;
        self.mdev += if delta < 0.0 && beyond > 0.0 { beyond / 32.0 } else { beyond / 4.0 };
        if 4.0 * self.mdev > self.greatest {
            self.greatest = 4.0 * self.mdev;
            self.addend = self.addend.max(self.greatest);
        }
        // The segment was sent one round-trip time ago. Data sent in answer to the acknowledgment
        // that began the round have its time, so allow for rounding errors of sums.
        if sample.at_s - sample.rtt_s >= self.round - 1e-9 * sample.at_s.abs() {
            if self.greatest < self.addend {
                self.addend -= (self.addend - self.greatest) / 4.0;
            }
            self.round = sample.at_s;
            self.greatest = Linux::FLOOR_S;
        }
        delta
    }
}

impl Timer for Linux {
    fn sample(&mut self, sample: &Sample) -> Estimate {
        let (state, delta_s) = match self.state {
            None => (State::first(sample), 0.0),
            Some(mut state) => {
                let delta = state.next(sample);
                (state, delta)
            }
        };
        self.state = Some(state);
        let rto_s = state.srtt + state.addend;
        Estimate {
            delta_s,
            srtt_s: state.srtt,
            rttvar_s: state.addend / 4.0,
            unrounded_s: state.srtt + 4.0 * state.mdev,
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

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found}, expected {expected}");
    }

    /// The rules, computed by hand; times are chosen so that rounds end where stated.
    #[test]
    fn rules() {
        let mut timer = Linux::default();
        let mut sample = |at_s, rtt_s| timer.sample(&Sample { at_s, rtt_s, flight: 1.0 });
        // MDEV = 0.5, V = 2.
        let first = sample(1.0, 1.0);
        close(first.rto_s, 3.0);
        // Sent before the round began at 1, so the round continues. DELTA = 0.8, MDEV = 0.5 +
        // 0.3/4.
        let second = sample(1.5, 1.8);
        close(second.srtt_s, 1.1);
        close(second.rto_s, 1.1 + 2.3);
        // Sent at 1.5, after the round began at 1: the round ends. DELTA = 0, MDEV = 3/4 of 0.575.
        // V stays, because it equals the round's maximum.
        let third = sample(2.6, 1.1);
        close(third.delta_s, 0.0);
        close(third.rto_s, 1.1 + 2.3);
        // The next round ends at once. Its maximum is 4 MDEV = 4 * 0.575 * 9/16 = 1.29375, and V
        // falls by a quarter of the way.
        let fourth = sample(3.7, 1.1);
        close(fourth.rto_s, 1.1 + 2.3 - (2.3 - 1.293_75) / 4.0);
        // A fall beyond MDEV counts an eighth of what a rise does.
        let (mdev, srtt) = (1.293_75 / 4.0, 1.1);
        let fifth = sample(3.8, 0.1);
        close(fifth.unrounded_s, srtt - 1.0 / 8.0 + 4.0 * (mdev + (1.0 - mdev) / 32.0));
    }

    /// The minimum: with a constant round-trip time the timeout converges to SRTT + 200 ms.
    #[test]
    fn the_floor_stands_below_the_variation() {
        let mut timer = Linux::default();
        let mut last = 0.0;
        for round in 1..200 {
            last = timer.sample(&Sample { at_s: f64::from(round), rtt_s: 1.0, flight: 1.0 }).rto_s;
        }
        close(last, 1.2);
    }
}
