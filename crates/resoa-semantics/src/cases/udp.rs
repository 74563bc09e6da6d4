//! Statements of udp(7), udp.c and the manual pages of the calls: addresses that a datagram socket
//! accepts, and the effect of `shutdown`.

use super::datagrams::{bound, far, receive};
use super::messages::part;
use super::{call, cases};
use crate::control;
use crate::far::Handle;
use crate::near::{Near, PATIENCE};
use crate::sys::{self, Address};
use std::net::SocketAddr;

cases! {
    "C91" Both: other_families, lengths_of_addresses, from_the_loopback, from_the_loopback_connected;
    "C91" Both: connect_to_port_0, shut_for_reading, shut_for_writing, shut_unconnected, shut_while_it_waits;
    "C91" Both: address_of_no_length, no_route;
    "C91" Six: connect_to_version_4, send_to_version_4, version_6_alone;
}

/// Returns the address at which the far host reaches a socket.
fn own(n: &Near, fd: i32) -> SocketAddr {
    n.own(sys::getsockname(fd).ok().flatten().map_or(0, |name| name.port()))
}

/// Records the next datagram at the far host, with a word in place of our address.
pub fn heard(n: &mut Near, far: Handle, fd: i32) {
    let heard = n.far.ask(&format!("recv_from {}", far.0));
    let own = own(n, fd).to_string();
    n.say("far", heard.replace(&own, "near"));
}

/// Opens an IPv4 datagram socket at the far host. Returns it, its address, and the mapped address.
fn version_4(n: &mut Near) -> (Handle, SocketAddr, SocketAddr) {
    let six = std::mem::replace(&mut n.family, libc::AF_INET);
    let (far, to) = far(n);
    n.family = six;
    let std::net::IpAddr::V4(ip) = to.ip() else { unreachable!("version 4") };
    (far, to, (ip.to_ipv6_mapped(), to.port()).into())
}

/// The C library finds the source address of a host in this way (RFC 3493): it connects an IPv6
/// socket to addresses of both versions.
fn connect_to_version_4(n: &mut Near) {
    let (far, to, _) = version_4(n);
    let fd = n.datagram();
    n.say("connect", sys::connect(fd, to));
    n.name("getpeername", sys::getpeername(fd), to.port());
    n.name("getsockname", sys::getsockname(fd), 0);
    n.say("send", sys::send(fd, b"hello", 0));
    let heard = n.far.ask(&format!("recv_from {}", far.0));
    n.family = libc::AF_INET;
    let own = own(n, fd);
    n.say("far", heard.replace(&own.to_string(), "near"));
    n.hear("send_to", &format!("send_to {} {own} answer", far.0));
    receive(n, "recvfrom", fd, 20, 0, to.port());
    n.hear("send_to", &format!("send_to {} {own} waits", far.0));
    n.until("poll", fd, libc::POLLIN);
    n.say("connect to nobody", sys::disconnect(fd));
    receive(n, "recvfrom", fd, 20, libc::MSG_DONTWAIT, to.port());
    n.say("connect again", sys::connect(fd, to));
    n.name("getpeername", sys::getpeername(fd), to.port());
    let mut short = Address::from(to);
    for length in [1, 2, 8, 15] {
        short.length = length;
        n.say(&format!("connect with {length} octets"), sys::connect_raw(fd, short));
    }
}

fn send_to_version_4(n: &mut Near) {
    let (far, to, mapped) = version_4(n);
    let fd = n.datagram();
    n.say("sendto", sys::send_to(fd, b"plain", 0, to));
    n.say("sendto", sys::send_to(fd, b"mapped", 0, mapped));
    n.family = libc::AF_INET;
    heard(n, far, fd);
    heard(n, far, fd);
    n.say("connect", sys::connect(fd, mapped));
    n.say("sendto", sys::send_to(fd, b"where it is connected to", 0, to));
    heard(n, far, fd);
}

fn version_6_alone(n: &mut Near) {
    let (_, to, mapped) = version_4(n);
    let fd = n.datagram();
    n.say("IPV6_V6ONLY", sys::set(fd, libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, 1));
    n.say("sendto", sys::send_to(fd, b"x", 0, to));
    n.say("sendto mapped", sys::send_to(fd, b"x", 0, mapped));
    n.pending_error("SO_ERROR", fd);
    n.say("connect", sys::connect(fd, to));
    n.say("connect mapped", sys::connect(fd, mapped));
    let other = n.datagram();
    n.say("bind", sys::bind(other, n.any(0)));
    n.say("IPV6_V6ONLY too late", sys::set(other, libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, 1));
    n.say("sendto", sys::send_to(other, b"x", 0, to));
}

