//! `write`, `send` and their like. Streams go to the C library as they are, without the signal:
//! whether there is one is decided when it is known what failed.

use crate::control::fast_open;
use crate::sockets::{Kind, kind, kind_of_any};
use crate::{datagrams, errno, real, stream, values};
use libc::{
    MSG_FASTOPEN, MSG_NOSIGNAL, c_int, c_uint, c_void, iovec, mmsghdr, msghdr, size_t, sockaddr, socklen_t,
    ssize_t,
};
use resoa_calls::address::LONGEST as LONGEST_ADDRESS;
use resoa_calls::ancillary;
use std::{ptr, slice};

/// The most pieces that one call has (UIO_MAXIOV).
pub const MOST_PIECES: usize = 1024;

/// `write(2)`
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn write(number: c_int, buffer: *const c_void, count: size_t) -> ssize_t {
    match kind_of_any(number) {
        Kind::Foreign => unsafe { real::write(number, buffer, count) },
        Kind::Stream => {
            let result = unsafe { real::send(number, buffer, count, MSG_NOSIGNAL) };
            if stream::is_no_socket(number, result) {
                return unsafe { real::write(number, buffer, count) };
            }
            stream::sent(number, 0, result)
        }
        Kind::Listener => stream::broken(0),
        Kind::Datagram(socket) => {
            let piece = iovec { iov_base: buffer.cast_mut(), iov_len: count };
            errno::settled(|| datagrams::send(number, socket, &[piece], 0, None, &[]))
        }
    }
}

/// `writev(2)`
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn writev(number: c_int, pieces: *const iovec, count: c_int) -> ssize_t {
    let kind = kind_of_any(number);
    let Ok(pieces_count) = usize::try_from(count) else {
        return unsafe { real::writev(number, pieces, count) };
    };
    if kind == Kind::Foreign || pieces_count > MOST_PIECES || pieces.is_null() {
        return unsafe { real::writev(number, pieces, count) };
    }
    let mut message: msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = pieces.cast_mut();
    message.msg_iovlen = pieces_count;
    if matches!(kind, Kind::Datagram(_)) && unsafe { self::pieces(&message) }.is_ok_and(|all| total(all) == 0)
    {
        // Unlike `write`, it sends no datagram of nothing.
        return unsafe { real::writev(number, pieces, count) };
    }
    if kind == Kind::Stream {
        let result = unsafe { real::sendmsg(number, &raw const message, MSG_NOSIGNAL) };
        if stream::is_no_socket(number, result) {
            return unsafe { real::writev(number, pieces, count) };
        }
        return stream::sent(number, 0, result);
    }
    unsafe { sendmsg(number, &raw const message, 0) }
}

/// `send(2)`
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn send(
    number: c_int,
    buffer: *const c_void,
    count: size_t,
    flags: c_int,
) -> ssize_t {
    match kind(number) {
        Kind::Foreign => unsafe { real::send(number, buffer, count, flags) },
        Kind::Stream | Kind::Listener if flags & MSG_FASTOPEN != 0 => unsafe {
            sendto(number, buffer, count, flags, ptr::null(), 0)
        },
        Kind::Stream => {
            let result = unsafe { real::send(number, buffer, count, flags | MSG_NOSIGNAL) };
            stream::sent(number, flags, result)
        }
        Kind::Listener => stream::broken(flags),
        Kind::Datagram(socket) => {
            let piece = iovec { iov_base: buffer.cast_mut(), iov_len: count };
            errno::settled(|| datagrams::send(number, socket, &[piece], flags, None, &[]))
        }
    }
}

/// `sendto(2)`; a stream that is connected sends where it is connected to, whatever the address
/// (`tcp_sendmsg`).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sendto(
    number: c_int,
    buffer: *const c_void,
    count: size_t,
    flags: c_int,
    address: *const sockaddr,
    length: socklen_t,
) -> ssize_t {
    if address.is_null() && flags & MSG_FASTOPEN == 0 {
        return unsafe { send(number, buffer, count, flags) };
    }
    match kind(number) {
        Kind::Foreign => unsafe { real::sendto(number, buffer, count, flags, address, length) },
        Kind::Stream if !stream::is_carried(number) => unsafe {
            real::sendto(number, buffer, count, flags, address, length)
        },
        Kind::Stream | Kind::Listener => match named(address, length) {
            Ok(()) => match fast_open(number, address, length, flags) {
                Some(flags) => unsafe { send(number, buffer, count, flags) },
                None => -1,
            },
            Err(error) => {
                errno::set(error);
                -1
            }
        },
        Kind::Datagram(_) if address.is_null() => unsafe {
            send(number, buffer, count, flags & !MSG_FASTOPEN)
        },
        Kind::Datagram(socket) => errno::settled(|| {
            let mut place = [0; LONGEST_ADDRESS];
            let address = values::given_in(address.cast(), length, &mut place)?;
            let piece = iovec { iov_base: buffer.cast_mut(), iov_len: count };
            datagrams::send(number, socket, &[piece], flags, Some(address), &[])
        }),
    }
}

