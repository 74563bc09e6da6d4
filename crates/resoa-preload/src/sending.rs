//! `write`, `send` and their variants. Data of streams goes to the C library unchanged, but without
//! SIGPIPE: the library raises it once it knows what failed.

use crate::program::{
    Here, NONE, at, failed, given, moved, piece, pieces, readable_message, result_of, settled_count,
};
use crate::sockets::{DataPath, kind, kind_of_any};
use crate::{real, sockets, stream};
use libc::{
    MSG_FASTOPEN, MSG_NOSIGNAL, c_int, c_uint, c_void, iovec, mmsghdr, msghdr, size_t, sockaddr, socklen_t,
    ssize_t,
};
use resoa_calls::interposer::messages::{MOST, several};
use resoa_calls::interposer::streams::{self, Opened};
use resoa_calls::interposer::{Call, Detour, Given, Piece, datagrams, total};
use std::ptr;

/// `write(2)`
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn write(number: c_int, buffer: *const c_void, count: size_t) -> ssize_t {
    match kind_of_any(number) {
        DataPath::Foreign => unsafe { real::write(number, buffer, count) },
        DataPath::Stream => {
            let result = unsafe { real::send(number, buffer, count, MSG_NOSIGNAL) };
            if stream::is_no_socket(number, result) {
                return unsafe { real::write(number, buffer, count) };
            }
            stream::sent(number, 0, result)
        }
        DataPath::Listener => stream::broken(0),
        DataPath::Datagram(socket) => {
            moved(&socket, &Call::Send { data: piece(buffer, count), flags: 0, to: NONE })
        }
    }
}

/// `writev(2)`
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn writev(number: c_int, parts: *const iovec, count: c_int) -> ssize_t {
    let native = || unsafe { real::writev(number, parts, count) };
    let kind = kind_of_any(number);
    let Some(count) = usize::try_from(count).ok().filter(|count| *count <= MOST) else { return native() };
    if parts.is_null() {
        return native();
    }
    match kind {
        DataPath::Foreign => native(),
        DataPath::Stream => {
            let mut message: msghdr = unsafe { std::mem::zeroed() };
            (message.msg_iov, message.msg_iovlen) = (parts.cast_mut(), count);
            let result = unsafe { real::sendmsg(number, &raw const message, MSG_NOSIGNAL) };
            if stream::is_no_socket(number, result) { native() } else { stream::sent(number, 0, result) }
        }
        DataPath::Listener => match pieces(parts, count) {
            Ok(_) => stream::broken(0),
            Err(error) => failed(error),
        },
        DataPath::Datagram(socket) => match pieces(parts, count) {
            // Unlike `write`, `writev` sends no empty datagram.
            Ok(pieces) if total(pieces) == 0 => native(),
            Ok(pieces) => settled_count(|| datagrams::send(&Here, &socket, pieces, None, &[], 0)),
            Err(error) => failed(error),
        },
    }
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
        DataPath::Foreign => unsafe { real::send(number, buffer, count, flags) },
        DataPath::Stream | DataPath::Listener if flags & MSG_FASTOPEN != 0 => unsafe {
            sendto(number, buffer, count, flags, ptr::null(), 0)
        },
        DataPath::Stream => {
            let result = unsafe { real::send(number, buffer, count, flags | MSG_NOSIGNAL) };
            stream::sent(number, flags, result)
        }
        DataPath::Listener => stream::broken(flags),
        DataPath::Datagram(socket) => {
            moved(&socket, &Call::Send { data: piece(buffer, count), flags, to: NONE })
        }
    }
}

