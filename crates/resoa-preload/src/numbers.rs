//! Descriptor numbers: keeps the hints correct across `dup` and `close`. `close` waits if SO_LINGER
//! says so.

use crate::table::{self, Hint};
use crate::{agent, confined, errno, real, sockets};
use libc::{c_int, c_uint, c_ulong};
use resoa_calls::{Request, SocketId, descriptor};

/// `close(2)`
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn close(number: c_int) -> c_int {
    let is_asked = table::hint(number) != Hint::Foreign && !confined::is_confined();
    let lingers = if is_asked { lingers(number) } else { None };
    // Forgotten before it is closed: afterwards the number may already belong to another thread.
    table::forget(number, number);
    let closed = unsafe { real::close(number) };
    if closed == 0 {
        linger(lingers);
    }
    closed
}

/// Waits until a socket whose descriptor was closed has ended. The call succeeds regardless of the
/// outcome, as on Linux after the linger time or a signal.
fn linger(socket: Option<SocketId>) {
    if let Some(socket) = socket {
        let before = errno::get();
        let _ = agent::ask_interruptibly(&Request::Closed(socket), None, false);
        errno::set(before);
    }
}

/// Returns the socket of a descriptor with SO_LINGER, which is also set on the descriptor itself.
fn lingers(number: c_int) -> Option<SocketId> {
    agent::if_looked_for()?;
    let before = errno::get();
    // The first field of the option says whether it is on.
    let is_on = sockets::borrowed(number).and_then(|socket| descriptor::number(socket, libc::SO_LINGER));
    let socket = is_on.filter(|is_on| *is_on != 0).and_then(|_| sockets::carried(number));
    errno::set(before);
    socket.map(|socket| socket.id)
}

/// `close_range(2)`; like `exit`, it does not linger.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    table::forget(of(first), of(last));
    unsafe { real::close_range(first, last, flags) }
}

fn of(number: c_uint) -> c_int {
    c_int::try_from(number).unwrap_or(c_int::MAX)
}

/// `closefrom(3)`
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn closefrom(first: c_int) {
    table::forget(first, c_int::MAX);
    unsafe { real::closefrom(first) }
}

/// `dup(2)`
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dup(number: c_int) -> c_int {
    copied(number, unsafe { real::dup(number) })
}

/// `dup2(2)`
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dup2(number: c_int, to: c_int) -> c_int {
    replaced(number, to, || unsafe { real::dup2(number, to) })
}

/// `dup3(2)`
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dup3(number: c_int, to: c_int, flags: c_int) -> c_int {
    replaced(number, to, || unsafe { real::dup3(number, to, flags) })
}

/// Copies to a number. The socket that had it is closed, and lingers like any other.
fn replaced(number: c_int, to: c_int, copy: impl FnOnce() -> c_int) -> c_int {
    let is_closed = number != to && table::hint(to) != Hint::Foreign;
    let lingers = if is_closed { lingers(to) } else { None };
    let made = copied(number, copy());
    if made >= 0 {
        linger(lingers);
    }
    made
}

fn copied(number: c_int, copy: c_int) -> c_int {
    if copy != number {
        table::copied(copy);
    }
    copy
}

/// `fcntl(2)`
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn fcntl(number: c_int, command: c_int, argument: c_ulong) -> c_int {
    let result = unsafe { real::fcntl(number, command, argument) };
    if matches!(command, libc::F_DUPFD | libc::F_DUPFD_CLOEXEC) { copied(number, result) } else { result }
}

/// `fcntl` as called by programs with 64-bit offsets.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn fcntl64(number: c_int, command: c_int, argument: c_ulong) -> c_int {
    let result = unsafe { real::fcntl64(number, command, argument) };
    if matches!(command, libc::F_DUPFD | libc::F_DUPFD_CLOEXEC) { copied(number, result) } else { result }
}
