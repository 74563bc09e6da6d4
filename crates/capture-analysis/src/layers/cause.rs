//! Why the link's sender had nothing to send: what TCP above it was waiting for (LL-15, LL-16).
//!
//! The first segment that TCP sent after the beginning of an idle phase ended the phase. TCP had
//! waited for whatever triggered this segment: the handshake; the retransmission timer; an
//! acknowledgment, while a window was full; or the application, if neither the timer nor an
//! acknowledgment triggered it. After the last segment it is the connection's end.

use super::idle::Gap;
use crate::retransmission::Cause;
use crate::spurious::examine::Retransmission;
use crate::spurious::flow::Flow;
use crate::spurious::states::State;
use capture::senders::CongestionState;
use serde::Serialize;

/// What TCP waited for in an idle phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Waiting {
    /// The connection was not established yet.
    Handshake,
    /// An acknowledgment, while the congestion window was still growing by slow start.
    SlowStart,
    /// An acknowledgment, while the congestion window was full.
    CongestionWindow,
    /// An acknowledgment, while the receiver's window was full.
    ReceiverWindow,
    /// The retransmission timer.
    Timeout,
    /// The application, which had supplied no data.
    Application,
    /// Nothing: the last segment was in flight, or the connection was closing.
    End,
}

/// A phase in which the link was idle; times in nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phase {
    /// Its start.
    pub from: u64,
    /// Its end.
    pub to: u64,
    /// Its share of the period, in nanoseconds ([`Gap::length_ns`]).
    pub length_ns: u64,
    /// What TCP waited for.
    pub waiting: Waiting,
}

/// Data about the sender's TCP.
#[derive(Debug, Clone, Copy)]
pub struct Transport<'a> {
    /// Its flow.
    pub flow: &'a Flow,
    /// Its retransmissions with their causes.
    pub retransmissions: &'a [Retransmission],
    /// Largest window that the receiver advertised, in bytes, if known.
    pub receiver_window: Option<u64>,
    /// Its states, if recorded, in the order of time.
    pub states: &'a [State],
}

/// Longest time from an acknowledgment to a segment that it triggers, in nanoseconds.
const AT_ONCE_NS: u64 = 10_000_000;

impl Waiting {
    /// All reasons.
    pub const ALL: [Self; 7] = [
        Self::Handshake,
        Self::SlowStart,
        Self::CongestionWindow,
        Self::ReceiverWindow,
        Self::Timeout,
        Self::Application,
        Self::End,
    ];

    /// Returns `handshake`, `slow start`, `congestion window`, `receiver's window`, `timeout`,
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

/// Returns the idle ones of `gaps`, each with what TCP waited for.
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
        // A segment captured shortly before the gap can be the one that ended it.
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
            // Without an acknowledgment the timer triggered a retransmission, whatever cause the
            // packets suggest.
            return if cause.is_some() { Waiting::Timeout } else { Waiting::Application };
        }
        // Acknowledged number and outstanding bytes are those before this acknowledgment.
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

    /// Returns the number after the highest byte sent before the transmission at `next`.
    ///
    /// Only recent transmissions are searched: retransmissions do not raise the highest number, but
    /// new data does, and a few round trips contain some.
    fn highest_before(&self, next: usize) -> u64 {
        let sent = &self.flow.transmissions[..next];
        let lately = &sent[sent.len().saturating_sub(256)..];
        lately.iter().map(|segment| segment.end).max().unwrap_or(1)
    }

    /// Returns the sender's state when the acknowledgment captured at `time` arrived.
    ///
    /// The row that belongs to it may have a slightly later time stamp than the capture.
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
