//! Routing of clients' messages to sockets: registered? exists? allowed? (6.1.2)

use super::{Server, ServerAction};
use crate::lhp::Connection;
use crate::message::{Body, Call, Control, Create, Fault, Message};
use crate::rsm::Rsm;
use crate::tcp::{Endpoint, TcpAction};
use crate::{Errno, Incarnation, RsockId, Target, Xid};
use std::time::Duration;

/// Result of looking for a target.
enum Found {
    Socket(Endpoint),
    /// It existed once, so the message is late.
    Late,
    Never,
    /// The message would make it, and there is no room.
    NoRoom,
    /// It could not be made before, and the client was told so.
    Refused,
}

impl Server {
    /// Processes a message of a client.
    pub fn message(
        &mut self,
        connection: Connection,
        message: Message,
        now: Duration,
        out: &mut Vec<ServerAction>,
    ) {
        self.heard(connection, now);
        let Some(peer) = self.peers.get(&connection) else { return };
        if let Body::Control(Control::Register { version, mode, receive_space, resume }) = message.body {
            self.register(connection, (version, mode, receive_space, resume), out);
            return;
        }
        if peer.lease.is_none() {
            return;
        }
        let target = message.target;
        match message.body {
            Body::Resolve { xid, query } => {
                if let Some(peer) = self.peers.get_mut(&connection) {
                    peer.resolving.insert(xid);
                }
                out.push(ServerAction::Resolve { connection, xid, query });
            }
            Body::Request { xid, create, operation } => match self.find(connection, target, create, out) {
                Found::Socket(endpoint) => {
                    self.at(connection, endpoint, out, |socket, effects| {
                        socket.request(xid, operation, effects);
                    });
                }
                Found::NoRoom | Found::Refused => self.respond(connection, target, xid, Errno::ENOBUFS, out),
                // Somebody waits for an answer.
                Found::Late | Found::Never => self.fault(connection, target, Fault::InvalidRsockId, out),
            },
            Body::Call { create, consumed, call } => match self.find(connection, target, create, out) {
                Found::Socket(endpoint) => self.call(connection, endpoint, consumed, call, out),
                Found::NoRoom => self.fault(connection, target, Fault::NoBuffers, out),
                Found::Never => self.fault(connection, target, Fault::InvalidRsockId, out),
                Found::Late | Found::Refused => {}
            },
            Body::Control(control) => self.control(connection, target, &control, out),
            // Only servers send these.
            Body::Response { .. } | Body::Update(_) => {}
        }
    }

    /// Processes a datagram of a client that was given up on its way. Its report of bytes read
    /// counts, and its room is free as if it had been sent. Any other message is ignored, because
    /// only datagrams may be given up.
    pub fn lost_datagram(
        &mut self,
        connection: Connection,
        message: Message,
        now: Duration,
        out: &mut Vec<ServerAction>,
    ) {
        self.heard(connection, now);
        let Body::Call { create: None, consumed, call: Call::Datagram { bytes, .. } } = message.body else {
            return;
        };
        let endpoint =
            self.peers.get(&connection).and_then(|peer| peer.by_target.get(&message.target)).copied();
        if let Some(endpoint) = endpoint {
            self.at(connection, endpoint, out, |socket, effects| {
                socket.lost_datagram(&bytes, consumed, effects);
            });
        }
    }

    fn control(
        &mut self,
        connection: Connection,
        target: Target,
        control: &Control,
        out: &mut Vec<ServerAction>,
    ) {
        let endpoint = self.peers.get(&connection).and_then(|peer| peer.by_target.get(&target)).copied();
        match *control {
            Control::Deregister { graceful } => self.deregister(connection, graceful, out),
            Control::StillAlive { reply } => self.still_alive(connection, reply, out),
            Control::RequestPending(xid) => {
                let Some(peer) = self.peers.get(&connection) else { return };
                let socket = endpoint.and_then(|endpoint| peer.sockets.get(&endpoint));
                let pending = match target {
                    Target::Socket(RsockId::CLIENT) => peer.resolving.contains(&xid),
                    _ => socket.is_some_and(|socket| socket.is_pending(xid)),
                };
                let body = Body::Control(Control::Pending { xid, pending });
                self.send(connection, Message { target, body }, out);
            }
            // The client does not have its half: drop ours. Never answer an ERROR with an ERROR.
            Control::Error(_) => {
                if let Some(endpoint) = endpoint {
                    self.at(connection, endpoint, out, Rsm::abort);
                }
            }
            _ => {}
        }
    }

