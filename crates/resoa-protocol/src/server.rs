//! The server: its clients, their sockets, and who a message is for.
//!
//! A message is looked at in this order (6.1.2, 6.5.1): is the client registered? If not, it is
//! dropped. Is there such a socket, or does the message make it? If not, ERROR. Does the socket's
//! state allow it? If not, an error code. Two clients may use the same numbers of sockets: what
//! tells them apart is the connection that a message came by.

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

/// What a server offers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ServerSettings {
    /// Octets of data that one message carries at most (A29).
    pub chunk: u32,
    /// Octets of each socket that are taken before the far host has acknowledged them: enough to
    /// fill the way to it (6.2.4).
    pub send_space: u32,
    /// Sockets that each client may have.
    pub sockets: u32,
    /// Clients at a time.
    pub clients: usize,
    /// Where their connections come from.
    pub addresses: Addresses,
    /// The address of another server, for clients that find no room here; empty for none.
    pub alternative: Vec<u8>,
    /// When a client whose old sockets are being freed may come again.
    pub retry_after: Duration,
    /// The watchdog's.
    pub timers: Timers,
    /// A mutant, to see that a model finds it.
    #[cfg(test)]
    pub(crate) mutation: Option<crate::settings::Mutation>,
}

impl ServerSettings {
    /// Room for many clients that share what `addresses` has.
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

/// What a driver of a server has to do.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ServerAction {
    /// Hand this to the Last Hop Protocol.
    Send {
        /// Which client's.
        connection: Connection,
        /// What.
        message: Message,
    },
    /// Ask the stack.
    Tcp {
        /// For this end point.
        endpoint: Endpoint,
        /// For this.
        action: TcpAction,
    },
    /// Look this up, and answer by [`Server::resolved`].
    Resolve {
        /// For this client.
        connection: Connection,
        /// To be given back.
        xid: Xid,
        /// What.
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
    /// Those whose client may have to be told what is free.
    owing: BTreeSet<Endpoint>,
}

/// One client, as long as its connection lasts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Peer {
    identity: Identity,
    grant: Grant,
    lease: Option<Lease>,
    sockets: BTreeMap<Endpoint, Rsm>,
    by_target: BTreeMap<Target, Endpoint>,
    used: Used,
    /// Sockets that could not be made, and were not since: what comes for them was said before the
    /// client knew.
    refused: BTreeSet<RsockId>,
    resolving: BTreeSet<Xid>,
    /// The Last Hop Protocol takes nothing at the moment; what waits for it.
    off: bool,
    held: VecDeque<Message>,
    heard: Duration,
    /// When a STILL_ALIVE has to be answered.
    probe: Option<Duration>,
}

/// Sockets of a client's that are remembered as refused.
const REFUSED: usize = 1024;

impl Peer {
    /// A socket could not be made.
    fn refuse(&mut self, id: RsockId) {
        self.used.insert(id.0);
        self.refused.insert(id);
        if self.refused.len() > REFUSED {
            self.refused.pop_first();
        }
    }
}

impl Server {
    /// A server without clients.
    #[must_use]
    pub fn new(settings: ServerSettings) -> Self {
        let (peers, owners, owing) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        Self { settings, peers, owners, last_endpoint: 0, owing }
    }

    /// The Last Hop Protocol has a new connection. Nothing is taken from it before it has
    /// registered.
    pub fn connected(&mut self, connection: Connection, identity: Identity, now: Duration) {
        self.connected_with(connection, identity, Grant::of(&self.settings), now);
    }

    /// The same, for a client that may have something else than others.
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

    /// A connection has ended: all its sockets are reset (E5).
    pub fn disconnected(&mut self, connection: Connection, out: &mut Vec<ServerAction>) {
        self.free_sockets(connection, out);
        self.peers.remove(&connection);
    }

    /// The Last Hop Protocol takes nothing until further notice, or again.
    pub fn flow(&mut self, connection: Connection, on: bool, out: &mut Vec<ServerAction>) {
        if let Some(peer) = self.peers.get_mut(&connection) {
            peer.off = !on;
            if on {
                out.extend(peer.held.drain(..).map(|message| ServerAction::Send { connection, message }));
            }
        }
    }

    /// What the stack says of an end point.
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

    /// The stack has accepted a connection at a listener: the end point of it, or `None` if it is
    /// to be reset.
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

    /// A look-up is done.
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

    /// Sockets of a client, those that only wait for the far host included.
    #[must_use]
    pub fn sockets(&self, connection: Connection) -> usize {
        self.peers.get(&connection).map_or(0, |peer| peer.sockets.len())
    }

    /// Whether clients have to be told of room that is free, and are not yet: then
    /// [`remind`](Self::remind) is to be called after a while, and again until they are.
    #[must_use]
    pub fn owes(&self) -> bool {
        !self.owing.is_empty()
    }

    /// Tells clients of room that has been free since the last time: a call each `t` makes that the
    /// latest `2 t` after it was, unless it is told with something else before.
    pub fn remind(&mut self, out: &mut Vec<ServerAction>) {
        for endpoint in std::mem::take(&mut self.owing) {
            if let Some(&connection) = self.owners.get(&endpoint) {
                self.at(connection, endpoint, out, Rsm::remind);
            }
        }
    }

    fn send(&mut self, connection: Connection, message: Message, out: &mut Vec<ServerAction>) {
        match self.peers.get_mut(&connection) {
            // What nobody wants late waits where its time is known, unless it would overtake what
            // it stays behind.
            Some(peer) if peer.off && !(message.may_be_lost() && message.may_overtake(&peer.held)) => {
                peer.held.push_back(message);
            }
            _ => out.push(ServerAction::Send { connection, message }),
        }
    }

    /// Lets something happen to a socket, and does what comes of it.
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

    /// A socket is gone. If it was never accepted, its listener has a place again.
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

    /// Nobody can accept them any more: RST.
    fn abort_children(&mut self, connection: Connection, listener: RsockId, out: &mut Vec<ServerAction>) {
        let Some(peer) = self.peers.get(&connection) else { return };
        let child = |incarnation| Target::Child { listener, incarnation: crate::Incarnation(incarnation) };
        let children: Vec<_> =
            peer.by_target.range(child(0)..=child(u32::MAX)).map(|(_, &end)| end).collect();
        for endpoint in children {
            self.at(connection, endpoint, out, Rsm::abort);
        }
    }

    /// All sockets of a client are reset.
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

    /// Octets of an end point of which the client was not told that they are free, those that have
    /// gone left out or not; and those that the program has not read.
    #[cfg(test)]
    pub(crate) fn counts(&self, connection: Connection, endpoint: Endpoint) -> Option<[u32; 3]> {
        self.peers.get(&connection)?.sockets.get(&endpoint).map(Rsm::counts)
    }

    /// Connections of a client that its programs have not accepted.
    #[cfg(test)]
    pub(crate) fn waiting(&self, connection: Connection) -> usize {
        let targets = self.peers.get(&connection).into_iter().flat_map(|peer| peer.by_target.keys());
        targets.filter(|target| matches!(target, Target::Child { .. })).count()
    }
}
