//! Data from the far host to the client. It is pushed at once, as far as the client has room; the
//! window opens only when the program has read (6.2.4, 6.3).

use super::{Effects, Hold, Rsm, State};
use crate::Errno;
use crate::lsm::datagram_cost;
use crate::message::{Ancillary, Update};
use crate::octets::take_front;
use crate::settings::mutant;
use crate::tcp::TcpAction;
use std::collections::VecDeque;
use std::net::SocketAddr;

/// Data that has arrived.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Receiving {
    /// Bytes that the client has not been sent.
    queue: VecDeque<u8>,
    /// Bytes that the program has not read, wherever they are.
    unread: u32,
    /// Bytes that the client takes.
    space: u32,
    /// The program has shut down both halves, so further data is answered with RST
    /// (`tcp_rcv_state_process`).
    pub(super) is_refused: bool,
}

impl Receiving {
    pub(super) fn new(space: u32) -> Self {
        Self { queue: VecDeque::new(), unread: 0, space, is_refused: false }
    }

    /// Makes the client's room at least as large as the far host may send (A18).
    pub(super) fn make_room(&mut self, buffer: u32) {
        self.space = self.space.max(buffer);
    }

    /// Returns the number of bytes at the client, or on their way there.
    fn forwarded(&self) -> u32 {
        self.unread - self.queue.len() as u32
    }
}

impl Rsm {
    pub(super) fn received(&mut self, bytes: &[u8], out: &mut Effects) {
        match self.state {
            State::Open if self.receiving.is_refused => {
                self.failed(Errno::ECONNRESET, out);
                out.tcp.push(TcpAction::Abort);
                self.state = State::Reset;
            }
            State::Open => {
                self.receiving.unread += bytes.len() as u32;
                self.receiving.queue.extend(bytes);
                self.forward(out);
            }
            // Nobody will read it (6.2.3).
            State::Finishing => self.reset_for_client(out),
            State::Draining if self.linger => self.reset_for_client(out),
            State::Draining => self.abort(out),
            _ => {}
        }
    }

    pub(super) fn received_datagram(
        &mut self,
        from: SocketAddr,
        ancillary: Ancillary,
        bytes: Vec<u8>,
        out: &mut Effects,
    ) {
        let cost = datagram_cost(&bytes);
        // A datagram without room is lost, as at any full buffer.
        let unread = self.receiving.unread.checked_add(cost).filter(|unread| *unread <= self.receiving.space);
        if let (State::Open, Some(unread)) = (self.state, unread) {
            self.receiving.unread = unread;
            self.tell(Update::Datagram { from, ancillary, bytes }, out);
        }
    }

    pub(super) fn urgent(&mut self, ahead: u32, out: &mut Effects) {
        if self.state == State::Open {
            let ahead = ahead + self.receiving.queue.len() as u32;
            self.tell(Update::Urgent { ahead }, out);
        }
    }

    /// Sends the client as much as it has room for, and then reports the far host's FIN.
    fn forward(&mut self, out: &mut Effects) {
        loop {
            let room = self.receiving.space.saturating_sub(self.receiving.forwarded());
            let count = self.receiving.queue.len().min(room.min(self.sizes.chunk) as usize);
            if count == 0 {
                break;
            }
            let bytes = take_front(&mut self.receiving.queue, count);
            self.tell(Update::Data(bytes), out);
            self.tell_freed_along(out);
            if mutant!(self.sizes, WindowOnForward) {
                out.tcp.push(TcpAction::Consume(count as u32));
            }
        }
        self.tell_peer_closed(out);
    }

    /// Sends the client everything, whatever its room, because no more data will arrive.
    pub(super) fn forward_all(&mut self, out: &mut Effects) {
        self.receiving.space = u32::MAX;
        self.forward(out);
    }

    fn tell_peer_closed(&mut self, out: &mut Effects) {
        if self.hold == (Hold::Held { told: false }) && self.receiving.queue.is_empty() {
            self.hold = Hold::Held { told: true };
            self.tell(Update::PeerClosed, out);
            if mutant!(self.sizes, NoFinHold) {
                self.release(out);
            }
        }
    }

    pub(super) fn consumed(&mut self, count: u32, out: &mut Effects) {
        // No more can have been read than was forwarded.
        let count = count.min(self.receiving.forwarded());
        self.receiving.unread -= count;
        if self.is_connected() && self.kind == crate::message::RsockType::Stream {
            if !mutant!(self.sizes, WindowOnForward) {
                out.tcp.push(TcpAction::Consume(count));
            }
            self.forward(out);
        }
    }

    pub(super) fn fin_received(&mut self, out: &mut Effects) {
        match self.state {
            State::Open | State::Finishing => {
                self.hold = Hold::Held { told: false };
                if mutant!(self.sizes, NoFinHold) {
                    out.tcp.push(TcpAction::ReleaseFin);
                }
                self.tell_peer_closed(out);
            }
            // The program has read everything and has closed.
            State::Draining => {
                self.hold = Hold::Released;
                out.tcp.push(TcpAction::ReleaseFin);
            }
            _ => {}
        }
    }

    pub(super) fn fin_delivered(&mut self, out: &mut Effects) {
        if self.is_connected() {
            self.release(out);
            self.fin_now(out);
        }
    }

    #[cfg(test)]
    pub(super) fn unread(&self) -> u32 {
        self.receiving.unread
    }

    /// Returns whether there is data that the program has not read (A7).
    pub(super) fn has_unread(&self) -> bool {
        if mutant!(self.sizes, UnreadForgotten) {
            return !self.receiving.queue.is_empty();
        }
        self.receiving.unread > 0
    }

    /// Lets the stack acknowledge the far host's FIN.
    pub(super) fn release(&mut self, out: &mut Effects) {
        if matches!(self.hold, Hold::Held { .. }) {
            self.hold = Hold::Released;
            if !mutant!(self.sizes, NoFinHold) {
                out.tcp.push(TcpAction::ReleaseFin);
            }
        }
    }
}
