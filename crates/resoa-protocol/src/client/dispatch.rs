//! Routing of the server's messages to sockets.

use super::Client;
use crate::calls::Action;
use crate::message::{Body, Call, CloseState, Control, Fault, Message, Update};
use crate::{Incarnation, RsockId, Target};
use std::net::SocketAddr;
use std::time::Duration;

impl Client {
    /// Processes a message of the server. Before registration, only the answer to that is accepted.
    pub fn message(&mut self, message: Message, now: Duration, out: &mut Vec<Action>) {
        self.heard(now);
        let target = message.target;
        match message.body {
            Body::Control(Control::Registered(answer)) => self.registered(answer, out),
            _ if self.limits().is_none() => {}
            Body::Response { xid, outcome } if target == Target::Socket(RsockId::CLIENT) => {
                self.looked_up(xid, outcome, now, out);
            }
            Body::Response { xid, outcome } => self.at_target(target, now, out, |client, id, now, out| {
                client.at(id, now, out, |socket, actions| socket.response(xid, outcome, now, actions));
            }),
            Body::Update(Update::NewConnection { local, peer }) => {
                if let Target::Child { listener, incarnation } = target {
                    self.new_connection(listener, incarnation, (local, peer), now, out);
                }
            }
            Body::Update(update) => self.at_target(target, now, out, |client, id, now, out| {
                client.at(id, now, out, |socket, actions| socket.update(update, now, actions));
            }),
            Body::Control(control) => self.control(target, &control, now, out),
            // Only clients send these.
            Body::Request { .. } | Body::Resolve { .. } | Body::Call { .. } => {}
        }
    }

    /// Processes a datagram of the server that was given up on its way. It counts as read, so that
    /// its room becomes free at the server, too.
    pub fn lost_datagram(&mut self, message: Message, now: Duration, out: &mut Vec<Action>) {
        self.heard(now);
        let Body::Update(Update::Datagram { bytes, .. }) = message.body else { return };
        if self.limits().is_some() {
            self.at_target(message.target, now, out, |client, id, now, out| {
                client.at(id, now, out, |socket, actions| socket.lost_datagram(&bytes, now, actions));
            });
        }
    }

    fn control(&mut self, target: Target, control: &Control, now: Duration, out: &mut Vec<Action>) {
        let timers = self.timers;
        match *control {
            Control::StillAlive { reply } => self.still_alive(reply, out),
            Control::Deregistered { done } => self.deregistered(done, now, out),
            Control::Pending { xid, pending } if target == Target::Socket(RsockId::CLIENT) => {
                self.look_up_pending(xid, pending, now, out);
            }
            Control::Pending { xid, pending } => {
                let mut is_lost = false;
                self.at_target(target, now, out, |client, id, now, out| {
                    client.at(id, now, out, |socket, actions| {
                        is_lost = socket.request_pending(xid, pending, &timers, now, actions);
                    });
                });
                // The server may have the socket but not the request. Our half has failed, so the
                // server's half must go (A4).
                if is_lost {
                    self.abort_remote(target, out);
                }
            }
            Control::Error(Fault::NoBuffers) => {
                if let Some(id) = self.socket_of(target) {
                    self.at(id, now, out, |socket, actions| socket.not_created(now, actions));
                }
            }
            // The server does not have the socket, or has it in another state: the two halves no
            // longer agree (C81).
            Control::Error(fault @ (Fault::InvalidRsockId | Fault::NotAllowed)) => {
                if let Some(id) = self.socket_of(target) {
                    if fault == Fault::NotAllowed {
                        self.abort_remote(target, out);
                    }
                    self.at(id, now, out, |socket, actions| socket.lose(now, actions));
                }
            }
            _ => {}
        }
    }

    /// Returns the socket of a target, whichever name the server uses.
    #[must_use]
    pub fn socket_of(&self, target: Target) -> Option<RsockId> {
        match target {
            Target::Socket(id) => self.sockets.contains_key(&id).then_some(id),
            Target::Child { .. } => self.children.get(&target).copied(),
        }
    }

    fn at_target(
        &mut self,
        target: Target,
        now: Duration,
        out: &mut Vec<Action>,
        event: impl FnOnce(&mut Self, RsockId, Duration, &mut Vec<Action>),
    ) {
        let (Target::Socket(RsockId(number)) | Target::Child { listener: RsockId(number), .. }) = target;
        if let Some(id) = self.socket_of(target) {
            event(self, id, now, out);
        } else if number == 0 || number > self.last_socket {
            // A smaller number means a closed socket and a late message (A17). This socket never
            // existed.
            let body = Body::Control(Control::Error(Fault::InvalidRsockId));
            self.carry_out(Action::Send(Message { target, body }), out);
        }
    }

    fn new_connection(
        &mut self,
        listener: RsockId,
        incarnation: Incarnation,
        (local, peer): (SocketAddr, SocketAddr),
        now: Duration,
        out: &mut Vec<Action>,
    ) {
        let target = Target::Child { listener, incarnation };
        let has_room = self.limits().is_some_and(|limits| self.sockets.len() < limits.sockets as usize);
        let id = self.last_socket.checked_add(1).filter(|_| has_room).map(RsockId);
        let Some(socket) = self.sockets.get_mut(&listener) else { return };
        let child = id.and_then(|id| socket.new_connection(incarnation, id, local, peer));
        let Some(child) = child else {
            // A listener that has stopped has told the server so.
            if id.is_none() {
                self.abort_remote(target, out);
            }
            return;
        };
        self.last_socket = child.id.0;
        self.children.insert(target, child.id);
        self.sockets.insert(child.id, child);
        self.at(listener, now, out, |socket, actions| socket.connection_queued(now, actions));
    }

    /// Resets the server's half.
    fn abort_remote(&mut self, target: Target, out: &mut Vec<Action>) {
        let call = Call::Close { state: CloseState::Close, abort: true, linger: false };
        let body = Body::Call { create: None, consumed: 0, call };
        self.carry_out(Action::Send(Message { target, body }), out);
    }
}
