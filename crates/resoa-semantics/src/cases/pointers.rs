//! Invalid pointers and lengths in the structures of calls. They cause EFAULT, EINVAL or EMSGSIZE,
//! and never end the program.

use super::messages::{message, part};
use super::{call, cases};
use crate::near::Near;
use crate::sys::{self, Answer};
use std::ptr;

cases! {
    "C44 C109" Both: sent_by_nothing, received_by_nothing, several_by_nothing, pieces_of_nothing;
    "C44 C109" Both: at_the_end_of_memory, lengths_of_names, lengths_of_pieces, names_of_nothing;
    "C41" Both: ioctls_of_nothing;
    "C30" One: pair_of_nothing;
}

const QUIET: i32 = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;

fn nowhere<T>() -> *mut T {
    ptr::without_provenance_mut(8)
}

/// Returns a fresh stream, a connected one, a listener, a datagram socket and a connected datagram
/// socket.
fn sockets(n: &mut Near) -> Vec<(&'static str, i32)> {
    let to = n.closed_port();
    let (connected, datagram) = (n.connected().0, n.datagram());
    sys::connect(datagram, to);
    vec![
        ("fresh", n.stream()),
        ("connected", connected),
        ("listener", n.listener(1).0),
        ("datagrams", n.datagram()),
        ("connected datagrams", datagram),
    ]
}

fn each(n: &mut Near, what: &str, make: impl Fn(i32) -> Answer) {
    for (kind, fd) in sockets(n) {
        n.say(&format!("{what}, {kind}"), make(fd));
    }
}

fn sent_by_nothing(n: &mut Near) {
    each(n, "sendmsg", |fd| call!(sendmsg(fd, nowhere(), QUIET)));
    each(n, "sendmsg of null", |fd| call!(sendmsg(fd, ptr::null(), QUIET)));
}

fn received_by_nothing(n: &mut Near) {
    each(n, "recvmsg", |fd| call!(recvmsg(fd, nowhere(), QUIET)));
    each(n, "recvmsg of null", |fd| call!(recvmsg(fd, ptr::null_mut(), QUIET)));
}

fn several_by_nothing(n: &mut Near) {
    each(n, "sendmmsg", |fd| call!(sendmmsg(fd, nowhere(), 2, QUIET)));
    each(n, "recvmmsg", |fd| call!(recvmmsg(fd, nowhere(), 2, QUIET, ptr::null_mut())));
    each(n, "sendmmsg of none", |fd| call!(sendmmsg(fd, nowhere(), 0, QUIET)));
    each(n, "recvmmsg of none", |fd| call!(recvmmsg(fd, nowhere(), 0, QUIET, ptr::null_mut())));
    each(n, "recvmmsg with a time", |fd| call!(recvmmsg(fd, nowhere(), 1, QUIET, nowhere())));
}

fn pieces_of_nothing(n: &mut Near) {
    each(n, "writev", |fd| call!(writev(fd, nowhere(), 1)));
    each(n, "writev of -1", |fd| call!(writev(fd, nowhere(), -1)));
    let mut nothing = message(&mut []);
    (nothing.msg_iov, nothing.msg_iovlen) = (nowhere(), 1);
    each(n, "sendmsg", |fd| call!(sendmsg(fd, &raw const nothing, QUIET)));
    each(n, "recvmsg", |fd| {
        let mut nothing = nothing;
        call!(recvmsg(fd, &raw mut nothing, QUIET))
    });
    for (kind, fd) in sockets(n) {
        sys::fcntl(fd, libc::F_SETFL, libc::O_NONBLOCK);
        n.say(&format!("readv, {kind}"), call!(readv(fd, nowhere(), 1)));
    }
}

