//! What is asked of the agent, and its answers.
//!
//! Calls that a server may have to execute are [`Operation`]s from here to the server's stack. The
//! other requests end at the agent or at the client's half of a socket, so the Export Protocol has
//! no operation for them.

use crate::SocketId;
use resoa_protocol::message::{Operation, Query};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// A socket call. Numbers are Linux's, those of this host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    /// `socket`; answered by [`Response::Descriptor`] with it.
    Socket {
        /// `AF_INET`, `AF_INET6`.
        family: i32,
        /// `SOCK_…`, with `SOCK_NONBLOCK` and `SOCK_CLOEXEC` if the program said them.
        kind: i32,
        /// `IPPROTO_…`
        protocol: i32,
        /// Who asks sees what calls that read return: an error of a datagram socket may come [among
        /// its datagrams](crate::datagram).
        sees_data: bool,
    },
    /// A call that the server may have to execute. `getsockopt` is answered by
    /// [`Response::Value`], and so is an `ioctl` that returns one.
    ///
    /// The program's descriptor comes along with `connect` and `listen`, and with `setsockopt` of a
    /// datagram socket if the option [tells](crate::option::is_telling).
    Operation {
        /// The socket.
        socket: SocketId,
        /// The call.
        operation: Operation,
        /// `connect` does not wait for the connection: its answer is EINPROGRESS.
        nonblocking: bool,
    },
    /// `accept`, after an octet was read from the listener; answered by [`Response::Accepted`] with
    /// a descriptor.
    Accept {
        /// The listener.
        socket: SocketId,
        /// `SOCK_NONBLOCK`, `SOCK_CLOEXEC`, as of `accept4`.
        flags: i32,
    },
    /// `shutdown` of a listener or a datagram socket, and of the reading half of a stream. The
    /// writing half of a stream is shut on its descriptor; asked for as well if nothing can be
    /// written there at the moment, since an attempt to connect ends by it.
    Shutdown {
        /// Which socket.
        socket: SocketId,
        /// `SHUT_…`
        how: i32,
    },
    /// `getsockname`; answered by [`Response::Address`].
    LocalName(SocketId),
    /// `getpeername`; answered by [`Response::Address`].
    PeerName(SocketId),
    /// A descriptor of a socket with SO_LINGER was closed just now: answered when `close` may
    /// return, at once if another descriptor is left.
    Closed(SocketId),
    /// A look-up; answered by [`Response::Hosts`], [`Response::Name`] or [`Response::Unresolved`].
    Resolve(Query),
    /// How the agent does; answered by [`Response::Status`].
    Status,
    /// A datagram that has no place on the descriptor: of a connected socket elsewhere than where
    /// it is connected to or with control messages, a part of one that has more behind it, or what
    /// may be the last part of one since it has no destination. What the program has sent before is
    /// before it. It fails as `sendto` does.
    SendTo {
        /// Which socket.
        socket: SocketId,
        /// Where to; `None` is where it is connected to, or the part before goes.
        address: Option<SocketAddr>,
        /// Control messages ([`Ancillary::octets`](resoa_protocol::message::Ancillary::octets)).
        ancillary: Vec<u8>,
        /// What.
        octets: Vec<u8>,
        /// MSG_MORE
        more: bool,
    },
    /// `recvmsg` with MSG_ERRQUEUE of a datagram socket; answered by [`Response::Undelivered`], or
    /// EAGAIN.
    TakeUndelivered(SocketId),
    /// Whoever uses a datagram socket sees what calls that read return, as if
    /// [`Socket`](Self::Socket) had said so.
    SeesData(SocketId),
}

impl Request {
    /// Creates the request of a call that waits for its result.
    #[must_use]
    pub fn operation(socket: SocketId, operation: Operation) -> Self {
        Self::Operation { socket, operation, nonblocking: false }
    }
}

