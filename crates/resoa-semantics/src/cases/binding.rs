//! `bind`, and the names of sockets.

use super::{call, cases};
use crate::near::Near;
use crate::sys::{self, Address};
use std::net::SocketAddr;

cases! {
    "C31" Both: any, own_address, foreign_address, in_use, in_use_datagram, twice, after_connect, other_family, short, bad_pointer, privileged;
    "C31" Both: then_connect, reuse_address, reuse_port, freed_by_close, after_a_connection, given_port, any_and_own, zero_port_twice, foreign_before_bound;
    "C38" Both: names_of_a_stream, names_of_accepted, names_after_their_end, names_with_little_room, names_without_room, names_while_connecting;
}

fn port(fd: i32) -> u16 {
    sys::getsockname(fd).ok().flatten().map_or(0, |address| address.port())
}

/// A port below the ones that a kernel chooses.
fn port_of_this_process() -> u16 {
    20_000 + (std::process::id() % 10_000) as u16
}

fn any(n: &mut Near) {
    let fd = n.stream();
    n.name("fresh", sys::getsockname(fd), 0);
    n.say("bind", sys::bind(fd, n.any(0)));
    n.name("getsockname", sys::getsockname(fd), 0);
    n.name("getpeername", sys::getpeername(fd), 0);
}

fn own_address(n: &mut Near) {
    let fd = n.stream();
    n.say("bind", sys::bind(fd, n.own(0)));
    n.name("getsockname", sys::getsockname(fd), 0);
}

fn foreign_address(n: &mut Near) {
    let fd = n.stream();
    let to = n.far.address(n.family, 0);
    n.say("bind", sys::bind(fd, to));
    n.name("getsockname", sys::getsockname(fd), 0);
}

/// A stack checks whether the address is its own before it checks whether the socket is bound.
fn foreign_before_bound(n: &mut Near) {
    let fd = n.stream();
    let to = n.far.address(n.family, 0);
    n.say("bind", sys::bind(fd, n.any(0)));
    n.say("bind to a foreign address", sys::bind(fd, to));
}

fn in_use(n: &mut Near) {
    let (one, _) = n.listener(1);
    let taken = port(one);
    let two = n.stream();
    n.say("bind", sys::bind(two, n.any(taken)));
    n.say("bind to the address", sys::bind(two, n.own(taken)));
    n.name("getsockname", sys::getsockname(two), 0);
}

/// The port is not chosen by the kernel: such a port may belong to a stream of another case, or be
/// reserved for a connection that has ended.
fn in_use_datagram(n: &mut Near) {
    let (one, two) = (n.datagram(), n.datagram());
    let taken = port_of_this_process();
    n.say("bind", sys::bind(one, n.any(taken)));
    n.say("bind", sys::bind(two, n.any(taken)));
    let stream = n.stream();
    n.say("bind of a stream", sys::bind(stream, n.any(taken)));
}

fn twice(n: &mut Near) {
    let fd = n.stream();
    n.say("bind", sys::bind(fd, n.any(0)));
    n.say("bind again", sys::bind(fd, n.any(0)));
}

fn after_connect(n: &mut Near) {
    let (fd, _far) = n.connected();
    n.say("bind", sys::bind(fd, n.any(0)));
}

fn other_family(n: &mut Near) {
    let fd = n.stream();
    let other: SocketAddr =
        if n.family == libc::AF_INET { ([0_u16; 8], 0).into() } else { ([0_u8; 4], 0).into() };
    n.say("bind", sys::bind(fd, other));
    let mut address = Address::from(n.any(0));
    address.storage.ss_family = 99;
    n.say("bind by an unknown family", sys::bind_raw(fd, address));
    address.storage.ss_family = libc::AF_UNSPEC as _;
    n.say("bind by none", sys::bind_raw(fd, address));
}

fn short(n: &mut Near) {
    let fd = n.stream();
    for length in [0, 2, 15] {
        let mut address = Address::from(n.any(0));
        address.length = length;
        n.say("bind", sys::bind_raw(fd, address));
    }
}

