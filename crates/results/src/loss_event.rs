//! A loss event of a TCP connection: how the sender classified it, and its true cause.
//!
//! The sender's view comes from its recorded states, the truth from the fates of the packets on the
//! links of the same run.

use capture::Cause;
use capture::senders::{LossVerdict, Reason};
use serde::{Deserialize, Serialize};

/// One loss event: the sender entered recovery, its timer expired, or it only reduced its window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LossEvent {
    /// Time since the start of the run.
    pub at_ns: u64,
    /// How the sender reacted.
    pub kind: LossKind,
    /// Lost segments by the sender's count (ltcp-newzag 3.4: n); `None` if its congestion control
    /// does not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n: Option<u16>,
    /// Packets of the outstanding data that links really lost.
    pub lost: u32,
    /// The true cause.
    pub cause: Cause,
    /// How the sender classified it; `None` if its congestion control does not differentiate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<LossVerdict>,
    /// What decided that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// The round-trip time that was judged, in us.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_us: Option<u32>,
    /// Mean of the round-trip times so far, in ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_ns: Option<u64>,
    /// Deviation of the round-trip times, in ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dev_ns: Option<u64>,
    /// Congestion window before the event, in segments.
    pub cwnd: u32,
    /// Slow start threshold after the event, in segments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ssthresh: Option<u32>,
}

/// Reaction of a sender to a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LossKind {
    /// Fast recovery.
    Recovery,
    /// The retransmission timer expired.
    Timeout,
    /// Only the window was reduced: ECN, a full transmit queue, or a tail loss probe that repaired
    /// the loss.
    Reduction,
}

impl LossKind {
    /// Returns its name in tables: `recovery`, `timeout`, `reduction`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Recovery => "recovery",
            Self::Timeout => "timeout",
            Self::Reduction => "reduction",
        }
    }
}

impl LossEvent {
    /// Returns whether a detector judged it, so that its verdict is not due to a timer, ECN or
    /// missing samples.
    #[must_use]
    pub fn by_detector(&self) -> bool {
        self.kind == LossKind::Recovery && self.reason == Some(Reason::Detector)
    }

    /// Returns by how much the sender's n exceeds the true number; `None` if it did not count.
    #[must_use]
    pub fn difference(&self) -> Option<i64> {
        let n = self.n.filter(|_| self.kind == LossKind::Recovery)?;
        Some(i64::from(n) - i64::from(self.lost))
    }
}

/// Returns how many loss events of one true cause a detector classified as `verdict`, and how many
/// it judged.
#[must_use]
pub fn judged<'a>(
    events: impl IntoIterator<Item = &'a LossEvent>,
    cause: Cause,
    verdict: LossVerdict,
) -> (u64, u64) {
    let of_cause = events.into_iter().filter(|event| event.by_detector() && event.cause == cause);
    of_cause.fold((0, 0), |(so, all), event| (so + u64::from(event.verdict == Some(verdict)), all + 1))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A loss event of one packet.
    pub(crate) fn event(cause: Cause, verdict: LossVerdict) -> LossEvent {
        LossEvent {
            at_ns: 5,
            kind: LossKind::Recovery,
            n: Some(1),
            lost: 1,
            cause,
            verdict: Some(verdict),
            reason: Some(Reason::Detector),
            rtt_us: Some(53_000),
            mean_ns: Some(54_000_000),
            dev_ns: Some(1_000_000),
            cwnd: 20,
            ssthresh: Some(16),
        }
    }

    #[test]
    fn what_no_detector_judged_is_left_out() {
        use LossVerdict::{Congestion, Wireless};
        let timer = LossEvent {
            kind: LossKind::Timeout,
            reason: Some(Reason::Timeout),
            ..event(Cause::Wireless, Congestion)
        };
        let early = LossEvent { reason: Some(Reason::NoSample), ..event(Cause::Wireless, Congestion) };
        let events = [
            event(Cause::Wireless, Wireless),
            event(Cause::Wireless, Congestion),
            event(Cause::Wireless, Wireless),
            event(Cause::Congestion, Wireless),
            timer,
            early,
        ];
        assert_eq!(judged(&events, Cause::Wireless, Wireless), (2, 3));
        assert_eq!(judged(&events, Cause::Wireless, Congestion), (1, 3));
        assert_eq!(judged(&events, Cause::Congestion, Congestion), (0, 1));
        assert_eq!(judged(&events, Cause::Outage, Congestion), (0, 0));
    }

    #[test]
    fn n_is_held_against_what_was_lost() {
        let event = LossEvent { n: Some(3), lost: 5, ..event(Cause::Wireless, LossVerdict::Wireless) };
        assert_eq!(event.difference(), Some(-2));
        assert_eq!(LossEvent { n: None, ..event.clone() }.difference(), None);
        assert_eq!(LossEvent { kind: LossKind::Timeout, ..event }.difference(), None);
    }

    #[test]
    fn what_is_not_known_is_not_written() {
        let event = LossEvent {
            n: None,
            verdict: None,
            reason: None,
            rtt_us: None,
            mean_ns: None,
            dev_ns: None,
            ssthresh: None,
            ..event(Cause::Outage, LossVerdict::Wireless)
        };
        let text = serde_json::to_string(&event).unwrap();
        assert_eq!(text, r#"{"at_ns":5,"kind":"recovery","lost":1,"cause":"outage","cwnd":20}"#);
        assert_eq!(serde_json::from_str::<LossEvent>(&text).unwrap(), event);
    }
}
