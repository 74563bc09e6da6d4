//! Traffic: the workloads that run over a scenario, and the measurements of each connection.

pub mod bulk;
pub mod command;
pub mod datagrams;
pub mod end;
pub mod ground;
mod payload;
pub mod ping;
mod reading;
pub mod request;
mod sampling;
mod server;
pub mod sessions;

pub(crate) use server::join;

use borsh::{BorshDeserialize, BorshSerialize};
use link::units::{BitRate, ByteCount, Span};
use sessions::Law;

/// One workload of a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    /// Its name.
    pub name: String,
    /// Start time, from the start of the run.
    pub start: Span,
    /// Whether the run ends without waiting for it.
    pub background: bool,
    /// Traffic of traffic.
    pub kind: Traffic,
}

/// Kinds of traffic. Nodes are indices into the scenario.
#[derive(Debug, Clone, PartialEq)]
pub enum Traffic {
    /// TCP connections that carry data as fast as they can.
    Bulk {
        /// The sender.
        from: usize,
        /// The receiver.
        to: usize,
        /// How much each connection carries.
        amount: Amount,
        /// Number of parallel connections.
        connections: u32,
        /// Congestion control instead of the sender's.
        congestion_control: Option<String>,
    },
    /// Requests and responses, each on its own connection (resoa-evaluation 2.3).
    Request {
        /// The client.
        client: usize,
        /// The server.
        server: usize,
        /// Size of a request.
        request: ByteCount,
        /// Size of a response.
        response: ByteCount,
        /// Number of consecutive requests.
        times: u32,
        /// Pause between a response and the next request.
        pause: Span,
        /// Number of parallel clients.
        connections: u32,
        /// Congestion control at both ends instead of the nodes'.
        congestion_control: Option<String>,
        /// Whether the call that connects sends the request (TCP Fast Open).
        fast_open: bool,
    },
    /// Sessions of TCP sources: the cross traffic of other users (resoa-evaluation 4.7).
    Sessions {
        /// The node with the sources.
        from: usize,
        /// The receiver.
        to: usize,
        /// Number of sources.
        sources: u32,
        /// Law of the sessions of each source.
        law: Law,
        /// Time in which sessions arrive; until the run ends if `None`.
        duration: Option<Span>,
        /// Congestion control instead of the sender's.
        congestion_control: Option<String>,
    },
    /// Datagrams at a constant rate, continuous or in bursts.
    Datagrams {
        /// The sender.
        from: usize,
        /// The receiver.
        to: usize,
        /// Rate of application data while on.
        rate: BitRate,
        /// Size of the application data in each datagram.
        size: ByteCount,
        /// Duration; until the run ends if `None`.
        duration: Option<Span>,
        /// Mean on and off times, exponentially distributed.
        on_off: Option<(Span, Span)>,
    },
    /// Echo requests at regular intervals, whether or not they are answered.
    Ping {
        /// The node that sends requests.
        from: usize,
        /// The node that replies.
        to: usize,
        /// Size of the data in each request.
        size: ByteCount,
        /// Interval between two requests.
        interval: Span,
        /// Duration; until the run ends if `None`.
        duration: Option<Span>,
    },
    /// Any program.
    Command {
        /// The node on which it runs.
        node: usize,
        /// A shell command line.
        line: String,
        /// TCP port on which it listens when it is ready.
        listens: Option<u16>,
    },
}

/// How much a connection carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum Amount {
    /// This number of bytes.
    Bytes(ByteCount),
    /// As much as possible in this time.
    Time(Span),
}

impl Traffic {
    /// All names in a plan.
    pub const NAMES: [&str; 6] = ["bulk", "request", "sessions", "datagrams", "ping", "command"];

    /// Returns how many connections this process has open for it at the same time.
    #[must_use]
    pub fn connections(&self) -> u32 {
        match self {
            Self::Bulk { connections, .. } | Self::Request { connections, .. } => *connections,
            Self::Sessions { sources, .. } => *sources,
            Self::Datagrams { .. } | Self::Ping { .. } | Self::Command { .. } => 1,
        }
    }
}
