//! What one client may have, if that differs between clients.

use super::{Addresses, Server, ServerSettings};
use crate::lhp::Connection;

/// What a client may have of a server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Grant {
    /// Source addresses that the client can get, unless another client has one of them to itself.
    pub addresses: Addresses,
    /// Most sockets at the same time, including connections that its programs have not accepted.
    pub sockets: u32,
    /// Bytes of each socket that the server takes before the far host has acknowledged them.
    pub send_space: u32,
}

impl Grant {
    /// Returns what any client may have.
    #[must_use]
    pub fn of(settings: &ServerSettings) -> Self {
        Self {
            addresses: settings.addresses.clone(),
            sockets: settings.sockets,
            send_space: settings.send_space,
        }
    }
}

impl Server {
    /// Changes what a client may have. Its existing sockets stay, and its address and buffers
    /// remain those of its registration.
    pub fn regrant(&mut self, connection: Connection, grant: Grant) {
        if let Some(peer) = self.peers.get_mut(&connection) {
            peer.grant = grant;
        }
    }
}
