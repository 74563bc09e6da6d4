//! Setup, reset and end of a connection, and expiration of T1.

use super::mode::{Command, Connection, Mode};
use super::{Abandoned, Answer, Indication, Output, Parameters, Rlp, receive_window};
use crate::Then;
use packet::rlp::{Function, xid};
use vocabulary::link_layer::{Event, Way};
use vocabulary::units::Time;

impl Rlp {
    /// Sets up the connection, with XID first if the parameters say so. Only one end does this.
    pub fn connect(&mut self) {
        if self.mode == Mode::Disconnected {
            let command = Command::default();
            self.mode = if self.wanted.negotiate {
                Mode::Negotiating(command)
            } else {
                Mode::Connecting { command, answered: false }
            };
        }
    }

    /// Ends the connection. Packets that are not delivered are lost.
    pub fn disconnect(&mut self) {
        if !matches!(self.mode, Mode::Disconnecting(_) | Mode::Ended) {
            self.restart(Mode::Disconnecting(Command::default()));
        }
    }

    /// Resets the link from this end.
    pub(super) fn reset(&mut self, now: Time, out: &mut Output) {
        self.note(now, Way::Sent, Event::Reset, 0, 0, out);
        self.restart(Mode::Connecting { command: Command::default(), answered: false });
    }

    /// Begins again in this mode with number 0: everything in flight is doomed.
    fn restart(&mut self, mode: Mode) {
        self.mode = mode;
        let flying = self.send.clear();
        self.doomed.extend(flying.into_iter().filter_map(|slot| slot.body.packets));
        self.doomed.extend(self.packer.drop_begun(None).map(|number| (number, number)));
        self.receive.clear();
        self.lose_place();
        self.answer = None;
    }

    /// Ends the connection for good.
    fn end(&mut self, out: &mut Output) {
        self.restart(Mode::Ended);
        self.report(Abandoned::Disconnected, out);
        out.indications.push(Indication::Disconnected);
    }

    /// T1 has expired.
    pub(super) fn expire(&mut self, now: Time, out: &mut Output) {
        let persistency = self.parameters.persistency;
        match &mut self.mode {
            Mode::Disconnected | Mode::Accepted | Mode::Ended => {}
            Mode::Negotiating(command) | Mode::Connecting { command, .. } => {
                if command.expire(persistency) && persistency.then == Then::Disconnect {
                    self.end(out);
                }
            }
            Mode::Disconnecting(command) => {
                if command.expire(persistency) {
                    self.end(out);
                }
            }
            Mode::Connected(connection) => {
                if connection.poll(persistency) {
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
                let Mode::Connected(connection) = &mut self.mode else { return };
                connection.forgive();
                if self.send.give_up(ns) {
                    let packets = self.send.slot(ns).and_then(|slot| slot.body.packets);
                    // The rest of a packet that will be incomplete need not be sent.
                    packets.and_then(|packets| self.packer.drop_begun(Some(packets)));
                    // X may have been in that frame.
                    connection.status_due = true;
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
            Mode::Ended | Mode::Disconnecting(_) => {
                self.answer = Some(Answer::DisconnectedMode);
                return;
            }
            // What was in flight was cleared when our own SABM was due.
            Mode::Connecting { command, .. } => self.mode = Mode::Connecting { command, answered: true },
            Mode::Disconnected | Mode::Negotiating(_) | Mode::Accepted | Mode::Connected(_) => {
                if self.is_connected() {
                    self.note(now, Way::Received, Event::Reset, 0, 0, out);
                }
                self.restart(Mode::Accepted);
                // The other end takes nothing any more since it has sent SABM.
                self.report(Abandoned::Reset, out);
                out.indications.push(Indication::Connected);
            }
        }
        self.answer = Some(Answer::Acknowledge);
    }

    /// Processes a UA.
    fn acknowledged(&mut self, out: &mut Output) {
        match self.mode {
            Mode::Connecting { answered, .. } => {
                self.mode = if answered { Mode::Accepted } else { Mode::Connected(Connection::default()) };
                self.report(Abandoned::Reset, out);
                out.indications.push(Indication::Connected);
            }
            Mode::Disconnecting(_) => self.end(out),
            _ => {}
        }
    }

    /// Processes an XID. One with unreadable parameters is ignored.
    fn exchange(&mut self, command: bool, information: &[u8]) {
        let Ok(theirs) = xid::Parameters::parse(information) else { return };
        let mut agreed = self.wanted;
        agreed.agree(&theirs, self.role);
        if command && self.mode == Mode::Disconnected {
            self.apply(agreed);
            self.answer = Some(Answer::Exchange(agreed.to_xid(self.role).to_octets()));
        } else if !command && matches!(self.mode, Mode::Negotiating(_)) {
            self.apply(agreed);
            self.mode = Mode::Connecting { command: Command::default(), answered: false };
        }
    }

    fn apply(&mut self, agreed: Parameters) {
        self.parameters = agreed;
        self.send.resize(usize::from(agreed.send_window));
        self.receive.resize(receive_window(&agreed));
    }
}
