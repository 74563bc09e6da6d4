//! A NewReno sender with the changed decrease (sections 5.2.2 and 5.2.3; RFC 5681, RFC 6582), as a
//! state machine on segments.
//!
//! It keeps the windows and says what to retransmit. The caller says which segments are lost, when,
//! and with which verdict. It follows the textbook: the window is inflated during recovery. Linux
//! reaches the same window, the threshold, by proportional rate reduction.

use crate::{FEWEST, Judgement, LossVerdict, Reason, Reduction, Usage, Window, reduced};

/// Number of duplicate acknowledgements that indicate a loss (RFC 5681 section 3.2).
const DUPLICATES: u32 = 3;

/// Parameters that are left open, or differ between the thesis and the standards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SenderOptions {
    /// Initial window in segments (AMB-N8).
    pub initial_window: u32,
    /// Initial slow start threshold in segments (AMB-N8).
    pub initial_threshold: u32,
    /// Window after a retransmission timeout, in segments: 1 in the standards, 2 in the thesis
    /// (AMB-N5).
    pub loss_window: u32,
    /// The window from which a reduction starts (AMB-N7).
    pub base: BaseWindow,
    /// How much remains after a wireless loss.
    pub reduction: Reduction,
}

/// The window from which a reduction starts (AMB-N7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BaseWindow {
    /// The congestion window as the stack has it at that time.
    Held,
    /// min(cwnd, segments in flight + 3): what Linux 2.4 had left of the window when it reduced it.
    /// For stand-alone senders.
    InFlightPlusThree,
}

impl SenderOptions {
    /// Values of the standards and today's stacks: initially 10 segments (RFC 6928) and no
    /// threshold, 1 segment after a timeout.
    pub const STANDARD: Self = Self {
        initial_window: 10,
        initial_threshold: u32::MAX,
        loss_window: 1,
        base: BaseWindow::Held,
        reduction: Reduction { wireless_percent: 80 },
    };

    /// Returns the thesis's values (section 5.2.2) for segments of `mss` bytes: initially 1 segment
    /// and a threshold of 64 KB, 2 segments after a timeout.
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
    /// Number of lost packets, as known at that time.
    pub n: u32,
    /// The verdict and its reason.
    pub judgement: Judgement,
    /// The window from which the reduction started, in segments.
    pub base: u32,
    /// The new slow start threshold, in segments.
    pub ssthresh: u32,
}

/// Effect of an acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Nothing new was acknowledged.
    Nothing,
    /// The window may have grown.
    Forward,
    /// In recovery, with more segments lost: retransmit this one.
    Partial {
        /// The first segment that is not acknowledged.
        retransmit: u64,
    },
    /// Recovery is over.
    Full,
}

/// A NewReno sender. Segments are numbered from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sender {
    /// Its congestion window.
    pub window: Window,
    options: SenderOptions,
    /// First unacknowledged segment.
    una: u64,
    duplicates: u32,
    in_recovery: bool,
    /// End of recovery, or of the retransmissions after a timeout: everything before this segment
    /// must be acknowledged (RFC 6582: `recover`).
    recover: u64,
    /// No further reduction for a full transmit queue until everything before this segment is
    /// acknowledged: one reduction per round trip.
    local_until: u64,
}

impl Sender {
    /// Creates a sender that has sent nothing.
    #[must_use]
    pub const fn new(options: SenderOptions) -> Self {
        let window = Window::new(options.initial_window, options.initial_threshold);
        Self { window, options, una: 0, duplicates: 0, in_recovery: false, recover: 0, local_until: 0 }
    }

    /// Returns whether the sender is in fast recovery.
    #[must_use]
    pub const fn in_recovery(&self) -> bool {
        self.in_recovery
    }

    /// Processes an acknowledgement of all segments before `una`. A partial one deflates the window
    /// by what it acknowledges and adds a segment (AMB-N9, RFC 6582 section 3.2). A full one sets
    /// the window to the threshold.
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

    /// Processes a duplicate acknowledgement. In recovery, a segment has left the network, so one
    /// more may be sent. Otherwise, returns true for the third one, which indicates a loss: have it
    /// judged and call [`Self::lose`]. Segments sent before a timeout do not count (RFC 6582
    /// section 3.2).
    pub fn duplicate(&mut self) -> bool {
        if self.in_recovery {
            self.window.cwnd = self.window.cwnd.saturating_add(1);
            return false;
        }
        self.duplicates = self.duplicates.saturating_add(1);
        self.duplicates == DUPLICATES && self.una >= self.recover
    }

    /// Records that `n` packets were lost, according to duplicate acknowledgements or SACK. `next`
    /// is the next segment to send, and `in_flight` the number of segments in the network. The
    /// first unacknowledged segment must be retransmitted. Returns `None` in recovery, because that
    /// is the same loss event.
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

    /// Records a retransmission timeout, which is congestion whatever a detector would say
    /// (AMB-N5). Everything from the first unacknowledged segment on must be retransmitted, in slow
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

    /// Records that this host's transmit queue is full: congestion, at most once per round trip
    /// (AMB-N5). Nothing is retransmitted. Returns `None` if the window was already reduced for the
    /// data in flight.
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
            ssthresh >= FEWEST
                && (judgement.verdict == LossVerdict::Wireless || ssthresh <= base.max(FEWEST))
        );
        self.window.ssthresh = ssthresh;
        LossEvent { n: n.max(1), judgement, base, ssthresh }
    }
}

#[cfg(test)]
mod tests;
