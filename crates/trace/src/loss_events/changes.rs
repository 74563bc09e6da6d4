//! When a sender reduced its window, from the rows of its states.
//!
//! A row shows the state before its segment was taken in. So a change between two rows happened at
//! the earlier one's segment, or by a timer between the two: recovery and other reductions count
//! for the time of the earlier row; of a timeout it is known only that it lies between the rows.

use super::{Judged, Seen};
use capture::Time;
use capture::senders::CongestionState;
use serde::Serialize;

/// What happened to the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// It found losses by duplicate or selective acknowledgements, and went into recovery.
    Recovery,
    /// Its retransmission timer ran out.
    Timeout,
    /// It reduced its window without loss recovery: ECN, a full transmit queue, or a loss that a
    /// probe repaired.
    #[serde(rename = "reduction")]
    Cwr,
}

/// A loss event as the sender saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// When: the segment that triggered it, or the last one before a timeout.
    pub at: Time,
    /// The first row that shows it.
    pub seen: Time,
    /// What happened.
    pub kind: Kind,
    /// Congestion window before and in the first row after, in segments.
    pub cwnd: [u32; 2],
    /// Slow start threshold before and after, in segments.
    pub ssthresh: [Option<u32>; 2],
    /// First sequence number not acknowledged when it happened.
    pub snd_una: u32,
    /// What was outstanding ends before this number.
    pub snd_nxt: u32,
    /// What the sender's loss differentiation said of it; `None` if it has none or was not asked.
    pub judged: Option<Judged>,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Recovery, Self::Timeout, Self::Cwr];

    /// `recovery`, `timeout` or `reduction`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Recovery => "recovery",
            Self::Timeout => "timeout",
            Self::Cwr => "reduction",
        }
    }

    /// The kind that going into a state is.
    const fn of(state: CongestionState) -> Option<Self> {
        match state {
            CongestionState::Recovery => Some(Self::Recovery),
            CongestionState::Loss => Some(Self::Timeout),
            CongestionState::Cwr => Some(Self::Cwr),
            CongestionState::Open | CongestionState::Disorder => None,
        }
    }

    /// How many events of this kind the sender has counted.
    const fn count(self, judged: &Judged) -> u32 {
        match self {
            Self::Recovery => judged.events,
            Self::Timeout => judged.timeouts,
            Self::Cwr => judged.local,
        }
    }
}

/// The loss events in the rows of one sender, which are in the order of time. What the first row is
/// in the midst of is none.
#[must_use]
pub fn changes(rows: &[Seen]) -> Vec<Change> {
    let mut changes: Vec<Change> = Vec::new();
    // What was outstanding when the last event began: recovery goes on until it is acknowledged
    // (Linux: high_seq).
    let mut recover = rows.first().map_or(0, |row| row.snd_nxt);
    for pair in rows.windows(2) {
        let [before, after] = pair else { continue };
        let Some(kind) = kind(before, after, recover) else { continue };
        // The timer ran out behind whatever the last segment made the sender send.
        let snd_nxt = if kind == Kind::Timeout { after.snd_nxt } else { before.snd_nxt };
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

/// The event that lies between two rows.
fn kind(before: &Seen, after: &Seen, recover: u32) -> Option<Kind> {
    let (old, new) = (before.state?, after.state?);
    let Some(kind) = Kind::of(new) else {
        // A reduction that was over before the next segment came: the state alone does not show it.
        return counted(Kind::Cwr, before, after).filter(|counted| *counted).map(|_| Kind::Cwr);
    };
    let again = || match kind {
        // While a timeout is repaired the window grows; only another one makes it smaller.
        Kind::Timeout => counted(kind, before, after) == Some(true) || after.cwnd < before.cwnd,
        Kind::Recovery | Kind::Cwr => begun_anew(kind, before, after, recover),
    };
    (old != new || again()).then_some(kind)
}

/// Whether one recovery ended and the next began at the same segment, between two rows of the same
/// state. It ends where all is acknowledged that was outstanding; without SACK it stays a little
/// longer, until something beyond that is (RFC 6582), so that at this very number only the
/// threshold tells.
fn begun_anew(kind: Kind, before: &Seen, after: &Seen, recover: u32) -> bool {
    let beyond = after.snd_una.wrapping_sub(recover).cast_signed();
    let lower = || matches!((before.ssthresh, after.ssthresh), (Some(old), Some(new)) if new < old);
    counted(kind, before, after).unwrap_or_else(|| beyond > 0 || (beyond == 0 && lower()))
}

/// Whether the sender counted an event of this kind between two rows; `None` if it counts none.
fn counted(kind: Kind, before: &Seen, after: &Seen) -> Option<bool> {
    Some(kind.count(&before.judged?) != kind.count(&after.judged?))
}

#[cfg(test)]
mod tests;
