//! The link layer protocol of the ReSoA thesis (10.2.3 and Table 10.3; M9, M10), one end of it:
//! exactly once, in order (or, as a link may do it, each packet as soon as it is complete), very
//! persistent.
//!
//! * Frames have a header of 20 octets and at most 1500 octets of payload; larger packets go in
//!   fragments. A frame that carries no data is a header.
//! * Receiver: an ACK with V(R) for every frame in sequence; a NAK with V(R) and a mask of the 32
//!   frames behind it for every other one. So a NAK tells everything, and it does not matter if
//!   some are lost. Frames that were there already are acknowledged again.
//! * Sender: window of 32. What a NAK says to be missing is sent again if a frame *sent later* than
//!   it has arrived, since the link keeps the order; without that every NAK of a round trip would
//!   send the same hole again. Control frames go first, then retransmissions, then new data.
//! * One timer for all frames, restarted by every frame that is sent and by every word from the
//!   receiver. It expires when an answer to what was sent last should have come: the rest of what
//!   is on the link, a full frame and a control frame of the other end, the way there and back, and
//!   a tenth more. Each of the first four expirations in a row doubles it (factors 1, 2, 4, 8, 16,
//!   16 …).
//! * Go-Back-N after an expiration and only then: all frames of the window must have been lost, or
//!   all answers. Frames that the receiver is known to hold are not sent again.
//! * After 255 retransmissions of a frame the end is as [`Persistency`] says; the thesis does not
//!   say. To give up a frame, or with a reset everything in flight, the sender tells the number
//!   from which to go on ([`Frame::Skip`]), which is our own.
//!
//! The connection is there when a run begins (the thesis models the data phase alone).

mod feedback;
mod reassembly;

use super::{Arrival, Modulus, Order, Persistency, ReceiveWindow, SendWindow, Then};
use reassembly::Reassembly;
use std::collections::VecDeque;
use vocabulary::link_layer::{Event, Record, Way};
use vocabulary::units::{BitRate, ByteCount, Span, Time};

/// What one end is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Parameters {
    /// Numbers of frames; at least twice the window, and twice what it is with all fragments of a
    /// packet that ends behind it.
    pub modulus: Modulus,
    /// Most frames that may be outstanding, at most 32: as many as the mask of a NAK tells of.
    pub window: u16,
    /// Most octets of payload in a frame.
    pub payload: u16,
    /// Octets of a header.
    pub header: u16,
    /// When to stop, and how.
    pub persistency: Persistency,
    /// In which order packets are delivered.
    pub order: Order,
    /// What the timer is computed of.
    pub timing: Timing,
}

/// What is known of the link (no round-trip time is measured).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Timing {
    /// Rate at which this end sends.
    pub rate: BitRate,
    /// Rate at which the other end sends.
    pub return_rate: BitRate,
    /// Propagation delay there and back together.
    pub propagation: Span,
}

impl Parameters {
    /// Those of Tables 10.3 and 8.2; numbers are 16 bits.
    #[must_use]
    pub const fn thesis(timing: Timing) -> Self {
        Self {
            modulus: Modulus::new(1 << 16),
            window: 32,
            payload: 1500,
            header: 20,
            persistency: Persistency { retransmissions: Some(255), then: Then::Disconnect },
            order: Order::InSequence,
            timing,
        }
    }
}

/// A frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Frame {
    /// Part of a packet.
    Data {
        /// Its number.
        ns: u16,
        /// The part.
        fragment: Fragment,
    },
    /// Everything before this number has arrived.
    Ack {
        /// V(R).
        next: u16,
    },
    /// The same, and this is held of what is behind it.
    Nak {
        /// V(R).
        next: u16,
        /// Bit n is frame V(R)+1+n.
        held: u32,
    },
    /// Everything before this number was given up: go on from there.
    Skip {
        /// The number.
        next: u16,
    },
}

/// Part of a packet. What it carries need not be moved: the number tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fragment {
    /// The packet, by the number that it was offered with.
    pub packet: u64,
    /// Octets.
    pub octets: u16,
    /// Which of the packet's fragments it is, from 0.
    pub place: u16,
    /// How many the packet has.
    pub count: u16,
}