fn other_families(n: &mut Near) {
    let ((_, to), fd) = (far(n), n.datagram());
    let other: SocketAddr = if n.family == libc::AF_INET6 {
        ([10, 99, 0, 2], to.port()).into()
    } else {
        n.far.address(libc::AF_INET6, to.port())
    };
    if n.family == libc::AF_INET {
        n.say("sendto", sys::send_to(fd, b"x", 0, other));
        n.say("sendmsg", control::send(fd, b"x", Some(other), &[]));
        n.say("connect", sys::connect(fd, other));
        n.pending_error("SO_ERROR", fd);
    }
    for family in [libc::AF_UNIX, libc::AF_NETLINK, 200] {
        let mut address = Address::from(to);
        address.storage.ss_family = family as libc::sa_family_t;
        for length in [address.length, 16, 2] {
            address.length = length;
            n.say(&format!("sendto family {family}, {length} octets"), send_raw(fd, &address));
            n.say(&format!("connect to family {family}, {length} octets"), sys::connect_raw(fd, address));
        }
    }
    n.say("connect", sys::connect(fd, to));
    let mut nobody = Address::from(to);
    nobody.storage.ss_family = libc::AF_UNSPEC as libc::sa_family_t;
    n.say("sendto no family", send_raw(fd, &nobody));
}

fn send_raw(fd: i32, address: &Address) -> sys::Answer {
    call!(sendto(fd, b"x".as_ptr().cast(), 1, 0, address.pointer(), address.length))
}

fn lengths_of_addresses(n: &mut Near) {
    let ((far, to), fd) = (far(n), n.datagram());
    let mut address = Address::from(to);
    for length in [0, 1, 2, 15, 16, 23, 24, 27, 28, 64, 128] {
        address.length = length;
        let answer = send_raw(fd, &address);
        n.say(&format!("sendto with {length} octets"), answer);
        if answer.0.is_ok() {
            heard(n, far, fd);
        }
    }
    address.length = 129;
    n.say("sendto with 129 octets", send_raw(fd, &address));
    for length in [0, 1, 2, 15, 16, 23, 24, 27, 28, 128, 129] {
        address.length = length;
        n.say(&format!("connect with {length} octets"), sys::connect_raw(fd, address));
    }
}

/// For `sendmsg` an address of length 0 means none, for `sendto` it is invalid.
fn address_of_no_length(n: &mut Near) {
    let ((far, to), fd) = (far(n), n.datagram());
    n.say("connect", sys::connect(fd, to));
    let mut address = Address::from(to);
    address.length = 0;
    n.say("sendto", send_raw(fd, &address));
    let mut octets = *b"hello";
    let mut parts = [part(&mut octets)];
    let mut header = super::messages::message(&mut parts);
    (header.msg_name, header.msg_namelen) = (address.pointer().cast_mut().cast(), 0);
    n.say("sendmsg", call!(sendmsg(fd, &raw const header, 0)));
    heard(n, far, fd);
}

/// Datagrams with a loopback source address do not leave the host.
fn from_the_loopback(n: &mut Near) {
    let ((far, to), fd) = (far(n), n.datagram());
    let local: SocketAddr = if n.family == libc::AF_INET6 {
        ([0_u16, 0, 0, 0, 0, 0, 0, 1], 0).into()
    } else {
        ([127, 0, 0, 1], 0).into()
    };
    n.say("bind", sys::bind(fd, local));
    n.say("sendto", sys::send_to(fd, b"x", 0, to));
    n.pending_error("SO_ERROR", fd);
    n.say("once more", sys::send_to(fd, b"x", 0, to));
    n.say("sendmsg", control::send(fd, b"x", Some(to), &[]));
    n.pending_error("SO_ERROR", fd);
    n.mask("poll", fd);
    let at = sys::getsockname(fd).ok().flatten().expect("a name");
    n.say("to itself", sys::send_to(fd, b"itself", 0, at));
    receive(n, "recvfrom", fd, 20, 0, at.port());
    let other = n.datagram();
    n.say("sendto", sys::send_to(other, b"from elsewhere", 0, to));
    heard(n, far, other);
}

fn from_the_loopback_connected(n: &mut Near) {
    let ((_, to), fd) = (far(n), n.datagram());
    let local: SocketAddr = if n.family == libc::AF_INET6 {
        ([0_u16, 0, 0, 0, 0, 0, 0, 1], 0).into()
    } else {
        ([127, 0, 0, 1], 0).into()
    };
    n.say("bind", sys::bind(fd, local));
    n.say("connect", sys::connect(fd, to));
    n.say("send", sys::send(fd, b"x", 0));
    n.say("connect to itself", sys::connect(fd, sys::getsockname(fd).ok().flatten().expect("a name")));
    n.say("sendto", sys::send_to(fd, b"x", 0, to));
    n.pending_error("SO_ERROR", fd);
}

