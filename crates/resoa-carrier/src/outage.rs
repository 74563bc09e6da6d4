//! Decides whether a waiting message is late: it was handed over long ago, and there has been an
//! outage since.
//!
//! Age alone does not make a message late. On a slow link a message waits that long behind other
//! traffic. If messages were given up for their age, a full link would deliver none of those that
//! may be lost. So a message is late if it is older than [`patience`], and nothing was answered for
//! that long at some time since its hand-over.

use std::time::Duration;

/// A message that may be lost may take this long, plus this many round trips.
const LEAST: Duration = Duration::from_millis(500);
const ROUND_TRIPS: u32 = 4;

/// Returns how old a message that may be lost can become, and how long a silence is before it
/// counts as an outage.
pub(crate) fn patience(round_trip: Duration) -> Duration {
    LEAST + round_trip * ROUND_TRIPS
}

/// Current silence and last outage of a connection; see the [module](self).
#[derive(Debug, Default)]
pub(crate) struct Outage {
    /// Start of the current silence: something is in flight, and nothing has been answered since.
    silent: Option<Duration>,
    /// End of the last outage.
    ended: Duration,
}

impl Outage {
    /// Notes that something was sent that the other side must answer.
    pub(crate) fn sent(&mut self, now: Duration) {
        self.silent.get_or_insert(now);
    }

    /// Notes an answer; `is_more` says whether more is in flight.
    pub(crate) fn answered(&mut self, is_more: bool, patience: Duration, now: Duration) {
        if self.silent.is_some_and(|since| since + patience <= now) {
            self.ended = now;
        }
        self.silent = is_more.then_some(now);
    }

    /// Returns since when something is in flight and nothing has been answered.
    pub(crate) fn silent_since(&self) -> Option<Duration> {
        self.silent
    }

    /// Returns when a message that was handed over at this time becomes late if nothing is answered
    /// until then; `None` without an outage or a silence since.
    pub(crate) fn late_from(&self, handed_over: Duration, patience: Duration) -> Option<Duration> {
        let since = if handed_over < self.ended { Some(handed_over) } else { self.silent };
        since.map(|since| since.max(handed_over) + patience)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_millis(600);

    fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    /// While answers arrive nothing is late, however old it is.
    #[test]
    fn a_queue_is_no_outage() {
        let mut outage = Outage::default();
        assert_eq!(outage.late_from(ms(0), PATIENCE), None);
        for time in (1..=100).map(|step| ms(100 * step)) {
            outage.sent(time);
            assert!(outage.late_from(ms(0), PATIENCE) > Some(time));
            outage.answered(true, PATIENCE, time + ms(50));
        }
        outage.answered(false, PATIENCE, ms(10_100));
        assert_eq!(outage.late_from(ms(0), PATIENCE), None);
    }

    /// Old messages are late during an outage and after it; messages handed over after it are not.
    #[test]
    fn an_outage_makes_late() {
        let mut outage = Outage::default();
        outage.sent(ms(1000));
        outage.sent(ms(1400));
        assert_eq!(outage.late_from(ms(200), PATIENCE), Some(ms(1600)));
        assert_eq!(outage.late_from(ms(3000), PATIENCE), Some(ms(3600)));
        outage.answered(false, PATIENCE, ms(4000));
        assert_eq!(outage.late_from(ms(200), PATIENCE), Some(ms(800)));
        assert_eq!(outage.late_from(ms(3900), PATIENCE), Some(ms(4500)));
        assert_eq!(outage.late_from(ms(4000), PATIENCE), None);
        outage.sent(ms(5000));
        outage.answered(true, PATIENCE, ms(5599));
        assert_eq!(outage.late_from(ms(4000), PATIENCE), Some(ms(6199)), "that was none");
    }
}