fn bad_pointer(n: &mut Near) {
    let fd = n.stream();
    n.say("bind", call!(bind(fd, std::ptr::without_provenance(8), 16)));
}

/// Without the privilege for ports below 1024.
fn privileged(n: &mut Near) {
    drop_privileges();
    let fd = n.stream();
    n.say("bind", sys::bind(fd, n.any(80)));
    n.name("getsockname", sys::getsockname(fd), 0);
}

/// Gives up all capabilities, and keeps the user that the agent knows.
fn drop_privileges() {
    #[repr(C)]
    struct Header {
        version: u32,
        pid: i32,
    }
    let header = Header { version: 0x2008_0522, pid: 0 };
    let none = [0_u32; 6];
    // SAFETY: the kernel reads both structures, which have the size of this version.
    let answer = unsafe { libc::syscall(libc::SYS_capset, &raw const header, none.as_ptr()) };
    assert_eq!(answer, 0, "capset");
}

fn then_connect(n: &mut Near) {
    let fd = n.stream();
    n.say("bind", sys::bind(fd, n.any(0)));
    let bound = port(fd);
    let far = n.connect(fd);
    n.name("getsockname", sys::getsockname(fd), bound);
    let peer = n.far.ask(&format!("peer {}", far.0));
    n.say("the far host sees the port", peer.contains(&format!(":{bound}")));
}

/// Binds two sockets to one port by an option, and records whether both may listen. Returns the
/// port.
fn two_at_a_port(n: &mut Near, what: &str, option: i32) -> u16 {
    let (one, two) = (n.stream(), n.stream());
    for fd in [one, two] {
        n.say(what, sys::set(fd, libc::SOL_SOCKET, option, 1));
    }
    n.say("bind", sys::bind(one, n.any(0)));
    let taken = port(one);
    n.say("bind", sys::bind(two, n.any(taken)));
    n.say("listen", sys::listen(one, 1));
    n.say("listen", sys::listen(two, 1));
    taken
}

fn reuse_address(n: &mut Near) {
    let taken = two_at_a_port(n, "SO_REUSEADDR", libc::SO_REUSEADDR);
    let three = n.stream();
    sys::set(three, libc::SOL_SOCKET, libc::SO_REUSEADDR, 1);
    n.say("bind beside a listener", sys::bind(three, n.any(taken)));
}

fn reuse_port(n: &mut Near) {
    two_at_a_port(n, "SO_REUSEPORT", libc::SO_REUSEPORT);
}

fn freed_by_close(n: &mut Near) {
    let fd = n.stream();
    n.say("bind", sys::bind(fd, n.any(0)));
    let taken = port(fd);
    n.say("close", sys::close(fd));
    let fd = n.stream();
    n.say("bind again", sys::bind(fd, n.any(taken)));
}

/// A connection that this host has ended first keeps the port in use.
fn after_a_connection(n: &mut Near) {
    let (listener, address) = n.listener(1);
    let far = n.called(address);
    let fd = sys::accept(listener).descriptor();
    sys::close(listener);
    n.say("close", sys::close(fd));
    n.hear("recv", &format!("recv {} 10", far.0));
    n.hear("close", &format!("close {}", far.0));
    Near::settle();
    let fd = n.stream();
    n.say("bind", sys::bind(fd, n.any(address.port())));
    n.say("SO_REUSEADDR", sys::set(fd, libc::SOL_SOCKET, libc::SO_REUSEADDR, 1));
    n.say("bind", sys::bind(fd, n.any(address.port())));
}

fn given_port(n: &mut Near) {
    let fd = n.stream();
    let given = port_of_this_process();
    n.say("bind", sys::bind(fd, n.own(given)));
    n.name("getsockname", sys::getsockname(fd), given);
    n.say("listen", sys::listen(fd, 1));
    let address = n.own(given);
    n.called(address);
    let (answer, peer) = sys::accept_from(fd, 0);
    n.say("accept", answer.0.is_ok());
    let peer = peer.map_or("nobody".into(), |peer| n.show(peer, 0));
    n.say("from", peer);
}

