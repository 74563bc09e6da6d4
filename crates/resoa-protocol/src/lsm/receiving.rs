//! Receiving calls. The server sends data as it arrives, and reading is local (6.2.4, version 2).
//!
//! Bytes that the program reads are reported to the server, whose TCP opens its window by that
//! amount. So the far host sees the window that a local stack would advertise. Reports are delayed
//! a little to combine several, but not if the window is closed.

use super::datagram_cost;
use super::waiting::Wait;
use super::{Lsm, Remote, State};
use crate::Errno;
use crate::calls::{Action, CallId, ReceiveFlags, Value};
use crate::message::{Ancillary, Call, RsockType};
use crate::octets::take_front;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

/// Data that has arrived and was not read.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Receiving {
    queue: VecDeque<u8>,
    datagrams: VecDeque<(SocketAddr, Ancillary, Vec<u8>)>,
    mark: Option<Mark>,
    /// Bytes that a driver has taken and the program has not read yet.
    held: u32,
    /// Bytes read that were not reported to the server.
    unreported: u32,
    /// Time of the next report.
    pub(super) report_at: Option<Duration>,
}

/// Position of the urgent byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Mark {
    /// Distance in bytes from the head of the queue. The urgent byte may not have arrived yet.
    ahead: usize,
    /// Whether the urgent byte was read on its own.
    is_read: bool,
}

/// A reading call that waits.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Read {
    length: usize,
    flags: ReceiveFlags,
    /// Bytes that it has taken and not returned yet.
    pub(super) taken: Vec<u8>,
}

impl Receiving {
    pub(super) fn arrived(&mut self, bytes: &[u8]) {
        self.queue.extend(bytes);
    }

    pub(super) fn datagram(&mut self, from: SocketAddr, ancillary: Ancillary, bytes: Vec<u8>) {
        self.datagrams.push_back((from, ancillary, bytes));
    }

    pub(super) fn urgent(&mut self, ahead: u32) {
        self.mark = Some(Mark { ahead: self.queue.len() + ahead as usize, is_read: false });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.datagrams.is_empty() && self.held == 0
    }

    /// Returns the number of bytes or datagrams that can be taken.
    pub(super) fn in_queue(&self) -> usize {
        self.queue.len() + self.datagrams.len()
    }

    /// Removes and returns the oldest datagram, which counts as read.
    pub(super) fn next_datagram(&mut self) -> Option<(SocketAddr, Ancillary, Vec<u8>)> {
        let datagram = self.datagrams.pop_front()?;
        self.unreported += datagram_cost(&datagram.2);
        Some(datagram)
    }

    /// Like [`take`](Self::take) with the urgent byte in line, for bytes that the program has not
    /// read yet.
    pub(super) fn take_held(&mut self, most: usize) -> Vec<u8> {
        let bytes = self.take(most, true);
        self.unreported -= bytes.len() as u32;
        self.held += bytes.len() as u32;
        bytes
    }

    /// Takes the urgent byte, if it is the next one.
    pub(super) fn take_urgent(&mut self) -> Option<u8> {
        let octet = if self.is_at_mark() { self.queue.pop_front()? } else { return None };
        self.mark = None;
        self.held += 1;
        Some(octet)
    }

    /// Counts `count` of the bytes that were taken as read by the program.
    pub(super) fn release(&mut self, count: usize) {
        let count = self.held.min(count as u32);
        self.held -= count;
        self.unreported += count;
    }

    /// Number of bytes up to the mark; at the mark, of all bytes.
    fn available(&self) -> usize {
        match self.mark {
            Some(Mark { ahead: ahead @ 1.., .. }) => self.queue.len().min(ahead),
            _ => self.queue.len(),
        }
    }

    /// Result of FIONREAD. For datagrams it is the length of the next one, for a stream the number
    /// of bytes, up to an urgent byte that is not in line.
    pub(super) fn inquiry(&self, is_inline: bool) -> usize {
        match (self.datagrams.front(), self.mark) {
            (Some((_, _, bytes)), _) => bytes.len(),
            (None, Some(mark)) if !is_inline => self.queue.len().min(mark.ahead),
            (None, _) => self.queue.len(),
        }
    }

    /// Returns whether `count` bytes can be read. An urgent byte that is not in line does not count
    /// (`tcp_poll`).
    pub(super) fn has(&self, count: u32, is_inline: bool) -> bool {
        let urgent = usize::from(self.is_at_mark() && !is_inline);
        self.available() >= count.max(1) as usize + urgent
    }

    /// Returns whether the urgent byte has arrived and was not read (`POLLPRI`).
    pub(super) fn has_urgent(&self) -> bool {
        self.mark.is_some_and(|mark| mark.ahead < self.queue.len() && !mark.is_read)
    }

    /// Returns whether the next byte is the urgent one (SIOCATMARK).
    pub(super) fn is_at_mark(&self) -> bool {
        self.mark.is_some_and(|mark| mark.ahead == 0)
    }

    /// Returns the number of bytes to report to the server now, and resets it.
    pub(super) fn report(&mut self) -> u32 {
        self.report_at = None;
        std::mem::take(&mut self.unreported)
    }

    /// Takes at most `most` bytes of a stream, up to the mark. Skips the urgent byte unless it is
    /// read in line.
    fn take(&mut self, most: usize, is_inline: bool) -> Vec<u8> {
        if self.is_at_mark() && !self.queue.is_empty() {
            self.mark = None;
            if !is_inline {
                self.queue.pop_front();
                self.unreported += 1;
            }
        }
        let count = most.min(self.available());
        if let Some(mark) = &mut self.mark {
            mark.ahead -= count;
        }
        self.unreported += count as u32;
        take_front(&mut self.queue, count)
    }

