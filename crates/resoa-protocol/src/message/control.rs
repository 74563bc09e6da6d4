//! Contents of a CONTROL: messages about client and server themselves (Table 6.1).
//!
//! Requests and answers have the same code. Answers have the REPLY flag; without it, two watchdogs
//! would answer each other for ever (A3).

use super::DecodeError;
use super::codec::REPLY;
use super::field::{Reader, put_ip};
use crate::Xid;
use std::net::IpAddr;
use std::time::Duration;

/// A message about client and server themselves.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Control {
    /// REGISTRATION_REQ: the first message of a client.
    Register {
        /// Its version of the protocol.
        version: u8,
        /// The kind of address that it wants.
        mode: AddressMode,
        /// Bytes of each socket that the client buffers before a program has read them (A27).
        receive_space: u32,
        /// Resume the sockets of a lost connection instead of losing them.
        resume: bool,
    },
    /// REGISTRATION_RES: the client may register, or may not.
    Registered(Result<Accepted, Refusal>),
    /// DEREGISTRATION_REQ.
    Deregister {
        /// Only if no socket is open any more. Otherwise all sockets are reset.
        graceful: bool,
    },
    /// DEREGISTRATION_RES
    Deregistered {
        /// Whether it is done; if not, sockets are still open.
        done: bool,
    },
    /// STILL_ALIVE.
    StillAlive {
        /// Whether this is an answer.
        reply: bool,
    },
    /// REQ_PENDING: is the server still busy with this request?
    RequestPending(Xid),
    /// REQ_PENDING_RES.
    Pending {
        /// Number of the request.
        xid: Xid,
        /// Whether the server is still busy with it.
        pending: bool,
    },
    /// ERROR: a message for this socket cannot be processed.
    Error(Fault),
}

/// What the server grants a client.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Accepted {
    /// Source address of its connections.
    pub address: IpAddr,
    /// Sockets that it may have open at the same time.
    pub sockets: u32,
    /// Bytes of each socket that the server takes before the far host has acknowledged them (A27).
    pub send_space: u32,
}

/// Why a client may not register.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// The server speaks this version.
    Version(u8),
    /// The server offers these address modes (A33).
    Mode(Modes),
    /// There is no room for another client. Another server may have room, at an address that the
    /// Last Hop Protocol understands (A25).
    Resources {
        /// Address of the other server, opaque; empty for none.
        alternative: Vec<u8>,
    },
    /// The client is still registered, so it has lost its sockets. They are being freed, and the
    /// client may try again after this time (E6, A24).
    StillRegistered {
        /// Time to wait, in whole milliseconds.
        retry_after: Duration,
    },
    /// Sockets cannot be resumed. Register without that request.
    NoResumption,
}

/// Source address of a client's connections (5.3.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AddressMode {
    /// n-1: the server's address, shared with other clients.
    Shared,
    /// 1-1: an address of its own, from the server's pool.
    Own,
    /// 1-1: the address that the client already has (5.3.6).
    Brought(IpAddr),
    /// n-m: whatever the server prefers.
    Any,
}

/// A set of address modes, as bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Modes {
    /// n-1.
    pub shared: bool,
    /// 1-1 from a pool.
    pub own: bool,
    /// 1-1 with the client's address.
    pub brought: bool,
}

/// What is wrong with a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The socket does not exist here (6.5.1).
    InvalidRsockId,
    /// The socket could not be created (6.5.2).
    NoBuffers,
    /// The socket's state does not allow it (6.1.2).
    NotAllowed,
}

impl Control {
    pub(super) fn code(&self) -> u8 {
        match self {
            Self::Register { .. } | Self::Registered(_) => 1,
            Self::Deregister { .. } | Self::Deregistered { .. } => 2,
            Self::StillAlive { .. } => 3,
            Self::RequestPending(_) | Self::Pending { .. } => 5,
            Self::Error(_) => 8,
        }
    }

