//! Calls that configure a socket: `bind`, `connect`, `listen`, `shutdown`, `getsockopt`,
//! `setsockopt`, `ioctl`, and the names of its ends.

use crate::program::{answered, at, given};
use crate::sockets::Carried;
use crate::table::{self, Hint};
use crate::{confined, real};
use libc::{c_int, c_ulong, c_void, sockaddr, socklen_t};
use resoa_calls::interposer::{Call, Room};
use resoa_calls::ioctl::concerns;

/// Returns the place where a program wants a value and its length.
pub fn room<T>(value: *mut T, length: *mut socklen_t) -> Room {
    Room { value: at(value), length: at(length) }
}

/// `bind(2)`
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn bind(number: c_int, address: *const sockaddr, length: socklen_t) -> c_int {
    answered(number, &Call::Bind(given(address, length)), || unsafe { real::bind(number, address, length) })
}

/// `connect(2)`. A signal during the wait does not end the attempt, which continues at the server.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn connect(number: c_int, address: *const sockaddr, length: socklen_t) -> c_int {
    let native = || unsafe { real::connect(number, address, length) };
    answered(number, &Call::Connect(given(address, length)), native)
}

/// `listen(2)`
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn listen(number: c_int, backlog: c_int) -> c_int {
    let result = answered(number, &Call::Listen { backlog }, || unsafe { real::listen(number, backlog) });
    if result == 0 && matches!(table::hint(number), Hint::Carried(_)) {
        table::remember(number, Hint::Carried(Carried::Listener));
    }
    result
}

/// `shutdown(2)`
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn shutdown(number: c_int, how: c_int) -> c_int {
    let native = || unsafe { real::shutdown(number, how) };
    if confined::is_confined() { native() } else { answered(number, &Call::Shutdown { how }, native) }
}

/// `getsockname(2)`
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn getsockname(
    number: c_int,
    address: *mut sockaddr,
    length: *mut socklen_t,
) -> c_int {
    let native = || unsafe { real::getsockname(number, address, length) };
    answered(number, &Call::LocalName(room(address, length)), native)
}

/// `getpeername(2)`
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn getpeername(
    number: c_int,
    address: *mut sockaddr,
    length: *mut socklen_t,
) -> c_int {
    let native = || unsafe { real::getpeername(number, address, length) };
    answered(number, &Call::PeerName(room(address, length)), native)
}

/// `getsockopt(2)`
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn getsockopt(
    number: c_int,
    level: c_int,
    name: c_int,
    value: *mut c_void,
    length: *mut socklen_t,
) -> c_int {
    let call = Call::GetOption { level, name, value: room(value, length) };
    answered(number, &call, || unsafe { real::getsockopt(number, level, name, value, length) })
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
    let call = Call::SetOption { level, name, value: given(value, length) };
    answered(number, &call, || unsafe { real::setsockopt(number, level, name, value, length) })
}

/// `ioctl(2)`; callers may omit the third argument.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ioctl(number: c_int, command: c_ulong, argument: *mut c_void) -> c_int {
    let native = || unsafe { real::ioctl(number, command, argument) };
    // Command numbers have 32 bits, and some programs sign-extend them. Most do not concern
    // sockets.
    match command as u32 {
        command if concerns(command) => {
            answered(number, &Call::Ioctl { command, argument: at(argument) }, native)
        }
        _ => native(),
    }
}