/// What an end says beside its frames.
#[derive(Debug, Default)]
pub struct Output {
    /// For a monitor.
    pub records: Vec<Record>,
    /// For the user.
    pub indications: Vec<Indication>,
}

/// What the user is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Indication {
    /// A packet of the other end is complete.
    Delivered(u64),
    /// A packet of this end that will not be delivered if it has not been by now; the way it was
    /// given up is that of [`Persistency`].
    Abandoned(u64),
    /// This end has stopped.
    Ended,
}

/// One end; see the [module](self).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Llp {
    parameters: Parameters,
    /// Fragments that were not sent yet.
    queue: VecDeque<Fragment>,
    send: SendWindow<Fragment>,
    /// Outstanding frames in the order in which they were last sent, and whether one sent later is
    /// known to have arrived.
    order: VecDeque<(u16, bool)>,
    /// Fragments with the numbers of their frames.
    receive: ReceiveWindow<(u16, Fragment), ()>,
    control: VecDeque<Frame>,
    reassembly: Reassembly,
    /// Expirations in a row, counted to 4.
    expirations: u8,
    /// When the timer expires.
    due: Time,
    /// When the link has carried what was last given to it.
    busy: Time,
    /// The number from which the other end is to go on.
    skip: Option<u16>,
    ended: bool,
}

/// Expirations after which the timer grows no more.
const DOUBLINGS: u8 = 4;

impl Llp {
    /// An end that has nothing to send.
    ///
    /// # Panics
    /// If the window is 0, above 32 or above half of the modulus, or there is no payload.
    #[must_use]
    pub fn new(parameters: Parameters) -> Self {
        let window = usize::from(parameters.window);
        assert!(window <= 32 && 2 * window <= parameters.modulus.numbers() as usize, "a window of {window}");
        assert!(parameters.payload > 0, "frames carry something");
        Self {
            parameters,
            queue: VecDeque::new(),
            send: SendWindow::new(parameters.modulus, window),
            order: VecDeque::new(),
            receive: ReceiveWindow::new(parameters.modulus, window, parameters.order),
            control: VecDeque::new(),
            reassembly: Reassembly::new(parameters.modulus),
            expirations: 0,
            due: Time::NEVER,
            busy: Time::ZERO,
            skip: None,
            ended: false,
        }
    }

    /// Takes a packet of so many octets.
    pub fn offer(&mut self, packet: u64, octets: u32) {
        let payload = u32::from(self.parameters.payload);
        let count = octets.div_ceil(payload).max(1);
        self.queue.extend((0..count).map(|place| Fragment {
            packet,
            octets: (octets - place * payload).min(payload) as u16,
            place: place as u16,
            count: count as u16,
        }));
    }

    /// Fragments that were not sent yet.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// Octets of a frame on the link.
    #[must_use]
    pub fn octets(&self, frame: &Frame) -> ByteCount {
        let payload = if let Frame::Data { fragment, .. } = frame { fragment.octets } else { 0 };
        ByteCount::new(u64::from(self.parameters.header) + u64::from(payload))
    }

    /// The frame that is sent from `now` on; the link is free. `None` if there is nothing to send.
    pub fn next_frame(&mut self, now: Time, out: &mut Output) -> Option<Frame> {
        if self.ended {
            return None;
        }
        let frame = self.control.pop_front().or_else(|| self.data(now, out))?;
        self.busy = now + self.parameters.timing.rate.time_for(self.octets(&frame));
        if matches!(frame, Frame::Data { .. } | Frame::Skip { .. }) {
            self.restart(now);
        }
        Some(frame)
    }

    /// Whether [`Llp::next_frame`] would give one.
    #[must_use]
    pub fn has_frame(&self) -> bool {
        !self.ended
            && (!self.control.is_empty()
                || self.send.has_again()
                || (self.skip.is_none() && self.send.is_open() && !self.queue.is_empty()))
    }

