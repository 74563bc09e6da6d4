//! Our end of the pair of a datagram socket. Each packet is a datagram. An unconnected socket's
//! datagrams have an address in front or beside. They have control messages, too, once the program
//! has asked for them ([`resoa_calls::datagram`]).

use super::loose::is_held;
use crate::sys;
use resoa_calls::SocketName;
use resoa_calls::datagram::{
    BESIDE, CONNECTED, TELLS, in_front, read_slip, received, slip, split, told, written_on_slip,
};
use resoa_calls::option::{SO_TIMESTAMP_NEW, is_telling};
use resoa_protocol::message::Ancillary;
use resoa_protocol::{CallId, DatagramPart};
use rustix::event::epoll::EventFlags;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, Shutdown, SocketType, recv, recvmsg, send, sendmsg, shutdown,
};
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::time::Duration;

/// SO_SNDBUF of both ends, which the kernel doubles: enough for several datagrams of maximum
/// length.
pub(super) const ROOM: i32 = 212_992;

/// Our end; see the [module](self).
#[derive(Debug)]
pub(super) struct Packets {
    fd: OwnedFd,
    /// Destination of a connected socket, whose datagrams have no address in front.
    pub(super) peer: Option<SocketAddr>,
    /// Whether the program has asked for control messages.
    tells: bool,
    /// The option by which the program has asked for time stamps.
    time_stamps: Option<i32>,
    /// Whether addresses and control messages are beside datagrams, because calls that read are not
    /// intercepted.
    is_beside: bool,
    /// Time of the last datagram, on this host's clock.
    pub(super) stamp: Option<Duration>,
    /// Contents and file of the last slip, which is reused for datagrams from the same host.
    slip: Option<(Vec<u8>, OwnedFd)>,
    errors: Errors,
    /// Whether it has an address.
    pub(super) name: Name,
    /// A datagram that does not fit yet.
    rest: Option<Packet>,
    ends: Ends,
}

/// Whether errors may be reported among datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Errors {
    /// No: the program would take them for datagrams.
    Apart,
    Among {
        /// The pending error was reported.
        is_told: bool,
    },
}

/// State of the ends of the pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ends {
    Open,
    /// Both directions may be shut down: then a hang-up has to be checked.
    Shut,
    /// The program has closed its last descriptor.
    Closed,
}

/// A packet for the program.
#[derive(Debug)]
struct Packet {
    octets: Vec<u8>,
    /// The [contents](written_on_slip) of the slip that goes with it.
    slip: Option<Vec<u8>>,
}

/// State of the socket's own address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Name {
    /// It has none.
    None,
    /// The server was asked for one.
    Asked {
        /// Calls that wait for the address.
        askers: Vec<CallId>,
    },
    /// It has one, or the program is about to ask for it.
    Given,
}

impl Packets {
    pub(super) fn new(fd: OwnedFd, sees_data: bool) -> Self {
        sys::set_send_buffer(&fd, ROOM);
        Self {
            fd,
            peer: None,
            tells: false,
            time_stamps: None,
            is_beside: !sees_data,
            stamp: None,
            slip: None,
            errors: if sees_data { Errors::Among { is_told: false } } else { Errors::Apart },
            name: Name::None,
            rest: None,
            ends: Ends::Open,
        }
    }

    /// Processes an event of epoll.
    pub(super) fn heard(&mut self, events: EventFlags, name: &SocketName) {
        if events.contains(EventFlags::HUP)
            && !(self.ends == Ends::Shut && is_held(name, SocketType::SEQPACKET))
        {
            self.ends = Ends::Closed;
        }
    }

    /// Returns whether the program has closed its last descriptor.
    pub(super) fn is_closed(&self) -> bool {
        self.ends == Ends::Closed
    }

    /// Allows errors among datagrams from now on.
    pub(super) fn show_errors(&mut self) {
        if self.errors == Errors::Apart {
            self.errors = Errors::Among { is_told: false };
        }
    }

    /// Takes the next datagram of the program, with its destination and control messages if it has
    /// them.
    pub(super) fn take(&mut self) -> Option<DatagramPart> {
        let packet = next(&self.fd)?;
        let found =
            if self.peer.is_some() { Some((None, Ancillary::none(), packet)) } else { parts(&packet) };
        // A packet too short for an address was not written by an interposer, and goes nowhere.
        let (to, ancillary, bytes) = found.unwrap_or_else(|| (None, Ancillary::none(), Vec::new()));
        Some(DatagramPart { to, ancillary, bytes, more: false })
    }

