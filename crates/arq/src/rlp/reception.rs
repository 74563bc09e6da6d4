//! Processing of arriving blocks.

use super::mode::{Connection, Mode, Timer};
use super::throttle::{Buffer, Piece};
use super::{Abandoned, Answer, BLOCK_OCTETS, Indication, Output, Recovery, Rlp};
use crate::{Arrival, SlotState};
use packet::rlp::l2r::{Field, Item};
use packet::rlp::{Body, Frame, Supervision};
use vocabulary::link_layer::{Event, Record, Way};
use vocabulary::units::Time;

impl Rlp {
    /// Processes a block that arrives at `now`; `None` if it could not be decoded.
    pub fn receive(&mut self, frame: Option<&Frame>, now: Time, out: &mut Output) {
        let event = if frame.is_some() { Event::Right } else { Event::Erased };
        self.note(now, Way::Received, event, 0, BLOCK_OCTETS, out);
        let Some(Frame { command, poll_final, body }) = frame else { return };
        match body {
            Body::Unnumbered { function, information } => {
                self.control((*command, *poll_final), *function, information, now, out);
            }
            Body::Supervisory { supervision, nr } => {
                self.supervised((*command, *poll_final), *supervision, *nr, now, out);
            }
            Body::Information { supervision, ns, nr, information } => {
                self.supervised((*command, *poll_final), *supervision, *nr, now, out);
                self.information(*ns, information, now, out);
            }
        }
    }

    /// Processes the supervision of a frame.
    fn supervised(
        &mut self,
        (command, poll_final): (bool, bool),
        supervision: Supervision,
        nr: u8,
        now: Time,
        out: &mut Output,
    ) {
        let nr = u16::from(nr);
        // The other end is connected.
        if self.mode == Mode::Accepted {
            self.mode = Mode::Connected(Connection::default());
        }
        let Mode::Connected(connection) = &mut self.mode else {
            if command && poll_final && matches!(self.mode, Mode::Disconnected | Mode::Ended) {
                self.answer = Some(Answer::DisconnectedMode);
            }
            return;
        };
        if command && poll_final {
            self.answer = Some(Answer::Final);
        }
        match supervision {
            Supervision::ReceiveReady | Supervision::ReceiveNotReady => {
                connection.peer.busy = supervision == Supervision::ReceiveNotReady;
                self.acknowledge(nr, out);
                if !command && poll_final {
                    self.checkpoint(now, out);
                }
            }
            Supervision::Reject => {
                self.asked_again(now, Event::Reject, nr, out);
                self.acknowledge(nr, out);
                self.requested(nr, self.parameters.recovery == Recovery::GoBack, now, out);
            }
            Supervision::SelectiveReject => {
                self.asked_again(now, Event::SelectiveReject, nr, out);
                self.requested(nr, false, now, out);
            }
        }
    }

    fn asked_again(&self, now: Time, event: Event, nr: u16, out: &mut Output) {
        out.records.push(Record {
            at: now,
            way: Way::Received,
            event,
            ns: nr,
            nr: self.receive.next(),
            aux: 0,
        });
    }

    /// Processes an acknowledgement: all frames before `nr` have arrived or were skipped.
    fn acknowledge(&mut self, nr: u16, out: &mut Output) {
        let Some(done) = self.send.acknowledge(nr) else { return };
        if done.is_empty() {
            return;
        }
        let given_up = done.into_iter().filter(|slot| slot.state == SlotState::GivenUp);
        self.doomed.extend(given_up.filter_map(|slot| slot.body.packets));
        self.report(Abandoned::GivenUp, out);
        let Mode::Connected(connection) = &mut self.mode else { return };
        connection.skip = 0;
        if !connection.is_polling() {
            let t1 = self.parameters.t1_ticks;
            connection.timer = if self.send.outstanding() > 0 { Timer::Running(t1) } else { Timer::Stopped };
        }
    }

