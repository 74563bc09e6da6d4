//! What clients have done, counted.

use resoa_policy::Refusal;
use std::collections::BTreeMap;

/// What a client has done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Usage {
    /// Octets to far hosts.
    pub sent: u64,
    /// Octets from far hosts.
    pub received: u64,
    /// Sockets that were made, connections that arrived included.
    pub sockets: u64,
    /// Look-ups that were asked for.
    pub look_ups: u64,
    /// What was refused, and why.
    pub refusals: BTreeMap<Refusal, u64>,
}

impl Usage {
    /// Adds what another has done.
    pub fn add(&mut self, other: &Usage) {
        self.sent += other.sent;
        self.received += other.received;
        self.sockets += other.sockets;
        self.look_ups += other.look_ups;
        for (refusal, count) in &other.refusals {
            *self.refusals.entry(*refusal).or_default() += count;
        }
    }
}
