//! Datagrams: while a socket has no destination of its own, each has an address in front on the
//! descriptor, and control messages if there are some (`resoa_calls::datagram`), which programs
//! never see.

use crate::control::{is_nonblocking, name};
use crate::sending::total;
use crate::sockets::borrowed;
use crate::{agent, errno, options, real, values};
use libc::{MSG_DONTWAIT, MSG_MORE, MSG_NOSIGNAL, MSG_OOB, MSG_PEEK, MSG_TRUNC, c_int, iovec, msghdr};
use resoa_calls::datagram::{
    ASKED, CONNECTED, FRONT, in_front, may_be_broadcast, read_slip, received, said_in,
};
use resoa_calls::outgoing::{Outgoing, Way};
use resoa_calls::stream::wants_errors;
use resoa_calls::{Request, Response, SocketId, descriptor, sender};
use resoa_protocol::control_messages;
use resoa_protocol::message::{Ancillary, longest_datagram};
use std::net::SocketAddr;
use std::ptr;

/// Octets of the longest answer that has a datagram.
const LONGEST_UNDELIVERED: usize = 68 << 10;
/// Pieces for which no memory is asked of the allocator.
const FEW: usize = 8;

/// What a descriptor says of its datagrams.
fn mark(number: c_int) -> i32 {
    borrowed(number).map_or(0, descriptor::mark)
}

/// Sends pieces as one datagram, with these control messages, and says how many octets they are.
pub fn send(
    number: c_int,
    socket: SocketId,
    pieces: &[iovec],
    flags: c_int,
    address: Option<&[u8]>,
    control: &[u8],
) -> Result<usize, c_int> {
    let descriptor = borrowed(number).ok_or(libc::EBADF)?;
    let to = address.map_or(Ok(None), |address| sender::destination(descriptor, address))?;
    let outgoing = Outgoing { length: total(pieces), to, control, flags };
    let is_broadcast = to.is_some_and(may_be_broadcast) && options::number(socket, libc::SO_BROADCAST)? == 0;
    let is_allowed = !is_broadcast && !sender::may_have_wrong_source(descriptor, to);
    let peer = || name(&Request::PeerName(socket));
    let mark = mark(number);
    let way = outgoing.way(mark, || Ok(sender::domain(descriptor)), peer)?;
    if !outgoing.goes_nowhere(mark) {
        told(number, socket)?;
    }
    let front = match way {
        Way::Descriptor(front) => front,
        Way::Agent(address, ancillary) => {
            let octets = gathered(pieces)?;
            let length = octets.len();
            let (ancillary, more) = (ancillary.octets().to_vec(), flags & MSG_MORE != 0);
            agent::ask(&Request::SendTo { socket, address, ancillary, octets, more }, None)?;
            return if is_allowed { Ok(length) } else { allowed(number, socket).map(|()| length) };
        }
    };
    let mut room = [0; FRONT];
    let in_front = front.as_ref().map(|(to, ancillary)| said_in(*to, ancillary, &mut room));
    let length_in_front = in_front.as_ref().map_or(0, |octets| octets.len());
    // There is no urgent data, and a signal would be for a stream.
    let flags = flags & !MSG_OOB | MSG_NOSIGNAL;
    let result = with_front(in_front, pieces, |message| {
        // SAFETY: a message of pieces that a program gave.
        unsafe { real::sendmsg(number, message, flags) }
    });
    match usize::try_from(result) {
        Ok(octets) if is_allowed => Ok(octets - length_in_front),
        Ok(octets) => allowed(number, socket).map(|()| octets - length_in_front),
        Err(_) => Err(failure(socket)),
    }
}

/// Asks the server whether a datagram was allowed that may have been a broadcast, or come from an
/// address that leaves no host.
fn allowed(number: c_int, socket: SocketId) -> Result<(), c_int> {
    options::number(socket, ASKED)?;
    // What tells of it among the datagrams is not to tell of it again.
    takes_error(number);
    told_now(socket)
}

/// The octets of pieces that a program gave.
fn gathered(pieces: &[iovec]) -> Result<Vec<u8>, c_int> {
    let mut octets = Vec::new();
    for piece in pieces {
        let length = piece.iov_len as libc::socklen_t;
        octets.extend(values::given(piece.iov_base.cast(), length, longest_datagram(false))?);
    }
    Ok(octets)
}

