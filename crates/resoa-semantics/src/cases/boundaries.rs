//! UDP: a datagram is received whole or truncated, one per call, and calls wait for one.

use super::datagrams::{bound, far, receive};
use super::messages::{message, part};
use super::{call, cases};
use crate::near::Near;
use crate::sys;
use std::net::SocketAddr;
use std::time::Instant;

cases! {
    "C91" Both: boundaries, empty, long, peek, truncated, masks, waiting_octets, do_not_wait, time_limit, vectors, many_at_once, read_and_write, message_flags, edges, closed_while_unread;
}

fn boundaries(n: &mut Near) {
    let ((far, _), (fd, own)) = (far(n), bound(n));
    for text in ["one", "two", "three"] {
        n.hear("send_to", &format!("send_to {} {own} {text}", far.0));
    }
    for _ in 0..3 {
        receive(n, "recvfrom", fd, 20, 0, 0);
    }
}

fn empty(n: &mut Near) {
    let ((far, to), (fd, own)) = (far(n), bound(n));
    n.say("sendto", sys::send_to(fd, b"", 0, to));
    let heard = n.far.ask(&format!("recv_from {}", far.0));
    n.say("far", heard.replace(&own.to_string(), "near"));
    n.hear("send_to", &format!("send_to {} {own} ", far.0));
    n.until("poll", fd, libc::POLLIN);
    receive(n, "recvfrom", fd, 20, 0, 0);
    n.say("connect", sys::connect(fd, to));
    n.hear("send_to", &format!("send_to {} {own} ", far.0));
    n.say("recv", sys::recv(fd, &mut [0; 4], 0));
}

/// Datagrams up to the maximum length.
fn long(n: &mut Near) {
    let ((far, to), (fd, own)) = (far(n), bound(n));
    for count in [1472, 1473, 9000, 65_507] {
        let text = vec![b'x'; count];
        n.say("sendto", sys::send_to(fd, &text, 0, to));
        let heard = n.far.ask(&format!("recv_from {}", far.0));
        n.say("octets there", heard.matches('x').count());
    }
    n.hear("send_to", &format!("send_to {} {own} {}", far.0, "y".repeat(20_000)));
    let mut room = vec![0; 65_536];
    n.say("recvfrom", sys::receive_from(fd, &mut room, 0).0);
}

/// Returns a bound socket with `count` unread datagrams `hello`, its address, and the sender's
/// port.
fn arrived(n: &mut Near, count: usize) -> (i32, SocketAddr, u16) {
    let ((far, to), (fd, own)) = (far(n), bound(n));
    for _ in 0..count {
        n.hear("send_to", &format!("send_to {} {own} hello", far.0));
    }
    n.until("poll", fd, libc::POLLIN);
    (fd, own, to.port())
}

fn peek(n: &mut Near) {
    let (fd, _, known) = arrived(n, 1);
    receive(n, "peek", fd, 3, libc::MSG_PEEK, known);
    receive(n, "peek", fd, 20, libc::MSG_PEEK, known);
    receive(n, "recvfrom", fd, 20, 0, known);
    receive(n, "recvfrom", fd, 20, libc::MSG_DONTWAIT, known);
}

fn truncated(n: &mut Near) {
    let (fd, _, known) = arrived(n, 3);
    receive(n, "recvfrom", fd, 3, 0, known);
    receive(n, "recvfrom with MSG_TRUNC", fd, 3, libc::MSG_TRUNC, known);
    n.say("recv of nothing", sys::recv(fd, &mut [], libc::MSG_TRUNC));
    receive(n, "nothing left", fd, 3, libc::MSG_DONTWAIT, known);
}

fn message_flags(n: &mut Near) {
    let (fd, _, _) = arrived(n, 2);
    for (room, flags) in [(3, 0), (10, libc::MSG_TRUNC)] {
        let mut octets = vec![0; room];
        let mut parts = [part(&mut octets)];
        let mut message = message(&mut parts);
        let mut address = sys::Address::empty();
        (message.msg_name, message.msg_namelen) = (address.room().0.cast(), address.length);
        n.say("recvmsg", call!(recvmsg(fd, &raw mut message, flags)));
        n.say("flags", message.msg_flags);
        n.say("octets of the name", message.msg_namelen);
        let from = address.read().map_or("nobody".into(), |from| n.show(from, 0));
        n.say("from", from);
    }
}

fn masks(n: &mut Near) {
    let ((far, _), (fd, own)) = (far(n), bound(n));
    n.mask("poll", fd);
    n.hear("send_to", &format!("send_to {} {own} hello", far.0));
    n.until("poll with one", fd, libc::POLLIN);
    receive(n, "recvfrom", fd, 20, 0, 0);
    n.mask("poll after", fd);
    let text = super::polling::select(fd, 0, [true; 3]);
    n.say("select", text);
}

fn edges(n: &mut Near) {
    let ((far, _), (fd, own)) = (far(n), bound(n));
    let epoll = sys::epoll(fd, (libc::EPOLLIN | libc::EPOLLET) as u32);
    n.say("nothing yet", sys::epoll_wait(epoll, 50).0);
    for _ in 0..3 {
        n.hear("send_to", &format!("send_to {} {own} x", far.0));
        n.say("edge", sys::epoll_wait(epoll, 3000).0);
    }
}

