//! Data from the client to the far host, whose acknowledgements make room for more (6.2.4).

use super::{Effects, Fin, Hold, Rsm, State};
use crate::lsm::datagram_cost;
use crate::message::{Ancillary, CloseState, RsockType, Update};
use crate::tcp::TcpAction;
use std::net::SocketAddr;

/// Data on its way to the far host.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Sending {
    /// Bytes whose room has not been reported as free to the client, acknowledged or not.
    used: u32,
    /// Bytes of these that are acknowledged.
    freed: u32,
    /// The program has little room, so free room is reported early.
    scarce: bool,
    /// Free room was already waiting to be reported at the last [reminder](Rsm::remind).
    waited: bool,
    /// Data that came with the request to connect; the last byte of a part may be urgent.
    held: Vec<(Vec<u8>, bool)>,
}

/// Bytes of datagrams after which the client is told that their room is free, or a quarter of the
/// server's buffer if that is less. It is below the smallest SO_SNDBUF, so no client waits for room
/// that it has.
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
            // The client knows the limit. So one of the two has miscounted, and the stream cannot
            // be right.
            self.reset_for_client(out);
            return;
        }
        out.tcp.push(TcpAction::Send { bytes, urgent });
    }

    /// Keeps data that came with the request to connect until TCP is connected (connect mode 2 of
    /// 10.2.2).
    pub(super) fn hold_back(&mut self, bytes: Vec<u8>, urgent: bool, out: &mut Effects) {
        self.sending.used += bytes.len() as u32;
        if self.sending.used > self.sizes.send_space {
            self.reset_for_client(out);
            return;
        }
        self.sending.held.push((bytes, urgent));
    }

    /// Sends the data that was held back, or drops it if TCP was not connected. The client then
    /// counts nothing of it.
    pub(super) fn held_back(&mut self, is_connected: bool, out: &mut Effects) {
        let held = std::mem::take(&mut self.sending.held);
        if is_connected {
            out.tcp.extend(held.into_iter().map(|(bytes, urgent)| TcpAction::Send { bytes, urgent }));
        } else {
            self.sending.used = 0;
        }
    }

    pub(super) fn datagram(
        &mut self,
        to: Option<SocketAddr>,
        ancillary: Ancillary,
        bytes: Vec<u8>,
        out: &mut Effects,
    ) {
        // A datagram's room is free as soon as the stack has it.
        let cost = datagram_cost(&bytes);
        out.tcp.push(TcpAction::SendTo { to, ancillary, bytes });
        self.datagram_gone(cost, out);
    }

    /// Notes that the stack has a datagram, or that it is lost.
    pub(super) fn datagram_gone(&mut self, cost: u32, out: &mut Effects) {
        self.sending.used += cost;
        self.sending.freed += cost;
        if self.sending.freed >= DATAGRAMS_FREED.min(self.sizes.send_space / 4) {
            self.tell_freed(out);
        }
    }

    /// Processes an acknowledgement. A quarter of the buffer is reported at once. Less is reported
    /// at once if everything is acknowledged and the program has little room.
    ///
    /// If the program has enough room, the report waits for data to the client, or for the second
    /// [reminder](Rsm::remind), as a TCP delays its acknowledgements. So an exchange of short
    /// messages is one message each way (C107).
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

    /// Returns whether the client must still be told of free room. Datagrams do not count, because
    /// nobody reads SIOCOUTQ for them.
    pub(crate) fn owes(&self) -> bool {
        self.kind == RsockType::Stream && self.sending.freed > 0 && self.tells_freed()
    }

    /// Reports free room that has been waiting since the last reminder.
    pub(crate) fn remind(&mut self, out: &mut Effects) {
        if self.owes() && std::mem::replace(&mut self.sending.waited, true) {
            self.tell_freed(out);
        }
    }

    /// Reports free room that has waited for long, because data is on its way to the client anyway.
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

    /// Returns three counts in bytes: sent data whose room is not free yet; the same including room
    /// that is free but not reported; and data that the program has not read.
    #[cfg(test)]
    pub(crate) fn counts(&self) -> [u32; 3] {
        let Sending { used, freed, .. } = self.sending;
        [used - freed, used, self.unread()]
    }

    /// Processes `shutdown` of the writing half. If `state` says that data follows, the FIN waits
    /// for the next call.
    pub(super) fn shutdown(&mut self, state: CloseState, out: &mut Effects) {
        if self.kind == RsockType::Stream && state == CloseState::Close && self.fin == Fin::None {
            self.fin = Fin::Waiting;
            self.fin_now(out);
        }
    }

    /// Sends our FIN, unless the far host's is held.
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