    /// Returns whether the program's end has room.
    pub(super) fn has_room(&mut self) -> bool {
        if let Some(packet) = self.rest.take() {
            self.put(packet);
        }
        self.rest.is_none()
    }

    /// Writes a datagram to the program, with its control messages, and with the time stamp of this
    /// clock if the program asks for it.
    pub(super) fn write(
        &mut self,
        from: SocketAddr,
        ancillary: &Ancillary,
        bytes: Vec<u8>,
        now: impl FnOnce() -> Duration,
    ) {
        let now = now();
        self.stamp = Some(now);
        let packet = match self.time_stamps {
            Some(option) => self.packet(from, &stamped(ancillary, option, now), bytes),
            None => self.packet(from, ancillary, bytes),
        };
        self.put(packet);
    }

    /// Returns a datagram for the program in its descriptor's format.
    fn packet(&self, from: SocketAddr, ancillary: &Ancillary, bytes: Vec<u8>) -> Packet {
        // On a connected socket the address is not needed, unless it is not the peer's. It may
        // differ if the datagram came before the `connect`, or if the peer is any port.
        let is_told = self.peer != Some(from) || self.tells;
        let has_no_front = in_front(self.mark()) == 0;
        let slip = (has_no_front && is_told).then(|| written_on_slip(from, ancillary));
        Packet { octets: told(self.mark(), from, ancillary, bytes), slip }
    }

    /// Returns the mark of its descriptor ([`resoa_calls::datagram`]).
    pub(super) fn mark(&self) -> i32 {
        let connected = if self.peer.is_some() { CONNECTED } else { 0 };
        match (self.is_beside, self.tells) {
            (true, _) => connected | BESIDE,
            (false, true) => connected | TELLS,
            (false, false) => connected,
        }
    }

    /// Writes a packet, or keeps it if there is no room. After any other failure it is lost, as any
    /// datagram may be.
    fn put(&mut self, packet: Packet) {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        let sent = match &packet.slip {
            None => send(&self.fd, &packet.octets, flags),
            Some(written) => match slip_of(&mut self.slip, written) {
                Ok(file) => send_with(&self.fd, &packet.octets, file.as_fd(), flags),
                Err(_) => return,
            },
        };
        if sent == Err(rustix::io::Errno::AGAIN) {
            self.rest = Some(packet);
        }
    }

    /// Connects or disconnects it. `program` is the other end.
    pub(super) fn connect(&mut self, peer: Option<SocketAddr>, program: BorrowedFd) {
        let before = (self.mark(), self.peer);
        self.peer = peer;
        self.put_again(before, program);
    }

