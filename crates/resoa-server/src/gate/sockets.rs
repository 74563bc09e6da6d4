//! Owners and ports of the clients' sockets.
//!
//! The ports of different clients are kept apart here and not by the kernel. To the kernel all
//! sockets belong to one user, so SO_REUSEPORT would let one client share the port of another
//! (C10). `host_ports` handles the ports of the host's other processes.

use super::answers::Answers;
use resoa_policy::Refusal;
use resoa_protocol::Endpoint;
use resoa_protocol::lhp::Connection;
use resoa_protocol::message::RsockType;
use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// State of a socket that the gate needs.
#[derive(Debug)]
pub(super) struct Socket {
    /// The client's connection.
    pub(super) connection: Connection,
    pub(super) kind: RsockType,
    /// The client's address.
    pub(super) source: IpAddr,
    bound: Option<SocketAddr>,
    /// Addresses that it has sent datagrams to.
    pub(super) answers: Answers,
    /// Bytes that the far host has not acknowledged.
    pub(super) outstanding: u64,
}

/// Sockets of all clients; see the [module](self).
#[derive(Debug, Default)]
pub(super) struct Sockets {
    sockets: HashMap<Endpoint, Socket>,
    /// Sockets with a port, ordered by port.
    bound: BTreeSet<(u16, Endpoint)>,
}

impl Socket {
    /// Creates the state of a socket without a port.
    pub(super) fn new(connection: Connection, kind: RsockType, source: IpAddr) -> Self {
        Self { connection, kind, source, bound: None, answers: Answers::default(), outstanding: 0 }
    }

    /// The local address; the unspecified address with port 0 if the socket is not bound.
    pub(super) fn local(&self) -> SocketAddr {
        self.bound.map_or(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0), |bound| {
            SocketAddr::new(self.address_of(bound), bound.port())
        })
    }

    /// Whether an address is the one that the policy has given to the client.
    pub(super) fn is_own(&self, address: IpAddr) -> bool {
        address.to_canonical() == self.source.to_canonical()
    }

    /// The address that is bound if a program names this one. The unspecified address stands for
    /// the client's own.
    fn address_of(&self, named: SocketAddr) -> IpAddr {
        let named = named.ip().to_canonical();
        if named.is_unspecified() { self.source.to_canonical() } else { named }
    }
}

impl Sockets {
    pub(super) fn insert(&mut self, endpoint: Endpoint, socket: Socket) {
        self.sockets.insert(endpoint, socket);
    }

    pub(super) fn get(&self, endpoint: Endpoint) -> Option<&Socket> {
        self.sockets.get(&endpoint)
    }

    pub(super) fn get_mut(&mut self, endpoint: Endpoint) -> Option<&mut Socket> {
        self.sockets.get_mut(&endpoint)
    }

    /// Removes a socket and frees its port.
    pub(super) fn remove(&mut self, endpoint: Endpoint) -> Option<Socket> {
        let socket = self.sockets.remove(&endpoint)?;
        if let Some(bound) = socket.bound {
            self.bound.remove(&(bound.port(), endpoint));
        }
        Some(socket)
    }

    /// Sets the address of a socket in place of its earlier one. With port 0 it has none.
    pub(super) fn bound(&mut self, endpoint: Endpoint, local: SocketAddr) {
        let Some(socket) = self.sockets.get_mut(&endpoint) else { return };
        let now = (local.port() != 0).then_some(local);
        if let Some(before) = std::mem::replace(&mut socket.bound, now) {
            self.bound.remove(&(before.port(), endpoint));
        }
        if now.is_some() {
            self.bound.insert((local.port(), endpoint));
        }
    }

    /// Returns the socket of a client with the most bytes that its far host has not acknowledged;
    /// `None` if no socket has any.
    pub(super) fn largest(&self, connection: Connection) -> Option<Endpoint> {
        let its = self
            .sockets
            .iter()
            .filter(|(_, socket)| socket.connection == connection && socket.outstanding > 0);
        // Among equals the first wins, so that the result is deterministic.
        its.max_by_key(|(endpoint, socket)| (socket.outstanding, std::cmp::Reverse(**endpoint)))
            .map(|(&endpoint, _)| endpoint)
    }

    /// Whether the gate knows a port of this socket.
    pub(super) fn has_port(&self, endpoint: Endpoint) -> bool {
        self.sockets.get(&endpoint).is_some_and(|socket| socket.bound.is_some())
    }

    /// Checks that no other client has the port that a program wants.
    ///
    /// # Errors
    /// `Taken` if another client has it; `Denied` if there is no such socket.
    pub(super) fn port_is_free(
        &self,
        connection: Connection,
        endpoint: Endpoint,
        wanted: SocketAddr,
    ) -> Result<(), Refusal> {
        let Some(socket) = self.sockets.get(&endpoint) else { return Err(Refusal::Denied) };
        if wanted.port() == 0 {
            return Ok(());
        }
        let address = socket.address_of(wanted);
        let port = wanted.port();
        let others = self.bound.range((port, Endpoint(0))..=(port, Endpoint(u64::MAX)));
        let mut others = others.filter_map(|(_, endpoint)| self.sockets.get(endpoint));
        let is_taken = others.any(|other| {
            other.connection != connection
                && other.kind == socket.kind
                && other.bound.is_some_and(|bound| overlap(other.address_of(bound), address))
        });
        if is_taken { Err(Refusal::Taken) } else { Ok(()) }
    }
}

/// Whether data sent to one address could reach a socket at the other.
fn overlap(one: IpAddr, other: IpAddr) -> bool {
    one == other || one.is_unspecified() || other.is_unspecified()
}