/// `sendto(2)`; a connected stream sends to its peer, whatever the address (`tcp_sendmsg`).
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
        DataPath::Foreign => unsafe { real::sendto(number, buffer, count, flags, address, length) },
        DataPath::Stream if !stream::is_carried(number) => unsafe {
            real::sendto(number, buffer, count, flags, address, length)
        },
        DataPath::Stream | DataPath::Listener => {
            let to = given(address, length);
            let data = [piece(buffer, count)];
            match opened(number, flags, to, &data, || streams::address_is_there(&Here, to)) {
                Ok(Opened::Connected(flags)) => unsafe { send(number, buffer, count, flags) },
                Ok(Opened::Sent(count)) => count.cast_signed(),
                Err(failed) => failed,
            }
        }
        DataPath::Datagram(socket) => {
            let (data, to) = (piece(buffer, count), given(address, length));
            let flags = if address.is_null() { flags & !MSG_FASTOPEN } else { flags };
            moved(&socket, &Call::Send { data, flags, to })
        }
    }
}

/// Prepares a stream for sending: checks the arguments other than the data, and connects for
/// MSG_FASTOPEN. Returns the remaining work, or the result of the call with `errno` set.
fn opened(
    number: c_int,
    flags: c_int,
    to: Given,
    data: &[Piece],
    is_there: impl FnOnce() -> Detour<()>,
) -> Result<Opened, ssize_t> {
    let mut left = Opened::Connected(flags);
    let outcome = settled_count(|| {
        is_there()?;
        if flags & MSG_FASTOPEN != 0 {
            let socket = sockets::carried(number).ok_or(libc::EBADF)?;
            left = streams::fast_open(&Here, &socket, to, data, flags)?;
        }
        Ok(0)
    });
    if outcome == 0 { Ok(left) } else { Err(outcome) }
}

/// `sendmsg(2)`. Control messages on a stream would be descriptors and credentials of AF_UNIX. They
/// mean nothing to TCP and are not for the agent, so they are dropped. Those of datagrams are
/// carried.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sendmsg(number: c_int, message: *const msghdr, flags: c_int) -> ssize_t {
    let kind = kind(number);
    let native = || unsafe { real::sendmsg(number, message, flags) };
    match kind {
        DataPath::Foreign => return native(),
        DataPath::Datagram(socket) => {
            return moved(&socket, &Call::SendMessage { message: at(message), flags });
        }
        DataPath::Stream | DataPath::Listener => {}
    }
    let mut plain = match readable_message(message) {
        Ok(message) => message,
        Err(error) => return failed(error),
    };
    let to = given(plain.msg_name, plain.msg_namelen);
    let control = piece(plain.msg_control, plain.msg_controllen);
    let is_unusual = to.at != 0 || control.length != 0 || flags & MSG_FASTOPEN != 0;
    let is_listener = matches!(kind, DataPath::Listener);
    if is_unusual && !is_listener && !stream::is_carried(number) {
        return native();
    }
    let flags = if is_unusual || is_listener {
        let is_there = || {
            streams::rest_is_there(&Here, to, control)?;
            if is_listener {
                pieces(plain.msg_iov, plain.msg_iovlen)?;
            }
            Ok(())
        };
        // Wrong pieces are the kernel's to refuse.
        let data = pieces(plain.msg_iov, plain.msg_iovlen).unwrap_or_default();
        match opened(number, flags, to, data, is_there) {
            Ok(Opened::Connected(flags)) => flags,
            Ok(Opened::Sent(count)) => return count.cast_signed(),
            Err(failed) => return failed,
        }
    } else {
        flags
    };
    if is_listener {
        return stream::broken(flags);
    }
    (plain.msg_name, plain.msg_namelen) = (ptr::null_mut(), 0);
    (plain.msg_control, plain.msg_controllen) = (ptr::null_mut(), 0);
    let result = unsafe { real::sendmsg(number, &raw const plain, flags | MSG_NOSIGNAL) };
    stream::sent(number, flags, result)
}

/// `sendmmsg(2)`
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sendmmsg(
    number: c_int,
    messages: *mut mmsghdr,
    count: c_uint,
    flags: c_int,
) -> c_int {
    if matches!(kind(number), DataPath::Foreign) {
        return unsafe { real::sendmmsg(number, messages, count, flags) };
    }
    // `sendmsg` checks whether the message can be read.
    let one = |at, flags| result_of(unsafe { sendmsg(number, ptr::with_exposed_provenance(at), flags) });
    settled_count(|| several(&Here, at(messages), count, flags, None, one)) as c_int
}
