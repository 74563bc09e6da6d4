//! `socket` and `accept`: descriptors of the agent's come to have a number here.

use crate::sockets::{Carried, borrowed};
use crate::table::{self, Hint};
use crate::{agent, errno, real, sockets, values};
use libc::{c_int, sockaddr, socklen_t};
use resoa_calls::carried::{Maker, maker};
use resoa_calls::{Request, Response, descriptor};
use rustix::fd::{AsRawFd, BorrowedFd, IntoRawFd, OwnedFd};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::{FdFlags, dup, fcntl_dupfd_cloexec, fcntl_getfd, fcntl_setfd};

/// What `socket` takes beside a type.
const FLAGS: c_int = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;

/// `socket(2)`. Sockets that would reach a network past the agent are refused.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    let maker = if agent::known().is_none() { Maker::Kernel } else { maker(domain, kind) };
    match maker {
        Maker::Kernel => {
            let number = unsafe { real::socket(domain, kind, protocol) };
            table::remember(number, Hint::Foreign);
            number
        }
        Maker::Agent => errno::settled_int(|| create(domain, kind, protocol)),
        Maker::Nobody(error) => {
            errno::set(error);
            -1
        }
    }
}

fn create(domain: c_int, kind: c_int, protocol: c_int) -> Result<usize, c_int> {
    // Of types that there are not the agent says what is wrong with them.
    let made = if kind & !FLAGS == libc::SOCK_DGRAM { Carried::Datagram } else { Carried::Stream };
    let request = Request::Socket { family: domain, kind, protocol, sees_data: true };
    match agent::ask(&request, None)? {
        (Response::Descriptor(_), Some(descriptor)) => Ok(install(descriptor, made, kind)),
        // There was no number for it.
        (Response::Descriptor(_), None) => Err(libc::EMFILE),
        _ => Err(libc::ENETDOWN),
    }
}

/// Gives a descriptor the lowest number that is free, as the kernel would have, and the flags that
/// the program wants. By now the connection over which it came is closed again, so that its number
/// is mostly that one.
fn install(descriptor: OwnedFd, kind: Carried, flags: c_int) -> usize {
    let keeps = flags & libc::SOCK_CLOEXEC == 0;
    let copy = if keeps { dup(&descriptor) } else { fcntl_dupfd_cloexec(&descriptor, 0) };
    let descriptor = match copy {
        Ok(copy) if copy.as_raw_fd() < descriptor.as_raw_fd() => {
            release(descriptor);
            copy
        }
        copy => {
            if let Ok(copy) = copy {
                release(copy);
            }
            if keeps && let Ok(flags) = fcntl_getfd(&descriptor) {
                let _ = fcntl_setfd(&descriptor, flags - FdFlags::CLOEXEC);
            }
            descriptor
        }
    };
    if flags & libc::SOCK_NONBLOCK != 0
        && let Ok(flags) = fcntl_getfl(&descriptor)
    {
        let _ = fcntl_setfl(&descriptor, flags | OFlags::NONBLOCK);
    }
    table::remember(descriptor.as_raw_fd(), Hint::Carried(kind));
    descriptor.into_raw_fd() as usize
}

/// `accept(2)`
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn accept(
    number: c_int,
    address: *mut sockaddr,
    length: *mut socklen_t,
) -> c_int {
    unsafe { accepted(number, address, length, 0, || real::accept(number, address, length)) }
}

/// `accept4(2)`
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn accept4(
    number: c_int,
    address: *mut sockaddr,
    length: *mut socklen_t,
    flags: c_int,
) -> c_int {
    unsafe { accepted(number, address, length, flags, || real::accept4(number, address, length, flags)) }
}

unsafe fn accepted(
    number: c_int,
    address: *mut sockaddr,
    length: *mut socklen_t,
    flags: c_int,
    native: impl FnOnce() -> c_int,
) -> c_int {
    let carried = sockets::carried(number).zip(borrowed(number));
    let Some(((socket, kind), listener)) = carried else {
        let accepted = native();
        table::remember(accepted, Hint::Foreign);
        return accepted;
    };
    let is_right = match kind {
        _ if flags & !FLAGS != 0 => Err(libc::EINVAL),
        Carried::Datagram => Err(libc::EOPNOTSUPP),
        // A socket that listens by the doing of another process is one by its descriptor alone.
        _ if descriptor::mark(listener) == resoa_calls::LISTENING => Ok(()),
        _ => Err(libc::EINVAL),
    };
    if let Err(error) = is_right.and_then(|()| two_numbers(listener)) {
        errno::set(error);
        return -1;
    }
    let before = errno::get();
    loop {
        let mut octet = 0u8;
        // EAGAIN, EINTR and what SO_RCVTIMEO means are the kernel's; so is a cancelled thread.
        match unsafe { real::recv(number, (&raw mut octet).cast(), 1, 0) } {
            1 => {}
            // The end: `shutdown`, or the agent has lost its server.
            0 => {
                errno::set(libc::EINVAL);
                return -1;
            }
            _ => {
                if errno::get() == libc::ECONNRESET {
                    errno::set(libc::EINVAL);
                }
                return -1;
            }
        }
        match agent::ask(&Request::Accept { socket, flags }, None) {
            Ok((Response::Accepted { peer, .. }, Some(descriptor))) => {
                descriptor::inherit(listener, &descriptor);
                let accepted = install(descriptor, Carried::Stream, flags) as c_int;
                errno::set(before);
                if let Err(error) = values::give(peer, address, length) {
                    unsafe { crate::numbers::close(accepted) };
                    errno::set(error);
                    return -1;
                }
                return accepted;
            }
            // It has gone again: the next one.
            Err(libc::EAGAIN) => {}
            Err(error) => {
                errno::set(error);
                return -1;
            }
            Ok((Response::Accepted { .. }, None)) => {
                errno::set(libc::EMFILE);
                return -1;
            }
            Ok(_) => {
                errno::set(libc::ENETDOWN);
                return -1;
            }
        }
    }
}

/// Whether there are numbers for the connection to the agent and for what comes over it: a
/// connection that was taken from the queue could not be put back.
fn two_numbers(listener: BorrowedFd) -> Result<(), c_int> {
    let one = fcntl_dupfd_cloexec(listener, 0).map_err(rustix::io::Errno::raw_os_error)?;
    let other = fcntl_dupfd_cloexec(listener, 0).map_err(rustix::io::Errno::raw_os_error);
    release(one);
    other.map(release)
}

/// Closes a copy of a program's socket. To drop it would call our own `close`, which lingers.
fn release(copy: OwnedFd) {
    // SAFETY: it is nobody else's.
    unsafe { rustix::io::close(copy.into_raw_fd()) };
}
