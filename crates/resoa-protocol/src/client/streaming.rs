//! Functions for a driver that moves the data of sockets itself; see [`Stream`].

use super::Client;
use crate::calls::{Action, DatagramPart, Stream};
use crate::message::Ancillary;
use crate::{Errno, RsockId};
use std::net::SocketAddr;
use std::time::Duration;

impl Client {
    /// Returns the state of a socket; `None` if it does not exist.
    #[must_use]
    pub fn stream(&self, socket: RsockId) -> Option<Stream> {
        self.sockets.get(&socket).map(crate::lsm::Lsm::stream)
    }

    /// Takes at most `most` bytes for the program, up to an urgent byte. Returns nothing if there
    /// are none; it never waits. The bytes count as unread until [`consumed`](Self::consumed).
    pub fn take(&mut self, socket: RsockId, most: usize, now: Duration, out: &mut Vec<Action>) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.at(socket, now, out, |socket, actions| bytes = socket.take(most, now, actions));
        bytes
    }

    /// Takes the urgent byte if it is the next one. Until then, [`take`](Self::take) returns
    /// nothing, whether SO_OOBINLINE is set or not.
    pub fn take_urgent(&mut self, socket: RsockId, now: Duration, out: &mut Vec<Action>) -> Option<u8> {
        let mut octet = None;
        self.at(socket, now, out, |socket, actions| octet = socket.take_urgent(now, actions));
        octet
    }

    /// Notes that the program has read this many of the bytes that were [taken](Self::take).
    pub fn consumed(&mut self, socket: RsockId, count: usize, now: Duration, out: &mut Vec<Action>) {
        self.at(socket, now, out, |socket, actions| socket.consumed(count, now, actions));
    }

    /// Gives bytes of the program, of which as many are taken as there is [room](Stream::room) for.
    /// The last of them may be urgent. Returns how many were taken.
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

    /// Takes a datagram for the program, with its source and control messages. It counts as read. A
    /// pending error is reported only by SO_ERROR.
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

    /// Takes the oldest datagram that was not delivered, with its destination and control messages,
    /// from a socket with IP_RECVERR. Its error is no longer pending.
    pub fn take_undelivered(&mut self, socket: RsockId) -> Option<(SocketAddr, Ancillary, Vec<u8>)> {
        self.sockets.get_mut(&socket)?.take_undelivered()
    }

    /// Gives a datagram of the program, or a part of one. If the program has closed and this is one
    /// of its last, before the [call](Self::call) that says so, it needs no room.
    ///
    /// # Errors
    /// EAGAIN if there is no room, EPIPE if nothing may be sent any more, EDESTADDRREQ if it has no
    /// destination, EMSGSIZE if it is too long together with the parts before it, EBADF if the
    /// socket does not exist.
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

    /// Gives the last bytes of a program that has closed, before the [call](Self::call) that says
    /// so. They need no room.
    pub fn give_last(&mut self, socket: RsockId, bytes: &[u8], now: Duration, out: &mut Vec<Action>) {
        self.at(socket, now, out, |socket, actions| socket.give_last(bytes, now, actions));
    }
}
