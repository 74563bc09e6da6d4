//! `connect`: its errors, the state of the socket during an attempt, and the results of `poll`,
//! `select` and `epoll`.

use super::{call, cases};
use crate::near::{ALL, Near, PATIENCE, received};
use crate::sys::{self, Address};
use std::net::SocketAddr;
use std::time::Instant;

cases! {
    "C35 C82" Both: refused, refused_then_connected, refused_told_by_connect, refused_told_by_recv, refused_told_by_send;
    "C36" Both: refused_nonblocking, nonblocking_poll, nonblocking_select, nonblocking_epoll_level, nonblocking_epoll_edge, nonblocking_twice;
    "C35 C82" Both: no_route, unreachable_here, unreachable_there;
    "C36" Both: silent, silent_time_limit, silent_shutdown, silent_shutdown_by_another, silent_close;
    "C35" Both: connected_already, from_a_listener, to_itself, to_own_listener, unspecified_connected, unspecified_fresh, unspecified_connecting;
    "C35" Both: other_family, unknown_family, short_address, bad_pointer;
    "C35" One: broadcast;
    "C35 C36" Both: nonblocking_flag_set_later, data_before_connected;
}

fn refused(n: &mut Near) {
    let (to, fd) = (n.closed_port(), n.stream());
    n.say("connect", sys::connect(fd, to));
    n.pending_error("SO_ERROR", fd);
    n.mask("poll", fd);
    n.name("getpeername", sys::getpeername(fd), 0);
    n.receive("recv", fd, 10, 0);
    n.say("send", sys::send(fd, b"x", 0));
    n.signals("signals", &[libc::SIGPIPE]);
    n.say("shutdown", sys::shutdown(fd, libc::SHUT_WR));
    n.say("close", sys::close(fd));
}

fn refused_then_connected(n: &mut Near) {
    let (to, fd) = (n.closed_port(), n.stream());
    n.say("connect", sys::connect(fd, to));
    n.say("connect again", sys::connect(fd, to));
    let (_, address) = n.far.listen(n.family, 1);
    n.say("connect to a listener", sys::connect(fd, address));
    n.mask("poll", fd);
}

/// Returns a non-blocking stream whose attempt to connect to the returned address was refused, and
/// records the result of `poll`.
fn refused_later(n: &mut Near) -> (i32, SocketAddr) {
    let (to, fd) = (n.closed_port(), n.nonblocking());
    n.say("connect", sys::connect(fd, to));
    n.until("poll", fd, ALL);
    (fd, to)
}

fn refused_nonblocking(n: &mut Near) {
    let (fd, _) = refused_later(n);
    n.pending_error("SO_ERROR", fd);
    n.pending_error("SO_ERROR again", fd);
    n.mask("poll after", fd);
    n.receive("recv", fd, 10, 0);
    n.say("send", sys::send(fd, b"x", libc::MSG_NOSIGNAL));
    n.name("getpeername", sys::getpeername(fd), 0);
}

/// The error is reported once, by the first call; here by `connect`.
fn refused_told_by_connect(n: &mut Near) {
    let (fd, to) = refused_later(n);
    n.say("connect again", sys::connect(fd, to));
    n.pending_error("SO_ERROR", fd);
}

fn refused_told_by_recv(n: &mut Near) {
    let (fd, _) = refused_later(n);
    n.receive("recv", fd, 10, 0);
    n.receive("recv again", fd, 10, 0);
    n.pending_error("SO_ERROR", fd);
}

fn refused_told_by_send(n: &mut Near) {
    let (fd, _) = refused_later(n);
    n.say("send", sys::send(fd, b"x", 0));
    n.signals("signals", &[libc::SIGPIPE]);
    n.say("send again", sys::send(fd, b"x", 0));
    n.signals("signals", &[libc::SIGPIPE]);
}

