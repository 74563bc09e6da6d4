//! Contents of a CALL: calls without a result, and state changes of the client's half.

use super::DecodeError;
use super::ancillary::Ancillary;
use super::codec::{ABORT, ANCILLARY, LINGER, SCARCE, URGENT};
use super::field::{Reader, put_address};
use super::operation::put_option;
use crate::{Incarnation, RsockId};
use std::net::SocketAddr;

/// A call that does not wait for the server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Call {
    /// `listen` on a socket that has an address.
    Listen {
        /// Number of connections that may wait.
        backlog: u32,
    },
    /// `accept` gave the program a connection of this listener (6.2.3, version 4). The connection
    /// gets a number, and its place in the backlog is free.
    Accepted {
        /// Its number at the listener.
        incarnation: Incarnation,
        /// Its number from now on.
        socket: RsockId,
    },
    /// Data that the program wrote, merged as the client likes; at least one byte.
    Write {
        /// The data.
        bytes: Vec<u8>,
        /// The last byte is urgent (`MSG_OOB`, A20).
        urgent: bool,
        /// The program has little room left. Room that becomes free must be reported at once,
        /// however little it is.
        scarce: bool,
    },
    /// A datagram, which may be empty.
    Datagram {
        /// Destination, unless it is the address that the socket is connected to.
        to: Option<SocketAddr>,
        /// Its control messages.
        ancillary: Ancillary,
        /// Its payload.
        bytes: Vec<u8>,
    },
    /// Only the report of bytes read (RCV_CONSUMED), which any call can carry.
    Consumed,
    /// `setsockopt` whose result nobody waits for, for example of `SO_KEEPALIVE` (6.2.2).
    SetOption {
        /// As in `setsockopt`, Linux's number.
        level: i32,
        /// As in `setsockopt`, Linux's number.
        name: i32,
        /// As in `setsockopt`.
        value: Vec<u8>,
    },
    /// `close`.
    Close {
        /// Whether data is still to be written.
        state: CloseState,
        /// By RST: data that had arrived was not read, or SO_LINGER is 0.
        abort: bool,
        /// The program waits for [`AllAcknowledged`](super::Update::AllAcknowledged).
        linger: bool,
    },
    /// `shutdown`.
    Shutdown {
        /// The half to shut down.
        half: Half,
        /// Whether data is still to be written before it takes effect.
        state: CloseState,
    },
    /// The linger time is over, and the data that was not delivered must be discarded (the thesis;
    /// Linux still delivers it, A5).
    LingerExpired,
    /// The client has the far host's FIN and everything before it, so the FIN may be acknowledged
    /// (6.2.3).
    FinDelivered,
    /// `getsockname` during `connect`. [`LocalAddress`](super::Update::LocalAddress) answers it,
    /// unless the response to CONNECT does.
    LocalAddress,
}

/// State of the client's half in CLOSE and SHUTDOWN (6.2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CloseState {
    /// All data has been sent.
    Close,
    /// More data follows, and then this call again.
    DataPending,
}

/// A half of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Half {
    /// `SHUT_RD`; the server is told of it only for a listener, and for a connection whose writing
    /// half is shut down.
    Read,
    /// `SHUT_WR`.
    Write,
    /// `SHUT_RDWR`.
    Both,
}

impl Half {
    /// Returns whether the reading half is shut down.
    #[must_use]
    pub fn reads(self) -> bool {
        self != Self::Write
    }

    /// Returns whether the writing half is shut down.
    #[must_use]
    pub fn writes(self) -> bool {
        self != Self::Read
    }
}

impl Call {
    pub(super) fn op(&self) -> u8 {
        match self {
            Self::Listen { .. } => 1,
            Self::Accepted { .. } => 2,
            Self::Write { .. } => 3,
            Self::Datagram { .. } => 4,
            Self::Consumed => 5,
            Self::SetOption { .. } => 6,
            Self::Close { .. } => 7,
            Self::Shutdown { .. } => 8,
            Self::LingerExpired => 9,
            Self::FinDelivered => 10,
            Self::LocalAddress => 11,
        }
    }

    pub(super) fn flags(&self) -> u8 {
        let flag = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
        match self {
            Self::Write { urgent, scarce, .. } => flag(*urgent, URGENT) | flag(*scarce, SCARCE),
            Self::Datagram { ancillary, .. } => flag(!ancillary.is_empty(), ANCILLARY),
            Self::Close { abort, linger, .. } => flag(*abort, ABORT) | flag(*linger, LINGER),
            _ => 0,
        }
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Listen { backlog } => out.extend(backlog.to_be_bytes()),
            Self::Accepted { incarnation, socket } => {
                out.extend(incarnation.0.to_be_bytes());
                out.extend(socket.0.to_be_bytes());
            }
            Self::Write { bytes, .. } => out.extend(bytes),
            Self::Datagram { to, ancillary, bytes } => {
                match to {
                    None => out.push(0),
                    Some(to) => put_address(to, out),
                }
                if !ancillary.is_empty() {
                    ancillary.write(out);
                }
                out.extend(bytes);
            }
            Self::SetOption { level, name, value } => put_option(*level, *name, value, out),
            Self::Close { state, .. } => out.push(state.code()),
            Self::Shutdown { half, state } => out.extend([*half as u8, state.code()]),
            Self::Consumed | Self::LingerExpired | Self::FinDelivered | Self::LocalAddress => {}
        }
    }

    pub(super) fn read(op: u8, flags: &mut u8, reader: &mut Reader) -> Result<Self, DecodeError> {
        let mut flag = |bit: u8| {
            let is_set = *flags & bit != 0;
            *flags &= !bit;
            is_set
        };
        Ok(match op {
            1 => Self::Listen { backlog: reader.u32("backlog")? },
            2 => Self::Accepted {
                incarnation: Incarnation(reader.u32("incarnation")?),
                socket: RsockId(reader.u32("new rsockID")?),
            },
            3 => Self::Write { urgent: flag(URGENT), scarce: flag(SCARCE), bytes: reader.payload("data")? },
            4 => {
                // A destination begins with its family.
                let to = match reader.peek("destination")? {
                    0 => reader.u8("destination").map(|_| None)?,
                    _ => Some(reader.address("destination")?),
                };
                let ancillary = if flag(ANCILLARY) { Ancillary::take(reader)? } else { Ancillary::none() };
                Self::Datagram { to, ancillary, bytes: reader.remainder() }
            }
            5 => Self::Consumed,
            6 => {
                let (level, name) = (reader.i32("level")?, reader.i32("name")?);
                Self::SetOption { level, name, value: reader.remainder() }
            }
            7 => Self::Close { state: CloseState::read(reader)?, abort: flag(ABORT), linger: flag(LINGER) },
            8 => {
                let half = match reader.u8("half")? {
                    0 => Half::Read,
                    1 => Half::Write,
                    2 => Half::Both,
                    value => return Err(DecodeError::value("half", value)),
                };
                Self::Shutdown { half, state: CloseState::read(reader)? }
            }
            9 => Self::LingerExpired,
            10 => Self::FinDelivered,
            11 => Self::LocalAddress,
            _ => return Err(DecodeError::value("call", op)),
        })
    }
}

impl CloseState {
    fn code(self) -> u8 {
        self as u8
    }

    fn read(reader: &mut Reader) -> Result<Self, DecodeError> {
        Ok(if reader.bool("state")? { Self::DataPending } else { Self::Close })
    }
}