/// What the end of the agent's half means: the socket's error, EPIPE if the program has shut it
/// down, and ENETDOWN if there is no agent any more.
fn failure(socket: SocketId) -> c_int {
    match errno::get() {
        libc::EPIPE | libc::ECONNRESET | libc::ENOTCONN => match options::told_error(socket) {
            Ok(0) => libc::EPIPE,
            Ok(error) => error,
            Err(_) => libc::ENETDOWN,
        },
        error => error,
    }
}

/// A datagram that was received.
#[derive(Debug)]
pub struct Received {
    /// Octets that were copied, or with MSG_TRUNC that it has.
    pub octets: usize,
    /// MSG_TRUNC if it did not fit.
    pub flags: c_int,
    /// Where it came from, if that was asked.
    pub from: Option<SocketAddr>,
    /// What is told beside it.
    pub ancillary: Ancillary,
}

/// Receives a datagram into pieces.
pub fn receive(
    number: c_int,
    socket: SocketId,
    pieces: &[iovec],
    flags: c_int,
    wants_address: bool,
) -> Result<Received, c_int> {
    if wants_errors(flags) {
        return undelivered(number, socket, pieces, flags);
    }
    let mark = mark(number);
    let mut front = [0; FRONT];
    let front = &mut front[..in_front(mark)];
    let mut flags_after = 0;
    let (octets, slip) = loop {
        let mut beside = Beside::default();
        let result = with_front((!front.is_empty()).then_some(&mut *front), pieces, |message| {
            beside.wanted_by(message);
            // SAFETY: a message of pieces that a program gave, and of our own.
            let result = unsafe { real::recvmsg(number, message, flags & !MSG_OOB | libc::MSG_CMSG_CLOEXEC) };
            flags_after = message.msg_flags & MSG_TRUNC;
            result
        });
        let octets = usize::try_from(result).map_err(|_| failure(socket))?;
        match beside.found() {
            Found::Nothing => break (octets, None),
            Found::Slip(from, ancillary) => break (octets, Some((Some(from), ancillary))),
            Found::Error => {}
        }
        if flags & MSG_PEEK != 0 {
            // The error is told by this, and not by the next call as well.
            told(number, socket)?;
        } else {
            told_now(socket)?;
        }
    };
    if octets == 0 && slip.is_none() && borrowed(number).is_some_and(descriptor::is_at_end) {
        // `shutdown`, or the agent has gone. Who does not wait is not told of an end
        // (`__skb_recv_udp`).
        return match options::told_error(socket) {
            Ok(0) if flags & MSG_DONTWAIT != 0 || is_nonblocking(number) => Err(libc::EAGAIN),
            Ok(0) => Ok(Received { octets: 0, flags: 0, from: None, ancillary: Ancillary::none() }),
            Ok(error) => Err(error),
            Err(_) => Err(libc::ENETDOWN),
        };
    }
    let (from, ancillary) = slip.or_else(|| received(mark, front)).unwrap_or_default();
    let from = match from {
        None if wants_address && mark & CONNECTED != 0 => Some(name(&Request::PeerName(socket))?),
        from => from.filter(|_| wants_address),
    };
    Ok(Received { octets: octets.saturating_sub(front.len()), flags: flags_after, from, ancillary })
}

/// Takes one of the error queue (IP_RECVERR).
fn undelivered(number: c_int, socket: SocketId, pieces: &[iovec], flags: c_int) -> Result<Received, c_int> {
    let mut place = vec![0; LONGEST_UNDELIVERED];
    let (to, ancillary, octets) =
        match agent::ask_within(&Request::TakeUndelivered(socket), None, &mut place)?.0 {
            Response::Undelivered { to, ancillary, octets } => (to, ancillary, octets),
            response => return Err(response.other()),
        };
    // What says so among the datagrams is not to say so again: if another error waits, that is told
    // by the next call.
    takes_error(number);
    let mut rest = octets;
    for piece in pieces {
        let (kept, behind) = rest.split_at(piece.iov_len.min(rest.len()));
        values::put(piece.iov_base.cast(), kept)?;
        rest = behind;
    }
    let cut = if rest.is_empty() { 0 } else { MSG_TRUNC };
    let kept = if flags & MSG_TRUNC == 0 { octets.len() - rest.len() } else { octets.len() };
    let ancillary = Ancillary::read(ancillary).unwrap_or_default();
    Ok(Received { octets: kept, flags: cut | libc::MSG_ERRQUEUE, from: Some(to), ancillary })
}

