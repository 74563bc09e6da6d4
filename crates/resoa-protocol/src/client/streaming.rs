//! For a driver that moves the octets of streams by itself, see [`Stream`].

use super::Client;
use crate::calls::{Action, Stream};
use crate::{RsockId, Target};
use std::time::Duration;

impl Client {
    /// Whose a message is, whatever the server calls it.
    #[must_use]
    pub fn socket_of(&self, target: Target) -> Option<RsockId> {
        self.find(target)
    }

    /// How a stream does; `None` if there is none.
    #[must_use]
    pub fn stream(&self, socket: RsockId) -> Option<Stream> {
        self.sockets.get(&socket).map(crate::lsm::Lsm::stream)
    }

    /// Octets for the program, at most so many and up to an urgent one; nothing if there are none, and nothing waits. They count as unread until
    /// [`consumed`](Self::consumed).
    pub fn take(&mut self, socket: RsockId, most: usize, now: Duration, out: &mut Vec<Action>) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.at(socket, now, out, |socket, actions| bytes = socket.take(most, now, actions));
        bytes
    }

    /// The program has read so many of the octets that were [taken](Self::take).
    pub fn consumed(&mut self, socket: RsockId, count: usize, now: Duration, out: &mut Vec<Action>) {
        self.at(socket, now, out, |socket, actions| socket.consumed(count, now, actions));
    }

    /// Octets of the program, as many as there is [room](Stream::room) for; the last of them may be urgent. How many were taken.
    pub fn give(
        &mut self,
        socket: RsockId,
        bytes: &[u8],
        urgent: bool,
        now: Duration,
        out: &mut Vec<Action>,
    ) -> usize {
        let mut taken = 0;
        self.at(socket, now, out, |socket, actions| taken = socket.give(bytes, urgent, now, actions));
        taken
    }
}
