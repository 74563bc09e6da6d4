//! The server: its clients, their sockets, and the routing of messages to them.
//!
//! Each message is checked in this order (6.1.2, 6.5.1). If the client is not registered, the
//! message is dropped. If the socket does not exist and the message does not make it, the answer is
//! ERROR. If the socket's state does not allow it, the answer is an error code. Two clients may use
//! the same socket numbers: the connection of the message tells them apart.

mod addresses;
mod census;
mod dispatch;
mod grant;
mod registering;
mod used;

pub use addresses::Addresses;
pub use census::{Census, SocketState};
pub use grant::Grant;

use crate::lhp::{Connection, Identity};
use crate::message::{Body, Message, Query, Reply};
use crate::rsm::{Effects, Rsm, Sizes};
use crate::settings::Timers;
use crate::tcp::{Endpoint, TcpAction, TcpEvent};
use crate::{Errno, RsockId, Target, Xid};
use registering::Lease;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;
use used::Used;

/// Settings of a server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ServerSettings {
    /// Most bytes of data in one message (A29).
    pub chunk: u32,
    /// Bytes of each socket that the server takes before the far host has acknowledged them: enough
    /// to fill the path to it (6.2.4).
    pub send_space: u32,
    /// Most sockets of each client.
    pub sockets: u32,
    /// Most clients at the same time.
    pub clients: usize,
    /// Source addresses of their connections.
    pub addresses: Addresses,
    /// Address of another server for clients that find no room here; empty for none.
    pub alternative: Vec<u8>,
    /// Time after which a client whose old sockets are being freed may try again.
    pub retry_after: Duration,
    /// Timers of the watchdog.
    pub timers: Timers,
    /// A mutation that a model must detect.
    #[cfg(test)]
    pub(crate) mutation: Option<crate::settings::Mutation>,
}

impl ServerSettings {
    /// Returns settings with room for many clients, which share `addresses`.
    #[must_use]
    pub fn new(addresses: Addresses) -> Self {
        Self {
            chunk: 16 << 10,
            send_space: 4 << 20,
            sockets: 1 << 16,
            clients: 1 << 10,
            addresses,
            alternative: Vec::new(),
            retry_after: Duration::from_secs(1),
            timers: Timers::default(),
            #[cfg(test)]
            mutation: None,
        }
    }
}

/// Action that the driver of a server must take.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ServerAction {
    /// Hand this message to the Last Hop Protocol.
    Send {
        /// The client's connection.
        connection: Connection,
        /// The message.
        message: Message,
    },
    /// Send a request to the stack.
    Tcp {
        /// The end point.
        endpoint: Endpoint,
        /// The request.
        action: TcpAction,
    },
    /// Look this up, and answer with [`Server::resolved`].
    Resolve {
        /// The client's connection.
        connection: Connection,
        /// Number of the request, for the answer.
        xid: Xid,
        /// The look-up.
        query: Query,
    },
    /// End a connection of the Last Hop Protocol at once.
    Reset(Connection),
}

/// The server; see the [module](self).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Server {
    settings: ServerSettings,
    peers: BTreeMap<Connection, Peer>,
    owners: BTreeMap<Endpoint, Connection>,
    last_endpoint: u64,
    /// End points whose client may have to be told of free room.
    owing: BTreeSet<Endpoint>,
}

/// A client, as long as its connection lasts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Peer {
    identity: Identity,
    grant: Grant,
    lease: Option<Lease>,
    sockets: BTreeMap<Endpoint, Rsm>,
    by_target: BTreeMap<Target, Endpoint>,
    used: Used,
    /// Sockets that could not be made, and have not been made since. Messages for them were sent
    /// before the client knew.
    refused: BTreeSet<RsockId>,
    resolving: BTreeSet<Xid>,
    /// The Last Hop Protocol takes no messages at the moment; messages wait in `held`.
    off: bool,
    held: VecDeque<Message>,
    heard: Duration,
    /// When an answer to STILL_ALIVE is overdue.
    probe: Option<Duration>,
}

/// Most refused sockets of a client that are remembered.
const REFUSED: usize = 1024;

impl Peer {
    /// Notes that a socket could not be made.
    fn refuse(&mut self, id: RsockId) {
        self.used.insert(id.0);
        self.refused.insert(id);
        if self.refused.len() > REFUSED {
            self.refused.pop_first();
        }
    }
}

impl Server {
    /// Creates a server without clients.
    #[must_use]
    pub fn new(settings: ServerSettings) -> Self {
        let (peers, owners, owing) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        Self { settings, peers, owners, last_endpoint: 0, owing }
    }

