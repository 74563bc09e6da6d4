//! Traffic: what runs over a scenario, and what each connection is measured by.

pub mod bulk;
pub mod command;
pub mod datagrams;
pub mod ground;
mod payload;
pub mod ping;
pub mod request;
mod sampling;
mod server;

pub(crate) use server::join;

use link::units::{BitRate, ByteCount, Span};

/// Traffic of one cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    /// Its name.
    pub name: String,
    /// When it starts, after the run's start.
    pub start: Span,
    /// Whether the run ends without waiting for it.
    pub background: bool,
    /// What it is.
    pub kind: Kind,
}

/// Kinds of traffic; nodes by their places in the scenario.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// TCP connections that carry as many bytes as they can.
    Bulk {
        /// The sender.
        from: usize,
        /// The receiver.
        to: usize,
        /// How much each carries.
        amount: Amount,
        /// How many, side by side.
        connections: u32,
        /// Another congestion control than the sender's.
        congestion_control: Option<String>,
    },
    /// Requests and responses, each over a connection of its own (resoa-evaluation 2.3).
    Request {
        /// The client.
        client: usize,
        /// The server.
        server: usize,
        /// Size of a request.
        request: ByteCount,
        /// Size of a response.
        response: ByteCount,
        /// How many, one after the other.
        times: u32,
        /// Between a response and the next request.
        pause: Span,
        /// How many clients side by side.
        connections: u32,
        /// Another congestion control than the nodes', at both ends.
        congestion_control: Option<String>,
    },
    /// Datagrams at a constant rate, always or in bursts.
    Datagrams {
        /// The sender.
        from: usize,
        /// The receiver.
        to: usize,
        /// Rate of application data while on.
        rate: BitRate,
        /// Application data in each.
        size: ByteCount,
        /// For how long; until the run ends if `None`.
        duration: Option<Span>,
        /// Mean times on and off, exponentially distributed.
        on_off: Option<(Span, Span)>,
    },
    /// Echo requests at regular times, whether or not they are answered.
    Ping {
        /// The node that asks.
        from: usize,
        /// The node that answers.
        to: usize,
        /// Data in each request.
        size: ByteCount,
        /// From one request to the next.
        interval: Span,
        /// For how long; until the run ends if `None`.
        duration: Option<Span>,
    },
    /// Any program.
    Command {
        /// Where it runs.
        node: usize,
        /// A line for the shell.
        line: String,
        /// TCP port on which it listens when it is ready.
        listens: Option<u16>,
    },
}

/// How much a connection carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// So many bytes.
    Bytes(ByteCount),
    /// What it can in this time.
    Time(Span),
}

impl Kind {
    /// The names in a plan.
    pub const NAMES: [&str; 5] = ["bulk", "request", "datagrams", "ping", "command"];

    /// Connections that it has open at the same time, as far as they are this process's own.
    #[must_use]
    pub fn connections(&self) -> u32 {
        match self {
            Self::Bulk { connections, .. } | Self::Request { connections, .. } => *connections,
            Self::Datagrams { .. } | Self::Ping { .. } | Self::Command { .. } => 1,
        }
    }
}
