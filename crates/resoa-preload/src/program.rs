//! This process as a [`Program`] for the engine of [`resoa_calls::interposer`].
//!
//! The memory is its own. Waiting uses the C library's functions, which signals interrupt and in
//! which threads may be cancelled.

use crate::{agent, creating, errno, real, sockets, values};
use libc::{MSG_CMSG_CLOEXEC, MSG_NOSIGNAL, MSG_OOB, MSG_TRUNC, c_int, iovec, mmsghdr, msghdr, ssize_t};
use resoa_calls::interposer::{
    Answer, Beside, Call, Detour, Given, Message, Packet, Piece, Program, Socket, Stop, answer,
    messages::MOST,
};
use resoa_calls::{Answered, Request};
use resoa_protocol::control_messages;
use rustix::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use rustix::net::sockopt::{Timeout, socket_timeout};
use rustix::thread::CapabilitySet;
use std::{ptr, slice};

/// Maximum number of pieces without an allocation.
const FEW: usize = 8;

/// This process.
#[derive(Debug, Clone, Copy)]
pub struct Here;

/// Answers a call on a descriptor: by the engine if it is a socket of the agent's, by the C
/// library's function `native` otherwise.
pub fn answered(number: c_int, call: &Call, native: impl FnOnce() -> c_int) -> c_int {
    match sockets::carried(number) {
        Some(socket) => settled(|| answer(&Here, &socket, call), || native() as ssize_t) as c_int,
        None => native(),
    }
}

/// Answers a call that moves datagrams of a socket.
pub fn moved(socket: &Socket, call: &Call) -> ssize_t {
    settled_count(|| match answer(&Here, socket, call)? {
        Answer::Value(count) => Ok(count),
        Answer::Descriptor { .. } => Err(libc::EIO.into()),
    })
}

/// Runs a call that returns a count, as [`settled`].
pub fn settled_count(call: impl FnOnce() -> Detour<usize>) -> ssize_t {
    settled(|| call().map(Answer::Value), || -1)
}

/// Runs a call and returns its result, or -1 with `errno` set. Success leaves `errno` unchanged.
/// `native` is the C library's function, for a bypass.
pub fn settled(call: impl FnOnce() -> Detour, native: impl FnOnce() -> ssize_t) -> ssize_t {
    let before = errno::get();
    let outcome = call();
    errno::set(before);
    match outcome {
        Ok(Answer::Value(value)) => value.cast_signed(),
        Ok(Answer::Descriptor { descriptor, kind, cloexec }) => {
            let number = creating::install(descriptor, kind, cloexec);
            errno::set(before);
            number as ssize_t
        }
        Err(Stop::Errno(error)) => failed(error),
        Err(Stop::Bypass(_)) => native(),
        // A caller in this process cannot end before its call.
        Err(Stop::Gone) => failed(libc::EINTR),
    }
}

/// Fails a call with this error.
pub fn failed(error: c_int) -> ssize_t {
    errno::set(error);
    -1
}

/// Returns a pointer as the engine represents it.
pub fn at<T>(place: *const T) -> usize {
    place.expose_provenance()
}

/// Returns an address and its length, as given by the program.
pub fn given<T>(place: *const T, length: libc::socklen_t) -> Given {
    Given { at: at(place), length: length.cast_signed() }
}

/// No address.
pub const NONE: Given = Given { at: 0, length: 0 };

/// Returns a buffer of the program.
pub fn piece<T>(buffer: *const T, length: usize) -> Piece {
    Piece { address: at(buffer), length }
}

impl Program for Here {
    const SEES_DATA: bool = true;

    type Pieces = &'static [Piece];

    fn read(&self, at: usize, place: &mut [u8]) -> Detour<()> {
        Ok(values::read(ptr::with_exposed_provenance(at), place)?)
    }

    fn write(&self, at: usize, octets: &[u8]) -> Detour<()> {
        Ok(values::put(ptr::with_exposed_provenance_mut(at), octets)?)
    }

