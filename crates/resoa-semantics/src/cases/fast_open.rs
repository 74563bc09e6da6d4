//! TCP Fast Open (RFC 7413) as seen by a program, towards a host that gives no cookie: calls that
//! connect and send at once, and options.

use super::{call, cases};
use crate::far::Handle;
use crate::near::Near;
use crate::sys;
use std::net::SocketAddr;

cases! {
    "C35 C42" Both: sent_with_it, sent_with_a_message, refused, not_waited_for, of_this_call_alone, of_one_that_is_connected, without_an_address;
    "C35 C42" Both: of_no_family, of_a_listener, with_much, connect_option, connect_option_not_waited_for;
    "C39" One: connect_option_when, queue_of_a_listener, no_cookie, keys;
}

const TCP: i32 = libc::IPPROTO_TCP;
/// From `linux/tcp.h`.
const QUEUE: i32 = 23;
const CONNECT: i32 = 30;
const KEY: i32 = 33;
const NO_COOKIE: i32 = 34;
const OPEN: i32 = libc::MSG_FASTOPEN;

/// Opens a listener at the far host.
fn far(n: &mut Near) -> (Handle, SocketAddr) {
    n.far.listen(n.family, 8)
}

/// Accepts the next connection at the far host and records the data that arrives there.
fn heard(n: &mut Near, listener: Handle) {
    let far = n.far.accept(listener);
    n.hear("recv", &format!("recv {} 20", far.0));
}

fn sent_with_it(n: &mut Near) {
    let ((listener, to), fd) = (far(n), n.stream());
    n.say("sendto", sys::send_to(fd, b"hello", OPEN, to));
    n.name("getpeername", sys::getpeername(fd), to.port());
    heard(n, listener);
    n.say("send", sys::send(fd, b"more", 0));
    n.mask("poll", fd);
}

fn sent_with_a_message(n: &mut Near) {
    let ((listener, to), fd) = (far(n), n.stream());
    let (mut one, mut two) = (*b"one ", *b"two");
    let mut parts = [super::messages::part(&mut one), super::messages::part(&mut two)];
    let mut header = super::messages::message(&mut parts);
    let address = sys::Address::from(to);
    (header.msg_name, header.msg_namelen) = (address.pointer().cast_mut().cast(), address.length);
    n.say("sendmsg", call!(sendmsg(fd, &raw const header, OPEN)));
    heard(n, listener);
}

fn refused(n: &mut Near) {
    let (to, fd) = (n.closed_port(), n.stream());
    n.say("sendto", sys::send_to(fd, b"hello", OPEN, to));
    n.pending_error("SO_ERROR", fd);
    n.say("again", sys::send_to(fd, b"hello", OPEN, to));
    let fd = n.nonblocking();
    n.say("sendto", sys::send_to(fd, b"hello", OPEN, to));
    n.until("poll", fd, libc::POLLOUT);
    n.pending_error("SO_ERROR", fd);
}

fn not_waited_for(n: &mut Near) {
    let ((listener, to), fd) = (far(n), n.nonblocking());
    n.say("sendto", sys::send_to(fd, b"hello", OPEN, to));
    n.until("poll", fd, libc::POLLOUT);
    n.pending_error("SO_ERROR", fd);
    n.say("send", sys::send(fd, b"hello", 0));
    heard(n, listener);
    let ((listener, to), fd) = (far(n), n.nonblocking());
    n.say("sendto", sys::send_to(fd, b"hello", OPEN, to));
    n.until("poll", fd, libc::POLLOUT);
    n.say("once more", sys::send_to(fd, b"hello", OPEN, to));
    heard(n, listener);
    n.say("and again", sys::send_to(fd, b"hello", OPEN, to));
}

fn of_this_call_alone(n: &mut Near) {
    let ((listener, to), fd) = (far(n), n.stream());
    n.say("sendto", sys::send_to(fd, b"hello", OPEN | libc::MSG_DONTWAIT, to));
    n.until("poll", fd, libc::POLLOUT);
    n.say("send", sys::send(fd, b"hello", 0));
    heard(n, listener);
}

fn of_one_that_is_connected(n: &mut Near) {
    let (fd, far) = n.connected();
    let to = sys::getpeername(fd).ok().flatten().expect("a peer");
    n.say("sendto", sys::send_to(fd, b"hello", OPEN, to));
    n.say("send", sys::send(fd, b"hello", OPEN));
    n.say("send", sys::send(fd, b"plainly", 0));
    n.hear("recv", &format!("recv {} 20", far.0));
}

fn without_an_address(n: &mut Near) {
    let fd = n.stream();
    n.say("send", sys::send(fd, b"hello", OPEN | libc::MSG_NOSIGNAL));
    n.mask("poll", fd);
}

fn of_no_family(n: &mut Near) {
    let (_, to) = far(n);
    let fd = n.stream();
    let mut address = sys::Address::from(to);
    address.storage.ss_family = libc::AF_UNSPEC as libc::sa_family_t;
    let octets = b"hello".as_ptr().cast();
    n.say("sendto", call!(sendto(fd, octets, 5, OPEN, address.pointer(), address.length)));
    address.storage.ss_family = libc::AF_UNIX as libc::sa_family_t;
    n.say("sendto", call!(sendto(fd, octets, 5, OPEN, address.pointer(), address.length)));
    let address = sys::Address::from(to);
    n.say("sendto with an octet", call!(sendto(fd, octets, 5, OPEN, address.pointer(), 1)));
}

