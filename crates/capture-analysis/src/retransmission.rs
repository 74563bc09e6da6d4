//! Why a sender retransmitted data, and whether it had to.
//!
//! The cause is judged from what the capture shows at that moment:
//!
//! * *fast*: three duplicate acknowledgments, or SACK blocks of more than two segments above it,
//!   signalled the loss, or the retransmission belongs to the recovery that such a signal began
//!   (RFC 5681, RFC 6675).
//! * *RACK*: SACK reported data above it, but less than three segments, so that elapsed time
//!   revealed the loss (RFC 8985). Or it is sent a third time within such a recovery, which only
//!   RACK does.
//! * *timeout*: there is no such signal, it is the oldest byte in flight, and the sender's
//!   retransmission timeout has passed (RFC 6298 with the observed round-trip times) since each of
//!   these: its last transmission, the last acknowledgment of data (section 5.3), and, where SACK
//!   reported data above it, that report, which restarts the timer in Linux. A retransmission that
//!   immediately follows a SACK is RACK's, however long the data had been in flight. Without any
//!   signal or recovery, the time since the last transmission is sufficient: Linux uses that after
//!   a tail probe. Retransmissions of the go-back-N after a timeout count as *timeout*, too.
//! * *tail probe*: there is no such signal, it is the newest data in flight, and two round-trip
//!   times have passed (RFC 8985). With SACK, the first retransmission of a segment that is alone
//!   in flight counts, too, if it comes no later than a probe is due: the probe comes before the
//!   timer expires, or instead of that.
//! * *keep-alive*: at most one byte just below what was acknowledged (RFC 9293 section 3.8.4).
//! * *unknown*: none of these.
//!
//! Later segments can show that a retransmission was *spurious*. This module counts those cases
//! that it can recognise without storing what was sent, by the rules of [`crate::spurious`]: by
//! time stamps at the left edge of the window (Eifel, RFC 3522; [`timestamps::at_edge`]), or by a
//! duplicate SACK (RFC 2883; [`duplicate_sack::can_report`]). `lasthop analyze --spurious` also
//! judges segments behind a hole, and uses all other evidence.

use crate::spurious::{SpuriousVerdict, duplicate_sack, timestamps};
use serde::Serialize;

/// Retransmissions of one direction that are checked for evidence of being spurious. Older ones
/// count as necessary.
const WATCHED: usize = 256;

/// Cause of a retransmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// Signalled by duplicate acknowledgments or SACK.
    Fast,
    /// Revealed by SACK of later data and by elapsed time.
    Rack,
    /// The retransmission timer expired.
    Timeout,
    /// A probe for the loss of the newest data (tail loss probe).
    TailProbe,
    /// A probe whether the other end is still there.
    KeepAlive,
    /// The capture shows none of these causes.
    Unknown,
}

/// Numbers of retransmissions, by cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Retransmissions {
    /// See [`Cause::Fast`].
    pub fast: u64,
    /// See [`Cause::Rack`].
    pub rack: u64,
    /// See [`Cause::Timeout`].
    pub timeout: u64,
    /// See [`Cause::TailProbe`].
    pub tail_probe: u64,
    /// See [`Cause::KeepAlive`].
    pub keep_alive: u64,
    /// See [`Cause::Unknown`].
    pub unknown: u64,
    /// Those of any cause that time stamps show to be spurious; only at the left edge of the
    /// window.
    pub spurious_by_timestamps: u64,
    /// Those of any cause that a duplicate SACK, but not time stamps, shows to be spurious.
    pub spurious_by_dsack: u64,
    /// Number of times that the timer expired: retransmissions that the timer itself triggered,
    /// without those of the go-back-N after it.
    pub timeouts: u64,
}

