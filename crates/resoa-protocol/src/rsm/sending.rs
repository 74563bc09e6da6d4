//! From the client to the far host: what the far host has acknowledged makes room for more (6.2.4).

use super::{Effects, Fin, Hold, Rsm, State};
use crate::lsm::datagram_cost;
use crate::message::{Ancillary, CloseState, Kind, Update};
use crate::tcp::TcpAction;
use std::net::SocketAddr;

/// What is on its way to the far host.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Sending {
    /// Octets that the client was not told to be free, acknowledged or not.
    used: u32,
    /// Octets of them that are.
    freed: u32,
    /// The program has little room, and is told at once.
    scarce: bool,
    /// They were so when it was last [asked](Rsm::remind) what waits to be told.
    waited: bool,
}

/// Octets of datagrams after which the client is told that they have gone, or a quarter of the
/// server's buffer: less than the least SO_SNDBUF, so that no client waits for room that it has.
const DATAGRAMS_FREED: u32 = 1024;

impl Rsm {
    pub(super) fn may_send(&self) -> bool {
        self.fin == Fin::None && matches!(self.state, State::Open | State::Finishing)
    }

    pub(super) fn write(&mut self, bytes: Vec<u8>, urgent: bool, scarce: bool, out: &mut Effects) {
        self.sending.scarce = scarce;
        if scarce {
            self.tell_freed(out);
        }
        self.sending.used += bytes.len() as u32;
        if self.sending.used > self.sizes.send_space {
            // The client knows the limit: one of the two has lost count, and the stream cannot be
            // right.
            self.reset_for_client(out);
            return;
        }
        out.tcp.push(TcpAction::Send { bytes, urgent });
    }

    pub(super) fn datagram(
        &mut self,
        to: Option<SocketAddr>,
        ancillary: Ancillary,
        bytes: Vec<u8>,
        out: &mut Effects,
    ) {
        // It has gone as soon as the stack has it.
        let cost = datagram_cost(&bytes);
        out.tcp.push(TcpAction::SendTo { to, ancillary, bytes });
        self.datagram_gone(cost, out);
    }

    /// A datagram is with the stack, or lost.
    pub(super) fn datagram_gone(&mut self, cost: u32, out: &mut Effects) {
        self.sending.used += cost;
        self.sending.freed += cost;
        if self.sending.freed >= DATAGRAMS_FREED.min(self.sizes.send_space / 4) {
            self.tell_freed(out);
        }
    }

    /// Much that is free is told at once, and so is all if the program has little room. If it has
    /// enough, that it has all again waits for data that goes anyway, or for the next
    /// [reminder](Self::remind) but one, as a TCP delays its acknowledgements. So an exchange of
    /// short messages is one message each way (C107).
    pub(super) fn acknowledged(&mut self, count: u32, out: &mut Effects) {
        self.sending.freed = (self.sending.freed + count).min(self.sending.used);
        let is_everything = self.sending.freed == self.sending.used;
        let is_much = self.sending.freed >= (self.sizes.send_space / 4).max(1);
        if (is_much || is_everything && self.sending.scarce) && self.tells_freed() {
            self.tell_freed(out);
        }
    }

    fn tells_freed(&self) -> bool {
        matches!(self.state, State::Open | State::Finishing)
    }

    /// Whether the client has to be told of octets that are free, and is not yet. Datagrams have no
    /// reader of SIOCOUTQ that would wait for it.
    pub(crate) fn owes(&self) -> bool {
        self.kind == Kind::Stream && self.sending.freed > 0 && self.tells_freed()
    }

    /// Time has passed: what has waited since the last time is told.
    pub(crate) fn remind(&mut self, out: &mut Effects) {
        if self.owes() && std::mem::replace(&mut self.sending.waited, true) {
            self.tell_freed(out);
        }
    }

    /// Data is on its way to the client: what has waited for long goes along.
    pub(super) fn tell_freed_along(&mut self, out: &mut Effects) {
        if self.owes() && self.sending.waited {
            self.tell_freed(out);
        }
    }

    fn tell_freed(&mut self, out: &mut Effects) {
        self.sending.waited = false;
        let freed = std::mem::take(&mut self.sending.freed);
        self.sending.used -= freed;
        if freed > 0 {
            self.tell(Update::SendFreed(freed), out);
        }
    }

    /// Octets that the client was not told to be free, those left out that have gone, and then with
    /// them; and octets that the program has not read.
    #[cfg(test)]
    pub(crate) fn counts(&self) -> [u32; 3] {
        let Sending { used, freed, .. } = self.sending;
        [used - freed, used, self.unread()]
    }

    /// The program sends no more; if `state` says so, after what follows.
    pub(super) fn shutdown(&mut self, state: CloseState, out: &mut Effects) {
        if self.kind == Kind::Stream && state == CloseState::Close && self.fin == Fin::None {
            self.fin = Fin::Waiting;
            self.fin_now(out);
        }
    }

    /// Our FIN, unless the far host's is held.
    pub(super) fn fin_now(&mut self, out: &mut Effects) {
        if self.fin == Fin::Waiting && !matches!(self.hold, Hold::Held { .. }) {
            self.fin = Fin::Sent;
            out.tcp.push(TcpAction::ShutdownWrite);
        }
    }

    pub(super) fn fin_acknowledged(&mut self, out: &mut Effects) {
        self.fin = Fin::Acknowledged;
        if self.state == State::Draining {
            self.all_acknowledged(out);
        }
    }
}
