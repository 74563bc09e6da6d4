//! What one client may have, where that is not the same for all.

use super::{Addresses, Server, ServerSettings};
use crate::lhp::Connection;

/// What a client may have of a server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Grant {
    /// Where its connections come from: what is not in here it cannot have, and one that another
    /// client has for itself neither.
    pub addresses: Addresses,
    /// Sockets at a time, connections that its programs have not accepted included.
    pub sockets: u32,
    /// Octets of each socket that are taken before the far host has acknowledged them.
    pub send_space: u32,
}

impl Grant {
    /// What any client may have.
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
    /// A client may have something else from now on. Sockets that it has stay, and addresses and
    /// buffers are those of its registration.
    pub fn regrant(&mut self, connection: Connection, grant: Grant) {
        if let Some(peer) = self.peers.get_mut(&connection) {
            peer.grant = grant;
        }
    }
}
