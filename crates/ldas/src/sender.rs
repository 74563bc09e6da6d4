//! A NewReno sender with the changed decrease (sections 5.2.2 and 5.2.3; RFC 5681, RFC 6582), as a
//! state machine of segments.
//!
//! It keeps the windows and says what to send again; which segments are lost, when, and by which
//! verdict is said to it. It is the textbook's: the window is inflated during recovery. Linux gets
//! to the same window, the threshold, by proportional rate reduction.

use crate::{FEWEST, Judgement, Reason, Reduction, Usage, Verdict, Window, reduced};

/// Duplicate acknowledgements that tell of a loss (RFC 5681 section 3.2).
const DUPLICATES: u32 = 3;

/// What is left open, or differs between the thesis and the standards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Window to begin with, in segments (AMB-N8).
    pub initial_window: u32,
    /// Slow start threshold to begin with, in segments (AMB-N8).
    pub initial_threshold: u32,
    /// Window after a retransmission timeout, in segments: 1 in the standards, 2 in the thesis
    /// (AMB-N5).
    pub loss_window: u32,
    /// Which window a reduction starts from (AMB-N7).
    pub base: BaseWindow,
    /// What is left after a wireless loss.
    pub reduction: Reduction,
}

/// Which window a reduction starts from (AMB-N7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BaseWindow {
    /// The congestion window as the stack holds it then.
    Held,
    /// min(cwnd, segments in flight + 3): what Linux 2.4 had left of the window when it came to
    /// that, for senders that stand alone.
    InFlightPlusThree,
}

impl Options {
    /// Those of the standards and today's stacks: 10 segments to begin with (RFC 6928), no
    /// threshold, 1 after a timeout.
    pub const STANDARD: Self = Self {
        initial_window: 10,
        initial_threshold: u32::MAX,
        loss_window: 1,
        base: BaseWindow::Held,
        reduction: Reduction { wireless_percent: 80 },
    };

    /// Those of the thesis (section 5.2.2) with segments of `mss` bytes: 1 segment and 64 KB to
    /// begin with, 2 after a timeout.
    #[must_use]
    pub const fn thesis(mss: u32) -> Self {
        let segment = if mss == 0 { 1 } else { mss };
        Self {
            initial_window: 1,
            initial_threshold: 65_536 / segment,
            loss_window: 2,
            base: BaseWindow::InFlightPlusThree,
            ..Self::STANDARD
        }
    }
}

/// A reduction of the window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LossEvent {
    /// Lost packets, as known then.
    pub n: u32,
    /// The verdict and what decided.
    pub judgement: Judgement,
    /// The window that the reduction started from, in segments.
    pub base: u32,
    /// The slow start threshold after it, in segments.
    pub ssthresh: u32,
}

/// What an acknowledgement did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Nothing new was acknowledged.
    Nothing,
    /// The window may have grown.
    Forward,
    /// In recovery, with more lost: segment `retransmit` is to be sent again.
    Partial {
        /// The first segment that is not acknowledged.
        retransmit: u64,
    },
    /// Recovery is over.
    Full,
}

/// The sender. Segments are numbered from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sender {
    /// Its window.
    pub window: Window,
    options: Options,
    /// First segment that is not acknowledged.
    una: u64,
    duplicates: u32,
    in_recovery: bool,
    /// Recovery, or what a timeout lost, ends where this segment is the first not acknowledged (RFC
    /// 6582: `recover`).
    recover: u64,
    /// No further reduction for a full transmit queue before this is acknowledged: one a round
    /// trip.
    local_until: u64,
}

impl Sender {
    /// A sender that has sent nothing.
    #[must_use]
    pub const fn new(options: Options) -> Self {
        let window = Window::new(options.initial_window, options.initial_threshold);
        Self { window, options, una: 0, duplicates: 0, in_recovery: false, recover: 0, local_until: 0 }
    }

    /// Whether it is in fast recovery.
    #[must_use]
    pub const fn in_recovery(&self) -> bool {
        self.in_recovery
    }

