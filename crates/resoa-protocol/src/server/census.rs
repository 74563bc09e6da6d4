//! What a server has at the moment, for monitoring.

use super::Server;
use crate::lhp::Connection;
use crate::tcp::Endpoint;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// State of a socket at a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SocketState {
    /// Neither connected nor listening.
    Idle,
    /// Waits for the far host.
    Connecting,
    /// Accepts connections.
    Listening,
    /// Is connected.
    Open,
    /// The program has closed it, and its remaining data is being delivered.
    Closing,
    /// Its connection is lost, and the program has not closed it.
    Lost,
    /// A datagram socket.
    Datagram,
}

impl SocketState {
    /// All states.
    pub const ALL: [Self; 7] = [
        Self::Idle,
        Self::Connecting,
        Self::Listening,
        Self::Open,
        Self::Closing,
        Self::Lost,
        Self::Datagram,
    ];

    /// Returns one word for metrics.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Connecting => "connecting",
            Self::Listening => "listening",
            Self::Open => "open",
            Self::Closing => "closing",
            Self::Lost => "lost",
            Self::Datagram => "datagram",
        }
    }
}

/// Address and sockets of a client.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Census {
    /// Source address of its connections; `None` if it has not registered.
    pub address: Option<IpAddr>,
    /// Number of sockets in each state; states without sockets are left out.
    pub sockets: BTreeMap<SocketState, usize>,
    /// Messages to the client that wait for the Last Hop Protocol.
    pub held: usize,
}

impl Server {
    /// Returns all connections of the Last Hop Protocol, whether their clients have registered or
    /// not.
    #[must_use]
    pub fn connections(&self) -> Vec<Connection> {
        self.peers.keys().copied().collect()
    }

    /// Returns the client that an end point belongs to.
    #[must_use]
    pub fn owner(&self, endpoint: Endpoint) -> Option<Connection> {
        self.owners.get(&endpoint).copied()
    }

    /// Returns whether the client of a connection has registered.
    #[must_use]
    pub fn is_registered(&self, connection: Connection) -> bool {
        self.peers.get(&connection).is_some_and(|peer| peer.lease.is_some())
    }

    /// Returns how many messages to a client wait for the Last Hop Protocol.
    #[must_use]
    pub fn held(&self, connection: Connection) -> usize {
        self.peers.get(&connection).map_or(0, |peer| peer.held.len())
    }

    /// Returns what a client has; `None` if the connection does not exist.
    #[must_use]
    pub fn census(&self, connection: Connection) -> Option<Census> {
        let peer = self.peers.get(&connection)?;
        let mut sockets = BTreeMap::new();
        for socket in peer.sockets.values() {
            *sockets.entry(socket.counted_as()).or_default() += 1;
        }
        Some(Census { address: peer.lease.map(|lease| lease.address), sockets, held: peer.held.len() })
    }
}
