//! `getsockopt` and `setsockopt`. The agent has the options. Those about waiting and receiving are
//! also set on the descriptor, because the kernel does both there.

use super::{Answer, Bypass, Detour, Given, Program, Room, Socket, Stop, datagrams, done};
use crate::descriptor::{self, DescriptorType};
use crate::option::{LONGEST, is_of_both, is_of_the_descriptor, is_telling};
use crate::{Request, SHORT, sender};
use resoa_protocol::message::Operation;
use rustix::fd::AsFd;

/// Length in bytes of the longest value in an answer.
const LONGEST_VALUE: usize = 64 << 10;

pub(super) fn get(program: &impl Program, socket: &Socket, level: i32, name: i32, value: Room) -> Detour {
    if is_of_the_descriptor(level, name) {
        return Err(Bypass::Option.into());
    }
    let room = value.octets(program)?;
    if (level, name) == (libc::SOL_SOCKET, libc::SO_ERROR) {
        if socket.kind == DescriptorType::Datagram {
            // The packet about this error must not report it again.
            datagrams::takes_error(socket);
        }
        value.give_cut(program, &pending_error(program, socket, 0)?.to_ne_bytes(), room)?;
    } else if room <= SHORT {
        let mut place = [0; 2 * SHORT];
        value.give_cut(program, asked(program, socket, level, name, room, &mut place)?, room)?;
    } else {
        let mut place = vec![0; LONGEST_VALUE + SHORT];
        value.give_cut(program, asked(program, socket, level, name, room, &mut place)?, room)?;
    }
    Ok(Answer::Value(0))
}

/// Returns the value of an option, stored in `place`.
fn asked<'a>(
    program: &impl Program,
    socket: &Socket,
    level: i32,
    name: i32,
    room: usize,
    place: &'a mut [u8],
) -> Detour<&'a [u8]> {
    let operation = Operation::GetOption { level, name, length: room as u32 };
    let request = Request::operation(socket.id, operation);
    Ok(program.ask(&request, None, place)?.0.value()?)
}

/// Returns an option of SOL_SOCKET that is a number.
pub(super) fn number(program: &impl Program, socket: &Socket, name: i32) -> Detour<i32> {
    let mut place = [0; SHORT];
    let value = asked(program, socket, libc::SOL_SOCKET, name, 4, &mut place)?;
    Ok(value.first_chunk().map(|octets| i32::from_ne_bytes(*octets)).ok_or(libc::ENETDOWN)?)
}

/// Returns SO_DOMAIN: AF_INET or AF_INET6.
pub(super) fn domain(program: &impl Program, socket: &Socket) -> Detour<i32> {
    number(program, socket, libc::SO_DOMAIN)
}

/// Takes the pending error of a socket, or 0.
///
/// The kernel also has one for the descriptor, which is cleared. `seen` is that error if a call has
/// just returned it. The kernel knows that there was an error, and the agent knows which. Without
/// an agent, the kernel's error is returned.
pub(super) fn pending_error(program: &impl Program, socket: &Socket, seen: i32) -> Detour<i32> {
    let of_descriptor = descriptor::number(socket, libc::SO_ERROR).unwrap_or(0);
    match told_error(program, socket) {
        Err(Stop::Errno(_)) => Ok(if seen == 0 { of_descriptor } else { seen }),
        told => told,
    }
}

/// As [`pending_error`], without the kernel's error.
///
/// # Errors
/// As [`Program::ask`].
pub(super) fn told_error(program: &impl Program, socket: &Socket) -> Detour<i32> {
    number(program, socket, libc::SO_ERROR)
}

pub(super) fn set(program: &impl Program, socket: &Socket, level: i32, name: i32, value: Given) -> Detour {
    if is_of_the_descriptor(level, name) {
        return Err(Bypass::Option.into());
    }
    let mut octets = vec![0; value.within(LONGEST)?];
    program.read(value.at, &mut octets)?;
    let is_datagram = socket.kind == DescriptorType::Datagram;
    let descriptor = (is_datagram && is_telling(level, name)).then(|| socket.as_fd());
    let operation = Operation::SetOption { level, name, value: octets.clone() };
    done(program, &Request::operation(socket.id, operation), descriptor)?;
    if is_datagram {
        sender::option_is_set(socket, level, name, &octets);
    }
    if is_of_both(level, name) {
        // The agent has accepted the value.
        descriptor::set_option(socket, name, &octets);
    }
    Ok(Answer::Value(0))
}