    fn call(
        &mut self,
        connection: Connection,
        endpoint: Endpoint,
        consumed: u32,
        call: Call,
        out: &mut Vec<ServerAction>,
    ) {
        if let Call::Accepted { incarnation, socket } = call {
            self.accepted(connection, endpoint, incarnation, socket, out);
        } else {
            self.at(connection, endpoint, out, |socket, effects| socket.call(call, consumed, effects));
        }
    }

    /// Gives a connection its number.
    fn accepted(
        &mut self,
        connection: Connection,
        listener: Endpoint,
        incarnation: Incarnation,
        number: RsockId,
        out: &mut Vec<ServerAction>,
    ) {
        let Some(peer) = self.peers.get_mut(&connection) else { return };
        let Some(Target::Socket(id)) = peer.sockets.get(&listener).map(|socket| socket.target) else {
            return;
        };
        let target = Target::Socket(number);
        let is_free = !peer.by_target.contains_key(&target);
        if let Some(child) = peer.by_target.remove(&Target::Child { listener: id, incarnation })
            && let Some(socket) = peer.sockets.get_mut(&child)
            && is_free
        {
            socket.target = target;
            peer.by_target.insert(target, child);
            peer.used.insert(number.0);
            self.at(connection, listener, out, Rsm::slot_freed);
        } else {
            self.fault(connection, target, Fault::InvalidRsockId, out);
        }
    }

    fn find(
        &mut self,
        connection: Connection,
        target: Target,
        create: Option<Create>,
        out: &mut Vec<ServerAction>,
    ) -> Found {
        let Some(peer) = self.peers.get_mut(&connection) else { return Found::Never };
        if let Some(&endpoint) = peer.by_target.get(&target) {
            return Found::Socket(endpoint);
        }
        let (Target::Socket(id) | Target::Child { listener: id, .. }) = target;
        let (Some(create), Target::Socket(_), Some(lease)) = (create, target, peer.lease) else {
            return match target {
                Target::Socket(id) if peer.refused.contains(&id) => Found::Refused,
                _ if peer.used.contains(id.0) => Found::Late,
                _ => Found::Never,
            };
        };
        if id == RsockId::CLIENT {
            return Found::Never;
        }
        if peer.sockets.len() >= peer.grant.sockets as usize {
            peer.refuse(id);
            return Found::NoRoom;
        }
        peer.refused.remove(&id);
        peer.used.insert(id.0);
        self.last_endpoint += 1;
        let endpoint = Endpoint(self.last_endpoint);
        peer.by_target.insert(target, endpoint);
        let sizes = self.sizes(lease.send_space, lease.receive_space);
        let socket = Rsm::new(endpoint, target, create.kind, sizes);
        if let Some(peer) = self.peers.get_mut(&connection) {
            peer.sockets.insert(endpoint, socket);
        }
        self.owners.insert(endpoint, connection);
        let action = TcpAction::Create { create, source: lease.address, foreign: lease.foreign };
        out.push(ServerAction::Tcp { endpoint, action });
        Found::Socket(endpoint)
    }

    fn respond(
        &mut self,
        connection: Connection,
        target: Target,
        xid: Xid,
        error: Errno,
        out: &mut Vec<ServerAction>,
    ) {
        self.send(connection, Message { target, body: Body::Response { xid, outcome: Err(error) } }, out);
    }

    fn fault(&mut self, connection: Connection, target: Target, fault: Fault, out: &mut Vec<ServerAction>) {
        self.send(connection, Message { target, body: Body::Control(Control::Error(fault)) }, out);
    }
}
