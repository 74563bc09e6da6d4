//! Sending calls. Data is taken at once as far as SO_SNDBUF permits, and forwarded as far as the
//! server has room (6.2.4).
//!
//! Both places together hold at most SO_SNDBUF (A1). So a program can write exactly as far ahead of
//! the far host as with a local stack. Writes that wait here are merged; datagrams are not.

use super::waiting::Wait;
use super::{Lsm, State};
use crate::Errno;
use crate::calls::{Action, CallId, DatagramPart, SendFlags, Signal, Value};
use crate::message::{Ancillary, Call, PAYLOAD_OCTETS, RsockType};
use crate::octets::take_front;
use crate::settings::mutant;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

/// Data on its way to the far host.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Sending {
    /// SO_SNDBUF in bytes of data.
    pub(super) buffer_size: u32,
    /// Number of bytes that the server takes.
    remote_size: u32,
    /// Number of bytes at the server, or on the way to it.
    remote_used: u32,
    /// Bytes that wait here.
    queue: VecDeque<u8>,
    /// Ends of urgent writes, in bytes from the head of the queue.
    urgent: VecDeque<usize>,
    datagrams: VecDeque<(Option<SocketAddr>, Ancillary, Vec<u8>)>,
    /// Parts of an incomplete datagram.
    pub(super) begun: Option<DatagramPart>,
    /// UDP_CORK is set.
    pub(super) is_corked: bool,
    /// Call to be sent when the queue is empty.
    pub(super) afterwards: Option<Call>,
}

/// A writing call that waits.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Write {
    bytes: Vec<u8>,
    to: Option<SocketAddr>,
    flags: SendFlags,
    /// Number of its bytes that were taken.
    pub(super) done: usize,
}

/// Returns the buffer space that a datagram uses. Even an empty one uses some.
pub(crate) fn datagram_cost(bytes: &[u8]) -> u32 {
    (bytes.len() as u32).max(1)
}

impl Sending {
    pub(super) fn new(buffer_size: u32, remote_size: u32) -> Self {
        Self {
            buffer_size,
            remote_size,
            remote_used: 0,
            queue: VecDeque::new(),
            urgent: VecDeque::new(),
            datagrams: VecDeque::new(),
            begun: None,
            is_corked: false,
            afterwards: None,
        }
    }

    pub(super) fn remote_size(&self) -> u32 {
        self.remote_size
    }

    /// Returns the number of bytes that the far host has not acknowledged, wherever they are
    /// (SIOCOUTQ).
    pub(super) fn unacknowledged(&self) -> u32 {
        self.remote_used + self.waiting_here()
    }

    pub(super) fn waiting_here(&self) -> u32 {
        self.queue.len() as u32 + self.datagrams.iter().map(|(_, _, bytes)| datagram_cost(bytes)).sum::<u32>()
    }

    pub(super) fn room(&self, settings: &crate::settings::Settings) -> usize {
        let used =
            if mutant!(settings, BufferDoubling) { self.waiting_here() } else { self.unacknowledged() };
        self.buffer_size.saturating_sub(used) as usize
    }

    /// Returns whether the socket is writable, as on Linux: if the free space is at least half of
    /// the used space (`sk_stream_is_writeable`).
    pub(super) fn is_writable(&self) -> bool {
        let used = self.unacknowledged();
        self.buffer_size.saturating_sub(used) >= used.div_ceil(2).max(1)
    }

    /// Returns whether space may be scarce, so that the server has to report all space that becomes
    /// free. This is so if more than an eighth of it is used, as far as is known here: a driver may
    /// need three quarters for data that it has not passed on yet.
    fn is_scarce(&self) -> bool {
        u64::from(self.unacknowledged()) * 8 > u64::from(self.buffer_size.min(self.remote_size))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.datagrams.is_empty()
    }

    pub(super) fn discard(&mut self) {
        let new = Self::new(self.buffer_size, self.remote_size);
        *self = Self { begun: self.begun.take(), is_corked: self.is_corked, ..new };
    }

    /// Queues bytes for which there is space. The last of them may be urgent.
    pub(super) fn put(&mut self, bytes: &[u8], urgent: bool) {
        self.queue.extend(bytes);
        if urgent && !bytes.is_empty() {
            self.urgent.push_back(self.queue.len());
        }
    }

    /// Queues a datagram.
    pub(super) fn put_datagram(&mut self, whole: DatagramPart) {
        self.datagrams.push_back((whole.to, whole.ancillary, whole.bytes));
    }

    /// Takes the next bytes to forward, if the server has room. The last of them may be urgent.
    fn next(&mut self, chunk: u32) -> Option<(Vec<u8>, bool)> {
        let room = self.remote_size.saturating_sub(self.remote_used).min(chunk) as usize;
        let count = self.queue.len().min(room);
        let is_urgent = self.urgent.front().is_some_and(|&end| end <= count);
        let count = if is_urgent { self.urgent.pop_front()? } else { count };
        for end in &mut self.urgent {
            *end -= count;
        }
        self.remote_used += count as u32;
        (count > 0).then(|| (take_front(&mut self.queue, count), is_urgent))
    }

