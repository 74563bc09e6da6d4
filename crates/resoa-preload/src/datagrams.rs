//! Datagrams: while a socket has no destination of its own, each has an address in front on the descriptor (`resoa_calls::datagram`), which programs never see.

use crate::control::{hangs_up, name};
use crate::sending::total;
use crate::{agent, errno, options, real, sockets, values};
use libc::{MSG_DONTWAIT, MSG_NOSIGNAL, MSG_OOB, MSG_PEEK, MSG_TRUNC, c_int, iovec, msghdr};
use resoa_calls::datagram::{CONNECTED, HEADER, destination, header, longest, split};
use resoa_calls::{Request, SocketId};
use std::net::SocketAddr;
use std::ptr;

/// Pieces for which no memory is asked of the allocator.
const FEW: usize = 8;

/// Whether a socket has a destination of its own, so that nothing stands in front of its datagrams.
fn is_connected(number: c_int) -> bool {
    sockets::option(number, libc::SO_PRIORITY) == Some(CONNECTED)
}

/// Sends pieces as one datagram, and says how many octets they are.
pub fn send(
    number: c_int,
    socket: SocketId,
    pieces: &[iovec],
    flags: c_int,
    address: Option<&[u8]>,
) -> Result<usize, c_int> {
    let to = address.map(destination).transpose()?;
    let octets = total(pieces);
    if octets > longest(true) {
        let is_v4 = match to {
            Some(to) => to.is_ipv4(),
            None => options::number(socket, libc::SOL_SOCKET, libc::SO_DOMAIN)? == libc::AF_INET,
        };
        if octets > longest(is_v4) {
            return Err(libc::EMSGSIZE);
        }
    }
    let connected = is_connected(number);
    let in_front = match (connected, to) {
        (true, None) => None,
        (true, Some(to)) if name(&Request::PeerName(socket))? == to => None,
        // It has no place on the descriptor.
        (true, Some(to)) => {
            let octets = gathered(pieces)?;
            let length = octets.len();
            agent::ask(&Request::SendTo { socket, address: to, octets }, None)?;
            return Ok(length);
        }
        (false, Some(to)) => Some(header(Some(to))),
        (false, None) => return Err(libc::EDESTADDRREQ),
    };
    // There is no urgent data, and a signal would be for a stream.
    let flags = flags & !MSG_OOB | MSG_NOSIGNAL;
    let result = with_front(in_front, pieces, |message| {
        // SAFETY: a message of pieces that a program gave.
        unsafe { real::sendmsg(number, message, flags) }
    });
    match usize::try_from(result) {
        Ok(octets) => Ok(octets - in_front.map_or(0, |_| HEADER)),
        Err(_) => Err(failure(socket)),
    }
}

/// The octets of pieces that a program gave.
fn gathered(pieces: &[iovec]) -> Result<Vec<u8>, c_int> {
    let mut octets = Vec::new();
    for piece in pieces {
        let length = piece.iov_len as libc::socklen_t;
        octets.extend(values::given(piece.iov_base.cast(), length, longest(false))?);
    }
    Ok(octets)
}

/// What the end of the agent's half means: the socket's error, EPIPE if the program has shut it down, and ENETDOWN if there is no agent any more.
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
}

/// Receives a datagram into pieces.
pub fn receive(
    number: c_int,
    socket: SocketId,
    pieces: &[iovec],
    flags: c_int,
    wants_address: bool,
) -> Result<Received, c_int> {
    if flags & libc::MSG_ERRQUEUE != 0 {
        return Err(libc::EAGAIN);
    }
    let connected = is_connected(number);
    let mut in_front = [0; HEADER];
    let mut flags_after = 0;
    let result = with_front((!connected).then_some(&mut in_front), pieces, |message| {
        // SAFETY: a message of pieces that a program gave, and of our own.
        let result = unsafe { real::recvmsg(number, message, flags & !MSG_OOB) };
        flags_after = message.msg_flags & MSG_TRUNC;
        result
    });
    let octets = usize::try_from(result).map_err(|_| failure(socket))?;
    if octets == 0 && hangs_up(number) {
        // `shutdown`, or the agent has gone.
        return match options::told_error(socket) {
            Ok(0) => Ok(Received { octets: 0, flags: 0, from: None }),
            Ok(error) => Err(error),
            Err(_) => Err(libc::ENETDOWN),
        };
    }
    let from = match connected {
        true if wants_address => Some(name(&Request::PeerName(socket))?),
        true => None,
        false => split(&in_front).and_then(|(from, _)| from),
    };
    Ok(Received {
        octets: if connected { octets } else { octets.saturating_sub(HEADER) },
        flags: flags_after,
        from: from.filter(|_| wants_address),
    })
}

/// Octets of the next datagram (FIONREAD); 0 if there is none.
pub fn next_length(number: c_int) -> usize {
    let result = unsafe { real::recv(number, ptr::null_mut(), 0, MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT) };
    let in_front = if is_connected(number) { 0 } else { HEADER };
    usize::try_from(result).unwrap_or(0).saturating_sub(in_front)
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
