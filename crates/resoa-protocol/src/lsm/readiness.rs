//! Readiness for `poll`, known here without the server (6.2.5, version 2). The masks are those of
//! Linux's `tcp_poll`, by measurement.

use super::{Lsm, State};
use crate::calls::Readiness;

impl Lsm {
    /// Returns the current readiness for `poll`.
    pub(crate) fn readiness(&self) -> Readiness {
        let error = self.error.is_some();
        let (receive_shut, send_shut) = (self.state.receive_shut(), self.state.send_shut());
        match self.state {
            State::Datagram(_) => Readiness {
                input: !self.receiving.is_empty() || receive_shut,
                output: self.sending.is_writable(),
                error,
                hung_up: receive_shut && send_shut,
                peer_hung_up: receive_shut,
                urgent: false,
            },
            State::Listening => Readiness { input: !self.children.is_empty(), error, ..Readiness::default() },
            State::Unconnected | State::Refused | State::Failed => Readiness {
                input: receive_shut || !self.receiving.is_empty(),
                output: true,
                error,
                hung_up: true,
                peer_hung_up: receive_shut,
                urgent: false,
            },
            State::Connected { .. } => Readiness {
                input: receive_shut
                    || self.receiving.has(self.options.receive_low_water, self.options.urgent_inline),
                output: send_shut || self.sending.is_writable(),
                urgent: self.receiving.has_urgent(),
                error,
                hung_up: receive_shut && send_shut,
                peer_hung_up: receive_shut,
            },
            State::Connecting { .. } | State::Lingering { .. } | State::Orphan | State::Closed => {
                Readiness::default()
            }
        }
    }
}