fn of_a_listener(n: &mut Near) {
    let ((_, to), (fd, _)) = (far(n), n.listener(8));
    n.say("sendto", sys::send_to(fd, b"hello", OPEN | libc::MSG_NOSIGNAL, to));
}

fn with_much(n: &mut Near) {
    const LENGTH: usize = 300_000;
    let ((listener, to), fd) = (far(n), n.stream());
    let octets: Vec<u8> = (0..LENGTH as u64).map(crate::far::pattern).collect();
    let address = sys::Address::from(to);
    // The far host reads after accepting, so most of the data is sent after that.
    let half = LENGTH / 10;
    n.say("sendto", call!(sendto(fd, octets.as_ptr().cast(), half, OPEN, address.pointer(), address.length)));
    let far = n.far.accept(listener);
    n.far.start(&format!("drain {}", far.0));
    n.say("send", sys::send(fd, &octets[half..], 0));
    n.say("shutdown", sys::shutdown(fd, libc::SHUT_WR));
    let drained = n.far.finish();
    n.say("far drain", drained);
}

fn connect_option(n: &mut Near) {
    let ((listener, to), fd) = (far(n), n.stream());
    n.say("is", sys::get(fd, TCP, CONNECT));
    n.say("set", sys::set(fd, TCP, CONNECT, 1));
    n.say("is", sys::get(fd, TCP, CONNECT));
    n.say("connect", sys::connect(fd, to));
    n.say("is", sys::get(fd, TCP, CONNECT));
    n.say("send", sys::send(fd, b"hello", 0));
    heard(n, listener);
    let (to, fd) = (n.closed_port(), n.stream());
    n.say("set", sys::set(fd, TCP, CONNECT, 1));
    n.say("connect", sys::connect(fd, to));
}

fn connect_option_not_waited_for(n: &mut Near) {
    let ((listener, to), fd) = (far(n), n.nonblocking());
    n.say("set", sys::set(fd, TCP, CONNECT, 1));
    n.say("connect", sys::connect(fd, to));
    n.until("poll", fd, libc::POLLOUT);
    n.pending_error("SO_ERROR", fd);
    n.say("send", sys::send(fd, b"hello", 0));
    heard(n, listener);
}

fn connect_option_when(n: &mut Near) {
    let fd = n.stream();
    for value in [2, -1, 1, 0, 1] {
        n.say("set", sys::set(fd, TCP, CONNECT, value));
        n.say("is", sys::get(fd, TCP, CONNECT));
    }
    n.say("an octet", sys::set_octets(fd, TCP, CONNECT, &[1]));
    let (connected, _) = n.connected();
    n.say("connected", sys::set(connected, TCP, CONNECT, 1));
    n.say("is", sys::get(connected, TCP, CONNECT));
    let (listener, _) = n.listener(8);
    n.say("listening", sys::set(listener, TCP, CONNECT, 1));
    let datagrams = n.datagram();
    n.say("of datagrams", sys::set(datagrams, TCP, CONNECT, 1));
}

fn queue_of_a_listener(n: &mut Near) {
    let fd = n.stream();
    n.say("is", sys::get(fd, TCP, QUEUE));
    n.say("set", sys::set(fd, TCP, QUEUE, 5));
    n.say("is", sys::get(fd, TCP, QUEUE));
    n.say("set", sys::set(fd, TCP, QUEUE, -1));
    n.say("listen", sys::listen(fd, 8));
    n.say("is", sys::get(fd, TCP, QUEUE));
    n.say("set", sys::set(fd, TCP, QUEUE, 7));
    n.say("is", sys::get(fd, TCP, QUEUE));
    let port = sys::getsockname(fd).ok().flatten().expect("a name").port();
    let at = n.own(port);
    let far = n.called(at);
    let connection = sys::accept(fd).descriptor();
    n.say("accepted", sys::get(connection, TCP, QUEUE));
    n.say("set", sys::set(connection, TCP, QUEUE, 5));
    n.say("send", sys::send(connection, b"hello", 0));
    n.hear("recv", &format!("recv {} 20", far.0));
}

fn no_cookie(n: &mut Near) {
    let fd = n.stream();
    n.say("is", sys::get(fd, TCP, NO_COOKIE));
    for value in [1, 0, 2, -1, 1] {
        n.say("set", sys::set(fd, TCP, NO_COOKIE, value));
        n.say("is", sys::get(fd, TCP, NO_COOKIE));
    }
    n.say("listen", sys::listen(fd, 8));
    n.say("set", sys::set(fd, TCP, NO_COOKIE, 0));
    let (connected, _) = n.connected();
    n.say("connected", sys::set(connected, TCP, NO_COOKIE, 1));
}

fn keys(n: &mut Near) {
    let fd = n.stream();
    let keys: Vec<u8> = (1..=33).collect();
    for length in [16, 15, 32, 33] {
        n.say("set", sys::set_octets(fd, TCP, KEY, &keys[..length]));
        let mut room = [0; 40];
        let (answer, length) = sys::get_octets(fd, TCP, KEY, &mut room);
        n.say("is", format!("{answer} {:?}", &room[..length.min(40)]));
    }
    let mut room = [0; 4];
    let (answer, length) = sys::get_octets(fd, TCP, KEY, &mut room);
    n.say("cut", format!("{answer} {:?}", &room[..length.min(4)]));
}
