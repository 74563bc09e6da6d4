//! Our end of the pair whose other end is a program's datagram socket: a packet a datagram, with an address in front while it is not connected, and with control messages
//! once the program has asked for some ([`resoa_calls::datagram`]).

use crate::sys;
use resoa_calls::SocketName;
use resoa_calls::datagram::{CONNECTED, TELLS, in_front, received, split, told};
use resoa_calls::option::{SO_TIMESTAMP_NEW, is_telling};
use resoa_protocol::message::Ancillary;
use resoa_protocol::{CallId, Outgoing};
use rustix::event::epoll::EventFlags;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::net::{
    RecvAncillaryBuffer, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, Shutdown,
    SocketType, recv, recvmsg, send, sendmsg, shutdown,
};
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::time::Duration;

/// SO_SNDBUF of both ends. The kernel doubles it: several datagrams of the longest.
pub(crate) const ROOM: i32 = 212_992;

/// Our end; see the [module](self).
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "what the kernel has said, what the program has and what it was told, each for itself"
)]
pub(crate) struct Packets {
    fd: OwnedFd,
    /// Where it is connected to: nothing stands in front of datagrams.
    pub(crate) peer: Option<SocketAddr>,
    /// The program has asked for control messages.
    tells: bool,
    /// The option by which it has asked for the time at which they come.
    time_stamps: Option<i32>,
    /// Errors may come among its datagrams.
    pub(crate) sees_data: bool,
    /// The one that waits has.
    is_error_told: bool,
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
    pub(crate) fn new(fd: OwnedFd, sees_data: bool) -> Self {
        sys::set_send_buffer(&fd, ROOM);
        Self {
            fd,
            peer: None,
            tells: false,
            time_stamps: None,
            sees_data,
            is_error_told: false,
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

    /// The next datagram of the program, with where it is to go and what is beside it if that is said.
    pub(crate) fn take(&mut self) -> Option<Outgoing> {
        let packet = next(&self.fd)?;
        let found =
            if self.peer.is_some() { Some((None, Ancillary::none(), packet)) } else { parts(&packet) };
        // Without room for an address it is none of an interposer's, and goes nowhere.
        let (to, ancillary, bytes) = found.unwrap_or_else(|| (None, Ancillary::none(), Vec::new()));
        Some(Outgoing { to, ancillary, bytes, more: false })
    }

    /// Whether the program can be written to.
    pub(crate) fn has_room(&mut self) -> bool {
        if let Some(packet) = self.rest.take() {
            self.put(packet);
        }
        self.rest.is_none()
    }

    /// Writes a datagram to the program, with what is told beside it and the time of this clock if the program wants it.
    pub(crate) fn write(
        &mut self,
        from: SocketAddr,
        ancillary: &Ancillary,
        bytes: Vec<u8>,
        now: impl FnOnce() -> Duration,
    ) {
        let packet = match self.time_stamps {
            Some(option) => told(self.mark(), from, &stamped(ancillary, option, now()), bytes),
            None => told(self.mark(), from, ancillary, bytes),
        };
        self.put(packet);
    }

    /// What its descriptor says ([`resoa_calls::datagram`]).
    fn mark(&self) -> i32 {
        let connected = if self.peer.is_some() { CONNECTED } else { 0 };
        if self.tells { connected | TELLS } else { connected }
    }

    fn put(&mut self, packet: Vec<u8>) {
        let sent = send(&self.fd, &packet, SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
        if sent == Err(rustix::io::Errno::AGAIN) {
            self.rest = Some(packet);
        }
    }

    /// It is connected from now on, or not any more. `program` is the other end.
    pub(crate) fn connect(&mut self, peer: Option<SocketAddr>, program: BorrowedFd) {
        let before = (self.mark(), self.peer);
        self.peer = peer;
        self.put_again(before, program);
    }

    /// The program has set an option. `program` is the other end: from the first one on that asks for control messages, there is room for them in front.
    pub(crate) fn option_is_set(&mut self, (level, name): (i32, i32), value: &[u8], program: BorrowedFd) {
        let is_on = value.iter().any(|&octet| octet != 0);
        if !is_telling(level, name) {
            return;
        }
        if level == libc::SOL_SOCKET {
            self.time_stamps = is_on.then_some(name);
        }
        if is_on && !self.tells {
            let before = (self.mark(), self.peer);
            self.tells = true;
            self.put_again(before, program);
        }
    }

    /// What waits for the program has something else in front from now on than `before`, when there was another mark and another peer.
    fn put_again(&mut self, (mark, peer): (i32, Option<SocketAddr>), program: BorrowedFd) {
        let mut waiting = Vec::new();
        while let Some(is_error) = is_error(program) {
            let Some(packet) = next(program) else { break };
            if is_error {
                // Told behind the others, if it still waits.
                self.is_error_told = false;
            } else {
                waiting.push(packet);
            }
        }
        waiting.extend(self.rest.take());
        resoa_calls::descriptor::set_mark(program, self.mark());
        for packet in waiting {
            let Some((front, payload)) = packet.split_at_checked(in_front(mark)) else { continue };
            let Some((from, ancillary)) = received(mark, front) else { continue };
            if let Some(from) = from.or(peer) {
                self.put(told(self.mark(), from, &ancillary, payload.to_vec()));
            }
        }
    }

    /// Whether an error waits: a packet with a descriptor tells of it, once.
    pub(crate) fn tell_error(&mut self, waits: bool) {
        if waits && self.sees_data && !self.is_error_told && self.rest.is_none() {
            // It stands for nothing. Where there is none left, or no room, it is tried again after the next event.
            let Ok(nothing) = eventfd(0, EventfdFlags::CLOEXEC) else { return };
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut beside = SendAncillaryBuffer::new(&mut space);
            let descriptors = [nothing.as_fd()];
            beside.push(SendAncillaryMessage::ScmRights(&descriptors));
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            self.is_error_told = sendmsg(&self.fd, &[], &mut beside, flags).is_ok();
        }
        self.is_error_told &= waits;
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

/// What stands in front of a datagram, and the datagram.
fn parts(packet: &[u8]) -> Option<(Option<SocketAddr>, Ancillary, Vec<u8>)> {
    split(packet).map(|(to, ancillary, payload)| (to, ancillary, payload.to_vec()))
}

/// Whether the next packet for the program is none of its datagrams; `None` if there is none.
fn is_error(program: BorrowedFd) -> Option<bool> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    recvmsg(program, &mut [], &mut beside, flags).ok()?;
    Some(beside.drain().count() > 0)
}

/// Control messages with a time stamp in front of them, as the kernel puts it.
fn stamped(ancillary: &Ancillary, option: i32, now: Duration) -> Ancillary {
    let is_in_us = matches!(option, libc::SO_TIMESTAMP | SO_TIMESTAMP_NEW);
    let part = if is_in_us { now.subsec_micros() } else { now.subsec_nanos() };
    let value = [now.as_secs(), u64::from(part)].map(u64::to_ne_bytes).concat();
    let mut stamped = Ancillary::none();
    // There is room for it: what a server tells of a datagram is shorter than the rest.
    let _ = stamped.push(libc::SOL_SOCKET as u8, option as u8, &value);
    for record in ancillary.records() {
        let _ = stamped.push(record.level, record.kind, record.value);
    }
    stamped
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
