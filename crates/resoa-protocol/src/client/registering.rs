//! Registration, and the watchdog (6.1.1, 6.4).
//!
//! ```text
//!  NotConnected ─ start ─▶ Connecting ─ LHP up ─▶ Registering ─ accepted ─▶ Registered ─ stop ─▶ Deregistering
//!        ▲                     │                      │ refused                 │                     │ done
//!        └─────────────────────┴──────────────────────┴─────── LHP lost ────────┴─────────────────────┘
//! ```

use super::Client;
use crate::calls::Action;
use crate::lhp::DisconnectReason;
use crate::message::{Accepted, Control, Message, Refusal, VERSION};
use crate::settings::mutant;
use crate::{Errno, RsockId};
use std::time::Duration;

/// State of the client's association with its server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Association {
    NotConnected,
    /// The Last Hop Protocol is connecting.
    Connecting,
    Registering {
        deadline: Duration,
    },
    Registered(Accepted),
    /// Sockets can still be used until the answer arrives.
    Deregistering {
        accepted: Accepted,
        deadline: Duration,
    },
}

/// Event of the registration, for the driver.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Registration {
    /// The client is registered, and sockets can be made.
    Registered(Accepted),
    /// The server refuses the client. Try again if the reason allows it.
    Refused(Refusal),
    /// The server is lost, and so are all sockets.
    Lost(DisconnectReason),
    /// The client is de-registered, as it asked.
    Ended,
    /// The client cannot de-register, because sockets are still open here or at the server.
    SocketsOpen,
}

impl Client {
    /// Connects and registers. Has no effect if that was done already.
    pub fn start(&mut self, out: &mut Vec<Action>) {
        if self.association == Association::NotConnected {
            self.association = Association::Connecting;
            (self.off, self.probe) = (false, None);
            self.held.clear();
            out.push(Action::Connect);
        }
    }

    /// De-registers. If `graceful`, only when all sockets are closed; otherwise all sockets are
    /// reset.
    pub fn stop(&mut self, graceful: bool, now: Duration, out: &mut Vec<Action>) {
        let Association::Registered(accepted) = &self.association else { return };
        if graceful && !self.sockets.is_empty() {
            out.push(Action::Registration(Registration::SocketsOpen));
            return;
        }
        let (accepted, deadline) = (accepted.clone(), now + self.timers.reply);
        self.association = Association::Deregistering { accepted, deadline };
        self.carry_out(Action::Send(Message::control(Control::Deregister { graceful })), out);
    }

    /// Returns what the server grants, while the client is registered.
    pub(super) fn limits(&self) -> Option<&Accepted> {
        match &self.association {
            Association::Registered(accepted) | Association::Deregistering { accepted, .. } => Some(accepted),
            _ => None,
        }
    }

    pub(super) fn connected(&mut self, now: Duration, out: &mut Vec<Action>) {
        if self.association == Association::Connecting {
            self.association = Association::Registering { deadline: now + self.timers.reply };
            self.heard(now);
            let (mode, receive_space) = (self.mode, self.settings.receive_buffer);
            let register = Control::Register { version: VERSION, mode, receive_space, resume: false };
            self.carry_out(Action::Send(Message::control(register)), out);
        }
    }

    pub(super) fn registered(&mut self, answer: Result<Accepted, Refusal>, out: &mut Vec<Action>) {
        if !matches!(self.association, Association::Registering { .. }) {
            return;
        }
        let outcome = match answer {
            Ok(accepted) => {
                self.association = Association::Registered(accepted.clone());
                Registration::Registered(accepted)
            }
            Err(refusal) => {
                self.association = Association::NotConnected;
                out.push(Action::Close);
                Registration::Refused(refusal)
            }
        };
        out.push(Action::Registration(outcome));
    }

    pub(super) fn deregistered(&mut self, done: bool, now: Duration, out: &mut Vec<Action>) {
        let Association::Deregistering { accepted, .. } = &self.association else { return };
        if done {
            self.association = Association::NotConnected;
            self.lose_sockets(now, out);
            out.push(Action::Close);
            out.push(Action::Registration(Registration::Ended));
        } else {
            self.association = Association::Registered(accepted.clone());
            out.push(Action::Registration(Registration::SocketsOpen));
        }
    }

    /// The Last Hop Protocol's connection has ended (E5, E8).
    pub(super) fn lost(&mut self, why: DisconnectReason, now: Duration, out: &mut Vec<Action>) {
        if self.association != Association::NotConnected {
            self.association = Association::NotConnected;
            self.lose_sockets(now, out);
            out.push(Action::Registration(Registration::Lost(why)));
        }
    }

    /// Gives up a server that does not answer although the link is healthy.
    pub(super) fn give_up(&mut self, now: Duration, out: &mut Vec<Action>) {
        out.push(Action::Reset);
        self.lost(DisconnectReason::Unreachable, now, out);
    }

    fn lose_sockets(&mut self, now: Duration, out: &mut Vec<Action>) {
        self.held.clear();
        self.probe = None;
        let sockets: Vec<RsockId> = self.sockets.keys().copied().collect();
        for id in sockets {
            self.at(id, now, out, |socket, actions| socket.lose(now, actions));
        }
        for call in self.look_ups.abandon() {
            out.push(Action::Return { call, result: Err(Errno::ECONNRESET) });
        }
    }

    /// Processes STILL_ALIVE. Only a question is answered (A3).
    pub(super) fn still_alive(&mut self, reply: bool, out: &mut Vec<Action>) {
        if !reply || mutant!(self.settings, StillAlivePingPong) {
            self.carry_out(Action::Send(Message::control(Control::StillAlive { reply: true })), out);
        }
    }

    pub(super) fn heard(&mut self, now: Duration) {
        (self.heard, self.probe) = (now, None);
    }

    pub(super) fn association_deadline(&self) -> Option<Duration> {
        match self.association {
            Association::NotConnected | Association::Connecting => None,
            Association::Registering { deadline } | Association::Deregistering { deadline, .. } => {
                Some(deadline)
            }
            Association::Registered(_) => Some(self.probe.unwrap_or(self.heard + self.timers.watchdog)),
        }
    }

    pub(super) fn expire_association(&mut self, now: Duration, out: &mut Vec<Action>) {
        if self.association_deadline().is_none_or(|deadline| deadline > now) {
            return;
        }
        if matches!(self.association, Association::Registered(_)) && self.probe.is_none() {
            self.probe = Some(now + self.timers.reply);
            self.carry_out(Action::Send(Message::control(Control::StillAlive { reply: false })), out);
        } else {
            self.give_up(now, out);
        }
    }
}