    /// Notes an option that the program has set. `program` is the other end. After the first option
    /// that asks for control messages, datagrams have room for them in front.
    pub(super) fn option_is_set(&mut self, (level, name): (i32, i32), value: &[u8], program: BorrowedFd) {
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

    /// Converts the waiting datagrams from the format of the previous mark and peer to the current
    /// one.
    fn put_again(&mut self, (mark, peer): (i32, Option<SocketAddr>), program: BorrowedFd) {
        let mut waiting = Vec::new();
        while let Some((octets, file)) = next_of_program(program) {
            match file.map(read_slip) {
                // Reported after the datagrams, if it is still pending.
                Some(None) => self.show_error_again(),
                beside => waiting.push((octets, beside.flatten())),
            }
        }
        if let Some(Packet { octets, slip: written }) = self.rest.take() {
            let beside = written.and_then(|written| read_slip(slip(&written).ok()?));
            waiting.push((octets, beside));
        }
        resoa_calls::descriptor::set_mark(program, self.mark());
        for (octets, beside) in waiting {
            let Some((front, payload)) = octets.split_at_checked(in_front(mark)) else { continue };
            let told = beside.map(|(from, ancillary)| (Some(from), ancillary));
            let Some((from, ancillary)) = told.or_else(|| received(mark, front)) else { continue };
            if let Some(from) = from.or(peer) {
                let packet = self.packet(from, &ancillary, payload.to_vec());
                self.put(packet);
            }
        }
    }

    /// Reports a pending error, once, by a packet with a descriptor. `waits` is whether an error is
    /// pending.
    pub(super) fn tell_error(&mut self, waits: bool) {
        let Errors::Among { is_told } = &mut self.errors else { return };
        if waits && !*is_told && self.rest.is_none() {
            // The descriptor has no meaning. If none is left, or there is no room, the next event
            // retries.
            let Ok(nothing) = eventfd(0, EventfdFlags::CLOEXEC) else { return };
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            *is_told = send_with(&self.fd, &[], nothing.as_fd(), flags).is_ok();
        }
        *is_told &= waits;
    }

    fn show_error_again(&mut self) {
        if let Errors::Among { is_told } = &mut self.errors {
            *is_told = false;
        }
    }

    /// Shuts down directions.
    pub(super) fn shut(&mut self, receive: bool, send: bool) {
        if (receive || send) && self.ends == Ends::Open {
            self.ends = Ends::Shut;
        }
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

/// Splits a packet of the program into its front and its datagram.
fn parts(packet: &[u8]) -> Option<(Option<SocketAddr>, Ancillary, Vec<u8>)> {
    split(packet).map(|(to, ancillary, payload)| (to, ancillary, payload.to_vec()))
}

/// Returns a file with these contents: the last one, if it has the same.
fn slip_of<'a>(last: &'a mut Option<(Vec<u8>, OwnedFd)>, written: &[u8]) -> std::io::Result<&'a OwnedFd> {
    if last.as_ref().is_none_or(|(other, _)| other != written) {
        *last = None;
    }
    match last {
        Some((_, file)) => Ok(file),
        none => Ok(&none.insert((written.to_vec(), slip(written)?)).1),
    }
}

/// Sends a packet with a descriptor.
fn send_with(
    fd: impl AsFd,
    octets: &[u8],
    descriptor: BorrowedFd,
    flags: SendFlags,
) -> rustix::io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    let descriptors = [descriptor];
    beside.push(SendAncillaryMessage::ScmRights(&descriptors));
    sendmsg(fd, &[IoSlice::new(octets)], &mut beside, flags)
}

/// Takes the next packet for the program, and the descriptor that comes with it.
fn next_of_program(program: BorrowedFd) -> Option<(Vec<u8>, Option<OwnedFd>)> {
    let peeks = RecvFlags::PEEK | RecvFlags::TRUNC | RecvFlags::DONTWAIT;
    let (_, length) = recv(program, &mut [0; 1][..], peeks).ok()?;
    let mut octets = vec![0; length.max(1)];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let count = recvmsg(program, &mut [IoSliceMut::new(&mut octets)], &mut beside, flags).ok()?.bytes;
    let descriptor = beside.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    octets.truncate(count);
    (count > 0 || descriptor.is_some() || is_empty_packet(program)).then_some((octets, descriptor))
}

/// Returns whether a read of 0 bytes was an empty packet, and not the end.
fn is_empty_packet(fd: impl AsFd) -> bool {
    let mut polled = [PollFd::new(&fd, PollFlags::RDHUP)];
    let found = poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
    found.is_ok() && polled[0].revents().is_empty()
}

/// Returns control messages with a time stamp in front, as the kernel orders them.
fn stamped(ancillary: &Ancillary, option: i32, now: Duration) -> Ancillary {
    let is_in_us = matches!(option, libc::SO_TIMESTAMP | SO_TIMESTAMP_NEW);
    let part = if is_in_us { now.subsec_micros() } else { now.subsec_nanos() };
    let value = [now.as_secs(), u64::from(part)].map(u64::to_ne_bytes).concat();
    let mut stamped = Ancillary::none();
    // There is room for it: a server's control messages are shorter than the rest of the maximum.
    let _ = stamped.push(libc::SOL_SOCKET as u8, option as u8, &value);
    for record in ancillary.records() {
        let _ = stamped.push(record.level, record.kind, record.value);
    }
    stamped
}

/// Takes a packet, if there is one. A read of 0 bytes is an empty datagram, or the end if the other
/// end is closed or shut down.
fn next(fd: impl AsFd) -> Option<Vec<u8>> {
    // The length is read from the packet itself: a length of the queue may be older than the
    // packet.
    let peeks = RecvFlags::PEEK | RecvFlags::TRUNC | RecvFlags::DONTWAIT;
    let (_, length) = recv(&fd, &mut [0; 1][..], peeks).ok()?;
    let mut packet = vec![0; length.max(1)];
    let (count, _) = recv(&fd, &mut packet[..], RecvFlags::DONTWAIT).ok()?;
    packet.truncate(count);
    if count > 0 {
        return Some(packet);
    }
    is_empty_packet(fd).then_some(packet)
}
