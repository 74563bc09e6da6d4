//! `read`, `recv` and their variants.

use crate::control::room;
use crate::program::{Here, at, failed, moved, piece, pieces, readable_message, result_of, settled_count};
use crate::sockets::{DataPath, kind, kind_of_any};
use crate::table::{self, Hint};
use crate::{real, stream};
use libc::{
    CMSG_DATA, CMSG_FIRSTHDR, CMSG_LEN, CMSG_NXTHDR, c_int, c_uint, c_void, iovec, mmsghdr, msghdr, size_t,
    sockaddr, socklen_t, ssize_t, timespec,
};
use resoa_calls::interposer::messages::{MOST, deadline, several};
use resoa_calls::interposer::{Call, Room, datagrams, streams, total};
use resoa_calls::stream::{discards, peeks_at_all, wants_errors};
use std::ptr;

/// Room for an address that the caller does not want.
const NOWHERE: Room = Room { value: 0, length: 0 };

/// `read(2)`
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn read(number: c_int, buffer: *mut c_void, count: size_t) -> ssize_t {
    match kind_of_any(number) {
        DataPath::Foreign => unsafe { real::read(number, buffer, count) },
        DataPath::Stream => {
            let result = unsafe { real::read(number, buffer, count) };
            stream::received(number, 0, result, || count > 0)
        }
        DataPath::Listener => not_connected(0),
        // The kernel returns at once and takes no datagram.
        DataPath::Datagram(_) if count == 0 => unsafe { real::read(number, buffer, count) },
        DataPath::Datagram(socket) => {
            moved(&socket, &Call::Receive { data: piece(buffer, count), flags: 0, from: NOWHERE })
        }
    }
}

/// `read` as called by programs compiled with buffer checks (`_FORTIFY_SOURCE`).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __read_chk(
    number: c_int,
    buffer: *mut c_void,
    count: size_t,
    room: size_t,
) -> ssize_t {
    if count > room {
        unsafe { real::__read_chk(number, buffer, count, room) }
    } else {
        unsafe { read(number, buffer, count) }
    }
}

/// `readv(2)`
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn readv(number: c_int, parts: *const iovec, count: c_int) -> ssize_t {
    match kind_of_any(number) {
        DataPath::Foreign => unsafe { real::readv(number, parts, count) },
        DataPath::Stream => {
            let result = unsafe { real::readv(number, parts, count) };
            let all = || pieces(parts, count as usize).unwrap_or_default();
            stream::received(number, 0, result, || count > 0 && total(all()) > 0)
        }
        DataPath::Listener => match usize::try_from(count).map(|count| pieces(parts, count)) {
            Ok(Ok(_)) => not_connected(0),
            _ => unsafe { real::readv(number, parts, count) },
        },
        DataPath::Datagram(socket) => match usize::try_from(count) {
            Ok(count) if count <= MOST => settled_count(|| {
                let pieces = pieces(parts, count)?;
                if total(pieces) == 0 {
                    return Ok(0);
                }
                Ok(datagrams::receive(&Here, &socket, pieces, 0, false)?.octets)
            }),
            _ => unsafe { real::readv(number, parts, count) },
        },
    }
}

/// `recv(2)`
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn recv(
    number: c_int,
    buffer: *mut c_void,
    count: size_t,
    flags: c_int,
) -> ssize_t {
    match kind(number) {
        DataPath::Foreign => unsafe { real::recv(number, buffer, count, flags) },
        DataPath::Stream if is_unusual(number, flags) => unusual(number, count, flags),
        DataPath::Stream if peeks_at_all(flags) && stream::is_carried(number) => {
            stream::peeked(number, count, flags, |flags| unsafe { real::recv(number, buffer, count, flags) })
        }
        DataPath::Stream => {
            let result = unsafe { real::recv(number, buffer, count, flags) };
            stream::received(number, flags, result, || count > 0)
        }
        DataPath::Listener => not_connected(flags),
        DataPath::Datagram(socket) => {
            moved(&socket, &Call::Receive { data: piece(buffer, count), flags, from: NOWHERE })
        }
    }
}

/// Returns whether AF_UNIX treats one of these flags differently than TCP.
fn is_unusual(number: c_int, flags: c_int) -> bool {
    (wants_errors(flags) || discards(flags)) && stream::is_carried(number)
}

fn unusual(number: c_int, count: size_t, flags: c_int) -> ssize_t {
    if wants_errors(flags) {
        return failed(libc::EAGAIN);
    }
    stream::discarded(number, count, flags)
}

fn not_connected(flags: c_int) -> ssize_t {
    failed(streams::listener_failure(flags))
}

/// `recv` as called by programs compiled with buffer checks (`_FORTIFY_SOURCE`).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __recv_chk(
    number: c_int,
    buffer: *mut c_void,
    count: size_t,
    room: size_t,
    flags: c_int,
) -> ssize_t {
    if count > room {
        unsafe { real::__recv_chk(number, buffer, count, room, flags) }
    } else {
        unsafe { recv(number, buffer, count, flags) }
    }
}

