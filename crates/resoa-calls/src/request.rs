//! Requests to the agent, and its responses.

use crate::SocketId;
use resoa_protocol::message::{Operation, Query};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// A socket call. Numbers are those of Linux on this host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    /// `socket`; answered by [`Response::Descriptor`] with the descriptor.
    Socket {
        /// `AF_INET`, `AF_INET6`.
        family: i32,
        /// `SOCK_…`, with `SOCK_NONBLOCK` and `SOCK_CLOEXEC` if the program gave them.
        kind: i32,
        /// `IPPROTO_…`
        protocol: i32,
        /// Whether the interposer intercepts calls that read. Then an error of a datagram socket
        /// may come [among its datagrams](crate::datagram).
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
    /// `sendto` with MSG_FASTOPEN of a stream that waits: `connect` with the first data, at most
    /// [`FIRST`](resoa_protocol::FIRST) bytes; answered by [`Response::Sent`], or by
    /// [`Response::Done`] if another call has begun to connect. The program's descriptor comes
    /// along.
    Open {
        /// The socket.
        socket: SocketId,
        /// The far host.
        address: SocketAddr,
        /// The data.
        octets: Vec<u8>,
    },
    /// `accept`, after an octet was read from the listener; answered by [`Response::Accepted`] with
    /// a descriptor.
    Accept {
        /// The listener.
        socket: SocketId,
        /// `SOCK_NONBLOCK`, `SOCK_CLOEXEC`, as given to `accept4`.
        flags: i32,
    },
    /// `shutdown` of a listener or a datagram socket, and of the receiving direction of a stream.
    /// The sending direction of a stream is shut down on its descriptor. It is also requested if
    /// nothing can be written at the moment, because it ends a pending connect.
    Shutdown {
        /// The socket.
        socket: SocketId,
        /// `SHUT_…`
        how: i32,
    },
    /// `getsockname`; answered by [`Response::Address`].
    LocalName(SocketId),
    /// `getpeername`; answered by [`Response::Address`].
    PeerName(SocketId),
    /// The close of a descriptor of a socket with SO_LINGER, just after it. Answered when `close`
    /// may return: at once if another descriptor is left.
    Closed(SocketId),
    /// A look-up; answered by [`Response::Hosts`], [`Response::Name`] or [`Response::Unresolved`].
    Resolve(Query),
    /// The state of the agent; answered by [`Response::Status`].
    Status,
    /// A datagram that the descriptor cannot carry. On a connected socket it has another
    /// destination or control messages. Or it is a part of a datagram with more parts to come, or
    /// may be the last part because it has no destination.
    ///
    /// Data that the program has sent before is sent first. Fails as `sendto` does.
    SendTo {
        /// The socket.
        socket: SocketId,
        /// The destination; `None` is that of the socket, or of the previous part.
        address: Option<SocketAddr>,
        /// Control messages ([`Ancillary::octets`](resoa_protocol::message::Ancillary::octets)).
        ancillary: Vec<u8>,
        /// The payload.
        octets: Vec<u8>,
        /// MSG_MORE: more parts follow.
        more: bool,
    },
    /// `recvmsg` with MSG_ERRQUEUE of a datagram socket; answered by [`Response::Undelivered`], or
    /// EAGAIN.
    TakeUndelivered(SocketId),
    /// A user of a datagram socket intercepts calls that read, as if [`Socket`](Self::Socket) had
    /// said so.
    SeesData(SocketId),
}

impl Request {
    /// Creates the request of a call that waits for its result.
    #[must_use]
    pub fn operation(socket: SocketId, operation: Operation) -> Self {
        Self::Operation { socket, operation, nonblocking: false }
    }
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Response<Octets = Vec<u8>> {
    /// Failed with this error.
    Failed(i32),
    /// Succeeded without a value.
    Done,
    /// All data of the request was sent.
    Sent,
    /// The socket of the descriptor that comes with it.
    Descriptor(SocketId),
    /// A new connection, whose descriptor comes with it.
    Accepted {
        /// The socket of the connection.
        socket: SocketId,
        /// Address of the far host.
        peer: SocketAddr,
    },
    /// An address.
    Address(SocketAddr),
    /// Value of an option or an `ioctl`, truncated to the program's room.
    Value(Octets),
    /// Addresses of a host.
    Hosts(Vec<SocketAddr>),
    /// Names of an address.
    Name {
        /// Name of the host.
        host: String,
        /// Name of the port.
        service: String,
    },
    /// The look-up failed with this `EAI_…`.
    Unresolved(i32),
    /// The state of the agent.
    Status(Status),
    /// A datagram that was not delivered.
    Undelivered {
        /// Its destination.
        to: SocketAddr,
        /// Control messages ([`Ancillary::octets`](resoa_protocol::message::Ancillary::octets)).
        ancillary: Octets,
        /// As much of the payload as is known.
        octets: Octets,
    },
}

impl<Octets> Response<Octets> {
    /// Returns the address of this response.
    ///
    /// # Errors
    /// The call's own; ENETDOWN for any other response, as from an incompatible agent.
    pub fn address(self) -> Result<SocketAddr, i32> {
        match self {
            Self::Address(address) => Ok(address),
            other => Err(other.other()),
        }
    }

    /// Returns the value of this response.
    ///
    /// # Errors
    /// As [`Response::address`].
    pub fn value(self) -> Result<Octets, i32> {
        match self {
            Self::Value(octets) => Ok(octets),
            other => Err(other.other()),
        }
    }

    /// Returns the error of a call that expected another response.
    #[must_use]
    pub fn other(&self) -> i32 {
        match self {
            Self::Failed(error) => *error,
            _ => libc::ENETDOWN,
        }
    }
}

impl Response<&[u8]> {
    /// Copies the bytes into the response.
    #[must_use]
    pub fn owned(self) -> Response {
        match self {
            Self::Value(octets) => Response::Value(octets.to_vec()),
            Self::Failed(error) => Response::Failed(error),
            Self::Done => Response::Done,
            Self::Sent => Response::Sent,
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

/// State of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// State of the registration at its server.
    pub connected: Connected,
    /// Number of sockets that programs have created since it started.
    pub made: u64,
    /// Number of those that the server was told of, by `bind`, `connect`, `listen` or a datagram. A
    /// socket that a program has never used is not counted.
    pub carried: u64,
    /// Number of those that use the host's own stack, by a rule.
    pub local: u64,
    /// Number of connections that programs have accepted since it started.
    pub accepted: u64,
    /// Number of open sockets.
    pub open: u64,
    /// Bytes that programs have sent and received.
    pub octets: (u64, u64),
    /// Round-trip time of the last hop in microseconds, if it is known.
    pub round_trip_us: Option<u64>,
}

/// State of an agent's registration at its server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Connected {
    /// Not yet, or no longer; with the last known reason.
    No(String),
    /// Registered.
    Yes {
        /// Source address of its programs' connections, as the far hosts see it.
        address: std::net::IpAddr,
        /// Maximum number of sockets at a time.
        sockets: u32,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decoding returns what was encoded.
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
            Request::Open { socket, address: ([192, 0, 2, 1], 80).into(), octets: vec![1, 2] },
            Request::operation(socket, Operation::SetOption { level: 1, name: 7, value: vec![0; 4] }),
            Request::Resolve(Query::Host { host: "a".into(), service: String::new(), family: None }),
        ];
        for request in requests {
            let octets = postcard::to_stdvec(&request).expect("fits");
            assert_eq!(postcard::from_bytes::<Request>(&octets).expect("a request"), request);
        }
    }
}