    /// All segments before `una` are acknowledged. A partial acknowledgement deflates the window by
    /// what it acknowledges and adds a segment (AMB-N9, RFC 6582 section 3.2); a full one sets it
    /// to the threshold.
    pub fn acknowledge(&mut self, una: u64, usage: Usage) -> Progress {
        let Some(acked) = una.checked_sub(self.una).filter(|acked| *acked > 0) else {
            return Progress::Nothing;
        };
        let acked = u32::try_from(acked).unwrap_or(u32::MAX);
        self.una = una;
        self.duplicates = 0;
        if !self.in_recovery {
            self.window.grow(acked, usage);
            return Progress::Forward;
        }
        if una < self.recover {
            self.window.cwnd = self.window.cwnd.saturating_sub(acked).saturating_add(1);
            return Progress::Partial { retransmit: una };
        }
        self.in_recovery = false;
        self.window.cwnd = self.window.ssthresh;
        Progress::Full
    }

    /// A duplicate acknowledgement. In recovery a segment has left the network, and one more may be
    /// sent. Otherwise: whether it is the third and tells of a loss, which is then to be judged and
    /// given to [`Self::lose`]. Segments that were sent before a timeout do not count (RFC 6582
    /// section 3.2).
    pub fn duplicate(&mut self) -> bool {
        if self.in_recovery {
            self.window.cwnd = self.window.cwnd.saturating_add(1);
            return false;
        }
        self.duplicates = self.duplicates.saturating_add(1);
        self.duplicates == DUPLICATES && self.una >= self.recover
    }

    /// `n` packets were lost, as duplicate acknowledgements or SACK say; `next` is the next segment
    /// to send, `in_flight` how many there are in the network. The first segment that is not
    /// acknowledged is to be sent again. `None` in recovery: it is the same event.
    pub fn lose(&mut self, n: u32, judgement: Judgement, next: u64, in_flight: u32) -> Option<LossEvent> {
        if self.in_recovery {
            return None;
        }
        let cwnd = self.window.cwnd;
        let base = match self.options.base {
            BaseWindow::Held => cwnd,
            BaseWindow::InFlightPlusThree => cwnd.min(in_flight.saturating_add(DUPLICATES)),
        };
        let event = self.reduce(n, judgement, base);
        self.window.cwnd = event.ssthresh.saturating_add(DUPLICATES);
        self.in_recovery = true;
        self.recover = next;
        Some(event)
    }

    /// The retransmission timer ran out: congestion, whatever a detector would say (AMB-N5).
    /// Everything from the first segment that is not acknowledged is to be sent again, from slow
    /// start.
    pub fn time_out(&mut self, n: u32, next: u64) -> LossEvent {
        let event = self.reduce(n, Judgement::congestion(Reason::Timeout), self.window.cwnd);
        self.window.cwnd = self.options.loss_window.max(1);
        self.window.counter = 0;
        self.in_recovery = false;
        self.duplicates = 0;
        self.recover = next;
        event
    }

    /// The transmit queue of this host is full: congestion, once a round trip (AMB-N5). Nothing is
    /// sent again. `None` if the window was reduced already for what is in flight.
    pub fn queue_full(&mut self, next: u64) -> Option<LossEvent> {
        if self.in_recovery || self.una < self.local_until {
            return None;
        }
        let event = self.reduce(1, Judgement::congestion(Reason::Local), self.window.cwnd);
        self.window.cwnd = event.ssthresh;
        self.local_until = next;
        Some(event)
    }

    fn reduce(&mut self, n: u32, judgement: Judgement, base: u32) -> LossEvent {
        let ssthresh = reduced(base, judgement.verdict, self.options.reduction);
        debug_assert!(
            ssthresh >= FEWEST && (judgement.verdict == Verdict::Wireless || ssthresh <= base.max(FEWEST))
        );
        self.window.ssthresh = ssthresh;
        LossEvent { n: n.max(1), judgement, base, ssthresh }
    }
}

#[cfg(test)]
mod tests;
