//! A loss event of a TCP connection: what the sender took it for, and what it was.
//!
//! The sender's side is from the states that it went through, the truth from the fates of the
//! packets on the links of the same run.

use capture::Cause;
use capture::senders::{Reason, Verdict};
use serde::{Deserialize, Serialize};

/// One loss event: the sender began to recover, its timer ran out, or it reduced its window without
/// either.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LossEvent {
    /// When, since the start of the run.
    pub at_ns: u64,
    /// How the sender met it.
    pub kind: LossKind,
    /// Lost segments as the sender counted them (ltcp-newzag 3.4: n); `None` where its congestion
    /// control does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n: Option<u16>,
    /// Packets that were lost, in truth, of what was on the way.
    pub lost: u32,
    /// Why, in truth.
    pub cause: Cause,
    /// What the sender took it for; `None` where its congestion control knows no difference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Who decided that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// The round-trip time that was judged, in us.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_us: Option<u32>,
    /// Mean of the round-trip times by then, in ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_ns: Option<u64>,
    /// Their deviation, in ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dev_ns: Option<u64>,
    /// Congestion window before, in segments.
    pub cwnd: u32,
    /// Slow start threshold after, in segments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ssthresh: Option<u32>,
}

/// How a sender met a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LossKind {
    /// Fast recovery.
    Recovery,
    /// Its retransmission timer ran out.
    Timeout,
    /// It reduced its window only: ECN, a full transmit queue, a tail loss probe that repaired the
    /// loss.
    Reduction,
}

impl LossKind {
    /// Its name in tables: `recovery`, `timeout`, `reduction`.
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
    /// Whether a detector judged it: its verdict is none that a timer, ECN or the want of samples
    /// made.
    #[must_use]
    pub fn by_detector(&self) -> bool {
        self.kind == LossKind::Recovery && self.reason == Some(Reason::Detector)
    }

    /// By how much the sender's n is above what was lost; `None` where it counted none.
    #[must_use]
    pub fn difference(&self) -> Option<i64> {
        let n = self.n.filter(|_| self.kind == LossKind::Recovery)?;
        Some(i64::from(n) - i64::from(self.lost))
    }
}

/// Of the loss events of one true cause that a sender judged when it began to recover, those that
/// it took for `verdict`, and all.
#[must_use]
pub fn judged<'a>(
    events: impl IntoIterator<Item = &'a LossEvent>,
    cause: Cause,
    verdict: Verdict,
) -> (u64, u64) {
    let of_cause = events.into_iter().filter(|event| event.by_detector() && event.cause == cause);
    of_cause.fold((0, 0), |(so, all), event| (so + u64::from(event.verdict == Some(verdict)), all + 1))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A loss event of one packet.
    pub(crate) fn event(cause: Cause, verdict: Verdict) -> LossEvent {
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
        use Verdict::{Congestion, Wireless};
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
        let event = LossEvent { n: Some(3), lost: 5, ..event(Cause::Wireless, Verdict::Wireless) };
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
            ..event(Cause::Outage, Verdict::Wireless)
        };
        let text = serde_json::to_string(&event).unwrap();
        assert_eq!(text, r#"{"at_ns":5,"kind":"recovery","lost":1,"cause":"outage","cwnd":20}"#);
        assert_eq!(serde_json::from_str::<LossEvent>(&text).unwrap(), event);
    }
}