/// `recvfrom(2)`; a stream reports no address (`tcp_recvmsg`), although its descriptor may have
/// one.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn recvfrom(
    number: c_int,
    buffer: *mut c_void,
    count: size_t,
    flags: c_int,
    address: *mut sockaddr,
    length: *mut socklen_t,
) -> ssize_t {
    if address.is_null() {
        return match kind(number) {
            DataPath::Foreign => unsafe { real::recvfrom(number, buffer, count, flags, address, length) },
            _ => unsafe { recv(number, buffer, count, flags) },
        };
    }
    match kind(number) {
        DataPath::Stream if stream::is_carried(number) => {
            let result = unsafe { recv(number, buffer, count, flags) };
            if result < 0 {
                return result;
            }
            let none = || room(address, length).give_none(&Here).map(|()| result.cast_unsigned());
            settled_count(none)
        }
        DataPath::Foreign | DataPath::Stream => unsafe {
            real::recvfrom(number, buffer, count, flags, address, length)
        },
        DataPath::Listener => not_connected(flags),
        DataPath::Datagram(socket) => {
            let (data, from) = (piece(buffer, count), room(address, length));
            moved(&socket, &Call::Receive { data, flags, from })
        }
    }
}

/// `recvfrom` as called by programs compiled with buffer checks (`_FORTIFY_SOURCE`).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __recvfrom_chk(
    number: c_int,
    buffer: *mut c_void,
    count: size_t,
    room: size_t,
    flags: c_int,
    address: *mut sockaddr,
    length: *mut socklen_t,
) -> ssize_t {
    if count > room {
        unsafe { real::__recvfrom_chk(number, buffer, count, room, flags, address, length) }
    } else {
        unsafe { recvfrom(number, buffer, count, flags, address, length) }
    }
}

/// `recvmsg(2)`
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn recvmsg(number: c_int, message: *mut msghdr, flags: c_int) -> ssize_t {
    let kind = kind(number);
    match kind {
        DataPath::Datagram(socket) => {
            return moved(&socket, &Call::ReceiveMessage { message: at(message), flags });
        }
        DataPath::Stream if stream::is_carried(number) => {}
        DataPath::Foreign | DataPath::Stream => {
            let result = unsafe { real::recvmsg(number, message, flags) };
            if result >= 0 {
                unsafe { new_numbers(message) };
            }
            return result;
        }
        DataPath::Listener => {}
    }
    if let Err(error) = readable_message(message) {
        return failed(error);
    }
    // SAFETY: it can be read.
    let message = unsafe { &mut *message };
    let parts = || pieces(message.msg_iov, message.msg_iovlen);
    if matches!(kind, DataPath::Listener) {
        return parts().map_or_else(failed, |_| not_connected(flags));
    }
    let result = if is_unusual(number, flags) {
        let count = total(parts().unwrap_or_default());
        message.msg_flags = 0;
        unusual(number, count, flags)
    } else {
        let mut plain = *message;
        (plain.msg_name, plain.msg_namelen) = (ptr::null_mut(), 0);
        let result = unsafe { real::recvmsg(number, &raw mut plain, flags) };
        message.msg_flags = plain.msg_flags;
        stream::received(number, flags, result, || parts().is_ok_and(|pieces| total(pieces) > 0))
    };
    if result >= 0 {
        (message.msg_namelen, message.msg_controllen) = (0, 0);
        return result;
    }
    // Bad pieces are an error of their own, which takes precedence over that of a descriptor
    // without connection.
    parts().map_or_else(failed, |_| result)
}

/// Forgets hints about descriptors that came with a message: they may be the agent's, from another
/// process.
unsafe fn new_numbers(message: *const msghdr) {
    unsafe {
        if (*message).msg_controllen == 0 || (*message).msg_control.is_null() {
            return;
        }
        let mut part = CMSG_FIRSTHDR(message);
        while !part.is_null() {
            if (*part).cmsg_level == libc::SOL_SOCKET && (*part).cmsg_type == libc::SCM_RIGHTS {
                let octets = (*part).cmsg_len.saturating_sub(CMSG_LEN(0) as usize);
                let numbers = CMSG_DATA(part).cast::<c_int>();
                for place in 0..octets / size_of::<c_int>() {
                    let number = numbers.add(place).read_unaligned();
                    table::remember(number, Hint::Unknown);
                }
            }
            part = CMSG_NXTHDR(message, part);
        }
    }
}

/// `recvmmsg(2)`. As on Linux, the timeout is checked after each datagram.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn recvmmsg(
    number: c_int,
    messages: *mut mmsghdr,
    count: c_uint,
    flags: c_int,
    timeout: *mut timespec,
) -> c_int {
    if matches!(kind(number), DataPath::Foreign) {
        let result = unsafe { real::recvmmsg(number, messages, count, flags, timeout) };
        for done in 0..usize::try_from(result).unwrap_or(0) {
            unsafe { new_numbers(&raw const (*messages.add(done)).msg_hdr) };
        }
        return result;
    }
    // `recvmsg` checks whether the message can be read.
    let one = |at, flags| result_of(unsafe { recvmsg(number, ptr::with_exposed_provenance_mut(at), flags) });
    settled_count(|| {
        let until = deadline(&Here, at(timeout))?;
        several(&Here, at(messages), count, flags, until, one)
    }) as c_int
}
