//! Octets between a program's descriptor and the client's half, both ways, and the ends of both.

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
    /// Octets flow.
    Connected,
    /// The same, and the client's half knows that the program writes no more.
    UpShut,
}

impl StreamEnd {
    /// An end that is filled until the half is connected.
    pub(super) fn connecting(end: End) -> Self {
        Self { end, phase: Phase::Connecting }
    }

    pub(super) fn connected(end: End) -> Self {
        Self { end, phase: Phase::Connected }
    }

    /// Whether the program has closed its last descriptor.
    pub(super) fn is_closed(&self) -> bool {
        self.end.is_closed()
    }

    /// What epoll has said.
    pub(super) fn heard(&mut self, events: EventFlags, name: &SocketName) {
        self.end.heard(events, name);
    }

    /// See [`End::look`].
    pub(super) fn look(&mut self, name: &SocketName) {
        self.end.look(name);
    }

    /// Octets that the program has written and the client's half has not.
    pub(super) fn in_pair(&self) -> usize {
        if self.phase == Phase::Connecting { 0 } else { self.end.waiting() }
    }

    /// More may be in flight if the program reads nothing meanwhile: see [`End::grow`].
    pub(super) fn grow(&mut self, now: Duration) -> bool {
        self.end.grow(now)
    }

    /// Does all that can be done.
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

    /// What the program has read opens the window.
    fn read(&mut self, name: &SocketName, half: &mut AtHalf, shared: &mut Shared) {
        let count = self.end.consumed(name, half.now());
        if count > 0 {
            shared.counts.octets.1 += count as u64;
            half.at(|client, id, now, out| client.consumed(id, count, now, out));
        }
    }

    /// What the program has written, as far as SO_SNDBUF goes.
    fn up(&mut self, half: &mut AtHalf, shared: &mut Shared) {
        while let Some(stream) = half.stream() {
            // What the program has written and is not taken waits in the pair, and counts for
            // SO_SNDBUF.
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

    /// What has come for the program, as far as it may be in flight.
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

    /// The ends of both directions, and of the socket.
    fn ends(&mut self, half: &mut AtHalf, shared: &mut Shared) -> Found {
        let Some(stream) = half.stream() else { return Found::Open };
        if self.end.is_closed() {
            // Also where the end is a reset, by unread octets or by SO_LINGER without a time: what
            // TCP has sent by then arrives before it, and is lost only if there is no room.
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
