//! When the link's sender sent nothing: with nothing to send, or held by the link layer itself
//! (Ludwig 1.1, 3.2.2; LL-15).
//!
//! A gap is the time from the end of one frame to the beginning of the next. It is idle, unless the
//! link layer had something and could not send it:
//!
//! * *flow control*: the receiver had said XOFF and not yet XON. Such a gap is idle nevertheless if
//!   the sender had had nothing to send before XOFF came and had nothing behind XON: then flow
//!   control kept nothing back.
//! * *window*: the oldest frame that can be outstanding had been asked for or sent again, so that
//!   the window was full.
//! * *recovery*: the gap ends with a frame that is sent again; the link layer waited to be told of
//!   it.
//! * *reset*: the link was being set up again.
//!
//! What is sent again is no gap: the link is busy with it, and since the frame had not arrived that
//! is useful (L 1.1).

use super::monitor::{End, Event, RLP_NUMBERS, RLP_WINDOW, Record};
use serde::Serialize;

/// A gap between frames; times in nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// From the end of a frame.
    pub from: u64,
    /// Until the next frame.
    pub to: u64,
    /// What held the sender; `None` if it had nothing to send.
    pub held: Option<Hold>,
    /// How much of the period it is, in nanoseconds: the time in between; of a limiter whose rate
    /// varies, what its unused capacity takes on average.
    pub length_ns: u64,
}

impl Gap {
    /// A gap whose length is the time in between.
    #[must_use]
    pub const fn new(from: u64, to: u64, held: Option<Hold>) -> Self {
        Self { from, to, held, length_ns: to.saturating_sub(from) }
    }
}

/// What keeps a link's sender from sending what it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hold {
    /// XOFF of the receiver.
    FlowControl,
    /// As many frames are outstanding as may be.
    Window,
    /// It waits for word of a frame that was lost.
    Recovery,
    /// The link is being set up again.
    Reset,
}

impl Hold {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::FlowControl, Self::Window, Self::Recovery, Self::Reset];

    /// `flow control`, `window`, `recovery` or `reset`.
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

/// The gaps of an RLP sender between two instants, in the order of time.
#[must_use]
pub fn gaps(end: &End, from: u64, to: u64) -> Vec<Gap> {
    let mut sender = Sender::new(end.period_ns, from);
    for record in end.records.iter().take_while(|record| record.time <= to) {
        sender.take(record);
    }
    sender.gap(to, None);
    sender.gaps
}

/// Follows the records.
struct Sender {
    /// What a frame takes.
    period: u64,
    /// Until then frames took the circuit, or it was before the beginning.
    busy_until: u64,
    begin: u64,
    /// When XOFF came that holds.
    stopped: Option<u64>,
    /// XOFF and XON of the gap that is open, and whether XOFF found the sender with something to
    /// send.
    stop: Option<Stop>,
    is_reset: bool,
    /// The number that comes next, and whether the frame with each number was asked for or sent
    /// again since it was new.
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

    /// Ends the gap at `to`, where `frame` begins, or the period without one.
    fn gap(&mut self, to: u64, frame: Option<&Record>) {
        let from = self.busy_until;
        // Times of a monitor on a busy machine are not exact: half a frame is none.
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

    /// What else than flow control held the sender in the gap that ends now.
    fn held(&self, frame: Option<&Record>) -> Option<Hold> {
        // With 61 of 62 numbers outstanding the oldest one is the one after next.
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

    /// A gap in which the receiver had said XOFF: held from there to XON, and idle outside of it;
    /// idle all of it if the sender had been idle before and was so behind.
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
