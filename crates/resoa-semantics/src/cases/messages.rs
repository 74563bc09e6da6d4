//! Calls with messages and vectors: how data is gathered and scattered, and the reported sender.

use super::{call, cases};
use crate::near::Near;
use crate::sys;

cases! {
    "C42 C44" Both: vectors, message_of_many, message_received, message_flags, sender_unknown, address_ignored, many_messages;
}

fn vectors(n: &mut Near) {
    let (fd, far) = n.connected();
    let parts: [&[u8]; 3] = [b"one ", b"", b"two"];
    let list =
        parts.map(|part| libc::iovec { iov_base: part.as_ptr().cast_mut().cast(), iov_len: part.len() });
    n.say("writev", call!(writev(fd, list.as_ptr(), 3)));
    n.hear("recv", &format!("recv {} 20", far.0));
    n.hear("send", &format!("send {} abcdef", far.0));
    n.until("poll", fd, libc::POLLIN);
    let (mut first, mut second) = ([0_u8; 2], [0_u8; 10]);
    let list = [
        libc::iovec { iov_base: first.as_mut_ptr().cast(), iov_len: 2 },
        libc::iovec { iov_base: second.as_mut_ptr().cast(), iov_len: 10 },
    ];
    n.say("readv", call!(readv(fd, list.as_ptr(), 2)));
    n.say("parts", format!("{} {}", String::from_utf8_lossy(&first), String::from_utf8_lossy(&second[..4])));
}

/// Builds a message of these parts, without an address.
pub fn message(parts: &mut [libc::iovec]) -> libc::msghdr {
    // SAFETY: all zeros is an empty message.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = parts.as_mut_ptr();
    message.msg_iovlen = parts.len();
    message
}

/// Builds a part of a message.
pub fn part(octets: &mut [u8]) -> libc::iovec {
    libc::iovec { iov_base: octets.as_mut_ptr().cast(), iov_len: octets.len() }
}

fn message_of_many(n: &mut Near) {
    let (fd, far) = n.connected();
    let (mut one, mut two) = (*b"one ", *b"two");
    let mut parts = [part(&mut one), part(&mut two)];
    let header = message(&mut parts);
    n.say("sendmsg", call!(sendmsg(fd, &raw const header, 0)));
    n.hear("recv", &format!("recv {} 20", far.0));
}

fn message_received(n: &mut Near) {
    let (fd, far) = n.connected();
    n.hear("send", &format!("send {} abcdef", far.0));
    n.until("poll", fd, libc::POLLIN);
    let (mut first, mut second) = ([0_u8; 2], [0_u8; 10]);
    let mut parts = [part(&mut first), part(&mut second)];
    let mut header = message(&mut parts);
    let mut address = sys::Address::empty();
    (header.msg_name, header.msg_namelen) = (address.room().0.cast(), address.length);
    n.say("recvmsg", call!(recvmsg(fd, &raw mut header, 0)));
    n.say("octets of the name", header.msg_namelen);
    n.say("octets of control", header.msg_controllen);
    n.say("flags", header.msg_flags);
    n.say("parts", format!("{} {}", String::from_utf8_lossy(&first), String::from_utf8_lossy(&second[..4])));
}

fn message_flags(n: &mut Near) {
    let (fd, far) = n.connected();
    n.hear("send", &format!("send {} abcdef", far.0));
    n.until("poll", fd, libc::POLLIN);
    let mut room = [0_u8; 2];
    let mut parts = [part(&mut room)];
    let mut header = message(&mut parts);
    n.say("recvmsg", call!(recvmsg(fd, &raw mut header, libc::MSG_PEEK)));
    n.say("flags", header.msg_flags);
    n.say("recvmsg", call!(recvmsg(fd, &raw mut header, libc::MSG_WAITALL)));
    n.say("flags", header.msg_flags);
    n.receive("rest", fd, 10, 0);
}

fn many_messages(n: &mut Near) {
    let (fd, far) = n.connected();
    let (mut one, mut two) = (*b"one ", *b"two");
    let (mut first, mut second) = ([part(&mut one)], [part(&mut two)]);
    let mut list = [
        libc::mmsghdr { msg_hdr: message(&mut first), msg_len: 0 },
        libc::mmsghdr { msg_hdr: message(&mut second), msg_len: 0 },
    ];
    n.say("sendmmsg", call!(sendmmsg(fd, list.as_mut_ptr(), 2, 0)));
    n.say("lengths", format!("{} {}", list[0].msg_len, list[1].msg_len));
    Near::settle();
    n.hear("recv", &format!("recv {} 20", far.0));
}

fn sender_unknown(n: &mut Near) {
    let (fd, far) = n.connected();
    n.hear("send", &format!("send {} abcdef", far.0));
    n.until("poll", fd, libc::POLLIN);
    let mut room = [0; 10];
    let mut address = sys::Address::empty();
    let (pointer, length) = address.room();
    n.say("recvfrom", call!(recvfrom(fd, room.as_mut_ptr().cast(), 10, 0, pointer, length)));
    n.say("octets of the name", address.length);
}

fn address_ignored(n: &mut Near) {
    let (fd, far) = n.connected();
    let elsewhere = n.closed_port();
    n.say("sendto", sys::send_to(fd, b"hello", 0, elsewhere));
    n.hear("recv", &format!("recv {} 20", far.0));
    let fresh = n.stream();
    n.say("sendto of a fresh one", sys::send_to(fresh, b"hello", libc::MSG_NOSIGNAL, elsewhere));
}
