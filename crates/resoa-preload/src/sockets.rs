//! What a descriptor is: by its number if that is remembered, and by its name before anything is done about it.

use crate::table::{self, Hint};
use crate::{agent, confined, errno, real};
use libc::{c_int, socklen_t};
use resoa_calls::{SocketId, SocketName};
use rustix::fd::BorrowedFd;

/// What a data call needs to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// None of the agent's, or one of a [confined](crate::confined) program: the kernel's.
    Foreign,
    /// Probably a stream; not read from its name, since nothing is to be done before it fails.
    Stream,
    /// A listener.
    Listener,
    /// A datagram socket.
    Datagram(SocketId),
}

/// As [`kind`], for a call that files have, too: one of a confined program is the kernel's.
pub fn kind_of_any(number: c_int) -> Kind {
    if confined::is_confined() { Kind::Foreign } else { kind(number) }
}

/// What kind of socket a data call is on.
pub fn kind(number: c_int) -> Kind {
    let hint = match table::hint(number) {
        Hint::Foreign => return Kind::Foreign,
        Hint::Stream => return Kind::Stream,
        hint => hint,
    };
    if hint == Hint::Unknown && (number < 0 || agent::known().is_none()) {
        return Kind::Foreign;
    }
    let before = errno::get();
    let found = carried(number);
    errno::set(before);
    match found {
        None => Kind::Foreign,
        Some((_, Hint::Listener)) => Kind::Listener,
        Some((socket, Hint::Datagram)) => Kind::Datagram(socket),
        Some(_) => Kind::Stream,
    }
}

/// The socket of the agent's that a number is now, read from its name, and what is remembered of its kind.
pub fn carried(number: c_int) -> Option<(SocketId, Hint)> {
    let hint = table::hint(number);
    if hint == Hint::Foreign || number < 0 || agent::known().is_none() {
        return None;
    }
    let Some(name) = name(number) else {
        if hint == Hint::Unknown {
            table::learn(number, Hint::Foreign);
        } else {
            // It was a socket once; by whose hand it was closed is not known, so it is looked at again.
            table::forget(number, number);
        }
        return None;
    };
    let kind = if hint == Hint::Unknown { looked_at(number) } else { hint };
    table::learn(number, kind);
    Some((name.socket, kind))
}

fn name(number: c_int) -> Option<SocketName> {
    // SAFETY: not -1; a number that is no descriptor is EBADF.
    SocketName::of(unsafe { BorrowedFd::borrow_raw(number) })
}

fn looked_at(number: c_int) -> Hint {
    if option(number, libc::SO_TYPE) == Some(libc::SOCK_SEQPACKET) {
        Hint::Datagram
    } else if option(number, libc::SO_PRIORITY) == Some(resoa_calls::LISTENING) {
        Hint::Listener
    } else {
        Hint::Stream
    }
}

/// An option of the descriptor itself, of SOL_SOCKET.
pub fn option<T: Copy + Default>(number: c_int, name: c_int) -> Option<T> {
    let mut value = T::default();
    let mut length = size_of::<T>() as socklen_t;
    // SAFETY: the kernel writes at most `length` octets to `value`; it is used for numbers and structures of numbers.
    let result =
        unsafe { real::getsockopt(number, libc::SOL_SOCKET, name, (&raw mut value).cast(), &raw mut length) };
    (result == 0).then_some(value)
}

/// Sets an option of the descriptor itself.
pub fn set_option<T: Copy>(number: c_int, name: c_int, value: T) {
    // SAFETY: the kernel reads as many octets as `value` has.
    unsafe {
        real::setsockopt(
            number,
            libc::SOL_SOCKET,
            name,
            (&raw const value).cast(),
            size_of::<T>() as socklen_t,
        );
    }
}