/// State of the sender, as far as known, when it retransmits. Places are those of
/// [`crate::sequence_number`].
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// Now, in nanoseconds.
    pub time: u64,
    /// First place of the retransmitted range.
    pub first: u64,
    /// Place after the range.
    pub end: u64,
    /// When it was last sent, in nanoseconds, and how often it had been retransmitted; `None` if it
    /// was no longer in flight.
    pub before: Option<(u64, u32)>,
    /// Place of the oldest byte in flight.
    pub oldest: Option<u64>,
    /// Place after the highest byte sent.
    pub highest: u64,
    /// Highest acknowledgment from the other end, if there was one.
    pub acknowledged: Option<u64>,
    /// When that came, in nanoseconds: the timer restarted then (RFC 6298 section 5.3).
    pub acknowledged_at: u64,
    /// Duplicate acknowledgments in a row.
    pub duplicates: u32,
    /// Place after the highest byte that SACK reported.
    pub selectively: u64,
    /// Bytes in the blocks of the last SACK.
    pub sacked: u64,
    /// When SACK last reported data that it had not reported before, in nanoseconds.
    pub told_at: u64,
    /// Whether both ends permit SACK, without which there are no probes (RFC 8985 section 3.2).
    pub permits_sack: bool,
    /// Longest segment so far, in bytes of data.
    pub segment: u64,
    /// Estimate of the sender's retransmission timeout, in nanoseconds.
    pub timeout: u64,
    /// Estimate of its smoothed round-trip time in nanoseconds; `None` without a sample.
    pub round_trip: Option<u64>,
    /// Time stamp in the segment.
    pub timestamp: Option<u32>,
}

impl Moment {
    /// Returns the probe timeout in nanoseconds for a segment that is alone in flight.
    ///
    /// It is two round-trip times plus the longest delay of an acknowledgment, but no longer than
    /// the retransmission timeout (RFC 8985 section 7.2).
    fn probe_timeout(&self) -> u64 {
        const MAX_ACK_DELAY: u64 = 200_000_000;
        self.round_trip.map_or(self.timeout, |trip| (2 * trip + MAX_ACK_DELAY).min(self.timeout))
    }
}

/// Classifier of the retransmissions of one direction.
#[derive(Debug, Clone, Default)]
pub struct Follower {
    pub(crate) counts: Retransmissions,
    recovery: Option<Recovery>,
    /// Retransmissions that can still be found spurious, oldest first.
    watched: std::collections::VecDeque<Watched>,
}

/// A recovery; it ends when all data sent before it began is acknowledged.
#[derive(Debug, Clone, Copy)]
struct Recovery {
    cause: Cause,
    began: u64,
    until: u64,
}

#[derive(Debug, Clone, Copy)]
struct Watched {
    time: u64,
    first: u64,
    end: u64,
    timestamp: Option<u32>,
    /// Whether an acknowledgment covered it. If that showed it to be spurious, `counted` is set.
    acknowledged: bool,
    /// Whether it is already counted as spurious by time stamps, so that a duplicate SACK does not
    /// count it again.
    counted: bool,
}

impl Follower {
    /// Counts a retransmission and returns its cause.
    pub fn sent_again(&mut self, moment: &Moment) -> Cause {
        let (cause, waited) = self.judge(moment);
        let count = match cause {
            Cause::Fast => &mut self.counts.fast,
            Cause::Rack => &mut self.counts.rack,
            Cause::Timeout => &mut self.counts.timeout,
            Cause::TailProbe => &mut self.counts.tail_probe,
            Cause::KeepAlive => &mut self.counts.keep_alive,
            Cause::Unknown => &mut self.counts.unknown,
        };
        *count += 1;
        self.counts.timeouts += u64::from(waited);
        if matches!(cause, Cause::Fast | Cause::Rack | Cause::Timeout) && (waited || self.recovery.is_none())
        {
            self.recovery = Some(Recovery { cause, began: moment.time, until: moment.highest });
        }
        if cause != Cause::KeepAlive {
            if self.watched.len() == WATCHED {
                self.watched.pop_front();
            }
            let Moment { time, first, end, timestamp, .. } = *moment;
            self.watched.push_back(Watched {
                time,
                first,
                end,
                timestamp,
                acknowledged: false,
                counted: false,
            });
        }
        cause
    }

