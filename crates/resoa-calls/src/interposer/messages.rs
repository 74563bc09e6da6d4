//! Calls that move datagrams: with one buffer, with a `struct msghdr`, or with several of those.

use super::{Detour, Given, Piece, Program, Room, Socket, Stop, datagrams};
use crate::time::{TIMESPEC, span};
use crate::{address, ancillary};
use resoa_protocol::control_messages::laid_out;
use std::time::Instant;

/// Maximum number of messages in a call, and of pieces in a message (UIO_MAXIOV).
pub const MOST: usize = 1024;
/// Size of a `struct mmsghdr`, in bytes.
const MESSAGE: usize = size_of::<libc::mmsghdr>();

/// A `struct msghdr` of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message<Pieces> {
    /// The address, or the room for it.
    pub name: Given,
    /// The data.
    pub pieces: Pieces,
    /// The control messages, or the room for them.
    pub control: Piece,
}

pub(super) fn send_to(
    program: &impl Program,
    socket: &Socket,
    data: Piece,
    flags: i32,
    to: Given,
) -> Detour<usize> {
    let mut place = [0; address::LONGEST];
    let address = if to.at == 0 { None } else { Some(to.read(program, &mut place)?) };
    datagrams::send(program, socket, &[data], address, &[], flags)
}

pub(super) fn receive_from(
    program: &impl Program,
    socket: &Socket,
    data: Piece,
    flags: i32,
    from: Room,
) -> Detour<usize> {
    let received = datagrams::receive(program, socket, &[data], flags, from.value != 0)?;
    match received.from {
        Some(address) => from.give(program, address)?,
        None => from.give_none(program)?,
    }
    Ok(received.octets)
}

pub(super) fn send(program: &impl Program, socket: &Socket, at: usize, flags: i32) -> Detour<usize> {
    let message = program.message(at)?;
    let mut place = [0; address::LONGEST];
    // An address of length 0 is no address (`__copy_msghdr`).
    let address = match message.name {
        Given { at: 0, .. } | Given { length: 0, .. } => None,
        name => Some(name.read(program, &mut place)?),
    };
    let Piece { address: at, length } = message.control;
    if length > ancillary::LONGEST {
        return Err(libc::ENOBUFS.into());
    }
    let mut control = vec![0; length];
    program.read(at, &mut control)?;
    datagrams::send(program, socket, &message.pieces, address, &control, flags)
}

pub(super) fn receive(program: &impl Program, socket: &Socket, at: usize, flags: i32) -> Detour<usize> {
    let Message { name, pieces, control } = program.message(at)?;
    let received = datagrams::receive(program, socket, &pieces, flags, name.at != 0)?;
    let room = if control.address == 0 { 0 } else { control.length };
    let (told, is_cut) = laid_out(&received.ancillary, room);
    program.write(control.address, &told)?;
    let written = received.from.map(address::written).unwrap_or_default();
    if name.at != 0 {
        // [`Program::message`] has checked its length.
        program.write(name.at, &written[..written.len().min(name.length as usize)])?;
    }
    let cut = if is_cut { libc::MSG_CTRUNC } else { 0 };
    program.tell(at, written.len(), told.len(), received.flags | cut)?;
    Ok(received.octets)
}

/// Executes a call for several messages in order. `one` gets the address of the message and the
/// flags, and returns a length. The first failure ends the call. Its error is returned only if no
/// message was done before.
///
/// # Errors
/// As the first message.
pub fn several(
    program: &impl Program,
    messages: usize,
    count: u32,
    mut flags: i32,
    until: Option<Instant>,
    one: impl Fn(usize, i32) -> Detour<usize>,
) -> Detour<usize> {
    let mut done = 0;
    while done < (count as usize).min(MOST) {
        let at = messages.wrapping_add(done * MESSAGE);
        let length = one(at, flags & !libc::MSG_WAITFORONE);
        match length.and_then(|length| program.tell_length(at, length as u32)) {
            Ok(()) => done += 1,
            Err(Stop::Errno(_)) if done > 0 => break,
            Err(stop) => return Err(stop),
        }
        if flags & libc::MSG_WAITFORONE != 0 {
            flags |= libc::MSG_DONTWAIT;
        }
        if until.is_some_and(|until| Instant::now() >= until) {
            break;
        }
    }
    Ok(done)
}

/// Returns the time at which the timeout of `recvmmsg` ends; `None` means never. The kernel checks
/// it after each datagram.
///
/// # Errors
/// EFAULT; EINVAL for an invalid time.
pub fn deadline(program: &impl Program, timeout: usize) -> Detour<Option<Instant>> {
    if timeout == 0 {
        return Ok(None);
    }
    let mut octets = [0; TIMESPEC];
    program.read(timeout, &mut octets)?;
    let span = span(&octets).ok_or(libc::EINVAL)?;
    Ok(Instant::now().checked_add(span))
}