fn nonblocking_poll(n: &mut Near) {
    let fd = n.nonblocking();
    n.mask("fresh", fd);
    let (listener, address) = n.far.listen(n.family, 1);
    n.say("connect", sys::connect(fd, address));
    n.until("poll", fd, libc::POLLOUT);
    n.pending_error("SO_ERROR", fd);
    let far = n.far.accept(listener);
    n.say("send", sys::send(fd, b"hello", 0));
    n.hear("recv", &format!("recv {} 10", far.0));
    n.receive("recv", fd, 10, 0);
}

fn nonblocking_select(n: &mut Near) {
    let fd = n.nonblocking();
    let (_, address) = n.far.listen(n.family, 1);
    n.say("connect", sys::connect(fd, address));
    let text = super::polling::select(fd, 3000, [false, true, false]);
    n.say("select for writing", text);
    n.pending_error("SO_ERROR", fd);
    let text = super::polling::select(fd, 0, [true, true, true]);
    n.say("select", text);
}

fn nonblocking_epoll_level(n: &mut Near) {
    let fd = n.nonblocking();
    let (_, address) = n.far.listen(n.family, 1);
    n.say("connect", sys::connect(fd, address));
    let epoll = sys::epoll(fd, libc::EPOLLOUT as u32);
    let (answer, events) = sys::epoll_wait(epoll, 3000);
    n.say("epoll", format!("{answer} {}", crate::names::mask(events as i16)));
    let (answer, events) = sys::epoll_wait(epoll, 0);
    n.say("epoll again", format!("{answer} {}", crate::names::mask(events as i16)));
}

/// Added before `connect`, as by libraries with one event loop.
fn nonblocking_epoll_edge(n: &mut Near) {
    let fd = n.nonblocking();
    let epoll = sys::epoll(fd, (libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET) as u32);
    let (answer, events) = sys::epoll_wait(epoll, 0);
    n.say("fresh", format!("{answer} {}", crate::names::mask(events as i16)));
    let (_, address) = n.far.listen(n.family, 1);
    n.say("connect", sys::connect(fd, address));
    let mut all = 0;
    let begin = Instant::now();
    while all & libc::EPOLLOUT as u32 == 0 && begin.elapsed() < PATIENCE {
        all |= sys::epoll_wait(epoll, 1000).1;
    }
    n.say("edge", crate::names::mask(all as i16 & libc::POLLOUT));
    Near::settle();
    while sys::epoll_wait(epoll, 0).0.0 == Ok(1) {}
    n.say("no other", sys::epoll_wait(epoll, 100).0);
}

fn nonblocking_twice(n: &mut Near) {
    let fd = n.nonblocking();
    let (_, address) = n.far.listen(n.family, 1);
    n.say("connect", sys::connect(fd, address));
    n.until("poll", fd, libc::POLLOUT);
    n.say("connect again", sys::connect(fd, address));
    n.say("and again", sys::connect(fd, address));
}

fn no_route(n: &mut Near) {
    let to: SocketAddr = if n.family == libc::AF_INET { "10.66.0.1:80" } else { "fd66::1:80" }
        .parse()
        .unwrap_or_else(|_| "[fd66::1]:80".parse().expect("an address"));
    let fd = n.stream();
    n.say("connect", sys::connect(fd, to));
    n.mask("poll", fd);
    let fd = n.nonblocking();
    n.say("connect without waiting", sys::connect(fd, to));
}

/// The routes of this host make the address unreachable.
fn unreachable_here(n: &mut Near) {
    let (to, fd) = (n.elsewhere(crate::worlds::UNREACHABLE_HERE), n.stream());
    n.say("connect", sys::connect(fd, to));
    n.mask("poll", fd);
}

/// A router reports by ICMP that the address is unreachable.
fn unreachable_there(n: &mut Near) {
    let (to, fd) = (n.elsewhere(crate::worlds::UNREACHABLE_THERE), n.stream());
    n.say("connect", sys::connect(fd, to));
    let fd = n.nonblocking();
    let answer = sys::connect(fd, to);
    if !answer.failed(libc::EINPROGRESS) {
        n.say("connect without waiting", answer);
        return;
    }
    // The other events depend on whether the answer arrived before the call returned.
    let (_, events) = sys::poll(fd, libc::POLLERR, 3000);
    n.say("poll says an error", events & libc::POLLERR != 0);
    n.pending_error("SO_ERROR", fd);
}