fn any_and_own(n: &mut Near) {
    let (one, two) = (n.stream(), n.stream());
    n.say("bind", sys::bind(one, n.own(0)));
    let taken = port(one);
    n.say("bind", sys::bind(two, n.any(taken)));
}

fn zero_port_twice(n: &mut Near) {
    let (one, two) = (n.stream(), n.stream());
    n.say("bind", sys::bind(one, n.any(0)));
    n.say("bind", sys::bind(two, n.any(0)));
    n.say("ports differ", port(one) != port(two));
}

fn names_of_a_stream(n: &mut Near) {
    let (listener, address) = n.far.listen(n.family, 1);
    let fd = n.stream();
    n.say("connect", sys::connect(fd, address));
    n.name("getsockname", sys::getsockname(fd), 0);
    n.name("getpeername", sys::getpeername(fd), address.port());
    let far = n.far.accept(listener);
    let peer = n.far.ask(&format!("peer {}", far.0));
    let same = sys::getsockname(fd).ok().flatten().is_some_and(|own| peer.contains(&own.to_string()));
    n.say("the far host sees this name", same);
}

fn names_of_accepted(n: &mut Near) {
    let (listener, address) = n.listener(1);
    let far = n.called(address);
    let (answer, peer) = sys::accept_from(listener, 0);
    let fd = answer.descriptor();
    n.name("getsockname", sys::getsockname(fd), address.port());
    let far_port = n.far.port(far);
    n.name("getpeername", sys::getpeername(fd), far_port);
    let text = peer.map_or("nobody".into(), |peer| n.show(peer, far_port));
    n.say("accepted from", text);
    n.name("listener", sys::getsockname(listener), address.port());
    n.name("listener's peer", sys::getpeername(listener), 0);
}

fn names_after_their_end(n: &mut Near) {
    let (fd, far) = n.connected();
    n.hear("close", &format!("close {}", far.0));
    n.until("poll", fd, libc::POLLRDHUP);
    n.name("getpeername", sys::getpeername(fd), 0);
    sys::shutdown(fd, libc::SHUT_WR);
    n.until("poll", fd, libc::POLLHUP);
    Near::settle();
    n.name("getpeername after both", sys::getpeername(fd), 0);
    n.name("getsockname after both", sys::getsockname(fd), 0);
}

fn names_with_little_room(n: &mut Near) {
    let (fd, _far) = n.connected();
    let mut address = Address::empty();
    address.length = 2;
    let (pointer, length) = address.room();
    n.say("getsockname", call!(getsockname(fd, pointer, length)));
    n.say("family", address.storage.ss_family == n.family as libc::sa_family_t);
    n.say("needed", address.length);
    address.length = 0;
    let (pointer, length) = address.room();
    n.say("getpeername", call!(getpeername(fd, pointer, length)));
    n.say("needed", address.length);
}

fn names_without_room(n: &mut Near) {
    let (fd, _far) = n.connected();
    let mut address = Address::empty();
    address.length = u32::MAX;
    let (pointer, length) = address.room();
    n.say("a negative length", call!(getsockname(fd, pointer, length)));
    n.say("no length", call!(getsockname(fd, pointer, std::ptr::null_mut())));
    let mut length = 16;
    n.say("no place", call!(getpeername(fd, std::ptr::without_provenance_mut(8), &raw mut length)));
}

fn names_while_connecting(n: &mut Near) {
    let (to, fd) = (n.elsewhere(crate::worlds::SILENT), n.nonblocking());
    n.say("connect", sys::connect(fd, to));
    n.name("getsockname", sys::getsockname(fd), 0);
    n.name("getpeername", sys::getpeername(fd), 0);
}