fn waiting_octets(n: &mut Near) {
    let ((far, _), (fd, own)) = (far(n), bound(n));
    let mut count = -1;
    n.say("FIONREAD", sys::ioctl(fd, libc::FIONREAD, &mut count));
    n.say("is", count);
    n.hear("send_to", &format!("send_to {} {own} hello", far.0));
    n.until("poll", fd, libc::POLLIN);
    n.hear("send_to", &format!("send_to {} {own} hello-again", far.0));
    n.say("FIONREAD", sys::ioctl(fd, libc::FIONREAD, &mut count));
    n.say("is", count);
}

fn do_not_wait(n: &mut Near) {
    let (fd, _) = bound(n);
    receive(n, "recvfrom", fd, 10, libc::MSG_DONTWAIT, 0);
    sys::fcntl(fd, libc::F_SETFL, libc::O_NONBLOCK);
    n.receive("recv", fd, 10, 0);
}

fn time_limit(n: &mut Near) {
    let (fd, _) = bound(n);
    n.say("SO_RCVTIMEO", sys::set_time_limit(fd, libc::SO_RCVTIMEO, 300));
    let begin = Instant::now();
    receive(n, "recvfrom", fd, 10, 0, 0);
    n.took("it took", begin, 300);
}

fn vectors(n: &mut Near) {
    let ((far, to), fd) = (far(n), n.datagram());
    n.say("connect", sys::connect(fd, to));
    let (mut one, mut two) = (*b"one ", *b"two");
    let mut parts = [part(&mut one), part(&mut two)];
    n.say("writev", call!(writev(fd, parts.as_ptr(), 2)));
    let heard = n.far.ask(&format!("recv_from {}", far.0));
    let own = sys::getsockname(fd).ok().flatten().expect("a name");
    n.say("far", heard.replace(&own.to_string(), "near"));
    n.hear("send_to", &format!("send_to {} {own} abcdef", far.0));
    let message = message(&mut parts);
    n.say("sendmsg", call!(sendmsg(fd, &raw const message, 0)));
    let (mut first, mut second) = ([0_u8; 2], [0_u8; 10]);
    let parts = [part(&mut first), part(&mut second)];
    n.say("readv", call!(readv(fd, parts.as_ptr(), 2)));
    n.say("parts", format!("{} {}", String::from_utf8_lossy(&first), String::from_utf8_lossy(&second[..4])));
}

fn many_at_once(n: &mut Near) {
    let ((far, to), (fd, own)) = (far(n), bound(n));
    let (mut one, mut two) = (*b"one", *b"two!");
    let (mut first, mut second) = ([part(&mut one)], [part(&mut two)]);
    let mut address = sys::Address::from(to);
    let mut list = [&mut first, &mut second].map(|parts| {
        let mut message = message(parts);
        (message.msg_name, message.msg_namelen) = (address.room().0.cast(), address.length);
        libc::mmsghdr { msg_hdr: message, msg_len: 0 }
    });
    n.say("sendmmsg", call!(sendmmsg(fd, list.as_mut_ptr(), 2, 0)));
    n.say("lengths", format!("{} {}", list[0].msg_len, list[1].msg_len));
    for _ in 0..2 {
        let heard = n.far.ask(&format!("recv_from {}", far.0));
        n.say("far", heard.replace(&own.to_string(), "near"));
    }
    for text in ["abc", "defg"] {
        n.hear("send_to", &format!("send_to {} {own} {text}", far.0));
    }
    Near::settle();
    n.say("recvmmsg", call!(recvmmsg(fd, list.as_mut_ptr(), 2, libc::MSG_DONTWAIT, std::ptr::null_mut())));
    n.say("lengths", format!("{} {}", list[0].msg_len, list[1].msg_len));
    n.say("texts", format!("{} {}", String::from_utf8_lossy(&one), String::from_utf8_lossy(&two)));
}

fn read_and_write(n: &mut Near) {
    let ((far, to), fd) = (far(n), n.datagram());
    n.say("connect", sys::connect(fd, to));
    n.say("write", sys::write(fd, b"hello"));
    let heard = n.far.ask(&format!("recv_from {}", far.0));
    let own = sys::getsockname(fd).ok().flatten().expect("a name");
    n.say("far", heard.replace(&own.to_string(), "near"));
    n.hear("send_to", &format!("send_to {} {own} hello", far.0));
    n.say("read", sys::read(fd, &mut [0; 3]));
    n.receive("the rest is gone", fd, 10, libc::MSG_DONTWAIT);
}

fn closed_while_unread(n: &mut Near) {
    let (fd, own, _) = arrived(n, 1);
    n.say("close", sys::close(fd));
    let fd = n.datagram();
    n.say("bind", sys::bind(fd, n.any(own.port())));
    receive(n, "recvfrom", fd, 10, libc::MSG_DONTWAIT, 0);
}
