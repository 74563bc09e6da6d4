//! Socket calls as values: requests of a program, results, signals and readiness.

use crate::message::{Ancillary, Half, Operation, Unresolved};
use crate::{Errno, RsockId};
use std::net::SocketAddr;

/// A call in progress, by a number that the driver chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(pub u64);

/// Most bytes of [`SocketCall::Open`]: less than the smallest SO_SNDBUF, so there is always room
/// for them.
pub const FIRST: usize = 1024;

/// A call of a program on a socket.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum SocketCall {
    /// A call that the server may have to execute.
    Operation(Operation),
    /// `sendto` of a stream with MSG_FASTOPEN: connects, and sends the first bytes together with
    /// the request to connect. The server holds them back until its TCP is connected (connect mode
    /// 2 of 10.2.2). Returns their number; [`Value::Done`] if the attempt had begun before, which
    /// has none of them.
    Open {
        /// The far host.
        peer: SocketAddr,
        /// The bytes, at most [`FIRST`].
        bytes: Vec<u8>,
    },
    /// `accept`; the new socket is blocking, whatever the listener is.
    Accept,
    /// `write`, `send`, `sendto`, `sendmsg`.
    Send {
        /// The bytes to send.
        bytes: Vec<u8>,
        /// Destination of a datagram.
        to: Option<SocketAddr>,
        /// Flags of the call.
        flags: SendFlags,
    },
    /// `read`, `recv`, `recvfrom`, `recvmsg`.
    Receive {
        /// Size of the program's buffer in bytes.
        length: usize,
        /// Flags of the call.
        flags: ReceiveFlags,
    },
    /// `shutdown`.
    Shutdown(Half),
    /// The last file descriptor of the socket is closed.
    Close {
        /// Whether SO_LINGER may make the call wait; not at the exit of a process.
        may_wait: bool,
    },
    /// `setsockopt`, repeated for an option that was already set on the socket that this one
    /// replaces. The call does not wait for the server and reports no error of it, so later calls
    /// do not wait either.
    SetOptionAgain {
        /// Level, `SOL_…`.
        level: i32,
        /// Name, `SO_…`, `TCP_…`.
        name: i32,
        /// The value.
        value: Vec<u8>,
    },
    /// `fcntl(F_SETFL)`: O_NONBLOCK.
    SetNonblocking(bool),
    /// `fcntl(F_SETFL)`: O_ASYNC.
    SetAsynchronous(bool),
    /// `getsockname`.
    LocalName,
    /// `getpeername`.
    PeerName,
}

impl From<Operation> for SocketCall {
    fn from(operation: Operation) -> Self {
        Self::Operation(operation)
    }
}

/// Flags `MSG_…` of the sending calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SendFlags {
    /// `MSG_DONTWAIT`.
    pub dont_wait: bool,
    /// `MSG_OOB`.
    pub urgent: bool,
    /// `MSG_NOSIGNAL`.
    pub no_signal: bool,
}

/// Flags `MSG_…` of the receiving calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the interface, independent of the others"
)]
pub struct ReceiveFlags {
    /// `MSG_DONTWAIT`.
    pub dont_wait: bool,
    /// `MSG_PEEK`.
    pub peek: bool,
    /// `MSG_WAITALL`.
    pub wait_all: bool,
    /// `MSG_OOB`.
    pub urgent: bool,
    /// `MSG_TRUNC` of a datagram: return its full length.
    pub length: bool,
}

/// Result of a call that succeeded.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Value {
    /// Success without a value: the call returns 0.
    Done,
    /// A number of bytes.
    Count(usize),
    /// Data read from a stream; empty at its end.
    Bytes(Vec<u8>),
    /// A datagram that was read.
    Datagram {
        /// Its payload, as far as the program's buffer had room.
        bytes: Vec<u8>,
        /// Its source.
        from: SocketAddr,
        /// Its full length in bytes.
        length: usize,
    },
    /// A new connection of a listener.
    Accepted {
        /// Its socket.
        socket: RsockId,
        /// Address of the far host.
        peer: SocketAddr,
    },
    /// An address.
    Address(SocketAddr),
    /// The value of an option, truncated to the program's buffer; or the result of an `ioctl`.
    Option(Vec<u8>),
    /// Addresses of a host.
    Hosts(Vec<SocketAddr>),
    /// Name and service of an address.
    Name {
        /// Name of the host.
        host: String,
        /// Name of the service.
        service: String,
    },
    /// The look-up found nothing.
    Unresolved(Unresolved),
}

