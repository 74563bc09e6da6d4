//! Counters for the agent's status.

/// Counters of sockets and bytes since the agent started.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) made: u64,
    pub(crate) carried: u64,
    pub(crate) local: u64,
    pub(crate) accepted: u64,
    /// Bytes from programs, and for them.
    pub(crate) octets: (u64, u64),
}
