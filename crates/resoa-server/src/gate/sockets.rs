//! Whose sockets are, and which ports they have.
//!
//! Ports are kept apart by client here and not by the kernel: to the kernel all sockets are the
//! same user's, so that SO_REUSEPORT would let one client share the port of another (C10). Ports of
//! the host's other processes are `host_ports`' affair.

use super::answers::Answers;
use resoa_policy::Refusal;
use resoa_protocol::Endpoint;
use resoa_protocol::lhp::Connection;
use resoa_protocol::message::Kind;
use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// What there is to know of a socket.
#[derive(Debug)]
pub(super) struct Socket {
    /// Whose it is.
    pub(super) connection: Connection,
    pub(super) kind: Kind,
    /// The client's address.
    pub(super) source: IpAddr,
    bound: Option<SocketAddr>,
    /// To whom it has sent datagrams.
    pub(super) answers: Answers,
    /// Octets that the far host has not acknowledged.
    pub(super) outstanding: u64,
}

/// Those of all clients; see the [module](self).
#[derive(Debug, Default)]
pub(super) struct Sockets {
    sockets: HashMap<Endpoint, Socket>,
    /// By port.
    bound: BTreeSet<(u16, Endpoint)>,
}

impl Socket {
    /// One without a port.
    pub(super) fn new(connection: Connection, kind: Kind, source: IpAddr) -> Self {
        Self { connection, kind, source, bound: None, answers: Answers::default(), outstanding: 0 }
    }

    /// Where it is; any address without a port, if it is nowhere yet.
    pub(super) fn local(&self) -> SocketAddr {
        self.bound.map_or(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0), |bound| {
            SocketAddr::new(self.address_of(bound), bound.port())
        })
    }

    /// Whether an address is the client's: the policy has given it.
    pub(super) fn is_own(&self, address: IpAddr) -> bool {
        address.to_canonical() == self.source.to_canonical()
    }

    /// What is bound if a program names this address: any address of the client's is its own.
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

    /// It is gone, and its port is free.
    pub(super) fn remove(&mut self, endpoint: Endpoint) -> Option<Socket> {
        let socket = self.sockets.remove(&endpoint)?;
        if let Some(bound) = socket.bound {
            self.bound.remove(&(bound.port(), endpoint));
        }
        Some(socket)
    }

    /// It has this address, and no other that it had before; none if the port is 0.
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

    /// Which of a client's has most that its far host has not acknowledged; none if none has
    /// anything.
    pub(super) fn largest(&self, connection: Connection) -> Option<Endpoint> {
        let its = self
            .sockets
            .iter()
            .filter(|(_, socket)| socket.connection == connection && socket.outstanding > 0);
        // Of equals the first, so that it is always the same.
        its.max_by_key(|(endpoint, socket)| (socket.outstanding, std::cmp::Reverse(**endpoint)))
            .map(|(&endpoint, _)| endpoint)
    }

    /// Whether it has a port that is known here.
    pub(super) fn has_port(&self, endpoint: Endpoint) -> bool {
        self.sockets.get(&endpoint).is_some_and(|socket| socket.bound.is_some())
    }

    /// Whether no other client has the port that a program wants.
    ///
    /// # Errors
    /// `Taken` if one has; `Denied` if there is no such socket.
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

/// Whether one socket would get what is sent to the other.
fn overlap(one: IpAddr, other: IpAddr) -> bool {
    one == other || one.is_unspecified() || other.is_unspecified()
}