    fn peek(&self, most: usize, is_inline: bool) -> Vec<u8> {
        let skipped = usize::from(self.is_at_mark() && !is_inline);
        self.queue.iter().take(self.available()).skip(skipped).take(most).copied().collect()
    }
}

impl Lsm {
    pub(super) fn receive(
        &mut self,
        call: CallId,
        length: usize,
        flags: ReceiveFlags,
        now: Duration,
        out: &mut Vec<Action>,
    ) -> Result<Option<Value>, Errno> {
        if flags.urgent {
            return self.receive_urgent(flags).map(Some);
        }
        let read = Read { length, flags, taken: Vec::new() };
        self.attempt_or_wait(call, Wait::Read(read), !self.nonblocking && !flags.dont_wait, now, out)
    }

    fn receive_urgent(&mut self, flags: ReceiveFlags) -> Result<Value, Errno> {
        if self.create.kind != RsockType::Stream {
            return Err(Errno::EOPNOTSUPP);
        }
        let is_inline = self.options.urgent_inline;
        let Receiving { queue, mark, .. } = &mut self.receiving;
        let mark = mark.as_mut().filter(|mark| !is_inline && !mark.is_read).ok_or(Errno::EINVAL)?;
        let urgent = *queue.get(mark.ahead).ok_or(Errno::EAGAIN)?;
        mark.is_read = !flags.peek;
        Ok(Value::Bytes(vec![urgent]))
    }

    pub(super) fn attempt_read(
        &mut self,
        read: &mut Read,
        now: Duration,
        out: &mut Vec<Action>,
    ) -> Option<Result<Value, Errno>> {
        if self.create.kind != RsockType::Stream {
            return self.attempt_receive_datagram(read, now, out);
        }
        if matches!(self.state, State::Listening | State::Unconnected) {
            return Some(Err(Errno::ENOTCONN));
        }
        let is_inline = self.options.urgent_inline;
        if read.flags.peek {
            read.taken = self.receiving.peek(read.length, is_inline);
        } else {
            let bytes = self.receiving.take(read.length - read.taken.len(), is_inline);
            read.taken.extend(bytes);
            self.report_consumption(now, out);
        }
        let available = read.taken.len();
        let enough = if read.flags.wait_all { read.length } else { self.options.receive_low_water as usize };
        let ends_here =
            self.state.receive_shut() || self.error.is_some() || self.receiving.is_at_mark() && available > 0;
        if available < read.length.min(enough.max(1)) && !ends_here {
            return None;
        }
        if available > 0 || read.length == 0 {
            return Some(Ok(Value::Bytes(std::mem::take(&mut read.taken))));
        }
        // Data that arrived before an error is read before it (A14).
        Some(self.error.take().map_or(Ok(Value::Bytes(Vec::new())), Err))
    }

    fn attempt_receive_datagram(
        &mut self,
        read: &mut Read,
        now: Duration,
        out: &mut Vec<Action>,
    ) -> Option<Result<Value, Errno>> {
        if let Some(error) = self.error.take() {
            return Some(Err(error));
        }
        let Some((from, _, bytes)) = self.receiving.datagrams.front() else {
            return self.state.receive_shut().then(|| Ok(Value::Bytes(Vec::new())));
        };
        let cut = bytes[..bytes.len().min(read.length)].to_vec();
        let datagram = Value::Datagram { bytes: cut, from: *from, length: bytes.len() };
        if !read.flags.peek {
            self.receiving.next_datagram();
            self.report_consumption(now, out);
        }
        Some(Ok(datagram))
    }

    /// Counts a datagram that will not arrive as read.
    pub(crate) fn lost_datagram(&mut self, bytes: &[u8], now: Duration, out: &mut Vec<Action>) {
        if !self.state.is_closing() {
            self.receiving.unreported += datagram_cost(bytes);
            self.report_consumption(now, out);
            self.progress(now, out);
        }
    }

    /// Reports bytes read to the server: at once if they are worth a message, otherwise soon.
    pub(super) fn report_consumption(&mut self, now: Duration, out: &mut Vec<Action>) {
        if self.receiving.unreported == 0 || self.remote != Remote::Made {
            return;
        }
        let Receiving { queue, held, unreported, .. } = &self.receiving;
        let unread = queue.len() + *held as usize + *unreported as usize;
        let buffer = self.options.receive_buffer.unwrap_or(u32::MAX).min(self.settings.receive_buffer);
        let is_closed = unread >= buffer as usize;
        // Bytes that are not reported are missing from the window, which is small for a small
        // buffer. A stack like Linux's advertises no window below half of its own.
        let is_much = self.receiving.unreported >= self.settings.report_after.min(buffer / 4).max(1);
        if is_much || is_closed {
            self.tell(Call::Consumed, out);
        } else if self.receiving.report_at.is_none() {
            self.receiving.report_at = Some(now + self.settings.report_delay);
        }
    }

    /// Returns the bytes of datagrams that the server has, as far as this side knows, and the bytes
    /// received and not reported as read.
    #[cfg(test)]
    pub(crate) fn counts(&self) -> (u32, u32) {
        let waiting: u32 = self.receiving.datagrams.iter().map(|(_, _, bytes)| datagram_cost(bytes)).sum();
        (self.sending.unacknowledged(), waiting + self.receiving.unreported)
    }

    /// Returns the number of bytes for the program, and whether the end of the stream follows them.
    #[cfg(test)]
    pub(crate) fn holds(&self) -> (usize, bool) {
        (self.receiving.queue.len(), self.state.receive_shut())
    }
}
