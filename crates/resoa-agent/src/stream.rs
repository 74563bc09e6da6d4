//! Octets between a program's descriptor and the client's half, both ways, and the ends of both.

use crate::agent::Agent;
use crate::end::IN_PAIR;
use crate::flight::CHUNK;
use crate::socket::{Form, Half, Socket};
use resoa_calls::SocketId;
use resoa_protocol::message;
use resoa_protocol::{SocketCall, Stage};
use std::time::Duration;

/// A program that has read nothing for so long while there is more than it was shown may be waiting
/// for more than that: MSG_PEEK, FIONREAD, SO_RCVLOWAT (C29).
const PATIENCE: Duration = Duration::from_millis(10);

impl Socket {
    /// Whether the program has closed its last descriptor.
    pub(crate) fn is_closing(&self) -> bool {
        match &self.form {
            Form::Closing => true,
            Form::Stream { end, .. } | Form::Listener { end, .. } => end.hung_up,
            Form::Datagram(packets) => packets.hung_up,
            Form::Loose { .. } => false,
        }
    }
}

impl Agent {
    /// All that can be done for a stream.
    pub(crate) fn progress_stream(&mut self, id: SocketId, now: Duration) {
        // What comes of a step may lead here again; the steps that follow see to it.
        if self.progressing.replace(id) == Some(id) {
            return;
        }
        let half = self.sockets.get(&id).and_then(|socket| socket.half);
        if let Some(half) = half
            && self.is_connected(id, half, now)
        {
            self.read(id, half, now);
            self.up(id, half, now);
            self.down(id, half, now);
            self.ends(id, half, now);
        }
        self.progressing = None;
    }

    /// Whether octets may flow: not while it connects, and not if that was refused.
    fn is_connected(&mut self, id: SocketId, half: Half, now: Duration) -> bool {
        let Some(stream) = self.stream(half) else { return false };
        let Some(socket) = self.sockets.get_mut(&id) else { return false };
        let Form::Stream { end, is_connecting, .. } = &mut socket.form else { return false };
        if !*is_connecting {
            return true;
        }
        match stream.stage {
            Stage::Connected => {
                *is_connecting = false;
                end.empty();
                return true;
            }
            _ if end.hung_up => self.close(id, now),
            Stage::Connecting => {}
            _ => self.cut_loose(id, now),
        }
        false
    }

    /// Our end is closed with octets unread: the program sees a reset.
    pub(crate) fn cut_loose(&mut self, id: SocketId, now: Duration) {
        if let Some(socket) = self.sockets.get_mut(&id) {
            socket.form = Form::Loose { is_spent: true };
            if self.loose.is_empty() {
                self.swept = now;
            }
            self.loose.insert(id);
        }
    }

    /// What the program has read opens the window.
    fn read(&mut self, id: SocketId, half: Half, now: Duration) {
        let name = self.name(id);
        let Some(Form::Stream { end, .. }) = self.sockets.get_mut(&id).map(|socket| &mut socket.form) else {
            return;
        };
        let count = end.consumed(&name, now);
        if count > 0 {
            self.counts.octets.1 += count as u64;
            self.at_half(half, now, |client, id, out| client.consumed(id, count, now, out));
        }
    }

    /// What the program has written, as far as SO_SNDBUF goes.
    fn up(&mut self, id: SocketId, half: Half, now: Duration) {
        loop {
            let Some(stream) = self.stream(half) else { return };
            // What the program has written and is not taken waits in the pair, and counts for
            // SO_SNDBUF.
            let room = stream.room.saturating_sub(IN_PAIR.min(stream.send_buffer / 4 * 3));
            let Some(Form::Stream { end, .. }) = self.sockets.get_mut(&id).map(|socket| &mut socket.form)
            else {
                return;
            };
            if room == 0 || end.hung_up {
                return;
            }
            let (bytes, urgent) = end.take(room);
            if bytes.is_empty() {
                return;
            }
            self.counts.octets.0 += bytes.len() as u64;
            self.at_half(half, now, |client, id, out| {
                client.give(id, &bytes, urgent, now, out);
            });
        }
    }

