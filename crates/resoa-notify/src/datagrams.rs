//! Datagrams, each with an address in front while the socket has no destination of its own, and with control messages if there are some ([`resoa_calls::datagram`]).

use crate::caller::{Caller, Failure, Patience};
use crate::control::{domain, peer, pending_error};
use crate::held::Held;
use crate::message::total;
use crate::target::Piece;
use resoa_calls::outgoing::{Outgoing, Way};
use resoa_calls::stream::wants_errors;
use resoa_calls::{Request, datagram};
use resoa_protocol::message::Ancillary;
use rustix::event::PollFlags;
use rustix::fd::AsFd;
use rustix::io::Errno;
use rustix::net::sockopt::Timeout;
use rustix::net::{RecvFlags, SendFlags};
use std::net::SocketAddr;

/// Room for any that is received.
const ROOM: usize = 64 << 10;

/// Sends one; to the socket's own destination if there is none.
pub(crate) fn send(
    caller: &Caller,
    held: &Held,
    data: &[Piece],
    destination: Option<SocketAddr>,
    control: &[u8],
    flags: i32,
) -> Result<usize, Failure> {
    let length = total(data);
    let outgoing = Outgoing { length, to: destination, control, flags };
    let front = match outgoing.way(held.mark, || domain(caller, held), || peer(caller, held))? {
        Way::Descriptor(front) => front,
        Way::Agent(address, ancillary) => return send_apart(caller, held, data, address, &ancillary),
    };
    let mut octets = front.map(|(to, ancillary)| datagram::said(to, &ancillary)).unwrap_or_default();
    octets.extend(caller.target.gather(data)?);
    caller.confirm()?;
    let patient = flags & libc::MSG_DONTWAIT == 0 && !held.is_nonblocking();
    let until = held.until(Timeout::Send);
    loop {
        match rustix::net::send(held, &octets, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
            Ok(_) => return Ok(length),
            Err(Errno::AGAIN) if patient => {
                caller.wait(held.as_fd(), PollFlags::OUT, until, Patience::Interruptible)?;
            }
            Err(Errno::PIPE | Errno::CONNRESET | Errno::NOTCONN) => {
                let error = told_error(caller, held)?;
                return Err(Failure::Errno(if error == 0 { libc::EPIPE } else { error }));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// A connected socket's datagram to elsewhere, or with control messages, has no place on the descriptor.
fn send_apart(
    caller: &Caller,
    held: &Held,
    data: &[Piece],
    address: Option<SocketAddr>,
    ancillary: &Ancillary,
) -> Result<usize, Failure> {
    let octets = caller.target.gather(data)?;
    caller.confirm()?;
    let length = octets.len();
    let ancillary = ancillary.octets().to_vec();
    caller.ask(&Request::SendTo { socket: held.socket, address, ancillary, octets })?;
    Ok(length)
}

/// What the end of the agent's half means: the socket's error, none if the program has shut it down, and ENETDOWN if there is no agent any more.
fn told_error(caller: &Caller, held: &Held) -> Result<i32, Failure> {
    pending_error(caller, held).map_err(|failure| match failure {
        Failure::Errno(_) => Failure::Errno(libc::ENETDOWN),
        Failure::Gone => Failure::Gone,
    })
}

/// A datagram that was received.
#[derive(Debug)]
pub(crate) struct Received {
    /// Who sent it, where that stood in front.
    pub(crate) from: Option<SocketAddr>,
    /// What is told beside it.
    pub(crate) ancillary: Ancillary,
    kept: usize,
    whole: usize,
}

impl Received {
    /// It was longer than the program's room.
    pub(crate) fn is_cut(&self) -> bool {
        self.kept < self.whole
    }

    /// What the call returns.
    pub(crate) fn reported(&self, flags: i32) -> usize {
        if flags & libc::MSG_TRUNC != 0 { self.whole } else { self.kept }
    }
}

/// Receives one.
pub(crate) fn receive(caller: &Caller, held: &Held, data: &[Piece], flags: i32) -> Result<Received, Failure> {
    if wants_errors(flags) {
        return Err(Failure::Errno(libc::EAGAIN));
    }
    let patient = flags & libc::MSG_DONTWAIT == 0 && !held.is_nonblocking();
    let until = held.until(Timeout::Recv);
    let mut how = RecvFlags::DONTWAIT | RecvFlags::TRUNC;
    how.set(RecvFlags::PEEK, flags & libc::MSG_PEEK != 0);
    let front = held.in_front();
    let mut octets = vec![0; front + total(data).min(ROOM)];
    let (stored, whole) = loop {
        match rustix::net::recv(held, &mut octets[..], how) {
            Ok(lengths) => break lengths,
            Err(Errno::AGAIN) if patient => {
                caller.wait(held.as_fd(), PollFlags::IN, until, Patience::Interruptible)?;
            }
            Err(error) => return Err(error.into()),
        }
    };
    if whole == 0 && held.hangs_up() {
        return match told_error(caller, held)? {
            0 => Ok(Received { from: None, ancillary: Ancillary::none(), kept: 0, whole: 0 }),
            error => Err(Failure::Errno(error)),
        };
    }
    let (in_front, payload) = octets[..stored].split_at_checked(front).ok_or(libc::EPROTO)?;
    let (from, ancillary) = datagram::received(held.mark, in_front).ok_or(libc::EPROTO)?;
    caller.confirm()?;
    caller.target.scatter(data, payload)?;
    Ok(Received { from, ancillary, kept: payload.len(), whole: whole - front })
}