    /// Processes the request to retransmit frame `nr`, alone or with all frames behind it. Ignores
    /// it while a copy of the frame may be in transit (rule 1).
    fn requested(&mut self, nr: u16, and_later: bool, now: Time, out: &mut Output) {
        let Mode::Connected(connection) = &mut self.mode else { return };
        let Some(slot) = self.send.slot(nr) else { return };
        if connection.is_polling() || slot.state != SlotState::Sent || slot.body.under_way > 0 {
            return;
        }
        if self.parameters.persistency.is_spent(slot.sent) {
            self.exhausted(nr, now, out);
            return;
        }
        if and_later {
            self.send.all_again(nr);
        } else {
            self.send.again(nr);
        }
        connection.timer = Timer::Running(self.parameters.t1_ticks);
    }

    /// Processes the answer to a poll: the other end misses frame V(A), if any frame is
    /// outstanding.
    fn checkpoint(&mut self, now: Time, out: &mut Output) {
        let Mode::Connected(Connection { timer: timer @ Timer::Polling(_), .. }) = &mut self.mode else {
            return;
        };
        let oldest = self.send.oldest();
        let newest = self.send.slots().next_back().map(|(ns, _)| ns);
        let (Some(slot), Some(newest)) = (self.send.slot(oldest), newest) else {
            *timer = Timer::Stopped;
            return;
        };
        *timer = Timer::Running(self.parameters.t1_ticks);
        if slot.state == SlotState::Sent && self.parameters.persistency.is_spent(slot.sent) {
            self.exhausted(oldest, now, out);
            return;
        }
        match self.parameters.recovery {
            Recovery::GoBack => self.send.all_again(oldest),
            Recovery::Selective => {
                self.send.again(oldest);
                let spent = |sent| self.parameters.persistency.is_spent(sent);
                if self.send.slot(newest).is_some_and(|slot| !spent(slot.sent)) {
                    self.send.again(newest);
                }
            }
        }
    }

    /// Processes a numbered frame.
    fn information(&mut self, ns: u8, field: &[u8], now: Time, out: &mut Output) {
        let Mode::Connected(connection) = &mut self.mode else { return };
        let mut passed = Vec::new();
        match self.receive.receive(u16::from(ns), field.to_vec(), &mut passed) {
            Arrival::InSequence(_) => connection.reject = None,
            Arrival::Outside if self.parameters.recovery == Recovery::GoBack => {
                connection.reject.get_or_insert(0);
            }
            Arrival::Outside | Arrival::Ahead | Arrival::Again => {}
        }
        self.relay(passed, now, out);
    }

    /// Skips the frame with this number, which the other end has given up.
    pub(super) fn pass_over(&mut self, information: &[u8], now: Time, out: &mut Output) {
        let wanted = self.receive.next();
        if self.is_connected() && information.first().is_some_and(|&ns| u16::from(ns) == wanted) {
            let mut passed = Vec::new();
            self.receive.skip(&mut passed);
            self.lose_place();
            self.relay(passed, now, out);
        }
    }

    /// Passes fields on towards the user, in order.
    fn relay(&mut self, fields: Vec<Vec<u8>>, now: Time, out: &mut Output) {
        for field in fields {
            let Ok(Field { stop, items }) = Field::parse(&field) else { continue };
            if let Mode::Connected(connection) = &mut self.mode
                && stop != connection.peer.stop
            {
                connection.peer.stop = stop;
                self.note(now, Way::Received, if stop { Event::XOff } else { Event::XOn }, 0, 0, out);
            }
            match &mut self.buffer {
                Some(buffer) => buffer.push(Piece::Items(items)),
                None => self.unpack(items, out),
            }
        }
    }

    /// Notes that data are missing between the fields passed on so far and the next ones.
    pub(super) fn lose_place(&mut self) {
        match &mut self.buffer {
            Some(buffer) => buffer.push(Piece::Gap),
            None => self.unpacker.gap(),
        }
    }

    /// Lets the line behind the buffer carry its data of one tick.
    pub(super) fn drain(&mut self, out: &mut Output) {
        let carried = self.buffer.as_mut().map(Buffer::tick).unwrap_or_default();
        for piece in carried {
            match piece {
                Piece::Items(items) => self.unpack(items, out),
                Piece::Gap => self.unpacker.gap(),
            }
        }
    }

    fn unpack(&mut self, items: Vec<Item>, out: &mut Output) {
        for item in items {
            if let Some((number, bytes)) = self.unpacker.put(item) {
                out.indications.push(Indication::Delivered { number, bytes });
            }
        }
    }
}
