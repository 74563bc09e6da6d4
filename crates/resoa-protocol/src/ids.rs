//! How client and server identify a socket.
//!
//! The client gives each socket a number, an `rsockID` (5.3.4), and never uses a number twice. So a
//! message for a socket that is gone can be told from a message for a socket that never existed
//! (A17). Two clients may use the same numbers: the server tells them apart by the connection of
//! the Last Hop Protocol.

use std::fmt;

/// Number of a client's socket; 0 on the wire stands for the client as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RsockId(pub u32);

impl RsockId {
    /// The client as a whole, which is not a socket.
    pub const CLIENT: Self = Self(0);
}

impl fmt::Display for RsockId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "socket {}", self.0)
    }
}

/// Number that a REQUEST, its RESPONSE and REQ_PENDING have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Xid(pub u32);

/// Number of a connection that arrived at a listener, counted from 1 by the server (6.2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Incarnation(pub u32);

/// The socket that a message is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Target {
    /// A socket with its number, or [`RsockId::CLIENT`].
    Socket(RsockId),
    /// A connection that was not accepted yet, and so has no number at the server (A9).
    Child {
        /// The listener at which it arrived.
        listener: RsockId,
        /// Its number at this listener.
        incarnation: Incarnation,
    },
}
