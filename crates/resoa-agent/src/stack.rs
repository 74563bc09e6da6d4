//! The TCP/UDP stack that a socket uses.

use resoa_protocol::RsockId;

/// The stack of a socket's other half.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Stack {
    /// The server's, across the last hop.
    Remote,
    /// This host's own, for [local destinations](crate::LocalRules).
    Local,
}

/// The client's half of a socket: its client, and its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Half {
    pub(crate) stack: Stack,
    pub(crate) id: RsockId,
}