    fn next_datagram(&mut self) -> Option<(Option<SocketAddr>, Ancillary, Vec<u8>)> {
        let cost = datagram_cost(&self.datagrams.front()?.2);
        // A datagram may be larger than the remaining room, or than the server's whole buffer.
        if self.remote_used >= self.remote_size {
            return None;
        }
        self.remote_used += cost;
        self.datagrams.pop_front()
    }
}

impl Lsm {
    pub(super) fn send(
        &mut self,
        call: CallId,
        bytes: Vec<u8>,
        to: Option<SocketAddr>,
        flags: SendFlags,
        now: Duration,
        out: &mut Vec<Action>,
    ) -> Result<Option<Value>, Errno> {
        if self.create.kind != RsockType::Stream {
            if flags.urgent {
                return Err(Errno::EOPNOTSUPP);
            } else if bytes.len() > self.longest_datagram() {
                return Err(Errno::EMSGSIZE);
            } else if to.or(self.peer).is_none() && self.sending.begun.is_none() {
                return Err(Errno::EDESTADDRREQ);
            }
        }
        let may_wait = !self.nonblocking && !flags.dont_wait;
        self.attempt_or_wait(call, Wait::Write(Write { bytes, to, flags, done: 0 }), may_wait, now, out)
    }

    /// Returns the error if nothing can be written.
    fn write_error(&mut self, flags: SendFlags, out: &mut Vec<Action>) -> Option<Errno> {
        let is_legal = matches!(self.state, State::Connecting { .. } | State::Connected { .. })
            && !self.state.send_shut();
        if let Some(error) = self.error.take() {
            return Some(error);
        }
        if is_legal {
            return None;
        }
        if !flags.no_signal {
            out.push(Action::Signal { socket: self.id, signal: Signal::Pipe });
        }
        Some(Errno::EPIPE)
    }

    pub(super) fn attempt_write(
        &mut self,
        write: &mut Write,
        out: &mut Vec<Action>,
    ) -> Option<Result<Value, Errno>> {
        if write.done > 0 && (self.error.is_some() || self.state.send_shut()) {
            return Some(Ok(Value::Count(write.done)));
        }
        if let Some(error) = self.write_error(write.flags, out) {
            return Some(Err(error));
        }
        if matches!(self.state, State::Connecting { .. }) {
            return None;
        }
        let room = self.sending.room(&self.settings);
        let rest = &write.bytes[write.done..];
        let taken = rest.len().min(room);
        write.done += taken;
        let is_done = write.done == write.bytes.len();
        let taken = &rest[..taken];
        self.sending.put(taken, is_done && write.flags.urgent);
        self.forward(out);
        is_done.then_some(Ok(Value::Count(write.done)))
    }

    pub(super) fn attempt_datagram(
        &mut self,
        write: &mut Write,
        out: &mut Vec<Action>,
    ) -> Option<Result<Value, Errno>> {
        if let Some(error) = self.error.take() {
            return Some(Err(error));
        }
        if self.state.send_shut() {
            return Some(Err(self.write_error(write.flags, out).unwrap_or(Errno::EPIPE)));
        }
        // As in a kernel, a datagram may exceed the limit if there was any space before it.
        if self.sending.room(&self.settings) == 0 {
            return None;
        }
        let bytes = std::mem::take(&mut write.bytes);
        let count = bytes.len();
        let part = DatagramPart { to: write.to, ancillary: Ancillary::none(), bytes, more: false };
        Some(self.put_part(part, out).map(|()| Value::Count(count)))
    }

    /// Sends the server as much data as it has room for, and after the last of it the call that was
    /// to follow.
    pub(super) fn forward(&mut self, out: &mut Vec<Action>) {
        while let Some((bytes, urgent)) = self.sending.next(self.settings.chunk.min(PAYLOAD_OCTETS as u32)) {
            let scarce = self.sending.is_scarce() && !mutant!(self.settings, RoomNotAskedFor);
            self.tell(Call::Write { bytes, urgent, scarce }, out);
        }
        while let Some((to, ancillary, bytes)) = self.sending.next_datagram() {
            self.tell(Call::Datagram { to, ancillary, bytes }, out);
        }
        if self.sending.is_empty()
            && let Some(call) = self.sending.afterwards.take()
        {
            self.tell(call, out);
            self.everything_sent(out);
        }
    }

    /// Counts bytes that the far host has acknowledged (SND_FREED).
    pub(super) fn freed(&mut self, count: u32, out: &mut Vec<Action>) {
        if !mutant!(self.settings, RemoteUsedNotDecremented) {
            self.sending.remote_used = self.sending.remote_used.saturating_sub(count);
        }
        self.forward(out);
    }
}
