//! Sending and receiving datagrams, whose format is in [`crate::datagram`]. Programs do not see the
//! address and the control messages in front of them.

use super::options::{number, told_error};
use super::{Detour, Piece, Program, Socket, Stop, control, done, total};
use crate::datagram::{ASKED, CONNECTED, FRONT, in_front, may_be_broadcast, read_slip, received, said_in};
use crate::outgoing::{Outgoing, Way};
use crate::stream::wants_errors;
use crate::{Request, Response, descriptor, sender};
use libc::{MSG_DONTWAIT, MSG_ERRQUEUE, MSG_MORE, MSG_PEEK, MSG_TRUNC};
use resoa_protocol::message::Ancillary;
use rustix::fd::OwnedFd;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recv, recvmsg};
use std::mem::MaybeUninit;
use std::net::SocketAddr;

/// Length in bytes of the longest answer with a datagram.
const LONGEST_UNDELIVERED: usize = 68 << 10;

/// Sends pieces as one datagram, with these control messages. Returns their length.
///
/// # Errors
/// As `sendto` of a UDP socket.
pub fn send(
    program: &impl Program,
    socket: &Socket,
    pieces: &[Piece],
    address: Option<&[u8]>,
    control: &[u8],
    flags: i32,
) -> Detour<usize> {
    let to = address.map_or(Ok(None), |address| sender::destination(socket, address))?;
    let length = total(pieces);
    let outgoing = Outgoing { length, to, control, flags };
    let is_broadcast = to.is_some_and(may_be_broadcast) && number(program, socket, libc::SO_BROADCAST)? == 0;
    let is_allowed = !is_broadcast && !sender::may_have_wrong_source(socket, to);
    let mark = descriptor::mark(socket);
    let way = outgoing.way(mark, || Ok(sender::domain(socket)), || control::peer(program, socket))?;
    program.sees(socket)?;
    if !outgoing.goes_nowhere(mark) {
        told(program, socket)?;
    }
    match way {
        Way::Descriptor(front) => {
            let mut room = [0; FRONT];
            let front = front.as_ref().map(|(to, ancillary)| said_in(*to, ancillary, &mut room));
            let sent = program.send_packet(socket, front.unwrap_or_default(), pieces, flags);
            sent.map_err(|stop| failure(program, socket, stop))?;
        }
        Way::Agent(address, ancillary) => {
            let mut octets = vec![0; length];
            let mut rest = &mut octets[..];
            for piece in pieces {
                // Another thread of the program may change the data meanwhile.
                let (here, behind) = rest.split_at_mut(piece.length.min(rest.len()));
                program.read(piece.address, here)?;
                rest = behind;
            }
            let (ancillary, more) = (ancillary.octets().to_vec(), flags & MSG_MORE != 0);
            done(program, &Request::SendTo { socket: socket.id, address, ancillary, octets, more }, None)?;
        }
    }
    if !is_allowed {
        allowed(program, socket)?;
    }
    Ok(length)
}

/// Asks the server whether it allowed a datagram that may have been a broadcast, or whose source
/// address may be a loopback address.
fn allowed(program: &impl Program, socket: &Socket) -> Detour<()> {
    number(program, socket, ASKED)?;
    // The packet about this error must not report it again.
    takes_error(socket);
    told_now(program, socket)
}

/// Returns the error of a descriptor whose other end is closed: the socket's error, EPIPE after the
/// program's `shutdown`, or ENETDOWN without an agent.
fn failure(program: &impl Program, socket: &Socket, stop: Stop) -> Stop {
    match stop {
        Stop::Errno(libc::EPIPE | libc::ECONNRESET | libc::ENOTCONN) => match told_error(program, socket) {
            Ok(0) => libc::EPIPE.into(),
            Ok(error) => error.into(),
            Err(Stop::Errno(_)) => libc::ENETDOWN.into(),
            Err(stop) => stop,
        },
        stop => stop,
    }
}

/// A packet that was received.
#[derive(Debug)]
pub struct Packet {
    /// Number of bytes copied, or with MSG_TRUNC its full length. Includes the front.
    pub octets: usize,
    /// Whether it was longer than the room for it.
    pub is_cut: bool,
    /// The contents of the descriptor that came with it.
    pub beside: Beside,
}

/// The contents of the descriptor that came with a packet ([`crate::datagram`]).
#[derive(Debug)]
pub enum Beside {
    /// No descriptor.
    Nothing,
    /// The address and the control messages of a datagram.
    Slip(SocketAddr, Ancillary),
    /// The packet is no datagram, and reports an error.
    Error,
}

/// A datagram that was received.
#[derive(Debug)]
pub struct Received {
    /// Number of bytes copied, or with MSG_TRUNC its full length.
    pub octets: usize,
    /// MSG_TRUNC if it did not fit, MSG_ERRQUEUE if it was not delivered.
    pub flags: i32,
    /// Its source or destination address, if the program wants that.
    pub from: Option<SocketAddr>,
    /// Its control messages.
    pub ancillary: Ancillary,
}

