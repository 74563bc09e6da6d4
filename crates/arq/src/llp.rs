//! One end of the link layer protocol of the ReSoA thesis (10.2.3 and Table 10.3; M9, M10). It
//! delivers exactly once and is very persistent. It delivers in order or, if so configured, each
//! packet as soon as it is complete.
//!
//! * Frames have a header of 20 octets and at most 1500 octets of payload. Larger packets are
//!   fragmented. A frame without data is a header.
//! * The receiver sends an ACK with V(R) for every frame in sequence. For every other frame it
//!   sends a NAK with V(R) and a mask of the 32 frames behind it. So each NAK is complete, and lost
//!   ones do no harm. It acknowledges frames again that it already has.
//! * The sender has a window of 32. It retransmits a frame that a NAK reports missing if a frame
//!   *sent later* has arrived, since the link keeps the order. Without this condition, every NAK of
//!   a round trip would cause another retransmission of the same frame. Control frames go first,
//!   then retransmissions, then new data.
//! * One timer covers all frames. It restarts with every data frame or [`Frame::Skip`] sent, with
//!   every answer that has new information, and with every NAK whose V(R) is V(A). It expires when
//!   an answer to the last frame sent should have come. That time is the rest of what is on the
//!   link, a full frame and a control frame of the other end, and the propagation delay in both
//!   directions, plus a tenth of the sum. Each of the first four expirations in a row doubles it
//!   (factors 1, 2, 4, 8, 16, 16 …).
//! * Go-Back-N follows only an expiration: then all frames of the window must have been lost, or
//!   all answers. Frames that the receiver is known to hold are not retransmitted.
//! * After 255 retransmissions of a frame, the end acts as [`Persistency`] says; the thesis does
//!   not define this. To give up a frame, or in a reset everything in flight, the sender announces
//!   the number from which to continue ([`Frame::Skip`]). This is our own extension.
//!
//! The connection exists when a run begins, since the thesis models the data phase only.

mod feedback;
mod reassembly;

use super::{Arrival, Modulus, Order, Persistency, ReceiveWindow, SendWindow, Then};
use reassembly::Reassembly;
use std::collections::VecDeque;
use vocabulary::link_layer::{Event, Record, Way};
use vocabulary::units::{BitRate, ByteCount, Span, Time};

/// Parameters of one end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Parameters {
    /// Modulus of frame numbers. It must be at least twice the window, and at least twice the
    /// window together with all fragments of a packet that ends beyond it.
    pub modulus: Modulus,
    /// Maximum number of outstanding frames. At most 32, since the mask of a NAK has 32 bits.
    pub window: u16,
    /// Maximum payload of a frame, in octets.
    pub payload: u16,
    /// Length of a header, in octets.
    pub header: u16,
    /// Limit of retransmissions, and the action when it is reached.
    pub persistency: Persistency,
    /// Order in which packets are delivered.
    pub order: Order,
    /// Properties of the link that determine the timer.
    pub timing: Timing,
}

/// Known properties of the link. The protocol does not measure round-trip times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Timing {
    /// Rate at which this end sends.
    pub rate: BitRate,
    /// Rate at which the other end sends.
    pub return_rate: BitRate,
    /// Sum of the propagation delays in both directions.
    pub propagation: Span,
}

impl Parameters {
    /// Returns the values of Tables 10.3 and 8.2, with numbers of 16 bits.
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
    /// A part of a packet.
    Data {
        /// N(S).
        ns: u16,
        /// The part.
        fragment: Fragment,
    },
    /// All frames before this number have arrived.
    Ack {
        /// V(R).
        next: u16,
    },
    /// All frames before this number have arrived, and some frames behind it are held.
    Nak {
        /// V(R).
        next: u16,
        /// Mask: bit n is frame V(R)+1+n.
        held: u32,
    },
    /// All missing frames before this number were given up: continue from there.
    Skip {
        /// The number from which to continue.
        next: u16,
    },
}

/// A part of a packet. It has no bytes: the number identifies the packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fragment {
    /// Number with which the packet was offered.
    pub packet: u64,
    /// Length of the part, in octets.
    pub octets: u16,
    /// Position among the packet's fragments, from 0.
    pub place: u16,
    /// Number of the packet's fragments.
    pub count: u16,
}

/// Output of an end besides its frames.
#[derive(Debug, Default)]
pub struct Output {
    /// Records for a monitor.
    pub records: Vec<Record>,
    /// Indications for the user.
    pub indications: Vec<Indication>,
}

/// An indication for the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Indication {
    /// A packet of the other end is complete.
    Delivered(u64),
    /// A packet of this end will not be delivered if it has not been delivered yet. [`Persistency`]
    /// gives the reason.
    Abandoned(u64),
    /// This end has stopped.
    Ended,
}

/// One end; see the [module](self).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Llp {
    parameters: Parameters,
    /// Fragments that are not sent yet.
    queue: VecDeque<Fragment>,
    send: SendWindow<Fragment>,
    /// Outstanding frames in the order of their last transmissions, each with whether a later
    /// transmission is known to have arrived.
    order: VecDeque<(u16, bool)>,
    /// Fragments with the numbers of their frames.
    receive: ReceiveWindow<(u16, Fragment), ()>,
    control: VecDeque<Frame>,
    reassembly: Reassembly,
    /// Expirations in a row, at most 4.
    expirations: u8,
    /// When the timer expires.
    due: Time,
    /// When the link has finished the last frame given to it.
    busy: Time,
    /// The number from which the other end must continue.
    skip: Option<u16>,
    ended: bool,
}

/// Number of expirations after which the timer stops growing.
const DOUBLINGS: u8 = 4;

impl Llp {
    /// Creates an end that has no data to send.
    ///
    /// # Panics
    /// If the window is 0, above 32 or above half of the modulus, or if the payload is 0.
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

    /// Accepts a packet of `octets` octets.
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

    /// Returns the number of fragments that are not sent yet.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// Returns the length of a frame on the link.
    #[must_use]
    pub fn octets(&self, frame: &Frame) -> ByteCount {
        let payload = if let Frame::Data { fragment, .. } = frame { fragment.octets } else { 0 };
        ByteCount::new(u64::from(self.parameters.header) + u64::from(payload))
    }

    /// Returns the frame to send from `now` on, when the link is free. `None` if there is nothing
    /// to send.
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

    /// Tells whether [`Llp::next_frame`] would return a frame.
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

    /// Returns when the timer expires; [`Time::NEVER`] if it does not run.
    #[must_use]
    pub fn due(&self) -> Time {
        self.due
    }

    /// Restarts the timer, or stops it if no frame is outstanding.
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
        // A tenth more than the minimum.
        let span = Span::from_nanos(least.as_nanos() + least.as_nanos().div_ceil(10));
        self.due = now + span * (1 << self.expirations);
    }

    /// Handles the expiration of the timer.
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

    /// Applies the configured action: the oldest frame has reached the limit of retransmissions.
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

    /// Stops for good. The user gets an indication for every packet that is inside.
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

    /// Tells whether this end has stopped.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    fn note(&self, now: Time, way: Way, event: Event, ns: u16, aux: u32, out: &mut Output) {
        out.records.push(Record { at: now, way, event, ns, nr: self.receive.next(), aux });
    }

    /// Tells whether the next frame is a control frame.
    #[cfg(test)]
    pub(crate) fn has_control(&self) -> bool {
        !self.control.is_empty()
    }

    /// Removes details that do not matter to a model, so that states that differ only in them are
    /// equal: when the timer expires (but not whether it runs), expirations in a row, and high
    /// counts of transmissions.
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
