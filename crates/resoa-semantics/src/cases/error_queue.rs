//! IP_RECVERR and IPV6_RECVERR (ip(7), ipv6(7)): datagrams that were not delivered, read from the
//! error queue of their socket.

use super::cases;
use super::datagrams::far;
use super::messages::{message, part};
use crate::near::{Near, PATIENCE};
use crate::sys::{self, Address, call};
use std::net::SocketAddr;
use std::time::Instant;

cases! {
    "C91" Both: queue_of_connected, queue_of_unconnected, queue_of_several, queue_and_next_call, queue_off, queue_read_by_recv, queue_cut;
    "C91" One: queue_of_router;
    "C91" Both: recverr_option;
}

/// Returns level and number of the option. The control message has the number as its type.
fn option(n: &Near) -> (i32, i32) {
    if n.family == libc::AF_INET6 {
        (libc::IPPROTO_IPV6, libc::IPV6_RECVERR)
    } else {
        (libc::IPPROTO_IP, libc::IP_RECVERR)
    }
}

/// Waits for an entry of the error queue and records it, as read by `recvmsg` with `room` bytes.
fn taken(n: &mut Near, what: &str, fd: i32, room: usize, known: u16) {
    let mut octets = vec![0; room];
    let mut control = [0_u64; 32];
    let mut parts = [part(&mut octets)];
    let mut header = message(&mut parts);
    let mut address = Address::empty();
    let begin = Instant::now();
    let answer = loop {
        (header.msg_name, header.msg_namelen) = (address.room().0.cast(), 128);
        (header.msg_control, header.msg_controllen) = (control.as_mut_ptr().cast(), size_of_val(&control));
        let answer = call!(recvmsg(fd, &raw mut header, libc::MSG_ERRQUEUE));
        if !answer.failed(libc::EAGAIN) || begin.elapsed() > PATIENCE {
            break answer;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    };
    n.say(what, answer);
    if answer.0.is_err() {
        return;
    }
    let text = String::from_utf8_lossy(&octets[..answer.count().min(room)]).into_owned();
    let to = address.read().map_or("nowhere".into(), |to| n.show(to, known));
    let bits = libc::MSG_ERRQUEUE | libc::MSG_TRUNC | libc::MSG_CTRUNC;
    n.say("datagram", format!("{text:?} to {to}, flags {}", header.msg_flags & bits));
    let control: Vec<u8> = control.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let control = &control[..header.msg_controllen];
    let int = |at: usize| {
        control
            .get(at..at + 4)
            .map_or(0, |octets| i32::from_ne_bytes([octets[0], octets[1], octets[2], octets[3]]))
    };
    // `struct cmsghdr`, `struct sock_extended_err`, and the address of the host that reported the
    // error.
    n.say("beside", format!("{}/{}", int(8), int(12)));
    n.say("error", crate::names::errno(int(16)));
    n.say("origin, type, code", format!("{:?}", control.get(20..23)));
    let mut offender = Address::empty();
    if let Some(octets) = control.get(32..) {
        let length = octets.len().min(28);
        // SAFETY: the storage has 128 bytes.
        unsafe { (&raw mut offender.storage).cast::<u8>().copy_from_nonoverlapping(octets.as_ptr(), length) };
    }
    let offender = offender.read().map_or("nobody".into(), |offender: SocketAddr| n.show(offender, 0));
    n.say("offender", offender);
    n.say("octets of control", control.len());
}

fn queue_of_connected(n: &mut Near) {
    let (to, fd) = (n.closed_port(), n.datagram());
    let (level, name) = option(n);
    n.say("option", sys::set(fd, level, name, 1));
    n.say("connect", sys::connect(fd, to));
    n.say("send", sys::send(fd, b"hello", 0));
    taken(n, "recvmsg", fd, 100, to.port());
    n.receive("queue again", fd, 10, libc::MSG_ERRQUEUE);
    n.pending_error("SO_ERROR", fd);
    n.receive("recv", fd, 10, libc::MSG_DONTWAIT);
    n.say("send", sys::send(fd, b"once more", 0));
    taken(n, "recvmsg", fd, 100, to.port());
    n.mask("poll", fd);
}

/// A socket without a peer gets errors only with this option.
fn queue_of_unconnected(n: &mut Near) {
    let (to, fd) = (n.closed_port(), n.datagram());
    let (level, name) = option(n);
    n.say("option", sys::set(fd, level, name, 1));
    n.say("sendto", sys::send_to(fd, b"hello", 0, to));
    taken(n, "recvmsg", fd, 100, to.port());
    let (far, at) = far(n);
    n.say("sendto", sys::send_to(fd, b"to somebody", 0, at));
    n.hear("recv", &format!("recv {} 20", far.0));
    n.receive("queue", fd, 10, libc::MSG_ERRQUEUE);
    n.pending_error("SO_ERROR", fd);
}

fn queue_of_several(n: &mut Near) {
    let (one, two, fd) = (n.closed_port(), n.closed_port(), n.datagram());
    let (level, name) = option(n);
    n.say("option", sys::set(fd, level, name, 1));
    n.say("sendto", sys::send_to(fd, b"one", 0, one));
    Near::settle();
    // The next call reports the error of the first datagram, and the queue keeps it.
    n.say("sendto", sys::send_to(fd, b"two", 0, two));
    n.say("sendto", sys::send_to(fd, b"two", 0, two));
    Near::settle();
    taken(n, "recvmsg", fd, 100, one.port());
    taken(n, "recvmsg", fd, 100, two.port());
    n.receive("queue", fd, 10, libc::MSG_ERRQUEUE);
    n.pending_error("SO_ERROR", fd);
}

fn queue_and_next_call(n: &mut Near) {
    let (to, fd) = (n.closed_port(), n.datagram());
    let (level, name) = option(n);
    n.say("option", sys::set(fd, level, name, 1));
    n.say("connect", sys::connect(fd, to));
    n.say("send", sys::send(fd, b"hello", 0));
    Near::settle();
    n.receive("recv", fd, 10, libc::MSG_DONTWAIT);
    n.receive("recv again", fd, 10, libc::MSG_DONTWAIT);
    taken(n, "recvmsg", fd, 100, to.port());
    n.receive("recv", fd, 10, libc::MSG_DONTWAIT);
}

fn queue_off(n: &mut Near) {
    let (to, fd) = (n.closed_port(), n.datagram());
    n.receive("queue of a fresh one", fd, 10, libc::MSG_ERRQUEUE);
    n.say("connect", sys::connect(fd, to));
    n.say("send", sys::send(fd, b"hello", 0));
    Near::settle();
    n.receive("queue", fd, 10, libc::MSG_ERRQUEUE);
    n.receive("recv", fd, 10, libc::MSG_DONTWAIT);
    let (level, name) = option(n);
    n.say("option", sys::set(fd, level, name, 1));
    n.say("off", sys::set(fd, level, name, 0));
    n.say("send", sys::send(fd, b"hello", 0));
    Near::settle();
    n.receive("queue", fd, 10, libc::MSG_ERRQUEUE);
}

fn queue_read_by_recv(n: &mut Near) {
    let (to, fd) = (n.closed_port(), n.datagram());
    let (level, name) = option(n);
    n.say("option", sys::set(fd, level, name, 1));
    n.say("sendto", sys::send_to(fd, b"hello", 0, to));
    Near::settle();
    super::datagrams::receive(n, "recvfrom", fd, 20, libc::MSG_ERRQUEUE, to.port());
    n.receive("queue", fd, 10, libc::MSG_ERRQUEUE);
}

fn queue_cut(n: &mut Near) {
    let (to, fd) = (n.closed_port(), n.datagram());
    let (level, name) = option(n);
    n.say("option", sys::set(fd, level, name, 1));
    n.say("sendto", sys::send_to(fd, b"hello", 0, to));
    taken(n, "recvmsg with three", fd, 3, to.port());
}

/// A host on the path reports that there is no route.
fn queue_of_router(n: &mut Near) {
    let (fd, to) = (n.datagram(), n.elsewhere(crate::worlds::UNREACHABLE_THERE));
    let (level, name) = option(n);
    n.say("option", sys::set(fd, level, name, 1));
    n.say("sendto", sys::send_to(fd, b"hello", 0, to));
    taken(n, "recvmsg", fd, 100, to.port());
    n.pending_error("SO_ERROR", fd);
}

fn recverr_option(n: &mut Near) {
    let fd = n.datagram();
    let (level, name) = option(n);
    n.say("is", sys::get(fd, level, name));
    n.say("set", sys::set(fd, level, name, 7));
    n.say("is", sys::get(fd, level, name));
    n.say("set", sys::set(fd, level, name, 0));
    n.say("is", sys::get(fd, level, name));
    let (other, name) = if n.family == libc::AF_INET6 {
        (libc::IPPROTO_IP, libc::IP_RECVERR)
    } else {
        (libc::IPPROTO_IPV6, libc::IPV6_RECVERR)
    };
    n.say("of the other version", sys::set(fd, other, name, 1));
    n.say("is", sys::get(fd, other, name));
}
