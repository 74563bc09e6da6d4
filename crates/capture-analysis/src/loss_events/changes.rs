//! When a sender reduced its window, from the rows of its states.
//!
//! A row shows the state before its segment was processed. So a change between two rows was
//! triggered by the earlier row's segment, or by a timer between the rows. A recovery or another
//! reduction gets the time of the earlier row. A timeout is only known to lie between the two rows.

use super::{Judged, Seen};
use capture::Time;
use capture::senders::CongestionState;
use serde::Serialize;

/// LossDetection of a loss event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LossDetection {
    /// It detected losses by duplicate or selective acknowledgements, and entered recovery.
    Recovery,
    /// Its retransmission timer expired.
    Timeout,
    /// It reduced its window without loss recovery: ECN, a full transmit queue, or a loss that a
    /// probe repaired.
    #[serde(rename = "reduction")]
    Cwr,
}

/// A loss event as the sender saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// Time of the segment that triggered it; for a timeout, of the last segment before it.
    pub at: Time,
    /// Time of the first row that shows it.
    pub seen: Time,
    /// Its kind.
    pub kind: LossDetection,
    /// Congestion window before and in the first row after, in segments.
    pub cwnd: [u32; 2],
    /// Slow start threshold before and after, in segments.
    pub ssthresh: [Option<u32>; 2],
    /// First sequence number not acknowledged when it happened.
    pub snd_una: u32,
    /// Number after the data that was outstanding when it happened.
    pub snd_nxt: u32,
    /// What the sender's loss differentiation said; `None` without one, or if it did not judge this
    /// event.
    pub judged: Option<Judged>,
}

impl LossDetection {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Recovery, Self::Timeout, Self::Cwr];

    /// Returns `recovery`, `timeout` or `reduction`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Recovery => "recovery",
            Self::Timeout => "timeout",
            Self::Cwr => "reduction",
        }
    }

    /// Returns the kind of event that entering `state` is, if any.
    const fn of(state: CongestionState) -> Option<Self> {
        match state {
            CongestionState::Recovery => Some(Self::Recovery),
            CongestionState::Loss => Some(Self::Timeout),
            CongestionState::Cwr => Some(Self::Cwr),
            CongestionState::Open | CongestionState::Disorder => None,
        }
    }

    /// Returns the number of events of this kind that the sender has counted.
    const fn count(self, judged: &Judged) -> u32 {
        match self {
            Self::Recovery => judged.events,
            Self::Timeout => judged.timeouts,
            Self::Cwr => judged.local,
        }
    }
}

/// Returns the loss events in the rows of one sender, which must be in the order of time.
///
/// An event that is already under way in the first row is left out.
#[must_use]
pub fn changes(rows: &[Seen]) -> Vec<Change> {
    let mut changes: Vec<Change> = Vec::new();
    // Number after the data outstanding when the last event began: recovery lasts until that is
    // acknowledged (Linux: high_seq).
    let mut recover = rows.first().map_or(0, |row| row.snd_nxt);
    for pair in rows.windows(2) {
        let [before, after] = pair else { continue };
        let Some(kind) = kind(before, after, recover) else { continue };
        // The timer expired after the sender had sent all that the last segment triggered.
        let snd_nxt = if kind == LossDetection::Timeout { after.snd_nxt } else { before.snd_nxt };
        recover = snd_nxt;
        changes.push(Change {
            at: before.at,
            seen: after.at,
            kind,
            cwnd: [before.cwnd, after.cwnd],
            ssthresh: [before.ssthresh, after.ssthresh],
            snd_una: after.snd_una,
            snd_nxt,
            judged: after.judged.filter(|_| counted(kind, before, after).unwrap_or(true)),
        });
    }
    changes
}

/// Returns the kind of the event between two rows, if there is one.
fn kind(before: &Seen, after: &Seen, recover: u32) -> Option<LossDetection> {
    let (old, new) = (before.state?, after.state?);
    let Some(kind) = LossDetection::of(new) else {
        // The state does not show a reduction that ended before the next segment arrived; the
        // counter does.
        return counted(LossDetection::Cwr, before, after)
            .filter(|counted| *counted)
            .map(|_| LossDetection::Cwr);
    };
    let again = || match kind {
        // After a timeout the window grows; only another timeout reduces it.
        LossDetection::Timeout => counted(kind, before, after) == Some(true) || after.cwnd < before.cwnd,
        LossDetection::Recovery | LossDetection::Cwr => begun_anew(kind, before, after, recover),
    };
    (old != new || again()).then_some(kind)
}

/// Returns whether one recovery ended and the next began at the same segment, between two rows with
/// the same state.
///
/// A recovery ends when all data outstanding at its start is acknowledged. Without SACK it lasts
/// until something beyond that is acknowledged (RFC 6582); so at exactly this number only a lower
/// threshold shows the new recovery.
fn begun_anew(kind: LossDetection, before: &Seen, after: &Seen, recover: u32) -> bool {
    let beyond = after.snd_una.wrapping_sub(recover).cast_signed();
    let lower = || matches!((before.ssthresh, after.ssthresh), (Some(old), Some(new)) if new < old);
    counted(kind, before, after).unwrap_or_else(|| beyond > 0 || (beyond == 0 && lower()))
}

/// Returns whether the sender counted an event of this kind between two rows; `None` if it does not
/// count.
fn counted(kind: LossDetection, before: &Seen, after: &Seen) -> Option<bool> {
    Some(kind.count(&before.judged?) != kind.count(&after.judged?))
}

#[cfg(test)]
mod tests;
