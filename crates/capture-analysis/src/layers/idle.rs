//! Gaps in which the link's sender sent nothing: because it had nothing to send, or because the
//! link layer held it (Ludwig 1.1, 3.2.2; LL-15).
//!
//! A gap is the time from the end of one frame to the beginning of the next. It is idle, unless the
//! link layer had something to send and could not:
//!
//! * *flow control*: the receiver had sent XOFF and not yet XON. The gap is idle nevertheless if
//!   the sender had nothing to send both before XOFF and after XON: then flow control held nothing
//!   back.
//! * *window*: the oldest frame that can be outstanding had been requested again or retransmitted,
//!   so the window was full.
//! * *recovery*: the gap ends with a retransmitted frame; the link layer had waited for word of it.
//! * *reset*: the link was being reset.
//!
//! Retransmissions of frames are not gaps. The link is busy with them, and since these frames had
//! not arrived, that is useful (L 1.1).

use super::monitor::{End, Event, RLP_NUMBERS, RLP_WINDOW, Record};
use serde::Serialize;

/// A gap between frames; times in nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// End of the frame before it.
    pub from: u64,
    /// Start of the next frame.
    pub to: u64,
    /// What held the sender; `None` if it had nothing to send.
    pub held: Option<Hold>,
    /// Its share of the period, in nanoseconds: the time between the frames; for a limiter whose
    /// rate varies, the time that its unused capacity takes on average.
    pub length_ns: u64,
}

impl Gap {
    /// Creates a gap whose length is the time between two instants.
    #[must_use]
    pub const fn new(from: u64, to: u64, held: Option<Hold>) -> Self {
        Self { from, to, held, length_ns: to.saturating_sub(from) }
    }
}

/// Reason why a link's sender cannot send what it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hold {
    /// The receiver sent XOFF.
    FlowControl,
    /// The maximum number of frames is outstanding.
    Window,
    /// It waits for word of a lost frame.
    Recovery,
    /// The link is being reset.
    Reset,
}

impl Hold {
    /// All reasons.
    pub const ALL: [Self; 4] = [Self::FlowControl, Self::Window, Self::Recovery, Self::Reset];

    /// Returns `flow control`, `window`, `recovery` or `reset`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::FlowControl => "flow control",
            Self::Window => "window",
            Self::Recovery => "recovery",
            Self::Reset => "reset",
        }
    }
}

/// Returns the gaps of an RLP sender between two instants, in the order of time.
#[must_use]
pub fn gaps(end: &End, from: u64, to: u64) -> Vec<Gap> {
    let mut sender = Sender::new(end.period_ns, from);
    for record in end.records.iter().take_while(|record| record.time <= to) {
        sender.take(record);
    }
    sender.gap(to, None);
    sender.gaps
}

/// State of the sender while its records are read.
struct Sender {
    /// Time that a frame takes, in nanoseconds.
    period: u64,
    /// End of the last frame or, before the first one, of the time before the period.
    busy_until: u64,
    begin: u64,
    /// When the XOFF came that is still in force.
    stopped: Option<u64>,
    /// XOFF and XON in the current gap.
    stop: Option<Stop>,
    is_reset: bool,
    /// Next frame number, and for each number whether its frame was requested again or
    /// retransmitted since it was new.
    next: u16,
    repeated: [bool; RLP_NUMBERS as usize],
    gaps: Vec<Gap>,
}

#[derive(Clone, Copy)]
struct Stop {
    came: u64,
    ended: Option<u64>,
}

impl Sender {
    fn new(period: u64, begin: u64) -> Self {
        Self {
            period,
            busy_until: begin,
            begin,
            stopped: None,
            stop: None,
            is_reset: false,
            next: 0,
            repeated: [false; RLP_NUMBERS as usize],
            gaps: Vec::new(),
        }
    }

    fn take(&mut self, record: &Record) {
        let place = usize::from(record.number % RLP_NUMBERS);
        match (record.event, record.sent) {
            (Event::XOff, false) => {
                self.stopped.get_or_insert(record.time);
                self.stop.get_or_insert(Stop { came: record.time, ended: None });
            }
            (Event::XOn, false) => {
                self.stopped = None;
                if let Some(stop) = &mut self.stop {
                    stop.ended = Some(record.time);
                }
            }
            (Event::Reset, _) => {
                self.is_reset = true;
                self.repeated = [false; RLP_NUMBERS as usize];
            }
            (Event::Reject, false) => self.repeated[place] = true,
            (Event::Again, true) => {
                self.gap(record.time, Some(record));
                self.repeated[place] = true;
            }
            (Event::Data, true) => {
                if record.octets > 0 {
                    self.gap(record.time, Some(record));
                }
                self.repeated[place] = false;
                self.next = (record.number + 1) % RLP_NUMBERS;
            }
            _ => {}
        }
    }

    /// Ends the gap at `to`, where `frame` begins or, without a frame, the period ends.
    fn gap(&mut self, to: u64, frame: Option<&Record>) {
        let from = self.busy_until;
        // A monitor's times are inexact on a busy machine, so less than half a frame is not a gap.
        if to.saturating_sub(from) >= self.period / 2 {
            let gap = Gap::new;
            let held = self.held(frame);
            match (held, self.stop) {
                (Some(held), _) => self.gaps.push(gap(from, to, Some(held))),
                (None, Some(stop)) => self.stopped_gap(from, to, stop),
                (None, None) => self.gaps.push(gap(from, to, None)),
            }
        }
        if frame.is_some() {
            self.busy_until = self.busy_until.max(to + self.period).max(self.begin);
            self.is_reset = false;
            self.stop = self.stopped.map(|came| Stop { came, ended: None });
        }
    }

    /// Returns what held the sender in the gap that ends now, apart from flow control.
    fn held(&self, frame: Option<&Record>) -> Option<Hold> {
        // With 61 of 62 numbers outstanding, the oldest is the one after `next`.
        let oldest = (self.next + (RLP_NUMBERS - RLP_WINDOW)) % RLP_NUMBERS;
        if self.is_reset {
            Some(Hold::Reset)
        } else if frame.is_some_and(|record| record.event == Event::Again) && self.stop.is_none() {
            Some(Hold::Recovery)
        } else if self.repeated[usize::from(oldest)] && self.stop.is_none() {
            Some(Hold::Window)
        } else {
            None
        }
    }

    /// Adds a gap in which the receiver had sent XOFF. It is held from XOFF to XON, and idle
    /// outside.
    ///
    /// All of it is idle if the sender was idle both before XOFF and after XON.
    fn stopped_gap(&mut self, from: u64, to: u64, stop: Stop) {
        let slack = self.period * 3 / 2;
        let ended = stop.ended.unwrap_or(to);
        let (before, behind) = (stop.came.saturating_sub(from) > slack, to.saturating_sub(ended) > slack);
        let (came, ended) = (stop.came.clamp(from, to), ended.clamp(from, to));
        let gap = Gap::new;
        if before && behind {
            self.gaps.push(gap(from, to, None));
            return;
        }
        let (held_from, held_to) = (if before { came } else { from }, if behind { ended } else { to });
        let parts =
            [(from, held_from, None), (held_from, held_to, Some(Hold::FlowControl)), (held_to, to, None)];
        self.gaps.extend(
            parts.into_iter().filter(|part| part.1 > part.0).map(|(from, to, held)| gap(from, to, held)),
        );
    }
}

#[cfg(test)]
mod tests;
