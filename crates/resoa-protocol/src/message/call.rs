//! What a CALL says: calls without a result, and what the client's half became.

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
        /// Connections that may wait.
        backlog: u32,
    },
    /// `accept` gave the program a connection of this listener (6.2.3, version 4): it has a number
    /// now, and one place is free.
    Accepted {
        /// Which of the listener's.
        incarnation: Incarnation,
        /// Its number from now on.
        socket: RsockId,
    },
    /// What the program wrote, merged as the client likes; at least one octet.
    Write {
        /// The octets.
        bytes: Vec<u8>,
        /// The last of them is urgent (`MSG_OOB`, A20).
        urgent: bool,
        /// Little room is left to the program: what becomes free is to be told at once, however
        /// little it is.
        scarce: bool,
    },
    /// A datagram; 0 octets are one, too.
    Datagram {
        /// Where to, if not where the socket is connected to.
        to: Option<SocketAddr>,
        /// What `sendmsg` says beside it.
        ancillary: Ancillary,
        /// Its payload.
        bytes: Vec<u8>,
    },
    /// Nothing but what the program has read (RCV_CONSUMED), which any call can carry.
    Consumed,
    /// `setsockopt` of `SO_KEEPALIVE` (6.2.2).
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
        /// Whether there is still something to be written.
        state: CloseState,
        /// By RST: what had arrived was not read, or SO_LINGER is 0.
        abort: bool,
        /// The program waits for [`AllAcknowledged`](super::Update::AllAcknowledged).
        linger: bool,
    },
    /// `shutdown`.
    Shutdown {
        /// Of what.
        half: Half,
        /// More is still to be written before it takes effect.
        state: CloseState,
    },
    /// The linger time is over, and what was not delivered is to be thrown away (the thesis; Linux
    /// delivers on, A5).
    LingerExpired,
    /// The far host's FIN and all before it are at the client: it may be acknowledged (6.2.3).
    FinDelivered,
    /// `getsockname` while it connects: [`LocalAddress`](super::Update::LocalAddress) says it,
    /// unless the answer to CONNECT does.
    LocalAddress,
}

/// State of the client's half as CLOSE and SHUTDOWN tell it (6.2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CloseState {
    /// Everything has been sent.
    Close,
    /// More to be written follows, and then this call again.
    DataPending,
}

/// Which half of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Half {
    /// `SHUT_RD`; the server is told of it of a listener, and of a connection whose writing half is
    /// shut.
    Read,
    /// `SHUT_WR`
    Write,
    /// `SHUT_RDWR`
    Both,
}

impl Half {
    /// Whether nothing is to be read any more.
    #[must_use]
    pub fn reads(self) -> bool {
        self != Self::Write
    }

    /// Whether nothing is to be written any more.
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
