//! Why the link's sender had nothing to send: what TCP above it was waiting for (LL-15, LL-16).
//!
//! The first segment that TCP sent behind the beginning of an idle phase ended it, and what let
//! that segment go is what TCP had waited for: the handshake; the retransmission timer; an
//! acknowledgment, with a window that was full; or its application, if neither the timer nor an
//! acknowledgment let it go. Behind the last segment it is the connection's end.

use super::idle::Gap;
use crate::retransmission::Cause;
use crate::spurious::examine::Retransmission;
use crate::spurious::flow::Flow;
use crate::spurious::states::State;
use capture::senders::CongestionState;
use serde::Serialize;

/// What TCP waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Waiting {
    /// The connection was not yet there.
    Handshake,
    /// An acknowledgment, with a congestion window that was still growing by slow start.
    SlowStart,
    /// An acknowledgment, with a congestion window that was full.
    CongestionWindow,
    /// An acknowledgment, with the receiver's window full.
    ReceiverWindow,
    /// The retransmission timer.
    Timeout,
    /// The application: it had given nothing to send.
    Application,
    /// Nothing: the last segment was on its way, or the connection was being closed.
    End,
}

/// A phase in which the link was idle; times in nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phase {
    /// From here.
    pub from: u64,
    /// Until here.
    pub to: u64,
    /// How much of the period it is, in nanoseconds ([`Gap::length_ns`]).
    pub length_ns: u64,
    /// What TCP waited for.
    pub waiting: Waiting,
}

/// What is known of the sender's TCP.
#[derive(Debug, Clone, Copy)]
pub struct Transport<'a> {
    /// Its side.
    pub flow: &'a Flow,
    /// What it sent again, and why.
    pub retransmissions: &'a [Retransmission],
    /// The greatest window that the receiver advertised, in bytes, if that is known.
    pub receiver_window: Option<u64>,
    /// Its states, if they were recorded, in the order of time.
    pub states: &'a [State],
}

/// A segment that follows an acknowledgment by no more than this was let go by it, in nanoseconds.
const AT_ONCE_NS: u64 = 10_000_000;

impl Waiting {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Handshake,
        Self::SlowStart,
        Self::CongestionWindow,
        Self::ReceiverWindow,
        Self::Timeout,
        Self::Application,
        Self::End,
    ];

    /// `handshake`, `slow start`, `congestion window`, `receiver's window`, `timeout`,
    /// `application` or `end`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Handshake => "handshake",
            Self::SlowStart => "slow start",
            Self::CongestionWindow => "congestion window",
            Self::ReceiverWindow => "receiver's window",
            Self::Timeout => "timeout",
            Self::Application => "application",
            Self::End => "end",
        }
    }
}

/// The idle ones of `gaps` with what TCP waited for in each.
#[must_use]
pub fn phases(gaps: &[Gap], transport: &Transport<'_>) -> Vec<Phase> {
    let idle = gaps.iter().filter(|gap| gap.held.is_none());
    idle.map(|gap| {
        let Gap { from, to, length_ns, .. } = *gap;
        Phase { from, to, length_ns, waiting: transport.waits_for(gap) }
    })
    .collect()
}

impl Transport<'_> {
    fn waits_for(&self, gap: &Gap) -> Waiting {
        let sent = &self.flow.transmissions;
        // The frame before may have ended a little before the packet of the next one came.
        let next = sent.partition_point(|segment| segment.time < gap.from.saturating_sub(AT_ONCE_NS));
        if next == sent.len() {
            return Waiting::End;
        }
        if next == 0 {
            return Waiting::Handshake;
        }
        let segment = &sent[next];
        let again = self.retransmissions.binary_search_by_key(&next, |again| again.at);
        let cause = again.ok().map(|place| self.retransmissions[place].cause).or(segment.again);
        if matches!(cause, Some(Cause::Timeout | Cause::TailProbe)) {
            return Waiting::Timeout;
        }
        let acks = &self.flow.acknowledgments;
        let behind = acks.partition_point(|ack| ack.order < segment.order);
        let Some(ack) = behind.checked_sub(1).map(|place| &acks[place]) else { return Waiting::SlowStart };
        if segment.time.saturating_sub(ack.time) > AT_ONCE_NS {
            // What is sent again without an acknowledgment is the timer's, whatever packets make of
            // it.
            return if cause.is_some() { Waiting::Timeout } else { Waiting::Application };
        }
        // As it was before that acknowledgment.
        let told = acks[..behind - 1].last().map_or(1, |ack| ack.number);
        let highest = self.highest_before(next);
        let outstanding = highest.saturating_sub(told);
        let length = segment.end - segment.first;
        if self.receiver_window.is_some_and(|window| outstanding + length > window) {
            return Waiting::ReceiverWindow;
        }
        let grows = match self.state_at(ack.time) {
            Some(state) if state.is_open() && state.in_flight.is_some_and(|flight| flight < state.cwnd) => {
                return Waiting::Application;
            }
            Some(state) => state.ssthresh.is_none_or(|threshold| state.cwnd < threshold),
            None => self.retransmissions.first().is_none_or(|first| first.at > next),
        };
        if grows { Waiting::SlowStart } else { Waiting::CongestionWindow }
    }

    /// Behind the highest byte that was sent before the transmission at `next`. New data follows
    /// the highest; what is sent again does not, and segments of a few round trips before show it.
    fn highest_before(&self, next: usize) -> u64 {
        let sent = &self.flow.transmissions[..next];
        let lately = &sent[sent.len().saturating_sub(256)..];
        lately.iter().map(|segment| segment.end).max().unwrap_or(1)
    }

    /// The state in which an acknowledgment found the sender: the row that it made, which may be
    /// stamped a little later than the capture.
    fn state_at(&self, time: u64) -> Option<&State> {
        let behind = self.states.partition_point(|state| state.time < time);
        let row = self.states.get(behind).filter(|state| state.time - time < AT_ONCE_NS);
        row.or_else(|| behind.checked_sub(1).map(|place| &self.states[place]))
    }
}

impl State {
    fn is_open(&self) -> bool {
        matches!(self.state, None | Some(CongestionState::Open))
    }
}

#[cfg(test)]
pub(crate) mod tests;
