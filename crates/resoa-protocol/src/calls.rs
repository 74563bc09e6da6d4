//! Socket calls as values: what a program asks for, what it gets, and what else happens to it.

use crate::message::{Ancillary, Half, Query, Unresolved};
use crate::{Errno, RsockId};
use std::net::SocketAddr;

/// A call that is under way, by a number of the driver's choosing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(pub u64);

/// What a program asks of a socket.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum SocketCall {
    /// `bind`
    Bind(SocketAddr),
    /// `listen`
    Listen {
        /// As the program said it; negative means as many as there may be.
        backlog: i32,
    },
    /// `accept`; the new socket is blocking whatever the listener is.
    Accept,
    /// `connect`
    Connect(SocketAddr),
    /// `connect` with `AF_UNSPEC`.
    Disconnect,
    /// `write`, `send`, `sendto`, `sendmsg`
    Send {
        /// What.
        bytes: Vec<u8>,
        /// Where to, of a datagram.
        to: Option<SocketAddr>,
        /// How.
        flags: SendFlags,
    },
    /// `read`, `recv`, `recvfrom`, `recvmsg`
    Receive {
        /// Room that the program has.
        length: usize,
        /// How.
        flags: ReceiveFlags,
    },
    /// `shutdown`
    Shutdown(Half),
    /// The last descriptor is gone.
    Close {
        /// Whether SO_LINGER may make it wait; not at the exit of a process.
        may_wait: bool,
    },
    /// `setsockopt`, Linux's numbers and layouts.
    SetOption {
        /// `SOL_…`
        level: i32,
        /// `SO_…`, `TCP_…`
        name: i32,
        /// What.
        value: Vec<u8>,
    },
    /// The same of an option that another socket in this one's place has taken: nobody waits for
    /// the server, and what it says is not told. So nothing that is asked behind it waits either.
    SetOptionAgain {
        /// `SOL_…`
        level: i32,
        /// `SO_…`, `TCP_…`
        name: i32,
        /// What.
        value: Vec<u8>,
    },
    /// `getsockopt`, Linux's numbers and layouts.
    GetOption {
        /// `SOL_…`
        level: i32,
        /// `SO_…`, `TCP_…`
        name: i32,
        /// Room that the program has.
        length: u32,
    },
    /// `ioctl`, Linux's numbers.
    Ioctl {
        /// Which.
        command: u32,
        /// What.
        argument: Vec<u8>,
    },
    /// `fcntl(F_SETFL)`: O_NONBLOCK.
    SetNonblocking(bool),
    /// `fcntl(F_SETFL)`: O_ASYNC.
    SetAsynchronous(bool),
    /// `getsockname`
    LocalName,
    /// `getpeername`
    PeerName,
}

/// `MSG_…` of the sending calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SendFlags {
    /// `MSG_DONTWAIT`
    pub dont_wait: bool,
    /// `MSG_OOB`
    pub urgent: bool,
    /// `MSG_NOSIGNAL`
    pub no_signal: bool,
}

/// `MSG_…` of the receiving calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the interface, independent of the others"
)]
pub struct ReceiveFlags {
    /// `MSG_DONTWAIT`
    pub dont_wait: bool,
    /// `MSG_PEEK`
    pub peek: bool,
    /// `MSG_WAITALL`
    pub wait_all: bool,
    /// `MSG_OOB`
    pub urgent: bool,
    /// `MSG_TRUNC` of a datagram: say how long it was.
    pub length: bool,
}

/// What a call that succeeded brings.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Value {
    /// 0.
    Done,
    /// So many octets.
    Count(usize),
    /// What was read, of a stream; nothing at its end.
    Bytes(Vec<u8>),
    /// What was read, of a datagram.
    Datagram {
        /// As much of it as there was room for.
        bytes: Vec<u8>,
        /// Where from.
        from: SocketAddr,
        /// How long it was.
        length: usize,
    },
    /// A new connection.
    Accepted {
        /// Its socket.
        socket: RsockId,
        /// Who connected.
        peer: SocketAddr,
    },
    /// An address.
    Address(SocketAddr),
    /// The value of an option, cut to the room for it; what an `ioctl` left.
    Option(Vec<u8>),
    /// Addresses of a host.
    Hosts(Vec<SocketAddr>),
    /// Name and service of an address.
    Name {
        /// Of the host.
        host: String,
        /// Of the port.
        service: String,
    },
    /// A look-up that found nothing.
    Unresolved(Unresolved),
}

