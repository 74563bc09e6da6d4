//! For a driver that moves the octets of a stream by itself, between this half and a descriptor
//! that the program holds: reads and writes that never wait, and a consumption that is told later
//! than the taking. What such a driver has taken counts as unread until it says
//! [`consumed`](Lsm::consumed): the far host's window follows the program and not the driver (3.11,
//! I5, I6), and a socket that closes before that ends by RST (C51).

use super::{Lsm, State};
use crate::Errno;
use crate::calls::{Action, DatagramPart, Stream};
use crate::message::Ancillary;
use std::net::SocketAddr;
use std::time::Duration;

impl Lsm {
    /// How the stream does.
    pub(crate) fn stream(&self) -> Stream {
        Stream {
            stage: self.state.stage(),
            untold: self.state.is_untold(),
            waiting: self.receiving.in_queue(),
            room: if self.may_write() { self.sending.room(&self.settings) } else { 0 },
            send_buffer: self.sending.buffer_size as usize,
            receive_shut: self.state.receive_shut(),
            send_shut: self.state.send_shut(),
            pending: self.pending(),
            linger: self.options.linger,
            named: self.local.is_some(),
            failed: self.error.is_some(),
            begun: self.sending.begun.is_some(),
            is_corked: self.sending.is_corked,
        }
    }

    /// Octets for the program, at most so many and up to an urgent one; nothing if there are none.
    /// The server is not told that they were read.
    pub(crate) fn take(&mut self, most: usize, now: Duration, out: &mut Vec<Action>) -> Vec<u8> {
        if self.receiving.is_at_mark() {
            return Vec::new();
        }
        let bytes = self.receiving.take_held(most);
        self.progress(now, out);
        bytes
    }

    /// The urgent octet, if it is the next one.
    pub(crate) fn take_urgent(&mut self, now: Duration, out: &mut Vec<Action>) -> Option<u8> {
        let octet = self.receiving.take_urgent();
        self.progress(now, out);
        octet
    }

    /// The program has read so many of the octets that were taken.
    pub(crate) fn consumed(&mut self, count: usize, now: Duration, out: &mut Vec<Action>) {
        self.receiving.release(count);
        self.report_consumption(now, out);
    }

    /// Octets of the program, as many as there is room for. How many were taken.
    pub(crate) fn give(&mut self, bytes: &[u8], urgent: bool, now: Duration, out: &mut Vec<Action>) -> usize {
        let taken = bytes.len().min(self.stream().room);
        if taken > 0 {
            self.put(&bytes[..taken], urgent && taken == bytes.len(), now, out);
        }
        taken
    }

    /// The last octets of a program that has closed: the descriptor has taken them, so they are
    /// delivered whether there is room or not.
    pub(crate) fn give_last(&mut self, bytes: &[u8], now: Duration, out: &mut Vec<Action>) {
        if self.may_write() {
            self.put(bytes, false, now, out);
        }
    }

    /// A datagram for the program, where it came from and what is told beside it, if there is one;
    /// it counts as read. An error that waits is told by SO_ERROR alone.
    pub(crate) fn take_datagram(
        &mut self,
        now: Duration,
        out: &mut Vec<Action>,
    ) -> Option<(SocketAddr, Ancillary, Vec<u8>)> {
        let datagram = self.receiving.next_datagram();
        self.report_consumption(now, out);
        self.progress(now, out);
        datagram
    }

    /// A datagram of the program, or a part of one, which goes beyond the room if there was any.
    /// One of the last, of a program that has closed, needs none: the descriptor has taken it.
    ///
    /// # Errors
    /// EAGAIN if there is no room: then the parts before it are lost, too. EPIPE if nothing may be
    /// sent any more, EDESTADDRREQ if it goes nowhere, EMSGSIZE if it is too long with the parts
    /// before it.
    pub(crate) fn give_datagram(
        &mut self,
        part: DatagramPart,
        is_last: bool,
        now: Duration,
        out: &mut Vec<Action>,
    ) -> Result<(), Errno> {
        if !self.may_write() {
            return Err(Errno::EPIPE);
        }
        if !is_last && !self.is_part(&part) && self.stream().room == 0 {
            self.sending.begun = None;
            return Err(Errno::EAGAIN);
        }
        if part.to.or(self.peer).is_none() && self.sending.begun.is_none() {
            return Err(Errno::EDESTADDRREQ);
        }
        self.put_part(part, out)?;
        self.progress(now, out);
        Ok(())
    }

    fn may_write(&self) -> bool {
        match self.state {
            State::Connected { halves, .. } => !halves.sending_shut && self.error.is_none(),
            State::Datagram(halves) => !halves.sending_shut,
            _ => false,
        }
    }

    fn put(&mut self, bytes: &[u8], urgent: bool, now: Duration, out: &mut Vec<Action>) {
        self.sending.put(bytes, urgent);
        self.forward(out);
        self.progress(now, out);
    }
}