    /// Adds a new connection of the Last Hop Protocol. No message of it is accepted before it
    /// registers.
    pub fn connected(&mut self, connection: Connection, identity: Identity, now: Duration) {
        self.connected_with(connection, identity, Grant::of(&self.settings), now);
    }

    /// Adds a new connection of a client that has its own grant.
    pub fn connected_with(
        &mut self,
        connection: Connection,
        identity: Identity,
        grant: Grant,
        now: Duration,
    ) {
        let peer = Peer {
            identity,
            grant,
            lease: None,
            sockets: BTreeMap::new(),
            by_target: BTreeMap::new(),
            used: Used::default(),
            refused: BTreeSet::new(),
            resolving: BTreeSet::new(),
            off: false,
            held: VecDeque::new(),
            heard: now,
            probe: None,
        };
        self.peers.insert(connection, peer);
    }

    /// Removes a connection that has ended, and resets all its sockets (E5).
    pub fn disconnected(&mut self, connection: Connection, out: &mut Vec<ServerAction>) {
        self.free_sockets(connection, out);
        self.peers.remove(&connection);
    }

    /// Notes that the Last Hop Protocol takes no messages until further notice, or takes them
    /// again.
    pub fn flow(&mut self, connection: Connection, on: bool, out: &mut Vec<ServerAction>) {
        if let Some(peer) = self.peers.get_mut(&connection) {
            peer.off = !on;
            if on {
                out.extend(peer.held.drain(..).map(|message| ServerAction::Send { connection, message }));
            }
        }
    }

    /// Processes an event of the stack at an end point.
    pub fn tcp(&mut self, endpoint: Endpoint, event: TcpEvent, out: &mut Vec<ServerAction>) {
        if let Some(&connection) = self.owners.get(&endpoint) {
            if event == TcpEvent::NotCreated
                && let Some(peer) = self.peers.get_mut(&connection)
                && let Some(Target::Socket(id)) = peer.sockets.get(&endpoint).map(|socket| socket.target)
            {
                peer.refuse(id);
            }
            self.at(connection, endpoint, out, |socket, effects| socket.event(event, effects));
        }
    }

    /// Processes a connection that the stack has accepted at a listener. Returns its end point, or
    /// `None` if it must be reset.
    pub fn incoming(
        &mut self,
        listener: Endpoint,
        local: SocketAddr,
        peer: SocketAddr,
        out: &mut Vec<ServerAction>,
    ) -> Option<Endpoint> {
        let connection = *self.owners.get(&listener)?;
        let client = self.peers.get_mut(&connection)?;
        if client.sockets.len() >= client.grant.sockets as usize {
            return None;
        }
        let socket = client.sockets.get_mut(&listener)?;
        let Target::Socket(id) = socket.target else { return None };
        let endpoint = Endpoint(self.last_endpoint + 1);
        let mut effects = Effects::default();
        let child = socket.incoming(id, endpoint, local, peer, &mut effects)?;
        self.last_endpoint += 1;
        client.by_target.insert(child.target, endpoint);
        client.sockets.insert(endpoint, child);
        self.owners.insert(endpoint, connection);
        self.carry_out(connection, listener, effects, out);
        Some(endpoint)
    }

    /// Processes the result of a look-up.
    pub fn resolved(
        &mut self,
        connection: Connection,
        xid: Xid,
        outcome: Result<Reply, Errno>,
        out: &mut Vec<ServerAction>,
    ) {
        if self.peers.get_mut(&connection).is_some_and(|peer| peer.resolving.remove(&xid)) {
            let target = Target::Socket(RsockId::CLIENT);
            self.send(connection, Message { target, body: Body::Response { xid, outcome } }, out);
        }
    }

    /// Returns the number of a client's sockets, including those that only wait for the far host.
    #[must_use]
    pub fn sockets(&self, connection: Connection) -> usize {
        self.peers.get(&connection).map_or(0, |peer| peer.sockets.len())
    }

    /// Returns whether clients still have to be told of free room. If so, call
    /// [`remind`](Self::remind) after a while, and again until this returns false.
    #[must_use]
    pub fn owes(&self) -> bool {
        !self.owing.is_empty()
    }

    /// Tells clients of room that has been free since the last call. If it is called every `t`, a
    /// client learns of free room within `2 t`, or earlier with another message.
    pub fn remind(&mut self, out: &mut Vec<ServerAction>) {
        for endpoint in std::mem::take(&mut self.owing) {
            if let Some(&connection) = self.owners.get(&endpoint) {
                self.at(connection, endpoint, out, Rsm::remind);
            }
        }
    }

