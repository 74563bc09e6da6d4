//! Our end of the pair whose other end is a program's datagram socket: a packet a datagram, with an address in front while it is not connected.

use crate::sys;
use resoa_calls::SocketName;
use resoa_calls::datagram::{CONNECTED, header, split};
use resoa_protocol::CallId;
use rustix::event::epoll::EventFlags;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::net::{RecvFlags, SendFlags, Shutdown, SocketType, recv, send, shutdown};
use std::net::SocketAddr;

/// SO_SNDBUF of both ends. The kernel doubles it: several datagrams of the longest.
pub(crate) const ROOM: i32 = 212_992;

/// Our end; see the [module](self).
#[derive(Debug)]
pub(crate) struct Packets {
    fd: OwnedFd,
    /// Where it is connected to: nothing stands in front of datagrams.
    pub(crate) peer: Option<SocketAddr>,
    /// Whether it has an address.
    pub(crate) name: Name,
    /// Calls that ask for the address meanwhile.
    pub(crate) askers: Vec<CallId>,
    /// One that does not go yet.
    rest: Option<Vec<u8>>,
    /// The program has closed its last descriptor.
    pub(crate) hung_up: bool,
    /// Both halves may be shut: then a hang-up has to be looked at.
    is_shut: bool,
}

/// Of an address of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Name {
    /// There is none.
    None,
    /// The server was asked for one.
    Asked,
    /// There is one, or the program is about to ask for it.
    Given,
}

impl Packets {
    pub(crate) fn new(fd: OwnedFd) -> Self {
        sys::set_send_buffer(&fd, ROOM);
        Self {
            fd,
            peer: None,
            name: Name::None,
            askers: Vec::new(),
            rest: None,
            hung_up: false,
            is_shut: false,
        }
    }

    /// What epoll has said.
    pub(crate) fn heard(&mut self, events: EventFlags, name: &SocketName) {
        self.hung_up |= events.contains(EventFlags::HUP);
        if self.hung_up && self.is_shut {
            self.hung_up = !crate::sweep::is_held(name, SocketType::SEQPACKET);
        }
    }

    /// The next datagram of the program, and where it is to go if that is said.
    pub(crate) fn take(&mut self) -> Option<(Option<SocketAddr>, Vec<u8>)> {
        let packet = next(&self.fd)?;
        match self.peer {
            Some(_) => Some((None, packet)),
            // Without room for an address it is none of an interposer's, and goes nowhere.
            None => Some(split(&packet).map_or((None, Vec::new()), |(to, payload)| (to, payload.to_vec()))),
        }
    }

    /// Whether the program can be written to.
    pub(crate) fn has_room(&mut self) -> bool {
        if let Some(packet) = self.rest.take() {
            self.put(packet);
        }
        self.rest.is_none()
    }

    /// Writes a datagram to the program.
    pub(crate) fn write(&mut self, from: SocketAddr, bytes: Vec<u8>) {
        let packet = if self.peer.is_some() { bytes } else { [&header(Some(from))[..], &bytes].concat() };
        self.put(packet);
    }

    fn put(&mut self, packet: Vec<u8>) {
        let sent = send(&self.fd, &packet, SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
        if sent == Err(rustix::io::Errno::AGAIN) {
            self.rest = Some(packet);
        }
    }

    /// It is connected from now on, or not any more. `program` is the other end: what waits there for the program has an address in front, or none, and now it is
    /// the other way round.
    pub(crate) fn connect(&mut self, peer: Option<SocketAddr>, program: BorrowedFd) {
        let before = std::mem::replace(&mut self.peer, peer);
        let priority = if peer.is_some() { CONNECTED } else { 0 };
        let mut waiting: Vec<Vec<u8>> = std::iter::from_fn(|| next(program)).collect();
        waiting.extend(self.rest.take());
        sys::set_priority(program, priority);
        for packet in waiting {
            match (before, peer) {
                (None, Some(_)) => {
                    if let Some((_, payload)) = split(&packet) {
                        self.put(payload.to_vec());
                    }
                }
                (Some(from), None) => self.write(from, packet),
                _ => self.put(packet),
            }
        }
    }

    /// Halves that are shut.
    pub(crate) fn shut(&mut self, receive: bool, send: bool) {
        self.is_shut |= receive || send;
        for (is_shut, half) in [(receive, Shutdown::Write), (send, Shutdown::Read)] {
            if is_shut {
                let _ = shutdown(&self.fd, half);
            }
        }
    }
}

impl AsFd for Packets {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// A packet, if there is one. An empty one is a datagram, or the end: then the other end is gone, or is shut.
fn next(fd: impl AsFd) -> Option<Vec<u8>> {
    // Its length is asked of the packet itself: what is said of the queue may be older than the packet.
    let peeks = RecvFlags::PEEK | RecvFlags::TRUNC | RecvFlags::DONTWAIT;
    let (_, length) = recv(&fd, &mut [0; 1][..], peeks).ok()?;
    let mut packet = vec![0; length.max(1)];
    let (count, _) = recv(&fd, &mut packet[..], RecvFlags::DONTWAIT).ok()?;
    packet.truncate(count);
    if count > 0 {
        return Some(packet);
    }
    let mut polled = [PollFd::new(&fd, PollFlags::RDHUP)];
    poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).ok()?;
    polled[0].revents().is_empty().then_some(packet)
}