/// Receives a datagram into pieces.
///
/// # Errors
/// As `recvfrom` of a UDP socket.
pub fn receive(
    program: &impl Program,
    socket: &Socket,
    pieces: &[Piece],
    flags: i32,
    wants_address: bool,
) -> Detour<Received> {
    program.sees(socket)?;
    if wants_errors(flags) {
        return undelivered(program, socket, pieces, flags);
    }
    let mark = descriptor::mark(socket);
    let mut front = [0; FRONT];
    let front = &mut front[..in_front(mark)];
    let (octets, is_cut, slip) = loop {
        let packet = program.receive_packet(socket, front, pieces, flags);
        let Packet { octets, is_cut, beside } = packet.map_err(|stop| failure(program, socket, stop))?;
        match beside {
            Beside::Nothing => break (octets, is_cut, None),
            Beside::Slip(from, ancillary) => break (octets, is_cut, Some((Some(from), ancillary))),
            // This call returns the error, so the next one must not.
            Beside::Error if flags & MSG_PEEK != 0 => told(program, socket)?,
            Beside::Error => told_now(program, socket)?,
        }
    };
    if octets == 0 && slip.is_none() && descriptor::is_at_end(socket) {
        // `shutdown`, or the agent has ended. A non-blocking call does not see an end
        // (`__skb_recv_udp`).
        return match told_now(program, socket) {
            Ok(()) if flags & MSG_DONTWAIT != 0 || socket.is_nonblocking() => Err(libc::EAGAIN.into()),
            Ok(()) => Ok(Received { octets: 0, flags: 0, from: None, ancillary: Ancillary::none() }),
            Err(stop) => Err(stop),
        };
    }
    let (from, ancillary) = slip.or_else(|| received(mark, front)).unwrap_or_default();
    let from = match from {
        None if wants_address && mark & CONNECTED != 0 => Some(control::peer(program, socket)?),
        from => from.filter(|_| wants_address),
    };
    let flags = if is_cut { MSG_TRUNC } else { 0 };
    Ok(Received { octets: octets.saturating_sub(front.len()), flags, from, ancillary })
}

/// Takes a datagram from the error queue (IP_RECVERR).
fn undelivered(program: &impl Program, socket: &Socket, pieces: &[Piece], flags: i32) -> Detour<Received> {
    let mut place = vec![0; LONGEST_UNDELIVERED];
    let request = Request::TakeUndelivered(socket.id);
    let (to, ancillary, octets) = match program.ask(&request, None, &mut place)?.0 {
        Response::Undelivered { to, ancillary, octets } => (to, ancillary, octets),
        response => return Err(response.other().into()),
    };
    // The packet about this error must not report it again. If another error is pending, the next
    // call returns it.
    takes_error(socket);
    let mut rest = octets;
    for piece in pieces {
        let (kept, behind) = rest.split_at(piece.length.min(rest.len()));
        program.write(piece.address, kept)?;
        rest = behind;
    }
    let cut = if rest.is_empty() { 0 } else { MSG_TRUNC };
    let kept = if flags & MSG_TRUNC == 0 { octets.len() - rest.len() } else { octets.len() };
    let ancillary = Ancillary::read(ancillary).unwrap_or_default();
    Ok(Received { octets: kept, flags: cut | MSG_ERRQUEUE, from: Some(to), ancillary })
}

/// Takes the next packet of a descriptor if it reports an error. Fails with that error unless
/// another call has returned it.
fn told(program: &impl Program, socket: &Socket) -> Detour<()> {
    if takes_error(socket) { told_now(program, socket) } else { Ok(()) }
}

fn told_now(program: &impl Program, socket: &Socket) -> Detour<()> {
    match told_error(program, socket) {
        Ok(0) => Ok(()),
        Ok(error) => Err(error.into()),
        Err(Stop::Errno(_)) => Err(libc::ENETDOWN.into()),
        Err(stop) => Err(stop),
    }
}

/// Takes the next packet of a descriptor if it reports an error. Returns whether it did.
pub(super) fn takes_error(socket: &Socket) -> bool {
    let is_next = |how| {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut beside = RecvAncillaryBuffer::new(&mut space);
        let how = how | RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        recvmsg(socket, &mut [], &mut beside, how).is_ok()
            && matches!(Beside::of(descriptor_of(&mut beside)), Beside::Error)
    };
    // If another call reads it between the two, that call returns the error. A datagram behind it
    // may be lost then, as any datagram may.
    is_next(RecvFlags::PEEK) && is_next(RecvFlags::empty())
}

impl Beside {
    /// Reads the descriptor that came with a packet, if one did.
    #[must_use]
    pub fn of(file: Option<OwnedFd>) -> Self {
        match file.map(read_slip) {
            None => Self::Nothing,
            Some(None) => Self::Error,
            Some(Some((from, ancillary))) => Self::Slip(from, ancillary),
        }
    }
}

/// Returns the descriptor that came with a packet.
pub fn descriptor_of(beside: &mut RecvAncillaryBuffer) -> Option<OwnedFd> {
    beside.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    })
}

/// Returns the length of the next datagram (FIONREAD); 0 if there is none.
pub(super) fn next_length(socket: &Socket) -> usize {
    let flags = RecvFlags::PEEK | RecvFlags::TRUNC | RecvFlags::DONTWAIT;
    let length = recv(socket, &mut [0; 1], flags).map_or(0, |(_, length)| length);
    length.saturating_sub(in_front(descriptor::mark(socket)))
}