    fn data(&mut self, now: Time, out: &mut Output) -> Option<Frame> {
        if let Some(again) = self.send.send_again() {
            let (ns, before, fragment) = (again.ns, u32::from(again.sent) - 1, *again.body);
            self.order.retain(|(sent, _)| *sent != ns);
            self.order.push_back((ns, false));
            self.note(now, Way::Sent, Event::Again, ns, before, out);
            return Some(Frame::Data { ns, fragment });
        }
        if self.skip.is_some() || !self.send.is_open() {
            return None;
        }
        let fragment = self.queue.pop_front()?;
        let ns = self.send.send(fragment);
        self.order.push_back((ns, false));
        self.note(now, Way::Sent, Event::First, ns, u32::from(fragment.octets), out);
        Some(Frame::Data { ns, fragment })
    }

    /// When the timer expires; [`Time::NEVER`] if it does not run.
    #[must_use]
    pub fn due(&self) -> Time {
        self.due
    }

    /// Restarts the timer, or stops it if nothing is outstanding.
    fn restart(&mut self, now: Time) {
        if self.send.outstanding() == 0 {
            self.due = Time::NEVER;
            return;
        }
        let Timing { return_rate, propagation, .. } = self.parameters.timing;
        let header = u64::from(self.parameters.header);
        let full = ByteCount::new(header + u64::from(self.parameters.payload));
        let answer = return_rate.time_for(full) + return_rate.time_for(ByteCount::new(header)) + propagation;
        let least = (self.busy - now) + answer;
        // A tenth more than the least.
        let span = Span::from_nanos(least.as_nanos() + least.as_nanos().div_ceil(10));
        self.due = now + span * (1 << self.expirations);
    }

    /// The timer has expired.
    pub fn expire(&mut self, now: Time, out: &mut Output) {
        self.expirations = (self.expirations + 1).min(DOUBLINGS);
        let oldest = self.send.oldest();
        if self.send.slot(oldest).is_some_and(|slot| self.parameters.persistency.is_spent(slot.sent)) {
            self.exhausted(out);
        }
        if let Some(next) = self.skip {
            self.control.retain(|frame| !matches!(frame, Frame::Skip { .. }));
            self.control.push_back(Frame::Skip { next });
        }
        self.send.all_again(oldest);
        self.restart(now);
    }

    /// The oldest frame was sent as often as it may be.
    fn exhausted(&mut self, out: &mut Output) {
        let oldest = self.send.oldest();
        let next = match self.parameters.persistency.then {
            Then::Disconnect => return self.end(out),
            Then::GiveUp => self.parameters.modulus.after(oldest, 1),
            Then::Reset => self.send.next(),
        };
        let count = self.parameters.modulus.steps(oldest, next);
        let numbers: Vec<_> = self.send.slots().take(count).map(|(ns, _)| ns).collect();
        for ns in numbers {
            self.send.give_up(ns);
        }
        self.skip = Some(next);
    }

    /// Stops for good; the user is told of every packet that is inside.
    pub fn end(&mut self, out: &mut Output) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        let mut packets: Vec<_> = self.send.clear().into_iter().map(|slot| slot.body.packet).collect();
        packets.extend(self.queue.drain(..).map(|fragment| fragment.packet));
        packets.dedup();
        self.due = Time::NEVER;
        out.indications.extend(packets.into_iter().map(Indication::Abandoned));
        out.indications.push(Indication::Ended);
    }

    /// Whether this end has stopped.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    fn note(&self, now: Time, way: Way, event: Event, ns: u16, aux: u32, out: &mut Output) {
        out.records.push(Record { at: now, way, event, ns, nr: self.receive.next(), aux });
    }

    /// Whether the next frame is one of control.
    #[cfg(test)]
    pub(crate) fn has_control(&self) -> bool {
        !self.control.is_empty()
    }

    /// Forgets when the timer expires, though not whether it runs, and counts how often frames were
    /// sent only as far as that matters, so that states of a model which differ in nothing else are
    /// one.
    #[cfg(test)]
    pub(crate) fn forget(&mut self) {
        self.busy = Time::ZERO;
        self.expirations = 0;
        if self.due != Time::NEVER {
            self.due = Time::ZERO;
        }
        self.send.cap_counts(self.parameters.persistency.retransmissions.unwrap_or(0) + 1);
    }
}

#[cfg(test)]
mod tests;
