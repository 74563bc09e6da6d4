//! Contents of a REQUEST and of its RESPONSE.

use super::field::{Reader, put_address, put_text};
use super::{DecodeError, Family};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// A call of a program on a socket that the server may have to execute while the program waits.
///
/// The same value goes from the interposer of the program's calls to the agent, from there to the
/// client's half of the socket, and in a REQUEST to the server and its stack.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Operation {
    /// `bind` (6.2.3), because only the server knows which addresses are free.
    Bind(SocketAddr),
    /// `connect` (6.2.3, version 2), of a stream or a datagram socket.
    Connect(SocketAddr),
    /// `connect` to `AF_UNSPEC`: removes the destination of a datagram socket.
    Disconnect,
    /// `listen`. It is a REQUEST if it can fail: on a socket without an address, or with one that
    /// others may share (A8).
    Listen {
        /// Number of connections that may wait. A negative one of the program's is a large one.
        backlog: u32,
    },
    /// `setsockopt`, with the layouts of Linux.
    SetOption {
        /// As in `setsockopt`, Linux's number.
        level: i32,
        /// As in `setsockopt`, Linux's number.
        name: i32,
        /// The value, as in `setsockopt`.
        value: Vec<u8>,
    },
    /// `getsockopt`, with the layouts of Linux.
    GetOption {
        /// As in `getsockopt`, Linux's number.
        level: i32,
        /// As in `getsockopt`, Linux's number.
        name: i32,
        /// Size of the program's buffer in bytes.
        length: u32,
    },
    /// `ioctl`.
    Ioctl {
        /// As in `ioctl`, Linux's number.
        command: u32,
        /// The bytes that the program passed.
        argument: Vec<u8>,
    },
}

/// A look-up of hosts and services (6.2.6), which belongs to no socket.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Query {
    /// Addresses of a host, as `getaddrinfo` finds them.
    Host {
        /// Name or number, at most 255 bytes; empty for none.
        host: String,
        /// Name or number of a port, at most 255 bytes; empty for none.
        service: String,
        /// Only addresses of this family.
        family: Option<Family>,
    },
    /// The name of an address, as `getnameinfo` finds it.
    Address(SocketAddr),
}

/// Result of a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Reply {
    /// Success without a value.
    Done,
    /// The address that the socket has now.
    Local(SocketAddr),
    /// Both addresses of a connection (5.4, A34).
    Connected {
        /// The server's address.
        local: SocketAddr,
        /// The far host's address.
        peer: SocketAddr,
    },
    /// The value of an option, also after setting it (Linux doubles some); or the result of an
    /// `ioctl`.
    Value(Vec<u8>),
    /// Addresses of a host.
    Hosts(Vec<SocketAddr>),
    /// The name of an address.
    Name {
        /// Name of the host, at most 255 bytes.
        host: String,
        /// Name of the service, at most 255 bytes.
        service: String,
    },
    /// The look-up found nothing.
    Unresolved(Unresolved),
}

/// Why a look-up found nothing, in the terms of `getaddrinfo`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unresolved {
    /// `EAI_NONAME`.
    NoName,
    /// `EAI_AGAIN`.
    Again,
    /// `EAI_FAIL`.
    Fail,
    /// `EAI_SERVICE`.
    NoService,
}

const UNRESOLVED: [Unresolved; 4] =
    [Unresolved::NoName, Unresolved::Again, Unresolved::Fail, Unresolved::NoService];

