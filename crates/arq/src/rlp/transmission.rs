//! Composition of blocks: a response that is due, the announcement of a frame that was given up, a
//! poll, or information with supervision.

use super::mode::{Mode, Timer};
use super::throttle::Buffer;
use super::{Answer, INFORMATION_OCTETS, Outgoing, Output, Rlp, USER_OCTETS};
use crate::SlotState;
use packet::rlp::l2r::{Field, Item};
use packet::rlp::{Body, Frame, Function, Supervision};
use vocabulary::link_layer::{Event, Way};
use vocabulary::units::Time;

impl Rlp {
    /// Returns the frame for the block that begins at `now`.
    pub(super) fn compose(&mut self, now: Time, out: &mut Output) -> Frame {
        if let Some(answer) = self.answer.take() {
            return self.answered(answer);
        }
        let t1 = self.parameters.t1_ticks;
        let (is_due, function) = match &mut self.mode {
            Mode::Accepted | Mode::Connected(_) => return self.connected(now, out),
            Mode::Disconnected | Mode::Ended => (false, Function::Null),
            Mode::Negotiating(command) => (command.send(t1), Function::Exchange),
            Mode::Connecting { command, .. } => (command.send(t1), Function::SetMode),
            Mode::Disconnecting(command) => (command.send(t1), Function::Disconnect),
        };
        // A command is repeated every T1, with NULL between.
        if !is_due {
            return unnumbered(false, false, Function::Null, Vec::new());
        }
        let information = match function {
            Function::Exchange => self.wanted.to_xid(self.role).to_octets(),
            _ => Vec::new(),
        };
        unnumbered(true, true, function, information)
    }

    fn answered(&self, answer: Answer) -> Frame {
        match answer {
            Answer::Acknowledge => unnumbered(false, true, Function::Acknowledge, Vec::new()),
            Answer::DisconnectedMode => unnumbered(false, true, Function::DisconnectedMode, Vec::new()),
            Answer::Exchange(parameters) => unnumbered(false, true, Function::Exchange, parameters),
            Answer::Test(information) => unnumbered(false, true, Function::Test, information),
            Answer::Final => Frame {
                command: false,
                poll_final: true,
                body: supervisory(self.ready(), self.receive.next()),
            },
        }
    }

    fn connected(&mut self, now: Time, out: &mut Output) -> Frame {
        let t1 = self.parameters.t1_ticks;
        if let Mode::Connected(connection) = &mut self.mode {
            if connection.skip == 0
                && let Some((ns, slot)) = self.send.slots().next()
                && slot.state == SlotState::GivenUp
            {
                connection.skip = t1;
                return unnumbered(true, false, Function::Information, vec![ns as u8]);
            }
            if let Timer::Polling(poll) = &mut connection.timer
                && poll.send(t1)
            {
                return Frame {
                    command: true,
                    poll_final: true,
                    body: supervisory(self.ready(), self.receive.next()),
                };
            }
        }
        let information = self.numbered(now, out);
        let (supervision, nr) = self.supervision(now, out);
        let body = match information {
            Some((ns, information)) => Body::Information { supervision, ns: ns as u8, nr, information },
            None => Body::Supervisory { supervision, nr },
        };
        Frame { command: false, poll_final: false, body }
    }

    /// Returns a numbered frame, if there is one to send: the oldest retransmission, or a new
    /// frame.
    fn numbered(&mut self, now: Time, out: &mut Output) -> Option<(u16, Vec<u8>)> {
        let (t1, round_trip) = (self.parameters.t1_ticks, self.parameters.round_trip_ticks());
        let Mode::Connected(connection) = &mut self.mode else { return None };
        if connection.is_polling() {
            return None;
        }
        if let Some(again) = self.send.send_again() {
            again.body.under_way = round_trip;
            let (ns, before, field) = (again.ns, u32::from(again.sent) - 1, again.body.field.clone());
            connection.timer = Timer::Running(t1);
            self.note(now, Way::Sent, Event::Again, ns, before, out);
            return Some((ns, field));
        }
        let peer = connection.peer;
        if peer.busy || !self.send.is_open() {
            out.stalled = !peer.busy && !peer.stop && !self.packer.is_empty();
            return None;
        }
        let stop = self.buffer.as_ref().is_some_and(Buffer::stop);
        let taken = if peer.stop { None } else { self.packer.take(USER_OCTETS) };
        if taken.is_none() && stop == connection.told_stop && !connection.status_due {
            return None;
        }
        // A field with only X is still in the middle of a packet. The packet is incomplete if the
        // field is given up.
        let begun = self.packer.begun().map(|number| (number, number));
        let (items, packets) = taken.map_or((Vec::new(), begun), |(items, packets)| (items, Some(packets)));
        let octets = items.iter().map(characters).sum();
        let field = Field { stop, items }.to_octets(INFORMATION_OCTETS);
        let ns = self.send.send(Outgoing { field: field.clone(), packets, under_way: 0 });
        let told = std::mem::replace(&mut connection.told_stop, stop);
        connection.status_due = false;
        if connection.timer == Timer::Stopped {
            connection.timer = Timer::Running(t1);
        }
        if stop != told {
            self.note(now, Way::Sent, if stop { Event::XOff } else { Event::XOn }, ns, 0, out);
        }
        self.note(now, Way::Sent, Event::First, ns, octets, out);
        Some((ns, field))
    }

    /// Returns the supervision of the other end's frames: a request for a missing one, or V(R).
    fn supervision(&mut self, now: Time, out: &mut Output) -> (Supervision, u8) {
        let t1 = self.parameters.t1_ticks;
        let missing = self.receive.gaps_mut().find(|(_, gap)| **gap == 0).map(|(ns, gap)| {
            *gap = t1;
            ns
        });
        if let Some(ns) = missing {
            self.note(now, Way::Sent, Event::SelectiveReject, ns, 0, out);
            return (Supervision::SelectiveReject, ns as u8);
        }
        let next = self.receive.next();
        if let Mode::Connected(connection) = &mut self.mode
            && connection.reject == Some(0)
        {
            connection.reject = Some(t1);
            self.note(now, Way::Sent, Event::Reject, next, 0, out);
            return (Supervision::Reject, next as u8);
        }
        (self.ready(), next as u8)
    }

    fn ready(&self) -> Supervision {
        let is_full = self.buffer.as_ref().is_some_and(Buffer::is_full);
        if is_full { Supervision::ReceiveNotReady } else { Supervision::ReceiveReady }
    }
}

/// Returns the number of a packet's octets in a part of a field.
fn characters(item: &Item) -> u32 {
    match item {
        Item::Start => 0,
        Item::Characters(characters) => characters.len() as u32,
    }
}

fn supervisory(supervision: Supervision, nr: u16) -> Body {
    Body::Supervisory { supervision, nr: nr as u8 }
}

fn unnumbered(command: bool, poll_final: bool, function: Function, information: Vec<u8>) -> Frame {
    Frame { command, poll_final, body: Body::Unnumbered { function, information } }
}
