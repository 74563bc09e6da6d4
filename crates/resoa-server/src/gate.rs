//! Checks every action for a client against its policy before it is carried out, and counts what
//! clients do.
//!
//! The gate maps each connection of the Last Hop Protocol to its client in the policy, and each
//! socket to its client (`sockets`).

mod answers;
mod groups;
mod sockets;
#[cfg(test)]
mod tests;
mod usage;

pub use usage::Usage;

use crate::host::Stop;
use crate::messages;
use groups::group;
use resoa_policy::reached;
use resoa_policy::{Client, Policy, Refusal};
use resoa_protocol::lhp::{Connection, Identity};
use resoa_protocol::message::{Operation, Reply};
use resoa_protocol::server::Grant;
use resoa_protocol::{Endpoint, TcpAction, TcpEvent};
use sockets::{Socket, Sockets};
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

/// Time within which a client has to register.
const UNREGISTERED: Duration = Duration::from_secs(30);
/// Connections of a Last Hop Protocol without a registration that may exist in addition to the
/// clients of the policy's limit.
const SPARE: usize = 64;
/// Maximum connections that one client has at a time. Several are needed because each of its failed
/// attempts may still be a connection. They are limited because other clients need room, too.
const OF_ONE: usize = 16;

/// A client that is connected.
#[derive(Debug)]
pub(crate) struct Visitor {
    pub(crate) identity: Identity,
    pub(crate) client: Arc<Client>,
    pub(crate) since: Duration,
    pub(crate) counts: Usage,
    /// Bytes that the far hosts have not acknowledged.
    pub(crate) outstanding: u64,
    /// Set while nothing is read from this client.
    pub(crate) stopped: Option<Stop>,
}

/// Gate of a server; see the [module](self).
#[derive(Debug)]
pub(crate) struct Gate {
    policy: Arc<Policy>,
    visitors: BTreeMap<Connection, Visitor>,
    sockets: Sockets,
    /// Deadlines for registration with their connections, earliest first.
    waiting: VecDeque<(Duration, Connection)>,
    /// Totals of the clients that have left.
    past: Usage,
}

impl Gate {
    pub(crate) fn new(policy: Arc<Policy>) -> Self {
        Self {
            policy,
            visitors: BTreeMap::new(),
            sockets: Sockets::default(),
            waiting: VecDeque::new(),
            past: Usage::default(),
        }
    }

    /// Replaces the policy. Returns the connections of clients that the new policy does not have;
    /// the caller has to end them.
    pub(crate) fn reload(&mut self, policy: Arc<Policy>) -> Vec<Connection> {
        let mut gone = Vec::new();
        for (&connection, visitor) in &mut self.visitors {
            match policy.client(&visitor.identity) {
                Some(client) => visitor.client = Arc::clone(client),
                None => gone.push(connection),
            }
        }
        self.policy = policy;
        gone
    }

    /// Admits a client that connects. Returns its grant, or `None` if it may not connect.
    pub(crate) fn come(
        &mut self,
        connection: Connection,
        identity: &Identity,
        now: Duration,
    ) -> Option<Grant> {
        let client = Arc::clone(self.policy.client(identity)?);
        let of_this_one = self.visitors.values().filter(|visitor| visitor.identity == *identity).count();
        if self.visitors.len() >= self.policy.most + SPARE || of_this_one >= OF_ONE {
            return None;
        }
        let grant = client.grant.clone();
        let visitor = Visitor {
            identity: identity.clone(),
            client,
            since: now,
            counts: Usage::default(),
            outstanding: 0,
            stopped: None,
        };
        self.visitors.insert(connection, visitor);
        self.waiting.push_back((now + UNREGISTERED, connection));
        Some(grant)
    }

    pub(crate) fn gone(&mut self, connection: Connection) {
        if let Some(visitor) = self.visitors.remove(&connection) {
            self.past.add(&visitor.counts);
        }
    }

    pub(crate) fn visitor(&mut self, connection: Connection) -> Option<&mut Visitor> {
        self.visitors.get_mut(&connection)
    }

    pub(crate) fn visitors(&self) -> impl Iterator<Item = (Connection, &Visitor)> {
        self.visitors.iter().map(|(&connection, visitor)| (connection, visitor))
    }

    /// Totals of all clients since the server started.
    pub(crate) fn total(&self) -> Usage {
        let mut total = self.past.clone();
        self.visitors.values().for_each(|visitor| total.add(&visitor.counts));
        total
    }

