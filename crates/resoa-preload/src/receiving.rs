//! `read`, `recv` and their like.

use crate::sending::{MOST_PIECES, given, pieces, total};
use crate::sockets::{Kind, kind, kind_of_any};
use crate::table::{self, Hint};
use crate::{datagrams, errno, real, stream, values};
use libc::{
    CMSG_DATA, CMSG_FIRSTHDR, CMSG_LEN, CMSG_NXTHDR, MSG_WAITFORONE, c_int, c_uint, c_void, iovec, mmsghdr,
    msghdr, size_t, sockaddr, socklen_t, ssize_t, timespec,
};
use resoa_calls::stream::{discards, peeks_at_all, wants_errors};
use resoa_protocol::control_messages::laid_out;
use std::time::Instant;
use std::{ptr, slice};

/// `read(2)`
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn read(number: c_int, buffer: *mut c_void, count: size_t) -> ssize_t {
    match kind_of_any(number) {
        Kind::Foreign => unsafe { real::read(number, buffer, count) },
        Kind::Stream => {
            let result = unsafe { real::read(number, buffer, count) };
            stream::received(number, 0, result, || count > 0)
        }
        Kind::Listener => not_connected(),
        // The kernel returns at once, and takes nothing.
        Kind::Datagram(_) if count == 0 => unsafe { real::read(number, buffer, count) },
        Kind::Datagram(socket) => {
            let piece = iovec { iov_base: buffer, iov_len: count };
            errno::settled(|| Ok(datagrams::receive(number, socket, &[piece], 0, false)?.octets))
        }
    }
}

/// `read` of a program that was compiled with checks of its buffers.
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
        Kind::Foreign => unsafe { real::readv(number, parts, count) },
        Kind::Stream => {
            let result = unsafe { real::readv(number, parts, count) };
            // SAFETY: the kernel has just read them.
            let all = || unsafe { slice::from_raw_parts(parts, count as usize) };
            stream::received(number, 0, result, || count > 0 && total(all()) > 0)
        }
        Kind::Listener => match usize::try_from(count).map(|count| values::readable(parts, count)) {
            Ok(Ok(())) => not_connected(),
            _ => unsafe { real::readv(number, parts, count) },
        },
        Kind::Datagram(socket) => match usize::try_from(count) {
            Ok(count) if count <= MOST_PIECES => errno::settled(|| {
                values::readable(parts, count)?;
                // SAFETY: they can be read; of none there is no place.
                let pieces = if count == 0 { &[] } else { unsafe { slice::from_raw_parts(parts, count) } };
                if total(pieces) == 0 {
                    return Ok(0);
                }
                Ok(datagrams::receive(number, socket, pieces, 0, false)?.octets)
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
        Kind::Foreign => unsafe { real::recv(number, buffer, count, flags) },
        Kind::Stream if is_unusual(number, flags) => unusual(number, count, flags),
        Kind::Stream if peeks_at_all(flags) && stream::is_carried(number) => {
            stream::peeked(number, count, flags, |flags| unsafe { real::recv(number, buffer, count, flags) })
        }
        Kind::Stream => {
            let result = unsafe { real::recv(number, buffer, count, flags) };
            stream::received(number, flags, result, || count > 0)
        }
        Kind::Listener => not_connected(),
        Kind::Datagram(socket) => {
            let piece = iovec { iov_base: buffer, iov_len: count };
            errno::settled(|| Ok(datagrams::receive(number, socket, &[piece], flags, false)?.octets))
        }
    }
}

/// Flags that AF_UNIX takes otherwise than TCP.
fn is_unusual(number: c_int, flags: c_int) -> bool {
    (wants_errors(flags) || discards(flags)) && stream::is_carried(number)
}

fn unusual(number: c_int, count: size_t, flags: c_int) -> ssize_t {
    if wants_errors(flags) {
        errno::set(libc::EAGAIN);
        return -1;
    }
    stream::discarded(number, count, flags)
}

fn not_connected() -> ssize_t {
    errno::set(libc::ENOTCONN);
    -1
}

/// `recv` of a program that was compiled with checks of its buffers.
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

/// `recvfrom(2)`; a stream has no address to tell (`tcp_recvmsg`), its descriptor may have.
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
            Kind::Foreign => unsafe { real::recvfrom(number, buffer, count, flags, address, length) },
            _ => unsafe { recv(number, buffer, count, flags) },
        };
    }
    match kind(number) {
        Kind::Stream if stream::is_carried(number) => {
            let result = unsafe { recv(number, buffer, count, flags) };
            if result >= 0
                && let Err(error) = values::give_none(length)
            {
                errno::set(error);
                return -1;
            }
            result
        }
        Kind::Foreign | Kind::Stream => unsafe {
            real::recvfrom(number, buffer, count, flags, address, length)
        },
        Kind::Listener => not_connected(),
        Kind::Datagram(socket) => {
            let piece = iovec { iov_base: buffer, iov_len: count };
            errno::settled(|| {
                let received = datagrams::receive(number, socket, &[piece], flags, true)?;
                match received.from {
                    Some(from) => values::give(from, address, length)?,
                    None => values::give_none(length)?,
                }
                Ok(received.octets)
            })
        }
    }
}

