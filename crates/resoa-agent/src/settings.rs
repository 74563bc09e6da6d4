//! Settings of an agent, and errors of its start.

use resoa_protocol::message::AddressMode;
use resoa_protocol::{Settings, Timers};
use std::io;
use std::path::PathBuf;

/// Settings of an agent.
#[derive(Debug, Clone)]
pub struct AgentSettings {
    /// Path of the socket for calls; [`resoa_calls::AGENT`] tells it to programs.
    pub listen: PathBuf,
    /// Kind of address for its sockets.
    pub mode: AddressMode,
    /// Settings of its sockets.
    pub settings: Settings,
    /// Timers of its requests.
    pub timers: Timers,
}

/// Reasons why an agent does not start.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// Another agent listens there.
    #[error(
        "cannot listen at {path}: another agent listens there already; stop it, or choose another path with --listen"
    )]
    Occupied {
        /// Path of the socket.
        path: PathBuf,
    },
    /// The socket cannot be created there.
    #[error(
        "cannot listen at {path}: {error}; choose another path with --listen, at most 100 bytes long and in a directory that you own"
    )]
    Place {
        /// Path of the socket.
        path: PathBuf,
        /// The error of the kernel.
        error: io::Error,
    },
    /// A system call failed, for example because no descriptors are left.
    #[error("cannot start the agent: {0}")]
    Kernel(#[from] io::Error),
}