    /// Time at which [`overdue`](Self::overdue) returns something.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        self.waiting.front().map(|&(deadline, _)| deadline)
    }

    /// Removes and returns the connections whose registration deadline has passed, whether they
    /// have registered or not.
    pub(crate) fn overdue(&mut self, now: Duration) -> Vec<Connection> {
        let count = self.waiting.iter().take_while(|(deadline, _)| *deadline <= now).count();
        self.waiting.drain(..count).map(|(_, connection)| connection).collect()
    }

    /// Checks whether an action may be carried out for a client. `is_own` tells whether an address
    /// is the server's.
    ///
    /// # Errors
    /// The reason of the refusal, which is also counted.
    pub(crate) fn ask(
        &mut self,
        connection: Connection,
        endpoint: Endpoint,
        action: &TcpAction,
        is_own: impl FnMut(IpAddr) -> bool,
    ) -> Result<(), Refusal> {
        let outcome = self.judge(connection, endpoint, action, is_own);
        if let Err(refusal) = outcome {
            self.count(connection, refusal);
        }
        outcome
    }

    /// Counts a refusal.
    pub(crate) fn count(&mut self, connection: Connection, refusal: Refusal) {
        if let Some(visitor) = self.visitors.get_mut(&connection) {
            *visitor.counts.refusals.entry(refusal).or_default() += 1;
        }
    }

    fn judge(
        &mut self,
        connection: Connection,
        endpoint: Endpoint,
        action: &TcpAction,
        is_own: impl FnMut(IpAddr) -> bool,
    ) -> Result<(), Refusal> {
        // Fail closed: a connection without a client is refused.
        let rules = &self.visitors.get(&connection).ok_or(Refusal::Denied)?.client.rules;
        if let TcpAction::SendTo { ancillary, .. } = action {
            // A source address for a datagram needs the same permission as binding to it.
            let sources = ancillary.records().filter_map(messages::source);
            sources.map(|source| SocketAddr::new(source, 0)).try_for_each(|source| rules.bound(source))?;
        }
        match action {
            TcpAction::Execute(Operation::Connect(to)) | TcpAction::SendTo { to: Some(to), .. } => {
                rules.destination(*to, is_own)
            }
            TcpAction::Execute(Operation::Bind(wanted)) => {
                rules.bound(*wanted)?;
                self.sockets.port_is_free(connection, endpoint, *wanted)
            }
            TcpAction::Execute(Operation::Listen { .. }) if !rules.listen => Err(Refusal::Listen),
            TcpAction::Execute(Operation::Listen { .. }) => match self.sockets.get(endpoint) {
                Some(socket) if !socket.is_own(socket.local().ip()) => {
                    rules.offered(socket.local()).map_err(|_| Refusal::Port)
                }
                _ => Ok(()),
            },
            TcpAction::Execute(Operation::SetOption { level, name, value }) => {
                match group(*level, *name, value) {
                    Some(group) => rules.destination(SocketAddr::new(group, 0), is_own),
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    /// Records an action that is about to be carried out.
    pub(crate) fn does(&mut self, connection: Connection, endpoint: Endpoint, action: &TcpAction) {
        let Some(visitor) = self.visitors.get_mut(&connection) else { return };
        match action {
            TcpAction::Create { create, source, .. } => {
                visitor.counts.sockets += 1;
                self.sockets.insert(endpoint, Socket::new(connection, create.kind, *source));
            }
            TcpAction::Send { bytes, .. } => {
                visitor.counts.sent += bytes.len() as u64;
                visitor.outstanding += bytes.len() as u64;
                if let Some(socket) = self.sockets.get_mut(endpoint) {
                    socket.outstanding += bytes.len() as u64;
                }
            }
            TcpAction::SendTo { bytes, to, .. } => {
                visitor.counts.sent += bytes.len() as u64;
                if let (Some(to), Some(socket)) = (to, self.sockets.get_mut(endpoint)) {
                    socket.answers.sent(to.ip());
                }
            }
            TcpAction::Execute(operation) => {
                let peer = match operation {
                    Operation::Connect(to) => Some(to.ip()),
                    Operation::Disconnect => None,
                    _ => return,
                };
                if let Some(socket) = self.sockets.get_mut(endpoint) {
                    socket.answers.connected(peer);
                }
            }
            _ => {}
        }
    }

    /// Checks whether a connection may arrive at a listener. Counts a refusal.
    pub(crate) fn admits(&mut self, listener: Endpoint, local: SocketAddr, peer: SocketAddr) -> bool {
        let outcome = self.sockets.get(listener).and_then(|socket| {
            let rules = &self.visitors.get(&socket.connection)?.client.rules;
            // `listen` was already checked for the client's own address, and for the address that
            // the program had bound to.
            let is_offered = || match local.ip().to_canonical() {
                address if address.is_loopback() && !socket.is_own(address) => rules.offered(local),
                _ => Ok(()),
            };
            Some((socket.connection, rules.admits(peer.ip()).and_then(|()| is_offered())))
        });
        self.counted(outcome)
    }

    /// Checks whether a datagram may arrive at a socket: if the policy admits it, or if it may be
    /// an answer. Counts a refusal.
    pub(crate) fn hears(&mut self, endpoint: Endpoint, from: SocketAddr) -> bool {
        let outcome = self.sockets.get(endpoint).and_then(|socket| {
            let rules = &self.visitors.get(&socket.connection)?.client.rules;
            let local = reached(socket.local(), from.ip());
            let is_offered = || if socket.is_own(local.ip()) { Ok(()) } else { rules.offered(local) };
            let outcome = rules.admits(from.ip()).and_then(|()| is_offered());
            Some((
                socket.connection,
                outcome.or_else(|refusal| if socket.answers.has(from.ip()) { Ok(()) } else { Err(refusal) }),
            ))
        });
        self.counted(outcome)
    }

    /// Whether a client's sockets receive datagrams of every multicast group that the host has
    /// joined.
    pub(crate) fn hears_all_groups(&self, connection: Connection) -> bool {
        self.visitors.get(&connection).is_some_and(|visitor| visitor.client.rules.hears_all_groups())
    }

    /// Whether a client shares ports with the host's processes.
    pub(crate) fn shares_ports(&self, connection: Connection) -> bool {
        self.visitors.get(&connection).is_some_and(|visitor| visitor.client.rules.of_this_user)
    }

    /// Counts a refusal and returns whether there was none. Without an owner there is no policy
    /// that could refuse.
    fn counted(&mut self, outcome: Option<(Connection, Result<(), Refusal>)>) -> bool {
        match outcome {
            Some((connection, Err(refusal))) => {
                self.count(connection, refusal);
                false
            }
            _ => true,
        }
    }

    /// Whether carrying out this action makes the kernel choose a port or release one.
    pub(crate) fn chooses_port(&self, endpoint: Endpoint, action: &TcpAction) -> bool {
        match action {
            TcpAction::Execute(Operation::Connect(_) | Operation::Disconnect) => true,
            TcpAction::SendTo { .. } => !self.sockets.has_port(endpoint),
            _ => false,
        }
    }

    /// Records the address that the kernel has chosen. It belongs to this client as if a program
    /// had named it (C10).
    pub(crate) fn port_chosen(&mut self, endpoint: Endpoint, local: SocketAddr) {
        self.sockets.bound(endpoint, local);
    }

    /// Owner of a socket until it is [closed](Self::closed). The protocol's server forgets the
    /// owner earlier, before its decisions are carried out.
    pub(crate) fn owner(&self, endpoint: Endpoint) -> Option<Connection> {
        self.sockets.get(endpoint).map(|socket| socket.connection)
    }

    /// The socket of a client with the most bytes that its far host has not acknowledged.
    pub(crate) fn largest(&self, connection: Connection) -> Option<Endpoint> {
        self.sockets.largest(connection)
    }

    /// Removes a socket, whether its client is still connected or not.
    pub(crate) fn closed(&mut self, endpoint: Endpoint) {
        let Some(socket) = self.sockets.remove(endpoint) else { return };
        if let Some(visitor) = self.visitors.get_mut(&socket.connection) {
            visitor.outstanding = visitor.outstanding.saturating_sub(socket.outstanding);
        }
    }

    /// Records a connection that has arrived at a listener.
    pub(crate) fn adopted(&mut self, listener: Endpoint, endpoint: Endpoint) {
        let Some(socket) = self.sockets.get(listener) else { return };
        let connection = socket.connection;
        let arrived = Socket::new(connection, socket.kind, socket.source);
        self.sockets.insert(endpoint, arrived);
        if let Some(visitor) = self.visitors.get_mut(&connection) {
            visitor.counts.sockets += 1;
        }
    }

    /// Records an event of the TCP stack.
    pub(crate) fn happened(&mut self, endpoint: Endpoint, event: &TcpEvent) {
        let Some(socket) = self.sockets.get_mut(endpoint) else { return };
        let Some(visitor) = self.visitors.get_mut(&socket.connection) else { return };
        match event {
            TcpEvent::NotCreated => self.closed(endpoint),
            TcpEvent::Done(Ok(Reply::Local(local))) => self.sockets.bound(endpoint, *local),
            TcpEvent::Received(bytes) | TcpEvent::Datagram { bytes, .. } => {
                visitor.counts.received += bytes.len() as u64;
            }
            TcpEvent::Acknowledged(count) => {
                let count = u64::from(*count).min(socket.outstanding);
                socket.outstanding -= count;
                visitor.outstanding = visitor.outstanding.saturating_sub(count);
            }
            // The bytes in flight will not be acknowledged any more, and the server keeps none of
            // them. A datagram socket has none in flight.
            TcpEvent::Failed(_) => {
                let count = std::mem::take(&mut socket.outstanding);
                visitor.outstanding = visitor.outstanding.saturating_sub(count);
            }
            _ => {}
        }
    }
}
