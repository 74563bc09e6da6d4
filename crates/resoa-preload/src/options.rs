//! `getsockopt`, `setsockopt`: asked of the agent. What concerns waiting and reading is set on the
//! descriptor as well, whose kernel does both.

use crate::sockets::{Carried, borrowed};
use crate::{agent, datagrams, errno, real, sockets, values};
use libc::{c_int, c_void, socklen_t};
use resoa_calls::option::{LONGEST, is_of_both, is_of_the_descriptor, is_telling};
use resoa_calls::{Request, SHORT, SocketId, descriptor, sender};

/// Octets of the longest value that an answer has.
const LONGEST_VALUE: usize = 64 << 10;

/// `getsockopt(2)`
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn getsockopt(
    number: c_int,
    level: c_int,
    name: c_int,
    value: *mut c_void,
    length: *mut socklen_t,
) -> c_int {
    let Some((socket, kind)) = sockets::carried(number) else {
        return unsafe { real::getsockopt(number, level, name, value, length) };
    };
    if is_of_the_descriptor(level, name) {
        return unsafe { real::getsockopt(number, level, name, value, length) };
    }
    errno::settled_int(|| {
        let room = values::length(length)?;
        if room.cast_signed() < 0 {
            return Err(libc::EINVAL);
        }
        let give = |octets: &[u8]| {
            let octets = &octets[..octets.len().min(room as usize)];
            values::put(value.cast(), octets)?;
            values::put(length.cast(), &(octets.len() as socklen_t).to_ne_bytes())
        };
        if (level, name) == (libc::SOL_SOCKET, libc::SO_ERROR) {
            if kind == Carried::Datagram {
                // What says so among the datagrams is not to say so again.
                datagrams::takes_error(number);
            }
            give(&pending_error(number, socket, 0).to_ne_bytes())?;
        } else if room as usize <= SHORT {
            give(asked(socket, level, name, room, &mut [0; 2 * SHORT])?)?;
        } else {
            give(asked(socket, level, name, room, &mut vec![0; LONGEST_VALUE + SHORT])?)?;
        }
        Ok(0)
    })
}

/// What an option is, in a place of ours.
fn asked(socket: SocketId, level: c_int, name: c_int, length: u32, place: &mut [u8]) -> Result<&[u8], c_int> {
    agent::ask_within(&Request::GetOption { socket, level, name, length }, None, place)?.0.value()
}

/// A number that an option of SOL_SOCKET is, as [`agent::ask`] fails.
pub fn number(socket: SocketId, name: c_int) -> Result<c_int, c_int> {
    let mut place = [0; SHORT];
    let value = asked(socket, libc::SOL_SOCKET, name, 4, &mut place)?;
    value.first_chunk().map(|octets| c_int::from_ne_bytes(*octets)).ok_or(libc::ENETDOWN)
}

/// SO_DOMAIN: AF_INET, AF_INET6.
pub fn domain(socket: SocketId) -> Result<c_int, c_int> {
    number(socket, libc::SO_DOMAIN)
}

/// The error of a socket that nobody was told yet, which is told by this; 0 is none. The kernel has
/// one of its own, `seen` if a call has just got it: it says that there was an error, and the agent
/// knows which.
pub fn pending_error(number: c_int, socket: SocketId, seen: c_int) -> c_int {
    let of_descriptor =
        borrowed(number).and_then(|socket| descriptor::number(socket, libc::SO_ERROR)).unwrap_or(0);
    // Nobody to ask any more: what the kernel says.
    told_error(socket).unwrap_or(if seen == 0 { of_descriptor } else { seen })
}

/// The same without the kernel's; fails without an agent.
pub fn told_error(socket: SocketId) -> Result<c_int, c_int> {
    number(socket, libc::SO_ERROR)
}

/// `setsockopt(2)`
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn setsockopt(
    number: c_int,
    level: c_int,
    name: c_int,
    value: *const c_void,
    length: socklen_t,
) -> c_int {
    let Some((socket, kind)) = sockets::carried(number) else {
        return unsafe { real::setsockopt(number, level, name, value, length) };
    };
    if is_of_the_descriptor(level, name) {
        return unsafe { real::setsockopt(number, level, name, value, length) };
    }
    errno::settled_int(|| {
        let octets = values::given(value.cast(), length, LONGEST)?;
        let descriptor = (kind == Carried::Datagram && is_telling(level, name)).then_some(number);
        agent::ask(&Request::SetOption { socket, level, name, value: octets.clone() }, descriptor)?;
        if let (Carried::Datagram, Some(descriptor)) = (kind, borrowed(number)) {
            sender::option_is_set(descriptor, level, name, &octets);
        }
        if is_of_both(level, name) {
            // The agent has found it right.
            let _ = unsafe { real::setsockopt(number, level, name, value, length) };
        }
        Ok(0)
    })
}