    /// Returns the cause, and whether the timer expired just now.
    fn judge(&self, moment: &Moment) -> (Cause, bool) {
        let length = moment.end - moment.first;
        if length <= 1 && moment.oldest.is_none() && moment.acknowledged == Some(moment.end) {
            return (Cause::KeepAlive, false);
        }
        let waited = moment.before.map(|(time, _)| moment.time.saturating_sub(time));
        let signalled = moment.duplicates >= 3 || moment.selectively >= moment.end;
        let repeated = self.recovery.is_some_and(|recovery| {
            moment.before.is_some_and(|(time, again)| again > 0 && time >= recovery.began)
        });
        let is_oldest = moment.oldest.is_some_and(|oldest| moment.first <= oldest);
        let is_newest = moment.end >= moment.highest;
        let probe = moment.round_trip.zip(waited).is_some_and(|(trip, waited)| waited >= 2 * trip);
        // A tenth less, since the sender's estimate differs from ours, and its timers run in ticks.
        let is_long = |nanos: u64| nanos >= moment.timeout / 10 * 9;
        let told_at = if moment.selectively >= moment.end { moment.told_at } else { 0 };
        let timer = moment
            .before
            .map(|(time, _)| moment.time.saturating_sub(time.max(moment.acknowledged_at).max(told_at)));
        let is_alone = is_oldest && is_newest && moment.before.is_some_and(|(_, again)| again == 0);
        let is_due = timer.is_some_and(|timer| timer <= moment.probe_timeout() / 10 * 11);
        if moment.permits_sack && is_alone && probe && is_due && !signalled && self.recovery.is_none() {
            return (Cause::TailProbe, false);
        }
        let timed_out = is_oldest && timer.is_some_and(is_long);
        let going_on = self.recovery.map(|recovery| recovery.cause).filter(|cause| *cause != Cause::Timeout);
        // RFC 6675 section 4, IsLost. With less evidence it is RACK, which does not wait as long as
        // the timer.
        let enough = moment.duplicates >= 3 || (signalled && moment.sacked > 2 * moment.segment);
        if timed_out && (repeated || (!enough && going_on.is_none())) {
            return (Cause::Timeout, true);
        }
        if signalled {
            // Everything that the current recovery repairs belongs to it.
            let cause = match going_on {
                Some(_) if repeated => Cause::Rack,
                Some(cause) => cause,
                None if enough => Cause::Fast,
                // The timer has expired, and the sender considers everything lost.
                None if self.recovery.is_some() => Cause::Timeout,
                None => Cause::Rack,
            };
            return (cause, false);
        }
        if let Some(recovery) = self.recovery {
            return (recovery.cause, false);
        }
        if is_newest && probe {
            return (Cause::TailProbe, false);
        }
        if is_oldest && waited.is_some_and(is_long) {
            (Cause::Timeout, true)
        } else {
            (Cause::Unknown, false)
        }
    }

    /// Handles an acknowledgment of everything below `place`, with the echoed time stamp. `edge` is
    /// the byte that the other end had expected before.
    pub fn acknowledged(&mut self, edge: Option<u64>, place: u64, echo: Option<u32>) {
        if self.recovery.is_some_and(|recovery| place >= recovery.until) {
            self.recovery = None;
        }
        for watched in self.watched.iter_mut().filter(|watched| !watched.acknowledged) {
            if watched.end > place {
                continue;
            }
            watched.acknowledged = true;
            let is_at_edge = edge.is_some_and(|edge| watched.first <= edge && edge < watched.end);
            if is_at_edge
                && let (Some(stamp), Some(echo)) = (watched.timestamp, echo)
                && timestamps::at_edge(echo, stamp) == SpuriousVerdict::Spurious
            {
                self.counts.spurious_by_timestamps += 1;
                watched.counted = true;
            }
        }
    }

    /// Handles a duplicate SACK at `time`, which reports that `first..end` arrived twice.
    ///
    /// `time` and `least_round_trip` are in nanoseconds; `None` if no round-trip time is known.
    pub fn came_twice(&mut self, first: u64, end: u64, time: u64, least_round_trip: Option<u64>) {
        let found = self.watched.iter().rposition(|watched| {
            let waited = time.saturating_sub(watched.time);
            watched.first < end && first < watched.end && duplicate_sack::can_report(waited, least_round_trip)
        });
        if let Some(index) = found {
            let is_new = self.watched.remove(index).is_some_and(|watched| !watched.counted);
            self.counts.spurious_by_dsack += u64::from(is_new);
        }
    }

    /// Returns whether acknowledgments can change nothing: no recovery, and no retransmission to
    /// check.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.watched.is_empty() && self.recovery.is_none()
    }
}

impl Cause {
    /// All causes.
    pub const ALL: [Self; 6] =
        [Self::Fast, Self::Rack, Self::Timeout, Self::TailProbe, Self::KeepAlive, Self::Unknown];

    /// Returns the name used in tables and graphs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Rack => "rack",
            Self::Timeout => "timeout",
            Self::TailProbe => "tail-probe",
            Self::KeepAlive => "keep-alive",
            Self::Unknown => "unknown",
        }
    }
}

#[cfg(test)]
mod tests;
