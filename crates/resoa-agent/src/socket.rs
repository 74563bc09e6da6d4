//! A program's socket, as the agent keeps it.

use crate::choice::Choice;
use crate::end::End;
use crate::packets::Packets;
use crate::stack::Stack;
use resoa_protocol::message::Create;
use resoa_protocol::{CallId, RsockId};

/// A socket; see the [module](self).
#[derive(Debug)]
pub(crate) struct Socket {
    /// As the program made it.
    pub(crate) create: Create,
    /// The client's half, from its first use on.
    pub(crate) half: Option<Half>,
    /// Whose stack it uses, once it was said where it goes.
    pub(crate) choice: Choice,
    pub(crate) form: Form,
    /// It was used, and is among those that are counted by their stack.
    pub(crate) is_counted: bool,
    /// Calls that asked when `close` may return.
    pub(crate) closers: Vec<CallId>,
}

/// The client's half of a socket: of which client, and its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Half {
    pub(crate) stack: Stack,
    pub(crate) id: RsockId,
}

/// What the program's descriptor is.
#[derive(Debug)]
pub(crate) enum Form {
    /// Connected to nothing: its last close is found by a [look](crate::sweep).
    Loose {
        /// It was connected to us once, and cannot be again.
        is_spent: bool,
    },
    /// A stream.
    Stream {
        end: End,
        /// The filling is still there.
        is_connecting: bool,
        /// The client's half knows that the program writes no more.
        is_up_shut: bool,
    },
    /// A listener.
    Listener {
        end: End,
        /// Octets that say that a connection waits, and that no `accept` has followed yet.
        announced: usize,
    },
    /// A datagram socket.
    Datagram(Packets),
    /// Closed by the program; the client's half says when that is over.
    Closing,
}

impl Form {
    /// Our end, if there is one.
    pub(crate) fn end(&mut self) -> Option<&mut End> {
        match self {
            Self::Stream { end, .. } | Self::Listener { end, .. } => Some(end),
            Self::Loose { .. } | Self::Datagram(_) | Self::Closing => None,
        }
    }
}