/// An address without an answer.
fn silent(n: &mut Near) {
    let (to, fd) = (n.elsewhere(crate::worlds::SILENT), n.nonblocking());
    n.say("connect", sys::connect(fd, to));
    Near::settle();
    n.mask("poll", fd);
    n.pending_error("SO_ERROR", fd);
    n.say("connect again", sys::connect(fd, to));
    n.say("send", sys::send(fd, b"x", 0));
    n.receive("recv", fd, 10, 0);
    n.name("getpeername", sys::getpeername(fd), 0);
    n.name("getsockname", sys::getsockname(fd), 0);
    n.say("listen", sys::listen(fd, 1));
}

fn silent_time_limit(n: &mut Near) {
    let (to, fd) = (n.elsewhere(crate::worlds::SILENT), n.stream());
    n.say("SO_SNDTIMEO", sys::set_time_limit(fd, libc::SO_SNDTIMEO, 300));
    let begin = Instant::now();
    n.say("connect", sys::connect(fd, to));
    n.took("it took", begin, 300);
    n.say("connect again", sys::connect(fd, to));
    n.mask("poll", fd);
}

fn silent_shutdown(n: &mut Near) {
    let (to, fd) = (n.elsewhere(crate::worlds::SILENT), n.nonblocking());
    n.say("connect", sys::connect(fd, to));
    n.say("shutdown", sys::shutdown(fd, libc::SHUT_RDWR));
    Near::settle();
    n.mask("poll", fd);
    n.pending_error("SO_ERROR", fd);
}

/// A call that waits for the attempt returns when another thread ends the attempt.
fn silent_shutdown_by_another(n: &mut Near) {
    let (to, fd) = (n.elsewhere(crate::worlds::SILENT), n.stream());
    let waiter = std::thread::spawn(move || sys::connect(fd, to));
    Near::settle();
    n.say("shutdown", sys::shutdown(fd, libc::SHUT_RDWR));
    n.say("connect", waiter.join().expect("an answer"));
    n.pending_error("SO_ERROR", fd);
    n.mask("poll", fd);
}

fn silent_close(n: &mut Near) {
    let (to, fd) = (n.elsewhere(crate::worlds::SILENT), n.nonblocking());
    n.say("connect", sys::connect(fd, to));
    n.say("close", sys::close(fd));
}

fn connected_already(n: &mut Near) {
    let (fd, _) = n.connected();
    let (_, address) = n.far.listen(n.family, 1);
    n.say("connect", sys::connect(fd, address));
    n.mask("poll", fd);
}

fn from_a_listener(n: &mut Near) {
    let (fd, _) = n.listener(1);
    let (_, address) = n.far.listen(n.family, 1);
    n.say("connect", sys::connect(fd, address));
}

/// A TCP socket that connects to its own port is connected to itself.
fn to_itself(n: &mut Near) {
    let fd = n.stream();
    n.say("bind", sys::bind(fd, n.own(0)));
    let own = sys::getsockname(fd).ok().flatten().expect("a name");
    n.say("connect", sys::connect(fd, own));
    n.say("send", sys::send(fd, b"me", 0));
    n.receive("recv", fd, 10, 0);
}

fn to_own_listener(n: &mut Near) {
    let (listener, address) = n.listener(1);
    let fd = n.stream();
    n.say("connect", sys::connect(fd, address));
    let (answer, peer) = sys::accept_from(listener, 0);
    n.say("accept", answer.0.is_ok());
    let same = peer == sys::getsockname(fd).ok().flatten();
    n.say("its name is the other's peer", same);
    n.say("send", sys::send(fd, b"hello", 0));
    if let Ok(child) = answer.0 {
        n.receive("recv", child as i32, 10, 0);
    }
}

