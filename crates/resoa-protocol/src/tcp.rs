//! The interface between the server's half of a socket and a TCP (or UDP) stack.
//!
//! The driver provides the stack, a kernel's or any other. Two requirements go beyond an ordinary
//! stack (6.3):
//!
//! * It advertises a window as if only the [consumed](TcpAction::Consume) data had been read,
//!   whatever it has handed over.
//! * It acknowledges the far host's FIN only when [told](TcpAction::ReleaseFin) to.

use crate::Errno;
use crate::message::{Ancillary, Create, Operation, Reply};
use std::net::{IpAddr, SocketAddr};

/// A socket of the server, with a number that [`Server`](crate::Server) assigns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Endpoint(pub u64);

/// Request to the stack for one end point.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum TcpAction {
    /// Create the end point. A failure is reported by [`TcpEvent::NotCreated`].
    Create {
        /// Family and type.
        create: Create,
        /// Source address of its connections.
        source: IpAddr,
        /// `source` is the client's own address: use it, but do not answer for it (5.3.6).
        foreign: bool,
    },
    /// Execute this operation. [`TcpEvent::Done`] reports the result, in the order of the requests.
    Execute(Operation),
    /// Accept connections or pause accepting, and set the length of the stack's own queue (8.3 of
    /// the specification).
    Admit {
        /// Whether to accept connections now.
        accept: bool,
        /// Length of the queue, as in `listen`.
        backlog: u32,
    },
    /// Stop listening. Connections that wait in the stack are reset.
    StopListening,
    /// Send data behind the data sent before.
    Send {
        /// At least one byte.
        bytes: Vec<u8>,
        /// The last byte is urgent.
        urgent: bool,
    },
    /// Send a datagram.
    SendTo {
        /// Destination, unless it is the address that the end point is connected to.
        to: Option<SocketAddr>,
        /// Its control messages.
        ancillary: Ancillary,
        /// Its payload.
        bytes: Vec<u8>,
    },
    /// Report the local address of a connection attempt with [`TcpEvent::Located`].
    Locate,
    /// The program has read this many bytes: the window may open by as much.
    Consume(u32),
    /// Send FIN behind all data.
    ShutdownWrite,
    /// Acknowledge the far host's FIN.
    ReleaseFin,
    /// Forget the end point. Data in flight is still delivered, as after `close`.
    Close,
    /// Forget the end point, and send RST.
    Abort,
}

/// Event of the stack at an end point.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum TcpEvent {
    /// The end point could not be created.
    NotCreated,
    /// Result of the oldest [`TcpAction::Execute`].
    Done(Result<Reply, Errno>),
    /// Local address of the connection attempt.
    Located(SocketAddr),
    /// Data has arrived, in order. All data is reported at once, whether it is read or not.
    Received(Vec<u8>),
    /// An urgent byte is on its way, behind this many bytes that were not reported yet.
    Urgent {
        /// Bytes in front of it.
        ahead: u32,
    },
    /// A datagram has arrived.
    Datagram {
        /// Its source.
        from: SocketAddr,
        /// Its control messages.
        ancillary: Ancillary,
        /// Its payload.
        bytes: Vec<u8>,
    },
    /// A datagram was not delivered: an entry of the socket's error queue (IP_RECVERR).
    Undelivered {
        /// Its destination.
        to: SocketAddr,
        /// The error, and the host that reports it.
        ancillary: Ancillary,
        /// Its payload, as far as it is known.
        bytes: Vec<u8>,
    },
    /// This many more bytes are acknowledged; FIN is not counted.
    Acknowledged(u32),
    /// FIN has arrived in order, and is not acknowledged yet.
    FinReceived,
    /// Our FIN is acknowledged, and so is everything before it.
    FinAcknowledged,
    /// The connection is lost (RST, time-out, ICMP), or a datagram is.
    Failed(Errno),
}