    fn send(&mut self, connection: Connection, message: Message, out: &mut Vec<ServerAction>) {
        match self.peers.get_mut(&connection) {
            // Messages that are useless when late wait in the carrier, where their age is known,
            // unless they would overtake messages that they must follow.
            Some(peer) if peer.off && !(message.may_be_lost() && message.may_overtake(&peer.held)) => {
                peer.held.push_back(message);
            }
            _ => out.push(ServerAction::Send { connection, message }),
        }
    }

    /// Processes an event of a socket, and carries out its effects.
    fn at(
        &mut self,
        connection: Connection,
        endpoint: Endpoint,
        out: &mut Vec<ServerAction>,
        event: impl FnOnce(&mut Rsm, &mut Effects),
    ) {
        let Some(peer) = self.peers.get_mut(&connection) else { return };
        let Some(socket) = peer.sockets.get_mut(&endpoint) else { return };
        let was_listening = socket.is_listening();
        let mut effects = Effects::default();
        event(socket, &mut effects);
        let (target, is_gone) = (socket.target, socket.is_gone());
        let stopped = was_listening && !socket.is_listening();
        if socket.owes() {
            self.owing.insert(endpoint);
        }
        self.carry_out(connection, endpoint, effects, out);
        if is_gone {
            self.forget(connection, endpoint, target, out);
        }
        if let Target::Socket(listener) = target
            && stopped
        {
            self.abort_children(connection, listener, out);
        }
    }

    fn carry_out(
        &mut self,
        connection: Connection,
        endpoint: Endpoint,
        effects: Effects,
        out: &mut Vec<ServerAction>,
    ) {
        out.extend(effects.tcp.into_iter().map(|action| ServerAction::Tcp { endpoint, action }));
        for message in effects.messages {
            self.send(connection, message, out);
        }
    }

    /// Forgets a socket that is gone. If it was never accepted, its place in the listener's backlog
    /// is free.
    fn forget(
        &mut self,
        connection: Connection,
        endpoint: Endpoint,
        target: Target,
        out: &mut Vec<ServerAction>,
    ) {
        self.owners.remove(&endpoint);
        let Some(peer) = self.peers.get_mut(&connection) else { return };
        peer.sockets.remove(&endpoint);
        peer.by_target.remove(&target);
        if let Target::Child { listener, .. } = target
            && let Some(&listener) = peer.by_target.get(&Target::Socket(listener))
        {
            self.at(connection, listener, out, Rsm::slot_freed);
        }
    }

    /// Resets the waiting connections of a listener, which nobody can accept any more.
    fn abort_children(&mut self, connection: Connection, listener: RsockId, out: &mut Vec<ServerAction>) {
        let Some(peer) = self.peers.get(&connection) else { return };
        let child = |incarnation| Target::Child { listener, incarnation: crate::Incarnation(incarnation) };
        let children: Vec<_> =
            peer.by_target.range(child(0)..=child(u32::MAX)).map(|(_, &end)| end).collect();
        for endpoint in children {
            self.at(connection, endpoint, out, Rsm::abort);
        }
    }

    /// Resets all sockets of a client.
    fn free_sockets(&mut self, connection: Connection, out: &mut Vec<ServerAction>) {
        let Some(peer) = self.peers.get_mut(&connection) else { return };
        peer.by_target.clear();
        peer.refused.clear();
        peer.resolving.clear();
        peer.held.clear();
        for (endpoint, mut socket) in std::mem::take(&mut peer.sockets) {
            let mut effects = Effects::default();
            socket.abort(&mut effects);
            self.owners.remove(&endpoint);
            self.carry_out(connection, endpoint, effects, out);
        }
    }

    fn sizes(&self, send_space: u32, receive_space: u32) -> Sizes {
        Sizes {
            chunk: self.settings.chunk.min(crate::message::PAYLOAD_OCTETS as u32),
            send_space,
            receive_space,
            #[cfg(test)]
            mutation: self.settings.mutation,
        }
    }

    /// Returns three counts of an end point in bytes: sent data whose room is not free yet; the
    /// same including room that is free but not reported; and data that the program has not read.
    #[cfg(test)]
    pub(crate) fn counts(&self, connection: Connection, endpoint: Endpoint) -> Option<[u32; 3]> {
        self.peers.get(&connection)?.sockets.get(&endpoint).map(Rsm::counts)
    }

    /// Returns the number of a client's connections that its programs have not accepted.
    #[cfg(test)]
    pub(crate) fn waiting(&self, connection: Connection) -> usize {
        let targets = self.peers.get(&connection).into_iter().flat_map(|peer| peer.by_target.keys());
        targets.filter(|target| matches!(target, Target::Child { .. })).count()
    }
}
