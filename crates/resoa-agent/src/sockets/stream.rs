//! Data between a program's descriptor and the client's half, in both directions, and their ends.

use super::Shared;
use super::end::{End, IN_PAIR, PATIENCE};
use super::flight::CHUNK;
use super::socket::Found;
use crate::associations::AtHalf;
use resoa_calls::{SocketId, SocketName};
use resoa_protocol::message;
use resoa_protocol::{Client, SocketCall, Stage};
use rustix::event::epoll::EventFlags;
use std::time::Duration;

/// Our end of a stream; see the [module](self).
#[derive(Debug)]
pub(super) struct StreamEnd {
    end: End,
    phase: Phase,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The filling is still there.
    Connecting,
    /// Data flows.
    Connected,
    /// Data flows, and the client's half knows that the program has finished sending.
    UpShut,
}

impl StreamEnd {
    /// Creates an end that is filled until the half is connected.
    pub(super) fn connecting(end: End) -> Self {
        Self { end, phase: Phase::Connecting }
    }

    pub(super) fn connected(end: End) -> Self {
        Self { end, phase: Phase::Connected }
    }

    /// Returns whether the program has closed its last descriptor.
    pub(super) fn is_closed(&self) -> bool {
        self.end.is_closed()
    }

    /// Processes an event of epoll.
    pub(super) fn heard(&mut self, events: EventFlags, name: &SocketName) {
        self.end.heard(events, name);
    }

    /// See [`End::look`].
    pub(super) fn look(&mut self, name: &SocketName) {
        self.end.look(name);
    }

    /// Returns the number of bytes that the program has written and the client's half does not have
    /// yet.
    pub(super) fn in_pair(&self) -> usize {
        if self.phase == Phase::Connecting { 0 } else { self.end.waiting() }
    }

    /// Raises the limit of data in flight if the program reads nothing: see [`End::grow`].
    pub(super) fn grow(&mut self, now: Duration) -> bool {
        self.end.grow(now)
    }

    /// Processes everything that is possible.
    pub(super) fn pass(
        &mut self,
        (id, name): (SocketId, &SocketName),
        half: &mut AtHalf,
        shared: &mut Shared,
    ) -> Found {
        if self.phase == Phase::Connecting {
            let Some(stream) = half.stream() else { return Found::Open };
            match stream.stage {
                Stage::Connected => {
                    self.phase = Phase::Connected;
                    self.end.empty();
                }
                _ if self.end.is_closed() => return Found::Closed,
                Stage::Connecting => return Found::Open,
                _ => return Found::Failed,
            }
        }
        self.read(name, half, shared);
        self.up(half, shared);
        self.down(id, half, shared);
        self.ends(half, shared)
    }

    /// Opens the window by the number of bytes that the program has read.
    fn read(&mut self, name: &SocketName, half: &mut AtHalf, shared: &mut Shared) {
        let count = self.end.consumed(name, half.now());
        if count > 0 {
            shared.counts.octets.1 += count as u64;
            half.at(|client, id, now, out| client.consumed(id, count, now, out));
        }
    }

    /// Takes data from the program, as far as SO_SNDBUF allows.
    fn up(&mut self, half: &mut AtHalf, shared: &mut Shared) {
        while let Some(stream) = half.stream() {
            // Data that is not taken yet waits in the pair, and counts for SO_SNDBUF.
            let room = stream.room.saturating_sub(IN_PAIR.min(stream.send_buffer / 4 * 3));
            if room == 0 || self.end.is_closed() {
                return;
            }
            let (bytes, urgent) = self.end.take(room);
            if bytes.is_empty() {
                return;
            }
            shared.counts.octets.0 += bytes.len() as u64;
            half.at(|client, id, now, out| client.give(id, &bytes, urgent, now, out));
        }
    }

    /// Writes data to the program, up to the limit in flight.
    fn down(&mut self, id: SocketId, half: &mut AtHalf, shared: &mut Shared) {
        while let Some(stream) = half.stream() {
            if self.end.is_closed() || self.end.flush(&mut shared.weights).is_err() || stream.waiting == 0 {
                return;
            }
            if self.end.room() == 0 {
                if self.end.is_short() {
                    shared.line.set(id, Some(half.now() + PATIENCE));
                }
                return;
            }
            let bytes = half.at(|client, id, now, out| client.take(id, CHUNK, now, out));
            let written = if bytes.is_empty() {
                let Some(octet) = half.at(Client::take_urgent) else { return };
                self.end.write_urgent(octet, &mut shared.weights)
            } else {
                self.end.write(bytes, &mut shared.weights)
            };
            if written.is_err() {
                return;
            }
        }
    }

    /// Processes the ends of both directions, and of the socket.
    fn ends(&mut self, half: &mut AtHalf, shared: &mut Shared) -> Found {
        let Some(stream) = half.stream() else { return Found::Open };
        if self.end.is_closed() {
            // This also holds if the close is a reset, because of unread data or of SO_LINGER with
            // time 0. Data that TCP has sent by then arrives before the reset, and is lost only
            // without room.
            let mut rest = Vec::new();
            while let bytes @ [_, ..] = &self.end.take(usize::MAX).0[..] {
                rest.extend(bytes);
            }
            shared.counts.octets.0 += rest.len() as u64;
            half.at(|client, id, now, out| client.give_last(id, &rest, now, out));
            return Found::Closed;
        }
        let is_written = stream.waiting == 0 && self.end.is_written();
        match stream.stage {
            Stage::Failed if is_written => return Found::Failed,
            Stage::Failed => self.end.refuse(),
            _ if stream.receive_shut && is_written => self.end.shut(),
            _ => {}
        }
        if self.phase == Phase::Connected && stream.stage == Stage::Connected && self.end.is_at_end() {
            self.phase = Phase::UpShut;
            half.call(shared.own.next(), SocketCall::Shutdown(message::Half::Write));
        }
        Found::Open
    }
}
