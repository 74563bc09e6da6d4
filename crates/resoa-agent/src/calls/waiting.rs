//! The results that calls wait for, and the conversion to responses.

use resoa_calls::{Response, SocketId};
use resoa_protocol::{Errno, Value};
use rustix::fd::OwnedFd;
use std::net::SocketAddr;

/// The action when a call returns.
#[derive(Debug)]
pub(crate) enum Waiting {
    /// Answer with the result.
    Plain { socket: SocketId },
    /// `setsockopt`, with level, name and value: the option may have to be set again. With the
    /// program's descriptor if the option changes the format of its datagrams.
    Set { socket: SocketId, option: ((i32, i32), Vec<u8>), descriptor: Option<OwnedFd> },
    /// `bind`: closed descriptors may have had the address, so it is tried once more.
    Address { socket: SocketId, again: Option<Again> },
    /// `connect`, with the program's descriptor.
    Connect { socket: SocketId, address: Option<SocketAddr>, descriptor: Option<OwnedFd> },
    /// `listen`, with the program's descriptor.
    Listen { socket: SocketId, descriptor: Option<OwnedFd> },
    /// `accept`, with the program's flags for the new descriptor.
    Accept { socket: SocketId, flags: i32 },
    /// `shutdown`: the descriptor must reflect it before it returns.
    Shut { socket: SocketId },
    /// SIOCOUTQ: bytes in the pair also count.
    Outstanding { socket: SocketId },
    /// A look-up.
    Resolve,
    /// `close` of a socket that lingers.
    Closed,
}

/// A `bind` that is repeated if sockets were closed since it was made.
#[derive(Debug)]
pub(crate) struct Again {
    pub(crate) address: SocketAddr,
    /// [`Sockets::closes`](crate::sockets::Sockets::closes) at the time of the request to the
    /// server.
    pub(crate) closes: u64,
}

impl Waiting {
    /// Returns the socket of the call, if it belongs to a socket and can be interrupted.
    pub(crate) fn socket(&self) -> Option<SocketId> {
        match self {
            Self::Plain { socket }
            | Self::Set { socket, .. }
            | Self::Shut { socket }
            | Self::Address { socket, .. }
            | Self::Connect { socket, .. }
            | Self::Listen { socket, .. }
            | Self::Accept { socket, .. }
            | Self::Outstanding { socket } => Some(*socket),
            Self::Resolve | Self::Closed => None,
        }
    }
}

/// Converts the result of a call to the response for the program.
pub(crate) fn response(result: Result<Value, Errno>) -> Response {
    use resoa_protocol::message::Unresolved;
    match result {
        Err(error) => Response::Failed(error.linux()),
        Ok(Value::Address(address)) => Response::Address(address),
        Ok(Value::Option(value)) => Response::Value(value),
        Ok(Value::Hosts(hosts)) => Response::Hosts(hosts),
        Ok(Value::Name { host, service }) => Response::Name { host, service },
        Ok(Value::Unresolved(why)) => Response::Unresolved(match why {
            Unresolved::NoName => libc::EAI_NONAME,
            Unresolved::Again => libc::EAI_AGAIN,
            Unresolved::Fail => libc::EAI_FAIL,
            Unresolved::NoService => libc::EAI_SERVICE,
        }),
        Ok(Value::Count(_)) => Response::Sent,
        Ok(_) => Response::Done,
    }
}