/// The route makes the address unreachable, which only the server knows.
fn no_route(n: &mut Near) {
    let (fd, to) = (n.datagram(), n.elsewhere(crate::worlds::UNREACHABLE_HERE));
    n.say("sendto", sys::send_to(fd, b"x", 0, to));
    Near::settle();
    n.pending_error("SO_ERROR", fd);
    n.say("connect", sys::connect(fd, to));
    n.name("getpeername", sys::getpeername(fd), 0);
}

pub fn sends(n: &mut Near, (far, own): (Handle, SocketAddr), texts: &[&str], fd: i32) {
    for text in texts {
        n.hear("send_to", &format!("send_to {} {own} {text}", far.0));
    }
    n.until("poll", fd, libc::POLLIN);
}

/// UDP can connect to port 0, and then has no peer (`inet_getname`).
fn connect_to_port_0(n: &mut Near) {
    let ((far, to), fd) = (far(n), n.datagram());
    n.say("connect", sys::connect(fd, SocketAddr::new(to.ip(), 0)));
    n.name("getpeername", sys::getpeername(fd), 0);
    n.name("getsockname", sys::getsockname(fd), 0);
    n.say("sendto", sys::send_to(fd, b"elsewhere", 0, to));
    heard(n, far, fd);
    let own = own(n, fd);
    n.hear("send_to", &format!("send_to {} {own} answer", far.0));
    n.receive("recv", fd, 20, 0);
    n.say("connect", sys::connect(fd, to));
    n.name("getpeername", sys::getpeername(fd), to.port());
}

/// `shutdown` of UDP only affects waiting: data that has arrived can be read, and a call that does
/// not wait is not told of the end.
fn shut_for_reading(n: &mut Near) {
    let ((far, to), (fd, own)) = (far(n), bound(n));
    n.say("connect", sys::connect(fd, to));
    sends(n, (far, own), &["before"], fd);
    n.say("shutdown", sys::shutdown(fd, libc::SHUT_RD));
    n.mask("poll", fd);
    n.receive("recv", fd, 20, 0);
    n.receive("recv, not waiting", fd, 20, libc::MSG_DONTWAIT);
    n.receive("recv, waiting", fd, 20, 0);
    receive(n, "recvfrom, waiting", fd, 20, 0, to.port());
    receive(n, "recvfrom, not waiting", fd, 20, libc::MSG_DONTWAIT, to.port());
    n.say("send", sys::send(fd, b"still", 0));
    heard(n, far, fd);
    n.say("shutdown again", sys::shutdown(fd, libc::SHUT_RD));
    n.mask("poll", fd);
}

fn shut_for_writing(n: &mut Near) {
    let ((far, to), (fd, own)) = (far(n), bound(n));
    n.say("connect", sys::connect(fd, to));
    n.say("shutdown", sys::shutdown(fd, libc::SHUT_WR));
    n.mask("poll", fd);
    n.say("send", sys::send(fd, b"x", libc::MSG_NOSIGNAL));
    n.say("sendto", sys::send_to(fd, b"x", libc::MSG_NOSIGNAL, to));
    n.signals("signals", &[libc::SIGPIPE]);
    n.say("write", sys::write(fd, b"x"));
    n.signals("signals", &[libc::SIGPIPE]);
    sends(n, (far, own), &["still"], fd);
    n.receive("recv", fd, 20, 0);
    n.receive("recv, not waiting", fd, 20, libc::MSG_DONTWAIT);
}

/// The call returns ENOTCONN, and takes effect nevertheless (`inet_shutdown`).
fn shut_unconnected(n: &mut Near) {
    let ((far, _), (fd, own)) = (far(n), bound(n));
    n.say("shutdown", sys::shutdown(fd, libc::SHUT_RD));
    n.mask("poll", fd);
    n.receive("recv, not waiting", fd, 20, libc::MSG_DONTWAIT);
    n.receive("recv, waiting", fd, 20, 0);
    let _ = (far, own);
    let other = n.datagram();
    n.say("shutdown", sys::shutdown(other, libc::SHUT_WR));
    let to = n.far.address(n.family, 9);
    n.say("sendto", sys::send_to(other, b"x", libc::MSG_NOSIGNAL, to));
    let third = n.datagram();
    n.say("shutdown of another way", sys::shutdown(third, 7));
    n.say("shutdown", sys::shutdown(third, libc::SHUT_RDWR));
    n.mask("poll", third);
}

/// A call that waits returns when the socket is shut down.
fn shut_while_it_waits(n: &mut Near) {
    let (fd, _) = bound(n);
    n.say("SO_RCVTIMEO", sys::set_time_limit(fd, libc::SO_RCVTIMEO, PATIENCE.as_millis() as i64));
    let waiting = std::thread::spawn(move || crate::near::received(fd, 20, 0));
    Near::settle();
    n.say("shutdown", sys::shutdown(fd, libc::SHUT_RDWR));
    n.say("recv", waiting.join().expect("it ends"));
}
