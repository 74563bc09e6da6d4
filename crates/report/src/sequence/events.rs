//! Loss events of a sender, as columns, for the plot of its congestion window.

use super::pack::times;
use capture::Cause;
use capture::senders::{LossVerdict, Reason};
use results::{LossEvent, LossKind};
use serde::Serialize;

/// Loss events; each list has an entry per event. Times are packed, and count, as in a
/// time-sequence plot.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub(super) struct Events {
    time: Vec<u64>,
    kind: Vec<LossKind>,
    /// True cause.
    cause: Vec<Cause>,
    /// Lost segments by the sender's count.
    n: Vec<Option<u16>>,
    /// Lost segments in truth.
    lost: Vec<u32>,
    /// The sender's verdict.
    verdict: Vec<Option<LossVerdict>>,
    reason: Vec<Option<Reason>>,
    /// The round-trip time that was judged.
    rtt_us: Vec<Option<u32>>,
    /// Mean of the round-trip times so far.
    mean_ns: Vec<Option<u64>>,
    /// Congestion window before the event, in segments.
    cwnd: Vec<u32>,
    /// Threshold after the event, in segments; `None` also if it was never set before.
    ssthresh: Vec<Option<u32>>,
}

impl Events {
    /// Packs loss events; `since` returns the time of an event in nanoseconds since the
    /// connection's first packet.
    pub(super) fn of(events: &[LossEvent], since: impl Fn(&LossEvent) -> u64) -> Self {
        let infinite = capture::senders::INFINITE_SSTHRESH;
        Self {
            time: times(events.iter().map(since)),
            kind: events.iter().map(|event| event.kind).collect(),
            cause: events.iter().map(|event| event.cause).collect(),
            n: events.iter().map(|event| event.n).collect(),
            lost: events.iter().map(|event| event.lost).collect(),
            verdict: events.iter().map(|event| event.verdict).collect(),
            reason: events.iter().map(|event| event.reason).collect(),
            rtt_us: events.iter().map(|event| event.rtt_us).collect(),
            mean_ns: events.iter().map(|event| event.mean_ns).collect(),
            cwnd: events.iter().map(|event| event.cwnd).collect(),
            ssthresh: events
                .iter()
                .map(|event| event.ssthresh.filter(|&threshold| threshold < infinite))
                .collect(),
        }
    }
}
