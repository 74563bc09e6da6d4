//! What a socket is called between client and server.
//!
//! The client gives each socket a number, an `rsockID` (5.3.4), and never gives it twice; so a
//! message for a number that is gone can be told from one for a number that never was (A17). Two
//! clients may use the same: the server tells them apart by the connection of the Last Hop
//! Protocol.

use std::fmt;

/// A socket of one client; 0 on the wire stands for the client as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RsockId(pub u32);

impl RsockId {
    /// Not a socket: the client as a whole.
    pub const CLIENT: Self = Self(0);
}

impl fmt::Display for RsockId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "socket {}", self.0)
    }
}

/// What a RESPONSE and a REQ_PENDING carry to name the REQUEST.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Xid(pub u32);

/// Which connection of a listener, counted from 1 by the server (6.2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Incarnation(pub u32);

/// Whom a message is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Target {
    /// A socket by its number, or [`RsockId::CLIENT`].
    Socket(RsockId),
    /// A connection that was not yet accepted and so has no number at the server (A9).
    Child {
        /// Where it arrived.
        listener: RsockId,
        /// Which of them.
        incarnation: Incarnation,
    },
}