    pub(super) fn flags(&self) -> u8 {
        let is_reply = match self {
            Self::Registered(_) | Self::Deregistered { .. } | Self::Pending { .. } => true,
            Self::StillAlive { reply } => *reply,
            _ => false,
        };
        if is_reply { REPLY } else { 0 }
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Register { version, mode, receive_space, resume } => {
                out.push(*version);
                out.extend(receive_space.to_be_bytes());
                out.push((*resume).into());
                match mode {
                    AddressMode::Shared => out.push(0),
                    AddressMode::Own => out.push(1),
                    AddressMode::Any => out.push(2),
                    AddressMode::Brought(ip) => put_ip(*ip, out),
                }
            }
            Self::Registered(Ok(accepted)) => {
                out.push(0);
                put_ip(accepted.address, out);
                out.extend(accepted.sockets.to_be_bytes());
                out.extend(accepted.send_space.to_be_bytes());
            }
            Self::Registered(Err(refusal)) => refusal.write(out),
            Self::Deregister { graceful: yes } | Self::Deregistered { done: yes } => out.push((*yes).into()),
            Self::StillAlive { .. } => {}
            Self::RequestPending(xid) => out.extend(xid.0.to_be_bytes()),
            Self::Pending { xid, pending } => {
                out.extend(xid.0.to_be_bytes());
                out.push((*pending).into());
            }
            Self::Error(fault) => out.push(*fault as u8),
        }
    }

    pub(super) fn read(code: u8, flags: &mut u8, reader: &mut Reader) -> Result<Self, DecodeError> {
        let reply = *flags & REPLY != 0;
        *flags &= !REPLY;
        Ok(match (code, reply) {
            (1, false) => Self::Register {
                version: reader.u8("version")?,
                receive_space: reader.u32("receive space")?,
                resume: reader.bool("resume")?,
                mode: match reader.peek("mode")? {
                    4 | 6 => AddressMode::Brought(reader.ip("mode")?),
                    mode => match (reader.u8("mode")?, mode) {
                        (_, 0) => AddressMode::Shared,
                        (_, 1) => AddressMode::Own,
                        (_, 2) => AddressMode::Any,
                        _ => return Err(DecodeError::value("mode", mode)),
                    },
                },
            },
            (1, true) => Self::Registered(match reader.u8("refusal")? {
                0 => Ok(Accepted {
                    address: reader.ip("address")?,
                    sockets: reader.u32("sockets")?,
                    send_space: reader.u32("send space")?,
                }),
                code => Err(Refusal::read(code, reader)?),
            }),
            (2, false) => Self::Deregister { graceful: reader.bool("graceful")? },
            (2, true) => Self::Deregistered { done: reader.bool("done")? },
            (3, reply) => Self::StillAlive { reply },
            (5, false) => Self::RequestPending(Xid(reader.u32("xid")?)),
            (5, true) => Self::Pending { xid: Xid(reader.u32("xid")?), pending: reader.bool("pending")? },
            (8, false) => Self::Error(match reader.u8("fault")? {
                0 => Fault::InvalidRsockId,
                1 => Fault::NoBuffers,
                2 => Fault::NotAllowed,
                value => return Err(DecodeError::value("fault", value)),
            }),
            _ => return Err(DecodeError::value("control", code)),
        })
    }
}

impl Refusal {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Version(version) => out.extend([1, *version]),
            Self::Mode(modes) => out.extend([2, modes.bits()]),
            Self::Resources { alternative } => {
                out.push(3);
                out.extend(alternative);
            }
            Self::StillRegistered { retry_after } => {
                out.push(4);
                let ms = u32::try_from(retry_after.as_millis()).unwrap_or(u32::MAX);
                out.extend(ms.to_be_bytes());
            }
            Self::NoResumption => out.push(5),
        }
    }

    fn read(code: u8, reader: &mut Reader) -> Result<Self, DecodeError> {
        Ok(match code {
            1 => Self::Version(reader.u8("version")?),
            2 => Self::Mode(Modes::from_bits(reader.u8("modes")?)?),
            3 => Self::Resources { alternative: reader.remainder() },
            4 => Self::StillRegistered {
                retry_after: Duration::from_millis(reader.u32("retry after")?.into()),
            },
            5 => Self::NoResumption,
            _ => return Err(DecodeError::value("refusal", code)),
        })
    }
}

impl Modes {
    fn bits(self) -> u8 {
        u8::from(self.shared) | u8::from(self.own) << 1 | u8::from(self.brought) << 2
    }

    fn from_bits(bits: u8) -> Result<Self, DecodeError> {
        if bits > 7 {
            return Err(DecodeError::value("modes", bits));
        }
        Ok(Self { shared: bits & 1 != 0, own: bits & 2 != 0, brought: bits & 4 != 0 })
    }
}