fn unspecified_connected(n: &mut Near) {
    let (fd, far) = n.connected();
    n.say("connect to nobody", sys::disconnect(fd));
    n.mask("poll", fd);
    n.name("getpeername", sys::getpeername(fd), 0);
    n.hear("recv", &format!("recv {} 1", far.0));
    let (_, address) = n.far.listen(n.family, 1);
    n.say("connect", sys::connect(fd, address));
}

fn unspecified_fresh(n: &mut Near) {
    let fd = n.stream();
    n.say("connect to nobody", sys::disconnect(fd));
    n.mask("poll", fd);
}

fn unspecified_connecting(n: &mut Near) {
    let (to, fd) = (n.elsewhere(crate::worlds::SILENT), n.nonblocking());
    n.say("connect", sys::connect(fd, to));
    n.say("connect to nobody", sys::disconnect(fd));
    n.mask("poll", fd);
    let (_, address) = n.far.listen(n.family, 1);
    n.say("connect to a listener", sys::connect(fd, address));
    n.until("poll after", fd, libc::POLLOUT);
}

fn other_family(n: &mut Near) {
    let fd = n.stream();
    let to: SocketAddr =
        if n.family == libc::AF_INET { "[fd66::1]:80" } else { "10.66.0.1:80" }.parse().expect("an address");
    n.say("connect", sys::connect(fd, to));
    let mut address = Address::from(n.own(80));
    address.storage.ss_family = libc::AF_UNIX as _;
    n.say("connect by AF_UNIX", sys::connect_raw(fd, address));
}

fn unknown_family(n: &mut Near) {
    let fd = n.stream();
    let mut address = Address::from(n.own(80));
    address.storage.ss_family = 99;
    n.say("connect", sys::connect_raw(fd, address));
    n.mask("poll", fd);
}

fn short_address(n: &mut Near) {
    let fd = n.stream();
    let (_, to) = n.far.listen(n.family, 1);
    for length in [0, 1, 2, 8, 15] {
        let mut address = Address::from(to);
        address.length = length;
        n.say(&format!("connect with {length} octets"), sys::connect_raw(fd, address));
    }
    let mut address = Address::from(to);
    address.length = 128;
    n.say("connect with 128 octets", sys::connect_raw(fd, address));
}

fn bad_pointer(n: &mut Near) {
    let fd = n.stream();
    n.say("connect", call!(connect(fd, std::ptr::without_provenance(8), 16)));
    n.say("connect with -1 octets", call!(connect(fd, std::ptr::without_provenance(8), u32::MAX)));
}

fn broadcast(n: &mut Near) {
    let fd = n.stream();
    n.say("connect", sys::connect(fd, ([255, 255, 255, 255], 80).into()));
    let fd = n.stream();
    n.say("connect to a group", sys::connect(fd, ([224, 0, 0, 1], 80).into()));
}

fn nonblocking_flag_set_later(n: &mut Near) {
    let fd = n.stream();
    let (listener, address) = n.far.listen(n.family, 1);
    let flags = sys::fcntl(fd, libc::F_GETFL, 0);
    n.say("flags", flags);
    n.say("F_SETFL", sys::fcntl(fd, libc::F_SETFL, libc::O_NONBLOCK));
    n.say("connect", sys::connect(fd, address));
    n.say("F_SETFL back", sys::fcntl(fd, libc::F_SETFL, 0));
    let far = n.far.accept(listener);
    n.until("poll", fd, libc::POLLOUT);
    n.hear("send", &format!("send {} hello", far.0));
    n.receive("recv waits", fd, 10, 0);
}

/// A reader that waits before the connection exists gets the data that arrives over it.
fn data_before_connected(n: &mut Near) {
    let fd = n.nonblocking();
    let (listener, address) = n.far.listen(n.family, 1);
    n.say("connect", sys::connect(fd, address));
    sys::fcntl(fd, libc::F_SETFL, 0);
    let reader = std::thread::spawn(move || received(fd, 10, 0));
    let far = n.far.accept(listener);
    n.hear("send", &format!("send {} hello", far.0));
    n.say("recv", reader.join().expect("a text"));
}
