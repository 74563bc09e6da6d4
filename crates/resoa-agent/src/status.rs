//! How the agent does, for those who ask.

use crate::agent::Agent;
use resoa_calls::{Connected, Status};

/// See [`Status`].
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) made: u64,
    pub(crate) carried: u64,
    pub(crate) local: u64,
    pub(crate) accepted: u64,
    pub(crate) octets: (u64, u64),
}

impl Agent {
    /// How it does.
    #[must_use]
    pub fn status(&self) -> Status {
        Status {
            connected: self.connected(),
            made: self.counts.made,
            carried: self.counts.carried,
            local: self.counts.local,
            accepted: self.counts.accepted,
            open: self.sockets.len() as u64,
            octets: self.counts.octets,
            round_trip_us: self.remote.round_trip().map(|round_trip| round_trip.as_micros() as u64),
        }
    }

    /// Whether it is registered at the server; what [`status`](Self::status) says of it, without
    /// asking the kernel anything.
    #[must_use]
    pub fn connected(&self) -> Connected {
        self.remote.connected()
    }
}