/// `sendmsg(2)`. Control messages of a stream are descriptors and credentials, which mean nothing
/// to a TCP and are not for the agent; those of datagrams are carried.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sendmsg(number: c_int, message: *const msghdr, flags: c_int) -> ssize_t {
    let kind = kind(number);
    if kind == Kind::Foreign {
        return unsafe { real::sendmsg(number, message, flags) };
    }
    let mut plain = match given(message) {
        // SAFETY: it can be read.
        Ok(()) => unsafe { *message },
        Err(error) => {
            errno::set(error);
            return -1;
        }
    };
    let unusual = !plain.msg_name.is_null() || plain.msg_controllen != 0 || flags & MSG_FASTOPEN != 0;
    match kind {
        Kind::Stream if unusual && !stream::is_carried(number) => unsafe {
            real::sendmsg(number, message, flags)
        },
        Kind::Stream | Kind::Foreign | Kind::Listener if unusual && let Err(error) = beside(&plain) => {
            errno::set(error);
            -1
        }
        Kind::Stream | Kind::Foreign => {
            let Some(flags) = fast_open(number, plain.msg_name.cast(), plain.msg_namelen, flags) else {
                return -1;
            };
            (plain.msg_name, plain.msg_namelen) = (ptr::null_mut(), 0);
            (plain.msg_control, plain.msg_controllen) = (ptr::null_mut(), 0);
            let result = unsafe { real::sendmsg(number, &raw const plain, flags | MSG_NOSIGNAL) };
            stream::sent(number, flags, result)
        }
        Kind::Listener => match unsafe { pieces(&plain) } {
            Ok(_) => match fast_open(number, plain.msg_name.cast(), plain.msg_namelen, flags) {
                Some(flags) => stream::broken(flags),
                None => -1,
            },
            Err(error) => {
                errno::set(error);
                -1
            }
        },
        Kind::Datagram(socket) => errno::settled(|| {
            let pieces = unsafe { pieces(&plain) }?;
            let mut place = [0; LONGEST_ADDRESS];
            let address = if plain.msg_name.is_null() || plain.msg_namelen == 0 {
                None
            } else {
                Some(values::given_in(plain.msg_name.cast(), plain.msg_namelen, &mut place)?)
            };
            let control = match plain.msg_controllen {
                0 => Vec::new(),
                length if length > ancillary::LONGEST => return Err(libc::ENOBUFS),
                length => values::given(plain.msg_control.cast(), length as socklen_t, ancillary::LONGEST)?,
            };
            datagrams::send(number, socket, pieces, flags, address, &control)
        }),
    }
}

/// `sendmmsg(2)`
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sendmmsg(
    number: c_int,
    messages: *mut mmsghdr,
    count: c_uint,
    flags: c_int,
) -> c_int {
    if kind(number) == Kind::Foreign {
        return unsafe { real::sendmmsg(number, messages, count, flags) };
    }
    let count = (count as usize).min(MOST_PIECES);
    for done in 0..count {
        let message = messages.wrapping_add(done);
        // `sendmsg` finds out whether it is there.
        match u32::try_from(unsafe { sendmsg(number, message.cast(), flags) }) {
            Ok(octets) => unsafe { (*message).msg_len = octets },
            // What was sent counts; the error comes with the next call.
            Err(_) if done > 0 => return done as c_int,
            Err(_) => return -1,
        }
    }
    count as c_int
}

/// Whether a message that a program gave is there, with a length of its address that can be one
/// (`copy_msghdr_from_user`).
pub fn given(message: *const msghdr) -> Result<(), c_int> {
    values::readable(message, 1)?;
    // SAFETY: it can be read.
    let (name, length) = unsafe { ((*message).msg_name, (*message).msg_namelen) };
    if !name.is_null() && length.cast_signed() < 0 { Err(libc::EINVAL) } else { Ok(()) }
}

/// Whether an address that a program gave to a stream can be read, as the kernel does whatever it
/// means there.
fn named(address: *const sockaddr, length: socklen_t) -> Result<(), c_int> {
    let length = usize::try_from(length.cast_signed()).map_err(|_| libc::EINVAL)?;
    if length > LONGEST_ADDRESS {
        Err(libc::EINVAL)
    } else if address.is_null() {
        Ok(())
    } else {
        values::readable(address.cast::<u8>(), length)
    }
}

/// The same of what a message has beside its octets.
fn beside(message: &msghdr) -> Result<(), c_int> {
    named(message.msg_name.cast(), message.msg_namelen.min(LONGEST_ADDRESS as socklen_t))?;
    if message.msg_controllen > ancillary::LONGEST {
        return Err(libc::ENOBUFS);
    }
    values::readable(message.msg_control.cast::<u8>(), message.msg_controllen)
}

/// The pieces of a message.
///
/// # Safety
/// It is one that a program gave to `sendmsg` or `recvmsg`.
pub unsafe fn pieces(message: &msghdr) -> Result<&[iovec], c_int> {
    if message.msg_iovlen > MOST_PIECES {
        return Err(libc::EMSGSIZE);
    }
    if message.msg_iovlen == 0 {
        return Ok(&[]);
    }
    values::readable(message.msg_iov, message.msg_iovlen)?;
    // SAFETY: they can be read, as long as the caller promises.
    let pieces = unsafe { slice::from_raw_parts(message.msg_iov, message.msg_iovlen) };
    if pieces.iter().any(|piece| isize::try_from(piece.iov_len).is_err()) {
        return Err(libc::EINVAL);
    }
    Ok(pieces)
}

/// Octets of pieces, of which a program may claim more than there can be.
pub fn total(pieces: &[iovec]) -> usize {
    pieces.iter().fold(0, |total, piece| total.saturating_add(piece.iov_len))
}
