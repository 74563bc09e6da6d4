//! Round-trip time (RFC 9002, 5), and how long to wait for an answer.

use std::time::Duration;

/// Assumed round-trip time before the first answer.
const INITIAL: Duration = Duration::from_millis(250);
/// Smallest variation that is assumed, because hosts are not punctual.
const GRANULARITY: Duration = Duration::from_millis(1);
/// Longest time between two probes, however many had no answer. It bounds how late the end of an
/// outage is detected.
const LONGEST: Duration = Duration::from_secs(1);

/// Round-trip time; see the [module](self).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rtt {
    smoothed: Option<Duration>,
    variation: Duration,
    latest: Duration,
}

impl Rtt {
    /// Adds a sample. The other side's delay before its answer is subtracted, if the result is
    /// plausible.
    pub(super) fn sample(&mut self, sample: Duration, delay: Duration, shortest: Duration) {
        let adjusted = sample.checked_sub(delay).filter(|adjusted| *adjusted >= shortest).unwrap_or(sample);
        self.latest = adjusted;
        match self.smoothed {
            None => {
                self.smoothed = Some(adjusted);
                self.variation = adjusted / 2;
            }
            Some(smoothed) => {
                self.variation = (self.variation * 3 + smoothed.abs_diff(adjusted)) / 4;
                self.smoothed = Some((smoothed * 7 + adjusted) / 8);
            }
        }
    }

    pub(super) fn smoothed(&self) -> Option<Duration> {
        self.smoothed
    }

    /// Returns the smoothed round-trip time, or a default before the first sample.
    pub(super) fn expected(&self) -> Duration {
        self.smoothed.unwrap_or(INITIAL)
    }

    /// Returns the time after sending at which a packet is lost if a later one has arrived (RFC
    /// 9002, 6.1.2).
    pub(super) fn reordering(&self) -> Duration {
        let longest = self.expected().max(self.latest);
        (longest * 9 / 8).max(GRANULARITY)
    }

    /// Returns how long to wait for an answer after this many unanswered probes in a row.
    pub(super) fn patience(&self, unanswered: u32) -> Duration {
        let one = match self.smoothed {
            Some(smoothed) => smoothed + (self.variation * 4).max(GRANULARITY) + super::received::DELAY,
            None => INITIAL,
        };
        (one * (1 << unanswered.min(8))).min(LONGEST.max(one))
    }
}
