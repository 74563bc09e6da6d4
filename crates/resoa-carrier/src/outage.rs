//! Whether what waits is late: it was handed over long ago, and there was an outage since.
//!
//! Age alone does not say it. On a slow link a message waits as long behind what others send; if
//! those that may be lost were given up for that, a link that is full would carry none of them. So
//! a message is late if it is older than [`patience`], and nothing was answered for as long at some
//! time since it was handed over, or is now.

use std::time::Duration;

/// So long, and so many round trips, a message may take that may be lost.
const LEAST: Duration = Duration::from_millis(500);
const ROUND_TRIPS: u32 = 4;

/// How old a message may become that may be lost, and how long no answer is no outage.
pub(crate) fn patience(round_trip: Duration) -> Duration {
    LEAST + round_trip * ROUND_TRIPS
}

/// See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct Outage {
    /// Since when something is under way and nothing was answered.
    silent: Option<Duration>,
    /// When the last outage was over.
    ended: Duration,
}

impl Outage {
    /// Something is sent that is to be answered.
    pub(crate) fn sent(&mut self, now: Duration) {
        self.silent.get_or_insert(now);
    }

    /// An answer has come; there `is_more` under way.
    pub(crate) fn answered(&mut self, is_more: bool, patience: Duration, now: Duration) {
        if self.silent.is_some_and(|since| since + patience <= now) {
            self.ended = now;
        }
        self.silent = is_more.then_some(now);
    }

    /// Since when something is under way and nothing was answered.
    pub(crate) fn silent_since(&self) -> Option<Duration> {
        self.silent
    }

    /// When a message that was handed over at that time is late, if nothing is answered until then.
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

    /// While answers come nothing is late, however old it is.
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

    /// In an outage what is old is late, and so it is behind it; what comes later is not.
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
