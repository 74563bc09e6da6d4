//! Loss events of a sender, in columns, as they are marked in the plot of its congestion window.

use super::pack::times;
use capture::Cause;
use capture::senders::{Reason, Verdict};
use results::{LossEvent, LossKind};
use serde::Serialize;

/// An entry an event in each list. Times are packed as those of a time-sequence plot, and count as
/// they do.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub(super) struct Events {
    time: Vec<u64>,
    kind: Vec<LossKind>,
    /// Why, in truth.
    cause: Vec<Cause>,
    /// Lost segments as the sender counted them.
    n: Vec<Option<u16>>,
    /// And as many as there were.
    lost: Vec<u32>,
    /// What the sender took it for.
    verdict: Vec<Option<Verdict>>,
    reason: Vec<Option<Reason>>,
    /// The round-trip time that was judged.
    rtt_us: Vec<Option<u32>>,
    /// Their mean by then.
    mean_ns: Vec<Option<u64>>,
    /// Congestion window before, in segments.
    cwnd: Vec<u32>,
    /// Threshold after, in segments; `None` also before it was ever set.
    ssthresh: Vec<Option<u32>>,
}

impl Events {
    /// Packs them; `since` tells how many nanoseconds after the first packet of the connection an
    /// event was.
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