/// Only the first half of the message header is accessible.
fn at_the_end_of_memory(n: &mut Near) {
    const PAGE: usize = 4096;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: the two pages are our own. The second one becomes inaccessible.
    let place = unsafe {
        let place = libc::mmap(ptr::null_mut(), 2 * PAGE, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
        libc::mprotect(place.byte_add(PAGE), PAGE, libc::PROT_NONE);
        place.byte_add(PAGE - 24).cast::<libc::msghdr>()
    };
    each(n, "sendmsg", |fd| call!(sendmsg(fd, place, QUIET)));
    each(n, "recvmsg", |fd| call!(recvmsg(fd, place, QUIET)));
}

/// Negative lengths of addresses are invalid, even for streams, which ignore the address.
fn lengths_of_names(n: &mut Near) {
    let mut room = [0; 128];
    for length in [-1_i32, i32::MIN, 129] {
        let mut octet = *b"x";
        let parts = &mut [part(&mut octet)];
        let mut named = message(parts);
        (named.msg_name, named.msg_namelen) = (room.as_mut_ptr().cast(), length.cast_unsigned());
        each(n, &format!("recvmsg with {length}"), |fd| {
            let mut named = named;
            call!(recvmsg(fd, &raw mut named, QUIET))
        });
        if length < 0 {
            each(n, &format!("sendmsg with {length}"), |fd| call!(sendmsg(fd, &raw const named, QUIET)));
            named.msg_name = ptr::null_mut();
            each(n, &format!("recvmsg without one, {length}"), |fd| {
                let mut named = named;
                call!(recvmsg(fd, &raw mut named, QUIET))
            });
        }
    }
}

fn lengths_of_pieces(n: &mut Near) {
    let mut octet = *b"x";
    let mut many = vec![part(&mut octet); 1025];
    each(n, "sendmsg of 1025", |fd| {
        let mut parts = many.clone();
        call!(sendmsg(fd, &raw const *Box::new(message(&mut parts)), QUIET))
    });
    each(n, "recvmsg of 1025", |fd| {
        let mut parts = many.clone();
        call!(recvmsg(fd, &raw mut *Box::new(message(&mut parts)), QUIET))
    });
    each(n, "writev of 1025", |fd| call!(writev(fd, many.as_ptr(), 1025)));
    many.truncate(1);
    many[0].iov_len = usize::MAX;
    each(n, "sendmsg of -1 octets", |fd| {
        let mut parts = many.clone();
        call!(sendmsg(fd, &raw const *Box::new(message(&mut parts)), QUIET))
    });
    each(n, "recvmsg of -1 octets", |fd| {
        let mut parts = many.clone();
        call!(recvmsg(fd, &raw mut *Box::new(message(&mut parts)), QUIET))
    });
}

/// An address that is passed is read, even for a stream, which ignores it.
fn names_of_nothing(n: &mut Near) {
    each(n, "sendto", |fd| call!(sendto(fd, b"x".as_ptr().cast(), 1, QUIET, nowhere(), 16)));
    each(n, "sendto with -1", |fd| call!(sendto(fd, b"x".as_ptr().cast(), 1, QUIET, nowhere(), u32::MAX)));
    let mut octet = *b"x";
    let parts = &mut [part(&mut octet)];
    let mut named = message(parts);
    (named.msg_name, named.msg_namelen) = (nowhere(), 16);
    each(n, "sendmsg", |fd| call!(sendmsg(fd, &raw const named, QUIET)));
    (named.msg_name, named.msg_namelen) = (ptr::null_mut(), 0);
    (named.msg_control, named.msg_controllen) = (nowhere(), 32);
    each(n, "sendmsg with control messages", |fd| call!(sendmsg(fd, &raw const named, QUIET)));
}

fn ioctls_of_nothing(n: &mut Near) {
    for (what, request) in [
        ("FIONREAD", libc::FIONREAD),
        ("TIOCOUTQ", libc::TIOCOUTQ),
        ("FIONBIO", libc::FIONBIO),
        ("FIOASYNC", libc::FIOASYNC),
    ] {
        for (kind, fd) in sockets(n) {
            // Natively, requests that a listener does not support are always EINVAL.
            n.say(&format!("{what}, {kind}"), call!(ioctl(fd, request as _, nowhere::<i32>())));
        }
    }
}

fn pair_of_nothing(n: &mut Near) {
    n.say("AF_UNIX", call!(socketpair(libc::AF_UNIX, libc::SOCK_STREAM, 0, nowhere())));
}
