//! Classification of descriptors: by the remembered hint for the number, and by the descriptor's
//! name before anything is done differently.

use crate::table::{self, Hint};
use crate::{agent, confined, errno};
use libc::c_int;
use resoa_calls::interposer::Socket;
use resoa_calls::{SocketName, descriptor};
use rustix::fd::BorrowedFd;

pub use resoa_calls::descriptor::DescriptorType as Carried;

/// Classification of a descriptor for a data call.
#[derive(Debug, Clone, Copy)]
pub enum DataPath {
    /// Left to the kernel: not the agent's, or the program has [confined](crate::confined) itself.
    Foreign,
    /// Probably a stream. Its name has not been read, because streams need no special treatment
    /// before a call fails.
    Stream,
    /// A listener.
    Listener,
    /// A datagram socket.
    Datagram(Socket<'static>),
}

/// As [`kind`], for a call that also works on files. In a confined program such a call is left to
/// the kernel.
pub fn kind_of_any(number: c_int) -> DataPath {
    if confined::is_confined() { DataPath::Foreign } else { kind(number) }
}

/// Classifies the descriptor of a data call.
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

/// Returns the agent's socket behind a number, as read from the descriptor's name, and remembers
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
            // It was a socket once. It is not known who closed it, so the number is checked again
            // at the next call.
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

/// Borrows a descriptor by a program's number, for system calls that report EBADF themselves.
/// `None` if no descriptor can have this number.
pub fn borrowed(number: c_int) -> Option<BorrowedFd<'static>> {
    // SAFETY: it is not -1. The program may close it meanwhile, as it may during its own calls.
    (number >= 0).then(|| unsafe { BorrowedFd::borrow_raw(number) })
}