/// `recvfrom` of a program that was compiled with checks of its buffers.
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
    let stream = kind == Kind::Stream && stream::is_carried(number);
    if matches!(kind, Kind::Foreign | Kind::Stream) && !stream {
        let result = unsafe { real::recvmsg(number, message, flags) };
        if result >= 0 {
            unsafe { new_numbers(message) };
        }
        return result;
    }
    if let Err(error) = given(message) {
        errno::set(error);
        return -1;
    }
    // SAFETY: it can be read.
    let message = unsafe { &mut *message };
    match kind {
        Kind::Datagram(socket) => errno::settled(|| {
            let parts = unsafe { pieces(message) }?;
            let wants_address = !message.msg_name.is_null();
            let received = datagrams::receive(number, socket, parts, flags, wants_address)?;
            let room = if message.msg_control.is_null() { 0 } else { message.msg_controllen };
            let (control, is_cut) = laid_out(&received.ancillary, room);
            values::put(message.msg_control.cast(), &control)?;
            message.msg_controllen = control.len();
            message.msg_flags = received.flags | if is_cut { libc::MSG_CTRUNC } else { 0 };
            match received.from {
                Some(from) => values::give(from, message.msg_name.cast(), &raw mut message.msg_namelen)?,
                None => message.msg_namelen = 0,
            }
            Ok(received.octets)
        }),
        Kind::Listener => match unsafe { pieces(message) } {
            Ok(_) => not_connected(),
            Err(error) => {
                errno::set(error);
                -1
            }
        },
        Kind::Foreign | Kind::Stream => {
            let result = if is_unusual(number, flags) {
                let count = total(unsafe { pieces(message) }.unwrap_or_default());
                message.msg_flags = 0;
                unusual(number, count, flags)
            } else {
                let mut plain = *message;
                (plain.msg_name, plain.msg_namelen) = (ptr::null_mut(), 0);
                let result = unsafe { real::recvmsg(number, &raw mut plain, flags) };
                message.msg_flags = plain.msg_flags;
                let wants_octets = || unsafe { pieces(message) }.is_ok_and(|pieces| total(pieces) > 0);
                stream::received(number, flags, result, wants_octets)
            };
            if result >= 0 {
                (message.msg_namelen, message.msg_controllen) = (0, 0);
            } else if let Err(error) = unsafe { pieces(message) } {
                // It was that, and not what a descriptor that is not connected says.
                errno::set(error);
            }
            result
        }
    }
}

/// Descriptors that came with a message may be the agent's, from another process.
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

/// `recvmmsg(2)`. The time-out is looked at after each datagram, as Linux does.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn recvmmsg(
    number: c_int,
    messages: *mut mmsghdr,
    count: c_uint,
    flags: c_int,
    timeout: *mut timespec,
) -> c_int {
    if kind(number) == Kind::Foreign {
        let result = unsafe { real::recvmmsg(number, messages, count, flags, timeout) };
        for done in 0..usize::try_from(result).unwrap_or(0) {
            unsafe { new_numbers(&raw const (*messages.add(done)).msg_hdr) };
        }
        return result;
    }
    let limit = match (!timeout.is_null()).then(|| values::span(timeout)).transpose() {
        Ok(limit) => limit,
        Err(error) => {
            errno::set(error);
            return -1;
        }
    };
    let began = Instant::now();
    let count = (count as usize).min(MOST_PIECES);
    let mut flags_now = flags & !MSG_WAITFORONE;
    for done in 0..count {
        let message = messages.wrapping_add(done);
        // `recvmsg` finds out whether it is there.
        match u32::try_from(unsafe { recvmsg(number, message.cast(), flags_now) }) {
            Ok(octets) => unsafe { (*message).msg_len = octets },
            Err(_) if done > 0 => return done as c_int,
            Err(_) => return -1,
        }
        if flags & MSG_WAITFORONE != 0 {
            flags_now |= libc::MSG_DONTWAIT;
        }
        if limit.is_some_and(|limit| began.elapsed() >= limit) {
            return done as c_int + 1;
        }
    }
    count as c_int
}