    fn ask<'a>(
        &self,
        request: &Request,
        descriptor: Option<BorrowedFd>,
        place: &'a mut [u8],
    ) -> Detour<Answered<'a>> {
        Ok(agent::ask(request, descriptor, place)?)
    }

    fn connect(&self, socket: &Socket, request: &Request) -> Detour<bool> {
        let has_limit = matches!(socket_timeout(socket, Timeout::Send), Ok(Some(_)));
        Ok(agent::ask_interruptibly(request, Some(socket.descriptor), has_limit)?)
    }

    fn may_bind_any_port(&self) -> bool {
        // A thread that cannot read its capabilities is assumed to have the privilege.
        rustix::thread::capabilities(None)
            .map_or(true, |sets| sets.effective.contains(CapabilitySet::NET_BIND_SERVICE))
    }

    fn has_number_left(&self, listener: &Socket) -> Detour<()> {
        Ok(creating::two_numbers(listener.descriptor)?)
    }

    fn arrivals(&self, listener: &Socket) -> impl FnMut() -> Detour<usize> {
        let number = listener.descriptor.as_raw_fd();
        move || {
            let mut octet = 0u8;
            // The kernel decides about EAGAIN, EINTR and SO_RCVTIMEO, and may cancel the thread
            // here. SAFETY: there is room for one byte.
            result_of(unsafe { real::recv(number, (&raw mut octet).cast(), 1, 0) })
        }
    }

    fn sees(&self, _: &Socket) -> Detour<()> {
        // The agent was told when the socket was created.
        Ok(())
    }

    fn send_packet(&self, socket: &Socket, front: &mut [u8], pieces: &[Piece], flags: i32) -> Detour<()> {
        // Datagrams have no urgent data, and SIGPIPE is for streams.
        let flags = flags & !MSG_OOB | MSG_NOSIGNAL;
        with_front(front, pieces, |message| {
            // SAFETY: the message consists of pieces that the program gave.
            result_of(unsafe { real::sendmsg(socket.descriptor.as_raw_fd(), message, flags) })
        })
        .map(drop)
    }

    fn receive_packet(
        &self,
        socket: &Socket,
        front: &mut [u8],
        pieces: &[Piece],
        flags: i32,
    ) -> Detour<Packet> {
        let mut room = RoomForDescriptor::default();
        let flags = flags & !MSG_OOB | MSG_CMSG_CLOEXEC;
        with_front(front, pieces, |message| {
            (message.msg_control, message.msg_controllen) = (room.0.as_mut_ptr().cast(), room.0.len());
            // SAFETY: the message consists of pieces that the program gave, and of our own.
            let result = unsafe { real::recvmsg(socket.descriptor.as_raw_fd(), message, flags) };
            let (octets, is_cut) = (result_of(result)?, message.msg_flags & MSG_TRUNC != 0);
            Ok(Packet { octets, is_cut, beside: Beside::of(room.descriptor()) })
        })
    }

    fn message(&self, at: usize) -> Detour<Message<&'static [Piece]>> {
        let message = readable_message(ptr::with_exposed_provenance(at))?;
        let pieces = pieces(message.msg_iov, message.msg_iovlen)?;
        Ok(Message {
            name: given(message.msg_name, message.msg_namelen),
            pieces,
            control: piece(message.msg_control, message.msg_controllen),
        })
    }

    fn tell(&self, message: usize, name_length: usize, control_length: usize, flags: i32) -> Detour<()> {
        let message = ptr::with_exposed_provenance_mut::<msghdr>(message);
        // SAFETY: it has been read before, and the program gave it to be written.
        let message = unsafe { &mut *message };
        message.msg_namelen = name_length as libc::socklen_t;
        message.msg_controllen = control_length;
        message.msg_flags = flags;
        Ok(())
    }

    fn tell_length(&self, message: usize, length: u32) -> Detour<()> {
        let message = ptr::with_exposed_provenance_mut::<mmsghdr>(message);
        // SAFETY: as above.
        unsafe { (*message).msg_len = length };
        Ok(())
    }

    fn is_readable(&self, at: usize, length: usize) -> Detour<()> {
        Ok(values::readable(ptr::with_exposed_provenance::<u8>(at), length)?)
    }

    fn raise_pipe(&self) {
        // SAFETY: it raises a signal in this thread, as the kernel would.
        unsafe { libc::raise(libc::SIGPIPE) };
    }
}

/// Converts the result of one of the C library's functions.
pub fn result_of(result: ssize_t) -> Detour<usize> {
    usize::try_from(result).map_err(|_| errno::get().into())
}

/// Reads a message that a program gave, in place. A negative length of its address is EINVAL, as in
/// `copy_msghdr_from_user`.
pub fn readable_message(message: *const msghdr) -> Result<msghdr, c_int> {
    values::readable(message, 1)?;
    // SAFETY: it can be read.
    let message = unsafe { *message };
    let is_negative = !message.msg_name.is_null() && message.msg_namelen.cast_signed() < 0;
    if is_negative { Err(libc::EINVAL) } else { Ok(message) }
}

/// Returns the pieces of a message that a program gave, in place.
pub fn pieces(parts: *const iovec, count: usize) -> Result<&'static [Piece], c_int> {
    const { assert!(size_of::<Piece>() == size_of::<iovec>()) };
    if count > MOST {
        return Err(libc::EMSGSIZE);
    }
    if count == 0 {
        return Ok(&[]);
    }
    values::readable(parts, count)?;
    // SAFETY: they can be read while the call lasts, and a piece has the layout of an `iovec`.
    let pieces = unsafe { slice::from_raw_parts(parts.cast::<Piece>(), count) };
    if pieces.iter().any(|piece| isize::try_from(piece.length).is_err()) {
        return Err(libc::EINVAL);
    }
    Ok(pieces)
}

