//! The Export Protocol's messages (6.1.3) and how they are written down.
//!
//! There are five kinds, and each call uses the one that the thesis chose for it:
//!
//! | kind | direction | answer | for |
//! |---|---|---|---|
//! | REQUEST, RESPONSE | client to server and back | the RESPONSE | calls whose result only the server knows |
//! | CALL | client to server | none | calls without a result, and what the client's half became |
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
//! All numbers are in network order. The xid is in REQUEST, RESPONSE and REQ_PENDING alone; the
//! three fields after it where their flag is set. There is no length: the Last Hop Protocol keeps
//! messages apart. A segment's worth of data so costs 7 octets, 11 with a report of what was read,
//! where TCP/IP takes 40 (C107). A message is at most [`MESSAGE_OCTETS`] long.

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
use std::collections::VecDeque;

/// The version that is written in each message.
pub const VERSION: u8 = 1;
/// What a Last Hop Protocol has to carry at least (6.6).
pub const MESSAGE_OCTETS: usize = 65_856;
/// Octets of payload that fit a message whatever else is in it.
pub const PAYLOAD_OCTETS: usize = 65_535;

/// Octets of the longest datagram of UDP over this version of IP.
#[must_use]
pub fn longest_datagram(is_v4: bool) -> usize {
    // What 16 bits of length leave: of the whole packet in version 4 (RFC 791), and of what follows
    // the header in version 6 (RFC 8200).
    if is_v4 { 65_507 } else { 65_527 }
}
/// Octets of a message that are always there.
pub const HEADER_OCTETS: usize = 7;

/// What client and server say to each other.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Message {
    /// Whom it is for.
    pub target: Target,
    /// What it says.
    pub body: Body,
}

/// What a [`Message`] says.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Body {
    /// A call that waits for the server.
    Request {
        /// Comes back in the response.
        xid: Xid,
        /// Make the socket first (6.2.1).
        create: Option<Create>,
        /// What to do.
        operation: Operation,
    },
    /// What became of a request.
    Response {
        /// That of the request.
        xid: Xid,
        /// Its result.
        outcome: Result<Reply, Errno>,
    },
    /// A call that does not wait, or what the client's half became (also called STATUS).
    Call {
        /// Make the socket first (6.2.1).
        create: Option<Create>,
        /// Octets that the program has read since this was last said; 0 is not written.
        consumed: u32,
        /// What to do.
        call: Call,
    },
    /// What happened at the server.
    Update(Update),
    /// About client and server themselves.
    Control(Control),
}

/// What a socket is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Create {
    /// Internet version 4 or 6.
    pub family: Family,
    /// Connections or datagrams.
    pub kind: Kind,
}

/// An address family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    /// `AF_INET`
    V4,
    /// `AF_INET6`
    V6,
}

/// A type of socket, with its protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// `SOCK_STREAM`: TCP.
    Stream,
    /// `SOCK_DGRAM`: UDP.
    Datagram,
    /// `SOCK_DGRAM` with `IPPROTO_UDPLITE`: UDP whose checksum may cover a part (RFC 3828). All
    /// that is said of datagrams holds for it.
    Lite,
}

impl Message {
    /// One that was given up on its way: as it was, but that nothing is said beside it, and that of
    /// its payload the length is known.
    ///
    /// # Errors
    /// If what is known of it is of no message.
    pub fn decode_lost(lost: &Lost) -> Result<Self, DecodeError> {
        let octets = lost.octets.min(MESSAGE_OCTETS + 1);
        let rest = octets.saturating_sub(lost.head.len());
        let octets = [&lost.head[..], &vec![0; rest]].concat();
        if octets.len() > MESSAGE_OCTETS {
            return Err(DecodeError::TooLong { octets: octets.len() });
        }
        Self::read(field::Reader::of_lost(&octets))
    }

    /// Whether it is the payload of a datagram and nothing else, which may be
    /// [lost](crate::lhp::LastHop::send_or_lose): what makes its socket is not.
    #[must_use]
    pub fn may_be_lost(&self) -> bool {
        let is_datagram = match &self.body {
            Body::Call { create, call, .. } => create.is_none() && matches!(call, Call::Datagram { .. }),
            Body::Update(update) => matches!(update, Update::Datagram { .. }),
            _ => false,
        };
        is_datagram && matches!(self.target, Target::Socket(socket) if socket != RsockId::CLIENT)
    }

    /// Whether it may go before all of these: none is about the same socket, or about the client as
    /// a whole, but for those that only count octets.
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

    /// A message about the client as a whole.
    #[must_use]
    pub fn control(control: Control) -> Self {
        Self::socket_control(RsockId::CLIENT, control)
    }

    /// A control message that names a socket.
    #[must_use]
    pub fn socket_control(socket: RsockId, control: Control) -> Self {
        Self { target: Target::Socket(socket), body: Body::Control(control) }
    }

    /// News of the socket `target`.
    #[must_use]
    pub fn update(target: Target, update: Update) -> Self {
        Self { target, body: Body::Update(update) }
    }
}
