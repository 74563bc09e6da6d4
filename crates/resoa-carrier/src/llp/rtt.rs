//! Round-trip time (RFC 9002, 5), and how long an answer can be waited for.

use std::time::Duration;

/// Before the first answer.
const INITIAL: Duration = Duration::from_millis(250);
/// The shortest variation that is reckoned with: hosts are not punctual.
const GRANULARITY: Duration = Duration::from_millis(1);
/// The longest time between two questions, however many had no answer: an outage that is over is
/// found out so soon.
const LONGEST: Duration = Duration::from_secs(1);

/// See the [module](self).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rtt {
    smoothed: Option<Duration>,
    variation: Duration,
    latest: Duration,
}

impl Rtt {
    /// A sample, with the time that the other side waited before it answered, if that can be
    /// believed.
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

    /// What it is taken for.
    pub(super) fn expected(&self) -> Duration {
        self.smoothed.unwrap_or(INITIAL)
    }

    /// How much later than one that has arrived a packet must have been sent before for it to be
    /// lost (RFC 9002, 6.1.2).
    pub(super) fn reordering(&self) -> Duration {
        let longest = self.expected().max(self.latest);
        (longest * 9 / 8).max(GRANULARITY)
    }

    /// How long an answer is waited for, when so many questions in a row had none.
    pub(super) fn patience(&self, unanswered: u32) -> Duration {
        let one = match self.smoothed {
            Some(smoothed) => smoothed + (self.variation * 4).max(GRANULARITY) + super::received::DELAY,
            None => INITIAL,
        };
        (one * (1 << unanswered.min(8))).min(LONGEST.max(one))
    }
}