/// Buffer for the control message of a descriptor that comes with a packet.
#[derive(Default)]
#[repr(align(8))]
struct RoomForDescriptor([u8; 24]);

impl RoomForDescriptor {
    /// Takes the received descriptor.
    fn descriptor(&self) -> Option<OwnedFd> {
        let given = control_messages::given(&self.0).next()??;
        let number = c_int::from_ne_bytes(*given.value.first_chunk()?);
        // SAFETY: it has just been received, and nobody else knows of it.
        Some(unsafe { OwnedFd::from_raw_fd(number) })
    }
}

/// Calls with a message of `front`, unless that is empty, followed by `pieces`.
fn with_front<T>(front: &mut [u8], pieces: &[Piece], call: impl FnOnce(&mut msghdr) -> T) -> T {
    let mut few = [iovec { iov_base: ptr::null_mut(), iov_len: 0 }; 1 + FEW];
    let mut many = Vec::new();
    let all = if pieces.len() > FEW {
        many.resize(1 + pieces.len(), few[0]);
        &mut many[..]
    } else {
        &mut few[..=pieces.len()]
    };
    for (to, from) in all[1..].iter_mut().zip(pieces) {
        let iov_base = ptr::with_exposed_provenance_mut(from.address);
        *to = iovec { iov_base, iov_len: from.length };
    }
    let all = if front.is_empty() {
        &mut all[1..]
    } else {
        all[0] = iovec { iov_base: front.as_mut_ptr().cast(), iov_len: front.len() };
        all
    };
    // SAFETY: all zero is an empty message.
    let mut message: msghdr = unsafe { std::mem::zeroed() };
    (message.msg_iov, message.msg_iovlen) = (all.as_mut_ptr(), all.len());
    call(&mut message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::room;
    use resoa_calls::interposer::messages::deadline;
    use std::time::{Duration, Instant};

    const ADDRESS: std::net::SocketAddr =
        std::net::SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1)), 80);

    fn nowhere<T>() -> *mut T {
        ptr::without_provenance_mut(64)
    }

    /// Addresses are truncated to the room there is, and their full length is returned.
    #[test]
    fn addresses_are_cut() {
        let mut place = [0xffu8; 16];
        let mut length = 4;
        let given = room(place.as_mut_ptr(), &raw mut length).give(&Here, ADDRESS);
        assert_eq!((given, length, &place[..5]), (Ok(()), 16, &[2, 0, 0, 80, 0xff][..]));
        let mut negative = u32::MAX;
        let given = room(place.as_mut_ptr(), &raw mut negative).give(&Here, ADDRESS);
        assert_eq!(given, Err(libc::EINVAL.into()));
        assert_eq!(room(ptr::null_mut::<u8>(), ptr::null_mut()).give(&Here, ADDRESS), Ok(()));
    }

    /// Invalid addresses are refused as by the kernel, and invalid pointers are EFAULT.
    #[test]
    fn addresses_that_are_none() {
        for place in [ptr::null(), nowhere::<u8>().cast_const()] {
            assert_eq!(given(place, 16).address(&Here), Err(libc::EFAULT.into()));
            assert_eq!(
                room(nowhere::<u8>(), place.cast_mut().cast()).octets(&Here),
                Err(libc::EFAULT.into())
            );
        }
        for length in [0, 4096, u32::MAX] {
            assert_eq!(given(ptr::null::<u8>(), length).address(&Here), Err(libc::EINVAL.into()));
        }
        let mut place = [0u8; 16];
        assert_eq!(room(place.as_mut_ptr(), nowhere()).give_none(&Here), Err(libc::EFAULT.into()));
        let mut length = 5;
        assert_eq!((room(place.as_mut_ptr(), &raw mut length).give_none(&Here), length), (Ok(()), 0));
        length = u32::MAX;
        let none = room(place.as_mut_ptr(), &raw mut length).give_none(&Here);
        assert_eq!(none, Err(libc::EINVAL.into()));
        let given = room(place.as_mut_ptr(), nowhere()).give(&Here, ADDRESS);
        assert_eq!((given, place), (Err(libc::EFAULT.into()), [0; 16]));
    }

    /// The timeout of `recvmmsg`.
    #[test]
    fn times() {
        let of = |tv_sec, tv_nsec| deadline(&Here, at(&libc::timespec { tv_sec, tv_nsec }));
        assert_eq!(deadline(&Here, at(nowhere::<u8>())), Err(libc::EFAULT.into()));
        assert_eq!(deadline(&Here, 0), Ok(None));
        assert_eq!(of(-1, 0), Err(libc::EINVAL.into()));
        let left = of(1, 5).expect("a time").expect("a limit") - Instant::now();
        assert!(left <= Duration::new(1, 5) && left > Duration::from_millis(500), "{left:?}");
    }
}