impl Operation {
    pub(super) fn op(&self) -> u8 {
        match self {
            Self::Bind(_) => 1,
            Self::Connect(_) => 2,
            Self::Disconnect => 3,
            Self::Listen { .. } => 4,
            Self::SetOption { .. } => 5,
            Self::GetOption { .. } => 6,
            Self::Ioctl { .. } => 7,
        }
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Bind(address) | Self::Connect(address) => put_address(address, out),
            Self::Disconnect => {}
            Self::Listen { backlog } => out.extend(backlog.to_be_bytes()),
            Self::SetOption { level, name, value } => put_option(*level, *name, value, out),
            Self::GetOption { level, name, length } => put_option(*level, *name, &length.to_be_bytes(), out),
            Self::Ioctl { command, argument } => {
                out.extend(command.to_be_bytes());
                out.extend(argument);
            }
        }
    }

    pub(super) fn read(op: u8, reader: &mut Reader) -> Result<Self, DecodeError> {
        Ok(match op {
            1 => Self::Bind(reader.address("address")?),
            2 => Self::Connect(reader.address("peer")?),
            3 => Self::Disconnect,
            4 => Self::Listen { backlog: reader.u32("backlog")? },
            5 => {
                let (level, name) = (reader.i32("level")?, reader.i32("name")?);
                Self::SetOption { level, name, value: reader.remainder() }
            }
            6 => Self::GetOption {
                level: reader.i32("level")?,
                name: reader.i32("name")?,
                length: reader.u32("length")?,
            },
            7 => Self::Ioctl { command: reader.u32("command")?, argument: reader.remainder() },
            _ => return Err(DecodeError::value("request", op)),
        })
    }
}

impl Query {
    /// The code of RESOLVE, among those of operations.
    pub(super) const OP: u8 = 8;

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Host { host, service, family } => {
                out.push(match family {
                    None => 0,
                    Some(Family::V4) => 4,
                    Some(Family::V6) => 6,
                });
                put_text(host, out);
                put_text(service, out);
            }
            Self::Address(address) => {
                out.push(1);
                put_address(address, out);
            }
        }
    }

    pub(super) fn read(reader: &mut Reader) -> Result<Self, DecodeError> {
        Ok(match reader.u8("query")? {
            1 => Self::Address(reader.address("address")?),
            family @ (0 | 4 | 6) => Self::Host {
                host: reader.text("host")?,
                service: reader.text("service")?,
                family: [Family::V4, Family::V6].get(usize::from(family / 2).wrapping_sub(2)).copied(),
            },
            value => return Err(DecodeError::value("query", value)),
        })
    }
}

/// Writes level, name and value of SETOPT in REQUEST and CALL.
pub(super) fn put_option(level: i32, name: i32, value: &[u8], out: &mut Vec<u8>) {
    out.extend(level.to_be_bytes());
    out.extend(name.to_be_bytes());
    out.extend(value);
}

impl Reply {
    pub(super) fn op(&self) -> u8 {
        match self {
            Self::Done => 1,
            Self::Local(_) => 2,
            Self::Connected { .. } => 3,
            Self::Value(_) => 4,
            Self::Hosts(_) => 5,
            Self::Name { .. } => 6,
            Self::Unresolved(_) => 7,
        }
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Done => {}
            Self::Local(address) => put_address(address, out),
            Self::Connected { local, peer } => {
                put_address(local, out);
                put_address(peer, out);
            }
            Self::Value(value) => out.extend(value),
            Self::Hosts(hosts) => hosts.iter().for_each(|host| put_address(host, out)),
            Self::Name { host, service } => {
                put_text(host, out);
                put_text(service, out);
            }
            Self::Unresolved(why) => out.push(*why as u8),
        }
    }

    pub(super) fn read(op: u8, reader: &mut Reader) -> Result<Self, DecodeError> {
        Ok(match op {
            1 => Self::Done,
            2 => Self::Local(reader.address("local")?),
            3 => Self::Connected { local: reader.address("local")?, peer: reader.address("peer")? },
            4 => Self::Value(reader.remainder()),
            5 => {
                let mut hosts = Vec::new();
                while !reader.is_empty() {
                    hosts.push(reader.address("host")?);
                }
                Self::Hosts(hosts)
            }
            6 => Self::Name { host: reader.text("host")?, service: reader.text("service")? },
            7 => {
                let why = reader.u8("unresolved")?;
                let known = UNRESOLVED.get(usize::from(why));
                Self::Unresolved(*known.ok_or(DecodeError::value("unresolved", why))?)
            }
            _ => return Err(DecodeError::value("response", op)),
        })
    }
}
