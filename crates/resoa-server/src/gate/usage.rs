//! Counters of the clients' use of the server.

use resoa_policy::Refusal;
use std::collections::BTreeMap;

/// Use of the server by one client, or by several.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Usage {
    /// Bytes sent to far hosts.
    pub sent: u64,
    /// Bytes received from far hosts.
    pub received: u64,
    /// Sockets that were created, including connections that arrived.
    pub sockets: u64,
    /// Look-ups that were requested.
    pub look_ups: u64,
    /// Number of refusals by reason.
    pub refusals: BTreeMap<Refusal, u64>,
}

impl Usage {
    /// Adds the counters of another client.
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