/// What a call came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Response<Octets = Vec<u8>> {
    /// Failed, with this number.
    Failed(i32),
    /// 0.
    Done,
    /// The descriptor that comes with it is this socket's.
    Descriptor(SocketId),
    /// The descriptor that comes with it is of a new connection.
    Accepted {
        /// Its number.
        socket: SocketId,
        /// Who connected.
        peer: SocketAddr,
    },
    /// An address.
    Address(SocketAddr),
    /// Of an option or an `ioctl`, cut to the program's room.
    Value(Octets),
    /// Of a host.
    Hosts(Vec<SocketAddr>),
    /// Of an address.
    Name {
        /// Of the host.
        host: String,
        /// Of the port.
        service: String,
    },
    /// `EAI_…`
    Unresolved(i32),
    /// How the agent does.
    Status(Status),
    /// A datagram that was not delivered.
    Undelivered {
        /// Where it was to go.
        to: SocketAddr,
        /// Control messages ([`Ancillary::octets`](resoa_protocol::message::Ancillary::octets)).
        ancillary: Octets,
        /// As much of it as is known.
        octets: Octets,
    },
}

impl<Octets> Response<Octets> {
    /// The address that was asked for.
    ///
    /// # Errors
    /// The call's own; ENETDOWN for the answer of an agent that speaks otherwise.
    pub fn address(self) -> Result<SocketAddr, i32> {
        match self {
            Self::Address(address) => Ok(address),
            other => Err(other.other()),
        }
    }

    /// The value that was asked for.
    ///
    /// # Errors
    /// As [`Response::address`].
    pub fn value(self) -> Result<Octets, i32> {
        match self {
            Self::Value(octets) => Ok(octets),
            other => Err(other.other()),
        }
    }

    /// What a call fails with that this is no answer to.
    #[must_use]
    pub fn other(&self) -> i32 {
        match self {
            Self::Failed(error) => *error,
            _ => libc::ENETDOWN,
        }
    }
}

impl Response<&[u8]> {
    /// The same with octets of its own.
    #[must_use]
    pub fn owned(self) -> Response {
        match self {
            Self::Value(octets) => Response::Value(octets.to_vec()),
            Self::Failed(error) => Response::Failed(error),
            Self::Done => Response::Done,
            Self::Descriptor(socket) => Response::Descriptor(socket),
            Self::Accepted { socket, peer } => Response::Accepted { socket, peer },
            Self::Address(address) => Response::Address(address),
            Self::Hosts(hosts) => Response::Hosts(hosts),
            Self::Name { host, service } => Response::Name { host, service },
            Self::Unresolved(error) => Response::Unresolved(error),
            Self::Status(status) => Response::Status(status),
            Self::Undelivered { to, ancillary, octets } => {
                Response::Undelivered { to, ancillary: ancillary.to_vec(), octets: octets.to_vec() }
            }
        }
    }
}

/// How an agent does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// What it has with its server.
    pub connected: Connected,
    /// Sockets that programs have made since it started.
    pub made: u64,
    /// Of those, the ones that the server was told of: `bind`, `connect`, `listen`, a datagram. A
    /// socket that a program made and never used is not among them.
    pub carried: u64,
    /// The same that use the host's own stack, as a rule says.
    pub local: u64,
    /// Connections that programs have accepted since it started.
    pub accepted: u64,
    /// Sockets that are open.
    pub open: u64,
    /// Octets that programs have sent, and received.
    pub octets: (u64, u64),
    /// Round trip of the last hop in microseconds, if it is known.
    pub round_trip_us: Option<u64>,
}

/// What an agent has with its server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Connected {
    /// Not yet, or not any more; what was said last of why.
    No(String),
    /// Its sockets have this address; it may have so many.
    Yes {
        /// Where connections of its programs come from, as the far hosts see it.
        address: std::net::IpAddr,
        /// Sockets at a time.
        sockets: u32,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is written is read again, as it was.
    #[test]
    fn requests_are_read_as_written() {
        let socket = SocketId(7);
        let requests = [
            Request::Socket { family: 2, kind: 1, protocol: 0, sees_data: true },
            Request::Operation {
                socket,
                operation: Operation::Connect(([192, 0, 2, 1], 80).into()),
                nonblocking: true,
            },
            Request::operation(socket, Operation::SetOption { level: 1, name: 7, value: vec![0; 4] }),
            Request::Resolve(Query::Host { host: "a".into(), service: String::new(), family: None }),
        ];
        for request in requests {
            let octets = postcard::to_stdvec(&request).expect("fits");
            assert_eq!(postcard::from_bytes::<Request>(&octets).expect("a request"), request);
        }
    }
}
