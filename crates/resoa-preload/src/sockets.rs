//! What a descriptor is: by its number if that is remembered, and by its name before anything is
//! done about it.

use crate::table::{self, Hint};
use crate::{agent, confined, errno};
use libc::c_int;
use resoa_calls::interposer::Socket;
use resoa_calls::{SocketName, descriptor};
use rustix::fd::BorrowedFd;

pub use resoa_calls::descriptor::Kind as Carried;

/// What a data call needs to know.
#[derive(Debug, Clone, Copy)]
pub enum DataPath {
    /// None of the agent's, or one of a [confined](crate::confined) program: the kernel's.
    Foreign,
    /// Probably a stream; not read from its name, since nothing is to be done before it fails.
    Stream,
    /// A listener.
    Listener,
    /// A datagram socket.
    Datagram(Socket<'static>),
}

/// As [`kind`], for a call that files have, too: one of a confined program is the kernel's.
pub fn kind_of_any(number: c_int) -> DataPath {
    if confined::is_confined() { DataPath::Foreign } else { kind(number) }
}

/// What kind of socket a data call is on.
pub fn kind(number: c_int) -> DataPath {
    let hint = match table::hint(number) {
        Hint::Foreign => return DataPath::Foreign,
        Hint::Carried(Carried::Stream) => return DataPath::Stream,
        hint => hint,
    };
    if hint == Hint::Unknown && (number < 0 || agent::if_looked_for().is_none()) {
        return DataPath::Foreign;
    }
    let before = errno::get();
    let found = carried(number);
    errno::set(before);
    match found {
        None => DataPath::Foreign,
        Some(Socket { kind: Carried::Stream, .. }) => DataPath::Stream,
        Some(Socket { kind: Carried::Listener, .. }) => DataPath::Listener,
        Some(socket) => DataPath::Datagram(socket),
    }
}

/// The socket of the agent's that a number is now, read from its name, and what is remembered of
/// its kind.
pub fn carried(number: c_int) -> Option<Socket<'static>> {
    let hint = table::hint(number);
    if hint == Hint::Foreign || agent::known().is_none() {
        return None;
    }
    let descriptor = borrowed(number)?;
    let Some(name) = SocketName::of(descriptor) else {
        if hint == Hint::Unknown {
            table::learn(number, Hint::Foreign);
        } else {
            // It was a socket once; by whose hand it was closed is not known, so it is looked at
            // again.
            table::forget(number, number);
        }
        return None;
    };
    let kind = match hint {
        Hint::Carried(kind) => kind,
        Hint::Unknown | Hint::Foreign => descriptor::kind(descriptor),
    };
    table::learn(number, Hint::Carried(kind));
    Some(Socket { descriptor, id: name.socket, kind })
}

/// A program's number, for calls of the kernel's that say EBADF themselves; `None` is one that no
/// descriptor has.
pub fn borrowed(number: c_int) -> Option<BorrowedFd<'static>> {
    // SAFETY: not -1. The program may close it meanwhile, as it may in the midst of its own calls.
    (number >= 0).then(|| unsafe { BorrowedFd::borrow_raw(number) })
}
