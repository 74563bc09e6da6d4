//! A sender's state when a segment reached it, as far as loss events need it.

use capture::Time;
use capture::senders::{CongestionState, LossState, SenderState};
use loss_differentiation::{LossVerdict, Reason};

/// One row: the state *before* the segment was processed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// When the segment reached TCP.
    pub at: Time,
    /// First sequence number that is not yet acknowledged.
    pub snd_una: u32,
    /// Next sequence number to send.
    pub snd_nxt: u32,
    /// Congestion window in segments.
    pub cwnd: u32,
    /// Slow start threshold in segments.
    pub ssthresh: Option<u32>,
    /// Congestion state.
    pub state: Option<CongestionState>,
    /// What its loss differentiation says; `None` for algorithms without one.
    pub judged: Option<Judged>,
}

/// Record of a sender's loss differentiation about the last event that it judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Judged {
    /// Lost segments by its count.
    pub n: u32,
    /// The verdict; `None` before the first event, and for algorithms that only count events.
    pub verdict: Option<LossVerdict>,
    /// The reason for the verdict.
    pub reason: Option<Reason>,
    /// Window that the reduction started from, in segments.
    pub base: u32,
    /// The round-trip time that was judged, in us.
    pub rtt_us: u32,
    /// Mean of the round-trip times so far, in ns.
    pub mean_ns: u64,
    /// Their deviation, in ns.
    pub dev_ns: u64,
    /// Entries into recovery that reduced the window, so far (wraps).
    pub events: u32,
    /// Retransmission timeouts so far (wraps).
    pub timeouts: u32,
    /// Other reductions so far (wraps).
    pub local: u32,
}

impl From<&SenderState> for Seen {
    fn from(state: &SenderState) -> Self {
        Self {
            at: state.at,
            snd_una: state.snd_una,
            snd_nxt: state.snd_nxt,
            cwnd: state.cwnd,
            ssthresh: state.ssthresh,
            state: state.state,
            judged: state.loss.as_ref().map(Judged::from),
        }
    }
}

impl From<&LossState> for Judged {
    fn from(state: &LossState) -> Self {
        Self {
            n: state.n.into(),
            verdict: state.verdict.filter(|_| state.algorithm.differentiates()),
            reason: state.reason.filter(|_| state.algorithm.differentiates()),
            base: state.base,
            rtt_us: state.rtt_us,
            mean_ns: state.mean_ns,
            dev_ns: state.dev_ns,
            events: state.events,
            timeouts: state.timeouts.into(),
            local: state.local.into(),
        }
    }
}
