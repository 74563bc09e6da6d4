//! Interface for a driver that moves the bytes of a stream itself, between this half and a file
//! descriptor of the program. Reads and writes never wait, and consumption is reported later than
//! the bytes are taken.
//!
//! Bytes that the driver has taken count as unread until it calls [`consumed`](Lsm::consumed). So
//! the far host's window follows the program and not the driver (3.11, I5, I6), and a socket that
//! closes before that ends by RST (C51).

use super::{Lsm, State};
use crate::Errno;
use crate::calls::{Action, DatagramPart, Stream};
use crate::message::Ancillary;
use std::net::SocketAddr;
use std::time::Duration;

impl Lsm {
    /// Returns the state of the stream.
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

    /// Takes bytes for the program, at most `most` and up to an urgent one; empty if there are
    /// none. They are not reported to the server as read.
    pub(crate) fn take(&mut self, most: usize, now: Duration, out: &mut Vec<Action>) -> Vec<u8> {
        if self.receiving.is_at_mark() {
            return Vec::new();
        }
        let bytes = self.receiving.take_held(most);
        self.progress(now, out);
        bytes
    }

    /// Takes the urgent byte, if it is the next one.
    pub(crate) fn take_urgent(&mut self, now: Duration, out: &mut Vec<Action>) -> Option<u8> {
        let octet = self.receiving.take_urgent();
        self.progress(now, out);
        octet
    }

    /// Reports that the program has read `count` of the bytes that were taken.
    pub(crate) fn consumed(&mut self, count: usize, now: Duration, out: &mut Vec<Action>) {
        self.receiving.release(count);
        self.report_consumption(now, out);
    }

    /// Queues bytes of the program, as far as there is space. Returns the number taken.
    pub(crate) fn give(&mut self, bytes: &[u8], urgent: bool, now: Duration, out: &mut Vec<Action>) -> usize {
        let taken = bytes.len().min(self.stream().room);
        if taken > 0 {
            self.put(&bytes[..taken], urgent && taken == bytes.len(), now, out);
        }
        taken
    }

    /// Queues the last bytes of a program that has closed. The file descriptor has accepted them,
    /// so they are delivered even without space.
    pub(crate) fn give_last(&mut self, bytes: &[u8], now: Duration, out: &mut Vec<Action>) {
        if self.may_write() {
            self.put(bytes, false, now, out);
        }
    }

    /// Takes a datagram for the program, with its sender and its control messages. It counts as
    /// read. A pending error is reported only by SO_ERROR.
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

    /// Queues a datagram of the program, or a part of one. It may exceed the space if there was
    /// any. If `is_last`, the program has closed and no space is needed, because the file
    /// descriptor has accepted it.
    ///
    /// # Errors
    /// EAGAIN if there is no space; then earlier parts are lost, too. EPIPE if nothing may be sent
    /// any more, EDESTADDRREQ without a destination, EMSGSIZE if it is too long with its earlier
    /// parts.
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
