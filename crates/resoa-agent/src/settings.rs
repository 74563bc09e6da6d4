//! How an agent is to be, and why there is none.

use resoa_protocol::message::AddressMode;
use resoa_protocol::{Settings, Timers};
use std::io;
use std::path::PathBuf;

/// How an agent is to be.
#[derive(Debug, Clone)]
pub struct AgentSettings {
    /// Where calls come to; [`resoa_calls::AGENT`] names it for programs.
    pub listen: PathBuf,
    /// What address its sockets are to have.
    pub mode: AddressMode,
    /// Of its sockets.
    pub settings: Settings,
    /// Of its requests.
    pub timers: Timers,
}

/// Why there is no agent.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// Somebody answers there.
    #[error(
        "cannot listen at {path}: another agent listens there already; stop it, or choose another path with --listen"
    )]
    Occupied {
        /// Where.
        path: PathBuf,
    },
    /// The socket could not be made there.
    #[error(
        "cannot listen at {path}: {error}; choose another path with --listen, at most 100 octets long and in a directory that you own"
    )]
    Place {
        /// Where.
        path: PathBuf,
        /// What the kernel says.
        error: io::Error,
    },
    /// The kernel has no descriptors left, or such.
    #[error("cannot start the agent: {0}")]
    Kernel(#[from] io::Error),
}
