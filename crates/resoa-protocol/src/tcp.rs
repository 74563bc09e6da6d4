//! What a server's half asks of a TCP (or UDP) and is told by it.
//!
//! The driver has a kernel's or any other stack behind this. Two things are asked of it that an
//! ordinary one does not do by itself (6.3):
//!
//! * it advertises a window as if only what was [consumed](TcpAction::Consume) had been read,
//!   whatever it has handed over;
//! * it acknowledges the far host's FIN only when [told](TcpAction::ReleaseFin).

use crate::Errno;
use crate::message::{Ancillary, Create, Operation, Reply};
use std::net::{IpAddr, SocketAddr};

/// A socket of the server's own, by a number that the [`Server`](crate::Server) gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Endpoint(pub u64);

/// What is asked of the stack, for one end point.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum TcpAction {
    /// Make it. If that fails: [`TcpEvent::NotCreated`].
    Create {
        /// What it is.
        create: Create,
        /// Where its connections come from.
        source: IpAddr,
        /// `source` is the client's own address: it is to be used without being answered for
        /// (5.3.6).
        foreign: bool,
    },
    /// Do this; answered by [`TcpEvent::Done`], in the order of asking.
    Execute(Operation),
    /// Take connections, or take none for the moment, and let so many wait in the stack (8.3 of the
    /// specification).
    Admit {
        /// Whether to take one now.
        accept: bool,
        /// As in `listen`.
        backlog: u32,
    },
    /// Listen no more; those that wait in the stack are reset.
    StopListening,
    /// Send this behind what was sent before.
    Send {
        /// At least one octet.
        bytes: Vec<u8>,
        /// The last of them is urgent.
        urgent: bool,
    },
    /// Send a datagram.
    SendTo {
        /// Where to, if not where it is connected to.
        to: Option<SocketAddr>,
        /// What is said beside it.
        ancillary: Ancillary,
        /// Its payload.
        bytes: Vec<u8>,
    },
    /// Where it connects from: [`TcpEvent::Located`].
    Locate,
    /// The program has read so many octets: the window may open by as much.
    Consume(u32),
    /// Send FIN behind everything.
    ShutdownWrite,
    /// Acknowledge the far host's FIN.
    ReleaseFin,
    /// Forget the end point; what is under way goes on as after `close`.
    Close,
    /// Forget it, with RST.
    Abort,
}

/// What the stack says of an end point.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum TcpEvent {
    /// It could not be made.
    NotCreated,
    /// The oldest [`TcpAction::Execute`] is done.
    Done(Result<Reply, Errno>),
    /// It connects from there.
    Located(SocketAddr),
    /// Octets have arrived, in order. All that arrive are told at once, read or not.
    Received(Vec<u8>),
    /// An urgent octet is on its way, behind so many others that were not told yet.
    Urgent {
        /// Octets in front of it.
        ahead: u32,
    },
    /// A datagram has arrived.
    Datagram {
        /// Where from.
        from: SocketAddr,
        /// What is told beside it.
        ancillary: Ancillary,
        /// Its payload.
        bytes: Vec<u8>,
    },
    /// A datagram that was sent was not delivered: what a socket's error queue has of it
    /// (IP_RECVERR).
    Undelivered {
        /// Where it was to go.
        to: SocketAddr,
        /// The error, and who says so.
        ancillary: Ancillary,
        /// As much of its payload as is known.
        bytes: Vec<u8>,
    },
    /// So many octets more are acknowledged, FIN not counted.
    Acknowledged(u32),
    /// FIN has arrived, in order, and is not acknowledged.
    FinReceived,
    /// Our FIN is acknowledged, and so all before it.
    FinAcknowledged,
    /// The connection is lost (RST, time out, ICMP), or a datagram was.
    Failed(Errno),
}
