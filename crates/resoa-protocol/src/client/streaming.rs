//! For a driver that moves the octets of streams by itself, see [`Stream`].

use super::Client;
use crate::calls::{Action, DatagramPart, Stream};
use crate::message::Ancillary;
use crate::{Errno, RsockId, Target};
use std::net::SocketAddr;
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

    /// Octets for the program, at most so many and up to an urgent one; nothing if there are none,
    /// and nothing waits. They count as unread until [`consumed`](Self::consumed).
    pub fn take(&mut self, socket: RsockId, most: usize, now: Duration, out: &mut Vec<Action>) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.at(socket, now, out, |socket, actions| bytes = socket.take(most, now, actions));
        bytes
    }

    /// The urgent octet, if it is the next one: then [`take`](Self::take) brings nothing before
    /// that, whether SO_OOBINLINE is set or not.
    pub fn take_urgent(&mut self, socket: RsockId, now: Duration, out: &mut Vec<Action>) -> Option<u8> {
        let mut octet = None;
        self.at(socket, now, out, |socket, actions| octet = socket.take_urgent(now, actions));
        octet
    }

    /// The program has read so many of the octets that were [taken](Self::take).
    pub fn consumed(&mut self, socket: RsockId, count: usize, now: Duration, out: &mut Vec<Action>) {
        self.at(socket, now, out, |socket, actions| socket.consumed(count, now, actions));
    }

    /// Octets of the program, as many as there is [room](Stream::room) for; the last of them may be
    /// urgent. How many were taken.
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

    /// A datagram for the program, where it came from and what is told beside it, if there is one;
    /// it counts as read. An error that waits is told by SO_ERROR alone.
    pub fn take_datagram(
        &mut self,
        socket: RsockId,
        now: Duration,
        out: &mut Vec<Action>,
    ) -> Option<(SocketAddr, Ancillary, Vec<u8>)> {
        let mut datagram = None;
        self.at(socket, now, out, |socket, actions| datagram = socket.take_datagram(now, actions));
        datagram
    }

    /// The oldest datagram that was not delivered, with where it was to go and what is told beside
    /// it, of a socket with IP_RECVERR. Its error is none any more that waits.
    pub fn take_undelivered(&mut self, socket: RsockId) -> Option<(SocketAddr, Ancillary, Vec<u8>)> {
        self.sockets.get_mut(&socket)?.take_undelivered()
    }

    /// A datagram of the program, or a part of one. If it is one of the last, of a program that has
    /// closed and before the [call](Self::call) that says so, it is taken whether there is room or
    /// not.
    ///
    /// # Errors
    /// EAGAIN if there is no room, EPIPE, EDESTADDRREQ if it goes nowhere, EMSGSIZE if it is too
    /// long with the parts before it.
    pub fn give_datagram(
        &mut self,
        socket: RsockId,
        part: DatagramPart,
        is_last: bool,
        now: Duration,
        out: &mut Vec<Action>,
    ) -> Result<(), Errno> {
        let mut outcome = Err(Errno::EBADF);
        self.at(socket, now, out, |socket, actions| {
            outcome = socket.give_datagram(part, is_last, now, actions);
        });
        outcome
    }

    /// The last octets of a program that has closed, before the [call](Self::call) that says so:
    /// they are taken whether there is room or not.
    pub fn give_last(&mut self, socket: RsockId, bytes: &[u8], now: Duration, out: &mut Vec<Action>) {
        self.at(socket, now, out, |socket, actions| socket.give_last(bytes, now, actions));
    }
}
