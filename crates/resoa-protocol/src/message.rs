//! The Export Protocol's messages (6.1.3) and their encoding.
//!
//! There are five kinds, and each call uses the one that the thesis chose for it:
//!
//! | kind | direction | answer | for |
//! |---|---|---|---|
//! | REQUEST, RESPONSE | client to server and back | the RESPONSE | calls whose result only the server knows |
//! | CALL | client to server | none | calls without a result; states of the client's half |
//! | UPDATE | server to client | none | data, connections, errors, space |
//! | CONTROL | both | as Table 6.1 says | registration, liveness |
//!
//! ```text
//!  0         1         2         3                   7
//! ┌────┬────┬─────────┬─────────┬───────────────────┬─ ─ ─ ─ ─ ─ ┬─ ─ ─ ─ ─ ─ ─┬─ ─ ─ ─ ─ ─┬─ ─ ─ ─ ┬──────────
//! │ver │kind│   op    │  flags  │      rsockID      │ xid 4      │incarnation 4│ consumed 4│create 3│ of the op
//! └────┴────┴─────────┴─────────┴───────────────────┴─ ─ ─ ─ ─ ─ ┴─ ─ ─ ─ ─ ─ ─┴─ ─ ─ ─ ─ ─┴─ ─ ─ ─ ┴──────────
//! ```
//!
//! All numbers are in network order. The xid is present only in REQUEST, RESPONSE and REQ_PENDING;
//! each of the three fields after it only if its flag is set. There is no length field, because the
//! Last Hop Protocol preserves message boundaries. So a segment's worth of data costs 7 octets, or
//! 11 with a report of what was read, where TCP/IP takes 40 (C107). A message is at most
//! [`MESSAGE_OCTETS`] long.

mod ancillary;
mod call;
mod codec;
mod control;
mod field;
mod operation;
#[cfg(test)]
pub(crate) mod tests;
mod update;

pub use ancillary::{Ancillary, Record};
pub use call::{Call, CloseState, Half};
pub use codec::DecodeError;
pub use control::{Accepted, AddressMode, Control, Fault, Modes, Refusal};
pub use operation::{Operation, Query, Reply, Unresolved};
pub use update::Update;

use crate::lhp::Lost;
use crate::{Errno, RsockId, Target, Xid};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Version in the header of each message.
pub const VERSION: u8 = 1;
/// Length of the longest message, which every Last Hop Protocol must carry (6.6).
pub const MESSAGE_OCTETS: usize = 65_856;
/// Most bytes of payload in a message, whatever else is in it.
pub const PAYLOAD_OCTETS: usize = 65_535;

/// Returns the most bytes of payload in a UDP datagram over this version of IP.
#[must_use]
pub fn longest_datagram(is_v4: bool) -> usize {
    // The limit of a 16-bit length field: of the whole packet in version 4 (RFC 791), and of what
    // follows the header in version 6 (RFC 8200).
    if is_v4 { 65_507 } else { 65_527 }
}
/// Bytes of the header that every message has.
pub const HEADER_OCTETS: usize = 7;

/// A message between client and server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Message {
    /// The socket that it is for.
    pub target: Target,
    /// Its contents.
    pub body: Body,
}

/// Contents of a [`Message`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Body {
    /// A call that waits for the server.
    Request {
        /// Number that the response repeats.
        xid: Xid,
        /// Create the socket first (6.2.1).
        create: Option<Create>,
        /// The operation to execute.
        operation: Operation,
    },
    /// A look-up (RESOLVE, a REQUEST of no socket).
    Resolve {
        /// Number that the response repeats.
        xid: Xid,
        /// What to look up.
        query: Query,
    },
    /// Result of a request or a look-up.
    Response {
        /// Number of the request.
        xid: Xid,
        /// Its result.
        outcome: Result<Reply, Errno>,
    },
    /// A call that does not wait, or a state change of the client's half (also called STATUS).
    Call {
        /// Create the socket first (6.2.1).
        create: Option<Create>,
        /// Bytes that the program has read since the last report; 0 is not encoded.
        consumed: u32,
        /// The call.
        call: Call,
    },
    /// An event at the server.
    Update(Update),
    /// A message about client and server themselves.
    Control(Control),
}

/// Family and type of a new socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Create {
    /// Internet version 4 or 6.
    pub family: Family,
    /// Connections or datagrams.
    pub kind: RsockType,
}

/// An address family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Family {
    /// `AF_INET`.
    V4,
    /// `AF_INET6`.
    V6,
}

/// A type of socket, with its protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RsockType {
    /// `SOCK_STREAM`: TCP.
    Stream,
    /// `SOCK_DGRAM`: UDP.
    Datagram,
    /// `SOCK_DGRAM` with `IPPROTO_UDPLITE`: UDP whose checksum may cover only a part (RFC 3828).
    /// Everything about datagrams holds for it.
    Lite,
}

impl Message {
    /// Decodes a message that was given up on its way. It is complete except for its control
    /// messages, which are missing, and its payload, of which only the length is right.
    ///
    /// # Errors
    /// If the known part does not belong to a message.
    pub fn decode_lost(lost: &Lost) -> Result<Self, DecodeError> {
        let octets = lost.octets.min(MESSAGE_OCTETS + 1);
        let rest = octets.saturating_sub(lost.head.len());
        let octets = [&lost.head[..], &vec![0; rest]].concat();
        if octets.len() > MESSAGE_OCTETS {
            return Err(DecodeError::TooLong { octets: octets.len() });
        }
        Self::read(field::Reader::of_lost(&octets))
    }

    /// Returns whether this is just the payload of a datagram, which may be
    /// [lost](crate::lhp::LastHop::send_or_lose). A message that makes a socket is not.
    #[must_use]
    pub fn may_be_lost(&self) -> bool {
        let is_datagram = match &self.body {
            Body::Call { create, call, .. } => create.is_none() && matches!(call, Call::Datagram { .. }),
            Body::Update(update) => matches!(update, Update::Datagram { .. }),
            _ => false,
        };
        is_datagram && matches!(self.target, Target::Socket(socket) if socket != RsockId::CLIENT)
    }

    /// Returns whether it may overtake all of these messages. None of them may be about the same
    /// socket or the client as a whole, except those that only count bytes.
    pub(crate) fn may_overtake(&self, others: &VecDeque<Self>) -> bool {
        let concerns = |target| target == self.target || target == Target::Socket(RsockId::CLIENT);
        others.iter().all(|other| other.only_counts() || !concerns(other.target))
    }

    fn only_counts(&self) -> bool {
        matches!(
            self.body,
            Body::Call { create: None, call: Call::Consumed, .. } | Body::Update(Update::SendFreed(_))
        )
    }

    /// Creates a control message about the client as a whole.
    #[must_use]
    pub fn control(control: Control) -> Self {
        Self::socket_control(RsockId::CLIENT, control)
    }

    /// Creates a control message about a socket.
    #[must_use]
    pub fn socket_control(socket: RsockId, control: Control) -> Self {
        Self { target: Target::Socket(socket), body: Body::Control(control) }
    }

    /// Creates an update of the socket `target`.
    #[must_use]
    pub fn update(target: Target, update: Update) -> Self {
        Self { target, body: Body::Update(update) }
    }
}
