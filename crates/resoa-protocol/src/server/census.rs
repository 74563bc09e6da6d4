//! What a server has at the moment, for those who look after it.

use super::Server;
use crate::lhp::Connection;
use crate::tcp::Endpoint;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// What a socket of a server is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SocketState {
    /// Neither connected nor listening.
    Idle,
    /// It waits for the far host.
    Connecting,
    /// It takes connections.
    Listening,
    /// It has a connection.
    Open,
    /// The program has closed it, and what is left is delivered.
    Closing,
    /// Its connection is lost, and the program has not closed it.
    Lost,
    /// For datagrams.
    Datagram,
}

impl SocketState {
    /// All there are.
    pub const ALL: [Self; 7] = [
        Self::Idle,
        Self::Connecting,
        Self::Listening,
        Self::Open,
        Self::Closing,
        Self::Lost,
        Self::Datagram,
    ];

    /// One word, for figures.
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

/// A client's sockets and address.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Census {
    /// Where its connections come from; `None` if it has not registered.
    pub address: Option<IpAddr>,
    /// How many sockets are in each state, those of none left out.
    pub sockets: BTreeMap<SocketState, usize>,
    /// Messages to it that wait for the Last Hop Protocol.
    pub held: usize,
}

impl Server {
    /// All connections of the Last Hop Protocol, of clients that have registered and of those that
    /// have not.
    #[must_use]
    pub fn connections(&self) -> Vec<Connection> {
        self.peers.keys().copied().collect()
    }

    /// Whose socket this is.
    #[must_use]
    pub fn owner(&self, endpoint: Endpoint) -> Option<Connection> {
        self.owners.get(&endpoint).copied()
    }

    /// Whether its client has registered.
    #[must_use]
    pub fn is_registered(&self, connection: Connection) -> bool {
        self.peers.get(&connection).is_some_and(|peer| peer.lease.is_some())
    }

    /// Messages to a client that wait for the Last Hop Protocol.
    #[must_use]
    pub fn held(&self, connection: Connection) -> usize {
        self.peers.get(&connection).map_or(0, |peer| peer.held.len())
    }

    /// What a client has; `None` if there is no such connection.
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