/// Takes an error that is the next thing on a descriptor, and fails with it if nothing has told it
/// yet.
fn told(number: c_int, socket: SocketId) -> Result<(), c_int> {
    if takes_error(number) { told_now(socket) } else { Ok(()) }
}

fn told_now(socket: SocketId) -> Result<(), c_int> {
    match options::told_error(socket) {
        Ok(0) => Ok(()),
        Ok(error) => Err(error),
        Err(_) => Err(libc::ENETDOWN),
    }
}

/// Takes an error away that is the next thing on a descriptor; whether it is.
pub fn takes_error(number: c_int) -> bool {
    let next = |flags| {
        let mut beside = Beside::default();
        // SAFETY: all zero is a message of nothing.
        let mut message: msghdr = unsafe { std::mem::zeroed() };
        beside.wanted_by(&mut message);
        // SAFETY: the message is of our own.
        let result =
            unsafe { real::recvmsg(number, &raw mut message, flags | MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC) };
        result >= 0 && matches!(beside.found(), Found::Error)
    };
    let before = errno::get();
    // If another thread reads it between the two, that has the error, and a datagram behind it may
    // be lost, as any may.
    let is_error = next(MSG_PEEK) && next(0);
    errno::set(before);
    is_error
}

/// What has come with a packet.
enum Found {
    Nothing,
    /// What is told of a datagram ([`resoa_calls::datagram`]).
    Slip(SocketAddr, Ancillary),
    /// It is no datagram, and tells of an error.
    Error,
}

/// Room for the descriptor that comes with a packet.
#[derive(Default)]
#[repr(align(8))]
struct Beside([u8; 24]);

impl Beside {
    fn wanted_by(&mut self, message: &mut msghdr) {
        (message.msg_control, message.msg_controllen) = (self.0.as_mut_ptr().cast(), self.0.len());
    }

    /// What has come, whose descriptor is closed.
    fn found(&self) -> Found {
        let Some(Some(given)) = control_messages::given(&self.0).next() else { return Found::Nothing };
        let Some(number) = given.value.first_chunk().map(|octets| c_int::from_ne_bytes(*octets)) else {
            return Found::Nothing;
        };
        let found = borrowed(number).and_then(read_slip);
        // SAFETY: it has just come, and nobody else knows of it.
        unsafe { rustix::io::close(number) };
        found.map_or(Found::Error, |(from, ancillary)| Found::Slip(from, ancillary))
    }
}

/// Octets of the next datagram (FIONREAD); 0 if there is none.
pub fn next_length(number: c_int) -> usize {
    let result = unsafe { real::recv(number, ptr::null_mut(), 0, MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT) };
    usize::try_from(result).unwrap_or(0).saturating_sub(in_front(mark(number)))
}

/// Makes a message of something in front and of pieces.
fn with_front<F: AsMut<[u8]>>(
    mut in_front: Option<F>,
    pieces: &[iovec],
    call: impl FnOnce(&mut msghdr) -> isize,
) -> isize {
    let mut few = [iovec { iov_base: ptr::null_mut(), iov_len: 0 }; 1 + FEW];
    let mut many = Vec::new();
    let all = if pieces.len() > FEW {
        many.resize(1 + pieces.len(), few[0]);
        &mut many[..]
    } else {
        &mut few[..=pieces.len()]
    };
    all[1..].copy_from_slice(pieces);
    let all = match in_front.as_mut().map(AsMut::as_mut) {
        Some(in_front) => {
            all[0] = iovec { iov_base: in_front.as_mut_ptr().cast(), iov_len: in_front.len() };
            all
        }
        None => &mut all[1..],
    };
    // SAFETY: all zero is a message of nothing.
    let mut message: msghdr = unsafe { std::mem::zeroed() };
    (message.msg_iov, message.msg_iovlen) = (all.as_mut_ptr(), all.len());
    call(&mut message)
}