/// What a program is told that it did not ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Signal {
    /// SIGPIPE, to the caller.
    Pipe,
    /// SIGURG: urgent data is on its way.
    Urgent,
    /// SIGIO, if it was asked for; why (4.1).
    Io(Cause),
}

/// Why a program gets SIGIO (4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cause {
    /// Connected, or somebody has connected.
    Connected,
    /// The far host has closed.
    PeerClosed,
    /// Disconnected at both sides.
    Disconnected,
    /// This side has shut down a half.
    HalfShut,
    /// Something can be read.
    Data,
    /// Something can be written.
    Space,
    /// The connection failed.
    Error,
}

/// What `poll` says of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the interface, independent of the others"
)]
pub struct Readiness {
    /// `POLLIN`
    pub input: bool,
    /// `POLLOUT`
    pub output: bool,
    /// `POLLPRI`
    pub urgent: bool,
    /// `POLLERR`
    pub error: bool,
    /// `POLLHUP`
    pub hung_up: bool,
    /// `POLLRDHUP`
    pub peer_hung_up: bool,
}

/// How a socket does, for a driver that moves its octets or datagrams by itself
/// ([`Client::take`](crate::Client::take), [`give`](crate::Client::give)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a state variable of its own, as in a kernel's socket"
)]
pub struct Stream {
    /// Where it stands.
    pub stage: Stage,
    /// A `connect` that did not wait has ended, or will, and no `connect` was told of it yet.
    pub untold: bool,
    /// Octets that can be taken, or datagrams.
    pub waiting: usize,
    /// Octets that can be given.
    pub room: usize,
    /// SO_SNDBUF, octets of data.
    pub send_buffer: usize,
    /// Nothing comes behind those that wait.
    pub receive_shut: bool,
    /// Nothing more may be sent.
    pub send_shut: bool,
    /// Connections of a listener that were not accepted.
    pub pending: usize,
    /// SO_LINGER, if it is on.
    pub linger: Option<std::time::Duration>,
    /// It has an address.
    pub named: bool,
    /// An error waits for the call that tells it.
    pub failed: bool,
    /// Of a datagram parts were sent, and more is to come.
    pub begun: bool,
    /// UDP_CORK: what is given is a part, and needs no room.
    pub is_corked: bool,
}

/// A datagram of a program's, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DatagramPart {
    /// Where to; `None` is where the socket is connected to.
    pub to: Option<SocketAddr>,
    /// What is said beside it.
    pub ancillary: Ancillary,
    /// What.
    pub bytes: Vec<u8>,
    /// MSG_MORE: what is sent next belongs to it.
    pub more: bool,
}

/// Where a stream stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Never connected, or a connection was refused.
    Unconnected,
    /// The server connects.
    Connecting,
    /// Waits for connections.
    Listening,
    /// Connected, whatever halves are shut.
    Connected,
    /// The connection is lost, or the server.
    Failed,
    /// The program has closed it.
    Closed,
}

/// What a driver of a client has to do.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Action {
    /// Hand this to the Last Hop Protocol.
    Send(crate::Message),
    /// A call is over.
    Return {
        /// Which.
        call: CallId,
        /// How it ended.
        result: Result<Value, Errno>,
    },
    /// Tell the program something.
    Signal {
        /// Of which socket.
        socket: RsockId,
        /// What.
        signal: Signal,
    },
    /// What `poll` says has become this.
    Ready {
        /// Of which socket.
        socket: RsockId,
        /// What it says.
        readiness: Readiness,
    },
    /// Connect the Last Hop Protocol.
    Connect,
    /// End its connection after everything is delivered.
    Close,
    /// End its connection at once.
    Reset,
    /// The client is registered, or could not be, or is not any more.
    Registration(crate::client::Registration),
}

/// A look-up of hosts and services, which is no socket's.
pub type LookUp = Query;
