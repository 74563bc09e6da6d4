//! Contents of an UPDATE: events at the server.

use super::DecodeError;
use super::ancillary::Ancillary;
use super::codec::{ANCILLARY, read_errno};
use super::field::{Reader, put_address};
use crate::Errno;
use std::net::SocketAddr;

/// An event of a socket.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Update {
    /// A connection arrived at the listener that the message names, with this incarnation (6.2.3).
    NewConnection {
        /// The server's address.
        local: SocketAddr,
        /// The far host's address.
        peer: SocketAddr,
    },
    /// The far host has acknowledged this many more bytes, so their room is free (SND_FREED).
    SendFreed(u32),
    /// Data of the far host; at least one byte.
    Data(Vec<u8>),
    /// A datagram has arrived.
    Datagram {
        /// Its source.
        from: SocketAddr,
        /// Its control messages.
        ancillary: Ancillary,
        /// Its payload.
        bytes: Vec<u8>,
    },
    /// The far host's urgent pointer: this many bytes of data precede the urgent byte (A20).
    Urgent {
        /// Bytes of later [`Data`](Self::Data) in front of the urgent byte.
        ahead: u32,
    },
    /// The far host has sent FIN, and everything before it has been forwarded.
    PeerClosed,
    /// The far host has acknowledged everything, FIN included: a lingering `close` may return.
    AllAcknowledged,
    /// The server's half ended by RST while the client's half was only sending its remaining data.
    StateClosed,
    /// The connection failed.
    SocketError(Errno),
    /// The address that the socket has been given, or from which it connects.
    LocalAddress(SocketAddr),
    /// A datagram was not delivered: an entry of the error queue of a socket with IP_RECVERR.
    Undelivered {
        /// Its destination.
        to: SocketAddr,
        /// Its control messages: the error, and the host that reports it.
        ancillary: Ancillary,
        /// Its payload, as far as it is known.
        bytes: Vec<u8>,
    },
}

impl Update {
    pub(super) fn op(&self) -> u8 {
        match self {
            Self::NewConnection { .. } => 1,
            Self::SendFreed(_) => 2,
            Self::Data(_) => 3,
            Self::Datagram { .. } => 4,
            Self::Urgent { .. } => 5,
            Self::PeerClosed => 6,
            Self::AllAcknowledged => 7,
            Self::StateClosed => 8,
            Self::SocketError(_) => 9,
            Self::LocalAddress(_) => 10,
            Self::Undelivered { .. } => 11,
        }
    }

    pub(super) fn flags(&self) -> u8 {
        match self {
            Self::Datagram { ancillary, .. } | Self::Undelivered { ancillary, .. }
                if !ancillary.is_empty() =>
            {
                ANCILLARY
            }
            _ => 0,
        }
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::NewConnection { local, peer } => {
                put_address(local, out);
                put_address(peer, out);
            }
            Self::SendFreed(count) | Self::Urgent { ahead: count } => out.extend(count.to_be_bytes()),
            Self::Data(bytes) => out.extend(bytes),
            Self::Datagram { from: address, ancillary, bytes }
            | Self::Undelivered { to: address, ancillary, bytes } => {
                put_address(address, out);
                if !ancillary.is_empty() {
                    ancillary.write(out);
                }
                out.extend(bytes);
            }
            Self::PeerClosed | Self::AllAcknowledged | Self::StateClosed => {}
            Self::SocketError(error) => out.push(error.code()),
            Self::LocalAddress(address) => put_address(address, out),
        }
    }

    pub(super) fn read(op: u8, flags: &mut u8, reader: &mut Reader) -> Result<Self, DecodeError> {
        Ok(match op {
            1 => Self::NewConnection { local: reader.address("local")?, peer: reader.address("peer")? },
            2 => Self::SendFreed(reader.u32("freed")?),
            3 => Self::Data(reader.payload("data")?),
            4 | 11 => {
                let address = reader.address(if op == 4 { "source" } else { "destination" })?;
                let has_ancillary = *flags & ANCILLARY != 0;
                *flags &= !ANCILLARY;
                let ancillary = if has_ancillary { Ancillary::take(reader)? } else { Ancillary::none() };
                let bytes = reader.remainder();
                match op {
                    4 => Self::Datagram { from: address, ancillary, bytes },
                    _ => Self::Undelivered { to: address, ancillary, bytes },
                }
            }
            5 => Self::Urgent { ahead: reader.u32("ahead")? },
            6 => Self::PeerClosed,
            7 => Self::AllAcknowledged,
            8 => Self::StateClosed,
            9 => Self::SocketError(read_errno(reader)?),
            10 => Self::LocalAddress(reader.address("local")?),
            _ => return Err(DecodeError::value("update", op)),
        })
    }
}
