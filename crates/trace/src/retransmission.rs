//! Why a sender sent something again, and whether it had to.
//!
//! The cause is judged from what the capture shows at that moment:
//!
//! * *fast*: three duplicate acknowledgments or SACK blocks of more than two segments above it had
//!   told of the loss, or it belongs to the recovery that such a signal began (RFC 5681, RFC 6675).
//! * *RACK*: SACK told of data behind it, but of less than three segments, so that it was time that
//!   told (RFC 8985); or it is sent a third time within such a recovery, which only RACK does.
//! * *timeout*: no such signal, it is the oldest byte on its way, and as much time has passed as a
//!   sender waits (RFC 6298 over the round-trip times seen): since it was last sent, since data was
//!   acknowledged (section 5.3), and, where SACK told of data behind it, since that news, which
//!   begins the timer anew in Linux. What answers a SACK at once is RACK's, however long it had
//!   been on its way. Without any signal or recovery the time since it was sent is enough: Linux
//!   takes that after a tail probe. Or it belongs to the go-back-N after such an event.
//! * *tail probe*: no such signal, it is the newest data on its way, and two round-trip times have
//!   passed (RFC 8985). With SACK, the first one of a segment that is alone on its way, no later
//!   than a probe is due: that comes before the timer, or in its place.
//! * *keep-alive*: one byte or none just below what was acknowledged (RFC 9293 section 3.8.4).
//! * *unknown*: none of these.
//!
//! That it was *spurious* shows later, and is counted besides where it can be told without keeping
//! what was sent, by the rules of [`crate::spurious`]: by time stamps at the left edge of the
//! window (Eifel, RFC 3522; [`timestamps::at_edge`]), or by a duplicate SACK (RFC 2883;
//! [`duplicate_sack::can_report`]). What waited behind a hole, and all other evidence, is for
//! `lasthop trace --spurious`.

use crate::spurious::{Verdict, duplicate_sack, timestamps};
use serde::Serialize;

/// Retransmissions of one direction that can still turn out spurious. Older ones count as needed.
const WATCHED: usize = 256;

/// The cause of a retransmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// Told by duplicate acknowledgments or SACK.
    Fast,
    /// Told by SACK of later data and by time.
    Rack,
    /// The timer ran out.
    Timeout,
    /// A probe for the loss of the newest data.
    TailProbe,
    /// A probe whether the other end is there.
    KeepAlive,
    /// None of these can be shown.
    Unknown,
}

/// How many retransmissions of which cause.
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
    /// Of all of them, how many were spurious by time stamps, when they lay at the left edge of the
    /// window.
    pub spurious_by_timestamps: u64,
    /// Of all of them, how many were spurious by a duplicate SACK and not by time stamps.
    pub spurious_by_dsack: u64,
    /// How often the timer ran out: retransmissions by timeout that began, or went on with, waiting
    /// for it.
    pub timeouts: u64,
}

/// What is known of the sender when it sends something again. Places as in
/// [`crate::sequence_number`].
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// Now, in nanoseconds.
    pub time: u64,
    /// The range sent again.
    pub first: u64,
    /// Behind it.
    pub end: u64,
    /// When it was sent before and how often again, if it was still on its way.
    pub before: Option<(u64, u32)>,
    /// The oldest byte on its way.
    pub oldest: Option<u64>,
    /// Behind the highest byte sent.
    pub highest: u64,
    /// Highest acknowledgment from the other end, if there was one.
    pub acknowledged: Option<u64>,
    /// When it came, in nanoseconds: the timer began anew then (RFC 6298 section 5.3).
    pub acknowledged_at: u64,
    /// Duplicate acknowledgments in a row.
    pub duplicates: u32,
    /// Highest byte told by SACK.
    pub selectively: u64,
    /// Bytes in the blocks of the last SACK.
    pub sacked: u64,
    /// When SACK last told of data that it had not told of before, in nanoseconds.
    pub told_at: u64,
    /// Whether both ends permit SACK, without which there is no probe (RFC 8985 section 3.2).
    pub permits_sack: bool,
    /// The longest segment so far, in bytes of data.
    pub segment: u64,
    /// The sender's retransmission timeout, in nanoseconds, as far as it can be told.
    pub timeout: u64,
    /// Its smoothed round-trip time, if there is one.
    pub round_trip: Option<u64>,
    /// The time stamp in the segment.
    pub timestamp: Option<u32>,
}

impl Moment {
    /// When a tail probe of a segment that is alone on its way is due, in nanoseconds: two
    /// round-trip times and the longest that its acknowledgment may be held back, but not after the
    /// timer (RFC 8985 section 7.2).
    fn probe_timeout(&self) -> u64 {
        const MAX_ACK_DELAY: u64 = 200_000_000;
        self.round_trip.map_or(self.timeout, |trip| (2 * trip + MAX_ACK_DELAY).min(self.timeout))
    }
}

/// Follows the retransmissions of one direction.
#[derive(Debug, Clone, Default)]
pub struct Follower {
    pub(crate) counts: Retransmissions,
    recovery: Option<Recovery>,
    /// Retransmissions that can still turn out spurious, oldest first.
    watched: std::collections::VecDeque<Watched>,
}

/// What goes on until everything is acknowledged that had been sent when it began.
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
    /// An acknowledgment covered it, and did not show it spurious.
    acknowledged: bool,
    /// It is counted as spurious by time stamps: a report of it is no news.
    counted: bool,
}

impl Follower {
    /// Counts a retransmission; its cause.
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

    /// The cause, and whether the timer ran out just now.
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
        // A tenth less: the sender's estimate is not quite ours, and its timers run in ticks.
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
        // RFC 6675 section 4, IsLost. Less than that is for RACK, which does not wait for as long
        // as the timer does.
        let enough = moment.duplicates >= 3 || (signalled && moment.sacked > 2 * moment.segment);
        if timed_out && (repeated || (!enough && going_on.is_none())) {
            return (Cause::Timeout, true);
        }
        if signalled {
            // What the recovery that goes on repairs besides is its own.
            let cause = match going_on {
                Some(_) if repeated => Cause::Rack,
                Some(cause) => cause,
                None if enough => Cause::Fast,
                // The timer has run out, and the sender takes all for lost.
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

    /// The other end acknowledged everything below `place`, where it had awaited the byte at
    /// `edge`, and echoed a time stamp.
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
                && timestamps::at_edge(echo, stamp) == Verdict::Spurious
            {
                self.counts.spurious_by_timestamps += 1;
                watched.counted = true;
            }
        }
    }

    /// The other end told at `time` that `first..end` came twice; the least round-trip time is
    /// known or not, all in nanoseconds.
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

    /// Whether there is anything that an acknowledgment could tell of.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.watched.is_empty() && self.recovery.is_none()
    }
}

impl Cause {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Fast, Self::Rack, Self::Timeout, Self::TailProbe, Self::KeepAlive, Self::Unknown];

    /// The name in tables and graphs.
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
