//! The sending calls: what is written is taken at once as far as SO_SNDBUF goes, and forwarded as
//! far as the server has room (6.2.4).
//!
//! Both places together hold no more than SO_SNDBUF (A1): a program can write exactly as far ahead
//! of the far host as with a local stack. Writes that wait here are merged; datagrams are not.

use super::waiting::Wait;
use super::{Lsm, State};
use crate::Errno;
use crate::calls::{Action, CallId, DatagramPart, SendFlags, Signal, Value};
use crate::message::{Ancillary, Call, Kind, PAYLOAD_OCTETS};
use crate::octets::take_front;
use crate::settings::mutant;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

/// What is on its way to the far host.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Sending {
    /// SO_SNDBUF, octets of data.
    pub(super) buffer_size: u32,
    /// Octets that the server takes.
    remote_size: u32,
    /// Octets that the server has, or has on the way.
    remote_used: u32,
    /// What waits here.
    queue: VecDeque<u8>,
    /// Ends of urgent writes, as octets from the head of the queue.
    urgent: VecDeque<usize>,
    datagrams: VecDeque<(Option<SocketAddr>, Ancillary, Vec<u8>)>,
    /// Parts of a datagram that is not whole yet.
    pub(super) begun: Option<DatagramPart>,
    /// UDP_CORK
    pub(super) is_corked: bool,
    /// Said when the queue is empty.
    pub(super) afterwards: Option<Call>,
}

/// A writing call that waits.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Write {
    bytes: Vec<u8>,
    to: Option<SocketAddr>,
    flags: SendFlags,
    /// Octets of it that were taken.
    pub(super) done: usize,
}

/// What a datagram counts for in buffers: even an empty one takes room.
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

    /// Octets that the far host has not acknowledged, wherever they are (SIOCOUTQ).
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

    /// As Linux has it: a third of what is used is free (`sk_stream_is_writeable`).
    pub(super) fn is_writable(&self) -> bool {
        let used = self.unacknowledged();
        self.buffer_size.saturating_sub(used) >= used.div_ceil(2).max(1)
    }

    /// Whether room may be scarce, so that the server has to tell of all that becomes free: an
    /// eighth of it is taken, as far as is known here, and a driver may need three quarters for
    /// what it has not taken yet.
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

    /// Octets that wait here from now on, for which there is room; the last of them may be urgent.
    pub(super) fn put(&mut self, bytes: &[u8], urgent: bool) {
        self.queue.extend(bytes);
        if urgent && !bytes.is_empty() {
            self.urgent.push_back(self.queue.len());
        }
    }

    /// A datagram that waits here from now on.
    pub(super) fn put_datagram(&mut self, whole: DatagramPart) {
        self.datagrams.push_back((whole.to, whole.ancillary, whole.bytes));
    }

    /// The next octets to forward, if the server has room; the last of them may be urgent.
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
        // One may be larger than the room that is left, or than the server's whole buffer.
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
        if self.create.kind != Kind::Stream {
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

    /// Why nothing can be written, if so.
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
        // As in a kernel, one goes beyond the limit if there was room before it.
        if self.sending.room(&self.settings) == 0 {
            return None;
        }
        let bytes = std::mem::take(&mut write.bytes);
        let count = bytes.len();
        let part = DatagramPart { to: write.to, ancillary: Ancillary::none(), bytes, more: false };
        Some(self.put_part(part, out).map(|()| Value::Count(count)))
    }

    /// Sends the server what it has room for, and behind the last of it what was to be said
    /// afterwards.
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

    /// The far host has acknowledged so much more (SND_FREED).
    pub(super) fn freed(&mut self, count: u32, out: &mut Vec<Action>) {
        if !mutant!(self.settings, RemoteUsedNotDecremented) {
            self.sending.remote_used = self.sending.remote_used.saturating_sub(count);
        }
        self.forward(out);
    }
}
