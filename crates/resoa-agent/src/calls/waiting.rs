//! What calls wait for, and what they are answered.

use resoa_calls::{Response, SocketId};
use resoa_protocol::{Errno, Value};
use rustix::fd::OwnedFd;
use std::net::SocketAddr;

/// What a call does when it returns.
#[derive(Debug)]
pub(crate) enum Waiting {
    /// It answers what it brought.
    Plain { socket: SocketId },
    /// `setsockopt`, with level, name and value: what was set may have to be set again. With the
    /// program's descriptor if its datagrams are another matter then.
    Set { socket: SocketId, option: ((i32, i32), Vec<u8>), descriptor: Option<OwnedFd> },
    /// `bind`: descriptors that are gone may have had the address, so that it is tried once more.
    Address { socket: SocketId, again: Option<Again> },
    /// `connect`, with the program's descriptor.
    Connect { socket: SocketId, address: Option<SocketAddr>, descriptor: Option<OwnedFd> },
    /// `listen`, with the program's descriptor.
    Listen { socket: SocketId, descriptor: Option<OwnedFd> },
    /// `accept`, with what the program says of the new descriptor.
    Accept { socket: SocketId, flags: i32 },
    /// `shutdown`: the descriptor has to be so before it returns.
    Shut { socket: SocketId },
    /// SIOCOUTQ: what is in the pair counts, too.
    Outstanding { socket: SocketId },
    /// A look-up.
    Resolve,
    /// `close` of a socket that lingers.
    Closed,
}

/// A `bind` that is made once more if sockets were closed since it was made.
#[derive(Debug)]
pub(crate) struct Again {
    pub(crate) address: SocketAddr,
    /// [`Sockets::closes`](crate::sockets::Sockets::closes) when the server was asked.
    pub(crate) closes: u64,
}

impl Waiting {
    /// The socket of the call, if it is one of a socket that can be interrupted.
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

/// What a call's value is to a program.
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
        Ok(_) => Response::Done,
    }
}
