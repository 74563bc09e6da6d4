//! Failures of stream calls that AF_UNIX reports differently than TCP (C109; 8.2 of the
//! specification). While calls succeed, the agent is not asked.
//!
//! | state | AF_UNIX | TCP, and here |
//! |---|---|---|
//! | not connected | send ENOTCONN, recv EINVAL | EPIPE and SIGPIPE, ENOTCONN |
//! | refused, reset | recv ECONNRESET; no error after a recv that has data and waits for more | the connection's error |
//! | reset | send EPIPE and SIGPIPE, or ECONNRESET if it waits | the error once without a signal, then EPIPE and SIGPIPE |
//! | connected | a destination address is EISCONN | it is ignored |
//! | connected | recv with MSG_PEEK and MSG_WAITALL does not wait | it waits |
//! | connected | recv with MSG_TRUNC copies, with MSG_ERRQUEUE reads | data is discarded (with MSG_PEEK: counted), EAGAIN |

use super::options::{pending_error, told_error};
use super::{Detour, Given, Piece, Program, Socket, Stop, control, total};
use crate::Request;
use crate::address::LONGEST;
use crate::ancillary;
use crate::stream::{is_an_end, wants_errors};
use libc::{MSG_DONTWAIT, MSG_FASTOPEN, MSG_NOSIGNAL, MSG_OOB};
use resoa_protocol::FIRST;

/// Remaining work of a call that sends, after [`fast_open`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opened {
    /// Send the data with these flags.
    Connected(i32),
    /// None: this number of bytes was sent.
    Sent(usize),
}

/// Connects a stream that sends with MSG_FASTOPEN. The far host gets no data in a SYN.
///
/// If the call waits and has at most [`FIRST`] bytes, they cross the last hop with the request to
/// connect. The call is then answered as on a host that has a cookie (`tcp_sendmsg_fastopen`): if a
/// signal or SO_SNDTIMEO ends the wait, the data counts as sent. Other calls are answered as on a
/// host without a cookie.
///
/// # Errors
/// As `connect`; EISCONN or EINVAL without an address; EFAULT.
pub fn fast_open(
    program: &impl Program,
    socket: &Socket,
    to: Given,
    data: &[Piece],
    flags: i32,
) -> Detour<Opened> {
    if flags & MSG_FASTOPEN == 0 {
        return Ok(Opened::Connected(flags));
    }
    if to.at == 0 {
        let is_connected = control::peer(program, socket).is_ok();
        return Err(if is_connected { libc::EISCONN } else { libc::EINVAL }.into());
    }
    let address = to.address(program)?.ok_or(libc::EOPNOTSUPP)?;
    let connected = Opened::Connected(flags & !MSG_FASTOPEN);
    let nonblocking = flags & MSG_DONTWAIT != 0 || socket.is_nonblocking();
    // Only the first attempt of a descriptor has data with it. Urgent data needs its mark.
    let may_go_along = (1..=FIRST).contains(&total(data)) && flags & MSG_OOB == 0;
    // Without data that can be read, the kernel reports that after connecting.
    let first = (may_go_along && !nonblocking && socket.is_fresh()).then(|| gathered(program, data).ok());
    let Some(octets) = first.flatten() else {
        control::connect_to(program, socket, Some(address), nonblocking)?;
        return Ok(connected);
    };
    let sent = octets.len();
    match program.connect(socket, &Request::Open { socket: socket.id, address, octets }) {
        Ok(false) => Ok(connected),
        // The attempt continues, with the data.
        Ok(true) | Err(Stop::Errno(libc::EINTR | libc::EINPROGRESS)) => Ok(Opened::Sent(sent)),
        Err(stop) => Err(stop),
    }
}

/// Reads all pieces.
fn gathered(program: &impl Program, data: &[Piece]) -> Detour<Vec<u8>> {
    let mut octets = vec![0; total(data)];
    let mut rest = &mut octets[..];
    for piece in data {
        let (part, behind) = rest.split_at_mut(piece.length);
        program.read(piece.address, part)?;
        rest = behind;
    }
    Ok(octets)
}

/// Checks that a destination address given with a stream's data can be read. The kernel reads it,
/// too, although a connected stream ignores it (`tcp_sendmsg`).
///
/// # Errors
/// EINVAL, EFAULT.
pub fn address_is_there(program: &impl Program, to: Given) -> Detour<()> {
    if to.at == 0 { Ok(()) } else { program.is_readable(to.at, to.within(LONGEST)?) }
}

/// Checks the address and the control messages of a stream's message likewise. Control messages
/// would be descriptors and credentials, which mean nothing to TCP and are not for the agent.
///
/// # Errors
/// EFAULT; ENOBUFS for too many control messages.
pub fn rest_is_there(program: &impl Program, name: Given, control: Piece) -> Detour<()> {
    // An address that is too long is truncated (`__copy_msghdr`).
    let length = i32::try_from(LONGEST).map_or(name.length, |longest| name.length.min(longest));
    address_is_there(program, Given { length, ..name })?;
    if control.length > ancillary::LONGEST {
        return Err(libc::ENOBUFS.into());
    }
    program.is_readable(control.address, control.length)
}

/// Returns EPIPE, and raises its signal unless MSG_NOSIGNAL is set.
pub fn broken(program: &impl Program, flags: i32) -> Stop {
    if flags & MSG_NOSIGNAL == 0 {
        program.raise_pipe();
    }
    libc::EPIPE.into()
}

/// Returns the error of a sending call that failed in the kernel with `error`.
pub fn send_failure(program: &impl Program, socket: &Socket, flags: i32, error: i32) -> Stop {
    let pending = match error {
        libc::EPIPE => pending_error(program, socket, 0),
        // A call that waited for room got this error and returns it, so the agent must know.
        libc::ECONNRESET => pending_error(program, socket, error),
        // A descriptor that was not connected has not failed.
        libc::ENOTCONN => Ok(0),
        error => return error.into(),
    };
    match pending {
        // The connection's error is EPIPE itself if the reset came after the far host's FIN.
        Ok(error) if is_an_end(error) => broken(program, flags),
        Ok(error) => error.into(),
        Err(stop) => stop,
    }
}

/// Returns the error of a receiving call on a listener.
#[must_use]
pub fn listener_failure(flags: i32) -> i32 {
    if wants_errors(flags) { libc::EAGAIN } else { libc::ENOTCONN }
}

/// Completes a call that wanted data and received none, on a descriptor that hangs up: 0 is the end
/// of the stream.
///
/// It may also be a reset that no call has returned. A read that has data and waits for more
/// (MSG_WAITALL, SO_RCVLOWAT) returns the data and consumes the kernel's error, which TCP keeps for
/// the next call.
///
/// # Errors
/// The connection's.
pub fn end(program: &impl Program, socket: &Socket) -> Detour<usize> {
    match told_error(program, socket) {
        Ok(error) if !is_an_end(error) => Err(error.into()),
        Ok(_) | Err(Stop::Errno(_)) => Ok(0),
        Err(stop) => Err(stop),
    }
}

/// Completes a receiving call that failed in the kernel with `error`.
///
/// # Errors
/// The connection's, or `error`.
pub fn receive_failure(program: &impl Program, socket: &Socket, flags: i32, error: i32) -> Detour<usize> {
    let error = match error {
        // If another call has returned the error, only the end is left.
        libc::ECONNRESET => pending_error(program, socket, error)?,
        libc::EINVAL if flags & MSG_OOB == 0 => libc::ENOTCONN,
        error => error,
    };
    if is_an_end(error) { Ok(0) } else { Err(error.into()) }
}
