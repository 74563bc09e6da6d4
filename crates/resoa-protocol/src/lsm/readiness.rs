//! What `poll` says: all that it needs to know is here (6.2.5, version 2). The masks are those of
//! Linux's `tcp_poll`, by measurement.

use super::{Lsm, State};
use crate::calls::Readiness;
use crate::message::Kind;

impl Lsm {
    /// What `poll` says now.
    pub(crate) fn readiness(&self) -> Readiness {
        let error = self.error.is_some();
        if self.create.kind != Kind::Stream {
            return Readiness {
                input: !self.receiving.is_empty() || self.receive_shut,
                output: self.sending.is_writable(),
                error,
                hung_up: self.receive_shut && self.send_shut,
                peer_hung_up: self.receive_shut,
                urgent: false,
            };
        }
        let is_over = self.receive_shut && self.send_shut;
        match self.state {
            State::Listening => Readiness { input: !self.children.is_empty(), error, ..Readiness::default() },
            State::Unconnected | State::Failed => Readiness {
                input: self.receive_shut || !self.receiving.is_empty(),
                output: true,
                error,
                hung_up: true,
                peer_hung_up: self.receive_shut,
                urgent: false,
            },
            State::Connected => Readiness {
                input: self.receive_shut
                    || self.receiving.has(self.options.receive_low_water, self.options.urgent_inline),
                output: self.send_shut || self.sending.is_writable(),
                urgent: self.receiving.has_urgent(),
                error,
                hung_up: is_over,
                peer_hung_up: self.receive_shut,
            },
            State::Connecting | State::Lingering { .. } | State::Orphan | State::Closed => {
                Readiness::default()
            }
        }
    }
}