    /// What has come for the program, as far as it may be in flight.
    fn down(&mut self, id: SocketId, half: Half, now: Duration) {
        loop {
            let Some(stream) = self.stream(half) else { return };
            let Some(Form::Stream { end, .. }) = self.sockets.get_mut(&id).map(|socket| &mut socket.form)
            else {
                return;
            };
            if end.hung_up || end.flush(&mut self.weights).is_err() || stream.waiting == 0 {
                return;
            }
            if end.room() == 0 {
                // More than it may be grown to there is not, before the program reads.
                if !end.is_grown && !std::mem::replace(&mut end.is_slow, true) {
                    self.slow.push_back((now + PATIENCE, id));
                }
                return;
            }
            let mut bytes = Vec::new();
            self.at_half(half, now, |client, id, out| bytes = client.take(id, CHUNK, now, out));
            let Some(Form::Stream { end, .. }) = self.sockets.get_mut(&id).map(|socket| &mut socket.form)
            else {
                return;
            };
            let written = if bytes.is_empty() {
                let mut urgent = None;
                self.at_half(half, now, |client, id, out| urgent = client.take_urgent(id, now, out));
                let Some(octet) = urgent else { return };
                match self.sockets.get_mut(&id).map(|socket| &mut socket.form) {
                    Some(Form::Stream { end, .. }) => end.write_urgent(octet, &mut self.weights),
                    _ => return,
                }
            } else {
                end.write(bytes, &mut self.weights)
            };
            if written.is_err() {
                return;
            }
        }
    }

    /// Programs that may wait for more.
    pub(crate) fn expire_slow(&mut self, now: Duration) {
        while let Some(&(at, id)) = self.slow.front()
            && at <= now
        {
            self.slow.pop_front();
            self.announce_again(id, now);
            if let Some(Form::Stream { end, .. }) = self.sockets.get_mut(&id).map(|socket| &mut socket.form) {
                if end.read_at + PATIENCE > now {
                    self.slow.push_back((now + PATIENCE, id));
                    continue;
                }
                (end.is_slow, end.is_grown) = (false, true);
                self.progress(id, now);
            }
        }
    }

    /// The ends of both directions, and of the socket.
    fn ends(&mut self, id: SocketId, half: Half, now: Duration) {
        let Some(stream) = self.stream(half) else { return };
        let Some(Form::Stream { end, is_up_shut, .. }) =
            self.sockets.get_mut(&id).map(|socket| &mut socket.form)
        else {
            return;
        };
        if end.hung_up {
            // Also where the end is a reset, by unread octets or by SO_LINGER without a time: what
            // TCP has sent by then arrives before it, and is lost only if there is no room.
            let mut rest = Vec::new();
            while let bytes @ [_, ..] = &end.take(usize::MAX).0[..] {
                rest.extend(bytes);
            }
            self.counts.octets.0 += rest.len() as u64;
            self.at_half(half, now, |client, id, out| client.give_last(id, &rest, now, out));
            self.close(id, now);
            return;
        }
        let is_written = stream.waiting == 0 && end.is_written();
        match stream.stage {
            Stage::Failed if is_written => {
                self.cut_loose(id, now);
                return;
            }
            Stage::Failed => end.refuse(),
            _ if stream.receive_shut && is_written => end.shut(),
            _ => {}
        }
        let is_over = end.read_hung_up && end.waiting() == 0;
        if is_over && stream.stage == Stage::Connected && !std::mem::replace(is_up_shut, true) {
            let call = self.next_call();
            self.call_half(half, call, SocketCall::Shutdown(message::Half::Write), now);
        }
    }

    /// Whether the descriptor alone says when this is: the end of a connection's writing half
    /// stands behind what was written there. It is asked for if nothing can be written at the
    /// moment, since it may be that the socket connects.
    pub(crate) fn is_of_the_descriptor(&self, id: SocketId, half: Half, what: &SocketCall) -> bool {
        let form = self.sockets.get(&id).map(|socket| &socket.form);
        matches!((what, form), (SocketCall::Shutdown(message::Half::Write), Some(Form::Stream { .. })))
            && self.stream(half).is_some_and(|stream| stream.stage == Stage::Connected && !stream.send_shut)
    }

    /// Octets that the program has written and the client's half has not.
    pub(crate) fn in_pair(&mut self, id: SocketId) -> u32 {
        match self.sockets.get_mut(&id).map(|socket| &mut socket.form) {
            Some(Form::Stream { end, is_connecting: false, .. }) => end.waiting() as u32,
            _ => 0,
        }
    }
}
