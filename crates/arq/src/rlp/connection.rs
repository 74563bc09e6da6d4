//! Setup, reset and end of a connection, and expiration of T1.

use super::{Abandoned, Answer, Indication, Mode, Output, Parameters, Rlp, receive_window};
use crate::Then;
use packet::rlp::{Function, xid};
use vocabulary::link_layer::{Event, Way};
use vocabulary::units::Time;

impl Rlp {
    /// Sets up the connection, with XID first if the parameters say so. Only one end does this.
    pub fn connect(&mut self) {
        if self.mode == Mode::Disconnected {
            self.mode =
                if self.wanted.negotiate { Mode::Negotiating } else { Mode::Connecting { answered: false } };
            self.command_due = true;
        }
    }

    /// Ends the connection. Packets that are not delivered are lost.
    pub fn disconnect(&mut self) {
        if !matches!(self.mode, Mode::Disconnecting | Mode::Ended) {
            self.clear();
            self.mode = Mode::Disconnecting;
            self.command_due = true;
        }
    }

    /// Resets the link from this end.
    pub(super) fn reset(&mut self, now: Time, out: &mut Output) {
        self.note(now, Way::Sent, Event::Reset, 0, 0, out);
        self.clear();
        self.mode = Mode::Connecting { answered: false };
        self.command_due = true;
    }

    /// Starts again at number 0. All packets in flight become `doomed`.
    fn clear(&mut self) {
        let flying = self.send.clear();
        self.doomed.extend(flying.into_iter().filter_map(|slot| slot.body.packets));
        self.doomed.extend(self.packer.drop_begun(None).map(|number| (number, number)));
        self.receive.clear();
        self.lose_place();
        self.t1 = 0;
        self.attempts = 0;
        self.command_due = false;
        self.polling = false;
        self.answer = None;
        self.reject = (0, false);
        self.skip = 0;
        self.peer_busy = false;
        self.peer_stop = false;
        self.told_stop = false;
        self.status_due = false;
    }

    /// Ends the connection for good.
    fn end(&mut self, out: &mut Output) {
        self.clear();
        self.mode = Mode::Ended;
        self.report(Abandoned::Disconnected, out);
        out.indications.push(Indication::Disconnected);
    }

    /// Counts an attempt. Returns whether it exceeds the limit.
    fn attempt(&mut self) -> bool {
        let Some(most) = self.parameters.persistency.retransmissions else { return false };
        self.attempts = self.attempts.saturating_add(1).min(most.saturating_add(1));
        self.attempts > most
    }

    /// Handles the expiration of T1.
    pub(super) fn expire(&mut self, now: Time, out: &mut Output) {
        match self.mode {
            Mode::Disconnected | Mode::Ended => {}
            Mode::Negotiating | Mode::Connecting { .. } => {
                self.command_due = true;
                if self.attempt() && self.parameters.persistency.then == Then::Disconnect {
                    self.end(out);
                }
            }
            Mode::Disconnecting => {
                self.command_due = true;
                if self.attempt() {
                    self.end(out);
                }
            }
            Mode::Connected { .. } => {
                self.polling = true;
                self.command_due = true;
                if self.attempt() {
                    self.exhausted(self.send.oldest(), now, out);
                }
            }
        }
    }

    /// Applies the configured action: frame `ns`, or polls, have reached the limit.
    pub(super) fn exhausted(&mut self, ns: u16, now: Time, out: &mut Output) {
        match self.parameters.persistency.then {
            Then::Reset => self.reset(now, out),
            Then::Disconnect => self.disconnect(),
            Then::GiveUp => {
                self.attempts = 0;
                if self.send.give_up(ns) {
                    let packets = self.send.slot(ns).and_then(|slot| slot.body.packets);
                    // The rest of a packet that will be incomplete need not be sent.
                    packets.and_then(|packets| self.packer.drop_begun(Some(packets)));
                    // X may have been in that frame.
                    self.status_due = true;
                }
            }
        }
    }

    /// Processes an unnumbered frame.
    pub(super) fn control(
        &mut self,
        (command, poll_final): (bool, bool),
        function: Function,
        information: &[u8],
        now: Time,
        out: &mut Output,
    ) {
        match function {
            Function::SetMode => self.set_mode(now, out),
            Function::Acknowledge => self.acknowledged(out),
            Function::Disconnect => {
                if self.mode != Mode::Ended {
                    self.end(out);
                }
                self.answer = Some(Answer::Acknowledge);
            }
            Function::DisconnectedMode => {
                if !matches!(self.mode, Mode::Disconnected | Mode::Ended) {
                    self.end(out);
                }
            }
            Function::Exchange => self.exchange(command, information),
            Function::Test if command => self.answer = Some(Answer::Test(information.to_vec())),
            Function::Information => self.pass_over(information, now, out),
            Function::Null | Function::Test | Function::Remap => {}
        }
        if command && poll_final && self.mode == Mode::Ended && function != Function::Disconnect {
            self.answer = Some(Answer::DisconnectedMode);
        }
    }

    /// Processes a SABM.
    fn set_mode(&mut self, now: Time, out: &mut Output) {
        match self.mode {
            Mode::Ended | Mode::Disconnecting => {
                self.answer = Some(Answer::DisconnectedMode);
                return;
            }
            // Data in flight were cleared when this end's own SABM became due.
            Mode::Connecting { .. } => self.mode = Mode::Connecting { answered: true },
            Mode::Disconnected | Mode::Negotiating | Mode::Connected { .. } => {
                if self.is_connected() {
                    self.note(now, Way::Received, Event::Reset, 0, 0, out);
                }
                self.clear();
                self.mode = Mode::Connected { proved: false };
                // The other end has accepted no data since it sent SABM.
                self.report(Abandoned::Reset, out);
                out.indications.push(Indication::Connected);
            }
        }
        self.answer = Some(Answer::Acknowledge);
    }

    /// Processes a UA.
    fn acknowledged(&mut self, out: &mut Output) {
        match self.mode {
            Mode::Connecting { answered } => {
                self.mode = Mode::Connected { proved: !answered };
                self.t1 = 0;
                self.attempts = 0;
                self.command_due = false;
                self.report(Abandoned::Reset, out);
                out.indications.push(Indication::Connected);
            }
            Mode::Disconnecting => self.end(out),
            _ => {}
        }
    }

    /// Processes an XID. One with unreadable parameters is ignored.
    fn exchange(&mut self, command: bool, information: &[u8]) {
        let Ok(theirs) = xid::Parameters::parse(information) else { return };
        let mut agreed = self.wanted;
        agreed.agree(&theirs, self.role);
        if command && matches!(self.mode, Mode::Disconnected) {
            self.apply(agreed);
            self.answer = Some(Answer::Exchange(agreed.to_xid(self.role).to_octets()));
        } else if !command && self.mode == Mode::Negotiating {
            self.apply(agreed);
            self.mode = Mode::Connecting { answered: false };
            self.t1 = 0;
            self.attempts = 0;
            self.command_due = true;
        }
    }

    fn apply(&mut self, agreed: Parameters) {
        self.parameters = agreed;
        self.send.resize(usize::from(agreed.send_window));
        self.receive.resize(receive_window(&agreed));
    }
}
