//! State of a socket, with the data that only that state has.

use crate::calls::{CallId, Stage};
use crate::message::{Half, RsockType};
use std::net::SocketAddr;
use std::time::Duration;

/// The state of a socket. Closing and failure drop the data of the earlier state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum State {
    /// A datagram socket, connected or not.
    Datagram(Halves),
    /// A stream that was never connected, or was reset to that.
    Unconnected,
    /// An attempt to connect was refused, and no `connect` has reported it yet.
    Refused,
    /// The server is connecting.
    Connecting {
        /// Local address of the attempt, once a call has asked for it. The socket keeps it only if
        /// the attempt succeeds.
        source: Option<SocketAddr>,
    },
    /// The socket waits for connections.
    Listening,
    /// Both halves know the connection.
    Connected {
        /// A `connect` has reported the connection, or none has to.
        is_told: bool,
        halves: Halves,
    },
    /// The connection or the server is lost. Data that has arrived can be read.
    Failed,
    /// Closed by the program, which waits.
    Lingering { call: CallId, deadline: Duration },
    /// Closed by the program; the remaining data is still to be sent.
    Orphan,
    /// Nothing is left.
    Closed,
}

/// The ends of both directions of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct Halves {
    /// The far host has ended its half.
    pub(super) peer_ended: bool,
    /// The program has shut its reading half.
    pub(super) reading_shut: bool,
    /// The program has shut its writing half.
    pub(super) sending_shut: bool,
}

/// The server's half of a socket, as far as this side knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Remote {
    /// The server does not know this socket, or is lost.
    Unknown,
    /// The server could not create its half, which the next message creates. The server has to be
    /// told of the end of this socket.
    NotMade,
    /// The server has its half, or will have it after reading the messages that were sent.
    Made,
}

impl State {
    /// The state of a new socket.
    pub(super) fn new(kind: RsockType) -> Self {
        match kind {
            RsockType::Stream => Self::Unconnected,
            RsockType::Datagram | RsockType::Lite => Self::Datagram(Halves::default()),
        }
    }

    /// The state of a connection that an `accept` brings.
    pub(super) fn accepted() -> Self {
        Self::Connected { is_told: true, halves: Halves::default() }
    }

    /// Returns whether nothing more is received: the far host's FIN, `shutdown`, or failure.
    pub(super) fn receive_shut(&self) -> bool {
        match self {
            Self::Datagram(halves) | Self::Connected { halves, .. } => halves.receive_shut(),
            Self::Refused | Self::Failed => true,
            _ => false,
        }
    }

    /// Returns whether nothing more may be sent.
    pub(super) fn send_shut(&self) -> bool {
        match self {
            Self::Datagram(halves) | Self::Connected { halves, .. } => halves.sending_shut,
            Self::Refused | Self::Failed => true,
            _ => false,
        }
    }

    /// Returns whether the end of an attempt to connect is still to be reported by a `connect`.
    pub(super) fn is_untold(&self) -> bool {
        matches!(self, Self::Refused | Self::Connecting { .. } | Self::Connected { is_told: false, .. })
    }

    /// Returns whether the program has closed the socket, and the rest is being delivered.
    pub(super) fn is_closing(&self) -> bool {
        matches!(self, Self::Lingering { .. } | Self::Orphan)
    }

    pub(super) fn halves_mut(&mut self) -> Option<&mut Halves> {
        match self {
            Self::Datagram(halves) | Self::Connected { halves, .. } => Some(halves),
            _ => None,
        }
    }

    /// Returns the state for a driver.
    pub(super) fn stage(&self) -> Stage {
        match self {
            Self::Datagram(_) | Self::Unconnected | Self::Refused => Stage::Unconnected,
            Self::Connecting { .. } => Stage::Connecting,
            Self::Listening => Stage::Listening,
            Self::Connected { .. } => Stage::Connected,
            Self::Failed => Stage::Failed,
            Self::Lingering { .. } | Self::Orphan | Self::Closed => Stage::Closed,
        }
    }
}

impl Halves {
    pub(super) fn receive_shut(self) -> bool {
        self.peer_ended || self.reading_shut
    }

    /// Returns whether both directions of a connection have ended. To Linux it is no connection any
    /// more as soon as both ends are acknowledged.
    pub(super) fn are_over(self) -> bool {
        self.peer_ended && self.sending_shut
    }

    pub(super) fn shut(&mut self, half: Half) {
        self.reading_shut |= half.reads();
        self.sending_shut |= half.writes();
    }
}