/// A notification that a program did not ask for with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Signal {
    /// SIGPIPE, for the caller.
    Pipe,
    /// SIGURG: urgent data is on its way.
    Urgent,
    /// SIGIO, if it is enabled, with its cause (4.1).
    Io(Cause),
}

/// Cause of a SIGIO (4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cause {
    /// A connection was established, or has arrived at a listener.
    Connected,
    /// The far host has closed the connection.
    PeerClosed,
    /// The connection is closed in both directions.
    Disconnected,
    /// This side has shut down a half.
    HalfShut,
    /// There is data to read.
    Data,
    /// There is room to write.
    Space,
    /// The connection failed.
    Error,
}

/// What `poll` reports for a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the interface, independent of the others"
)]
pub struct Readiness {
    /// `POLLIN`.
    pub input: bool,
    /// `POLLOUT`.
    pub output: bool,
    /// `POLLPRI`.
    pub urgent: bool,
    /// `POLLERR`.
    pub error: bool,
    /// `POLLHUP`.
    pub hung_up: bool,
    /// `POLLRDHUP`.
    pub peer_hung_up: bool,
}

/// State of a socket, for a driver that moves its bytes or datagrams itself
/// ([`Client::take`](crate::Client::take), [`give`](crate::Client::give)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a state variable of its own, as in a kernel's socket"
)]
pub struct Stream {
    /// Stage of the connection.
    pub stage: Stage,
    /// A `connect` is in progress or has ended, and no `connect` has returned its result yet.
    pub untold: bool,
    /// Number of bytes, or of datagrams, that can be taken.
    pub waiting: usize,
    /// Number of bytes that can be given.
    pub room: usize,
    /// SO_SNDBUF in bytes of data.
    pub send_buffer: usize,
    /// Nothing will arrive after the data that waits.
    pub receive_shut: bool,
    /// No more data may be sent.
    pub send_shut: bool,
    /// Connections of a listener that were not accepted yet.
    pub pending: usize,
    /// SO_LINGER, if it is set.
    pub linger: Option<std::time::Duration>,
    /// The socket has an address.
    pub named: bool,
    /// An error waits for a call to report it.
    pub failed: bool,
    /// Parts of a datagram were sent, and more parts follow.
    pub begun: bool,
    /// UDP_CORK is set: what is given is a part, and needs no room.
    pub is_corked: bool,
}

/// A datagram of a program, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DatagramPart {
    /// Destination; `None` is the address that the socket is connected to.
    pub to: Option<SocketAddr>,
    /// Its control messages.
    pub ancillary: Ancillary,
    /// Its payload.
    pub bytes: Vec<u8>,
    /// MSG_MORE: the next part belongs to the same datagram.
    pub more: bool,
}

/// Stage of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Never connected, or a connection was refused.
    Unconnected,
    /// The server is connecting.
    Connecting,
    /// Waits for connections to arrive.
    Listening,
    /// Connected, even if halves are shut down.
    Connected,
    /// The connection or the server is lost.
    Failed,
    /// The program has closed it.
    Closed,
}

/// Action that the driver of a client must take.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Action {
    /// Hand this message to the Last Hop Protocol.
    Send(crate::Message),
    /// Return from a call.
    Return {
        /// The call.
        call: CallId,
        /// Its result.
        result: Result<Value, Errno>,
    },
    /// Send the program a signal.
    Signal {
        /// The socket that causes it.
        socket: RsockId,
        /// The signal.
        signal: Signal,
    },
    /// The readiness of a socket has changed.
    Ready {
        /// The socket.
        socket: RsockId,
        /// Its readiness now.
        readiness: Readiness,
    },
    /// Connect the Last Hop Protocol.
    Connect,
    /// End the connection of the Last Hop Protocol after everything is delivered.
    Close,
    /// End the connection of the Last Hop Protocol at once.
    Reset,
    /// The state of the registration has changed.
    Registration(crate::client::Registration),
}
