//! `socket` and `accept`: descriptors from the agent get numbers of this process.

use crate::control::room;
use crate::program::{Here, answered, settled};
use crate::sockets::Carried;
use crate::table::{self, Hint};
use crate::{agent, real};
use libc::{c_int, sockaddr, socklen_t};
use resoa_calls::interposer::{Call, create};
use rustix::fd::{AsRawFd, BorrowedFd, IntoRawFd, OwnedFd};
use rustix::io::{FdFlags, dup, fcntl_dupfd_cloexec, fcntl_getfd, fcntl_setfd};

/// `socket(2)`. Sockets that would reach a network without the agent are refused.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    let native = || {
        let number = unsafe { real::socket(domain, kind, protocol) };
        table::remember(number, Hint::Foreign);
        number
    };
    if agent::known().is_none() {
        return native();
    }
    settled(|| create(&Here, domain, kind, protocol), || native() as isize) as c_int
}

/// Gives a descriptor the lowest free number, as the kernel would, and FD_CLOEXEC if the program
/// asks for it. The connection that brought the descriptor is already closed, so the lowest free
/// number is usually that connection's.
pub fn install(descriptor: OwnedFd, kind: Carried, cloexec: bool) -> c_int {
    let copy = if cloexec { fcntl_dupfd_cloexec(&descriptor, 0) } else { dup(&descriptor) };
    let descriptor = match copy {
        Ok(copy) if copy.as_raw_fd() < descriptor.as_raw_fd() => {
            release(descriptor);
            copy
        }
        copy => {
            if let Ok(copy) = copy {
                release(copy);
            }
            if !cloexec && let Ok(flags) = fcntl_getfd(&descriptor) {
                let _ = fcntl_setfd(&descriptor, flags - FdFlags::CLOEXEC);
            }
            descriptor
        }
    };
    table::remember(descriptor.as_raw_fd(), Hint::Carried(kind));
    descriptor.into_raw_fd()
}

/// `accept(2)`
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn accept(
    number: c_int,
    address: *mut sockaddr,
    length: *mut socklen_t,
) -> c_int {
    let call = Call::Accept { peer: room(address, length), flags: 0 };
    accepted(number, &call, || unsafe { real::accept(number, address, length) })
}

/// `accept4(2)`
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn accept4(
    number: c_int,
    address: *mut sockaddr,
    length: *mut socklen_t,
    flags: c_int,
) -> c_int {
    let call = Call::Accept { peer: room(address, length), flags };
    accepted(number, &call, || unsafe { real::accept4(number, address, length, flags) })
}

fn accepted(number: c_int, call: &Call, native: impl FnOnce() -> c_int) -> c_int {
    answered(number, call, || {
        let accepted = native();
        table::remember(accepted, Hint::Foreign);
        accepted
    })
}

/// Checks that two descriptor numbers are free: for the connection to the agent and for the
/// accepted connection. An accepted connection could not be put back into the queue.
pub fn two_numbers(listener: BorrowedFd) -> Result<(), c_int> {
    let one = fcntl_dupfd_cloexec(listener, 0).map_err(rustix::io::Errno::raw_os_error)?;
    let other = fcntl_dupfd_cloexec(listener, 0).map_err(rustix::io::Errno::raw_os_error);
    release(one);
    other.map(release)
}

/// Closes a copy of a program's socket. Dropping it would call our own `close`, which lingers.
fn release(copy: OwnedFd) {
    // SAFETY: nobody else has it.
    unsafe { rustix::io::close(copy.into_raw_fd()) };
}
