//! `listen` and `accept`.

use super::{call, cases};
use crate::near::{Near, received};
use crate::sys;
use std::time::Instant;

cases! {
    "C32" Both: without_bind, connected, twice, by_two_processes, datagram, negative_backlog;
    "C33 C34" Both: nothing_waits, not_listening, accepted, flags, data_waiting, data_and_end_waiting, reset_before, many, from_two_threads, in_a_child, order;
    "C34" Both: closed_with_waiting, shutdown_wakes, shutdown_writing_half, shutdown_then_listen, time_limit, reopened;
    "C32" Both: backlog, backlog_zero, backlog_frees;
    "C34" Both: read_a_listener, write_a_listener, edges, of_many_listeners;
    "C34" Both: bad_pointers, no_descriptor_left;
    "C32" Six: takes_version_4, only_version_6;
}

fn without_bind(n: &mut Near) {
    let fd = n.stream();
    n.say("listen", sys::listen(fd, 1));
    n.name("getsockname", sys::getsockname(fd), 0);
    n.say("SO_ACCEPTCONN", sys::get(fd, libc::SOL_SOCKET, libc::SO_ACCEPTCONN));
}

fn connected(n: &mut Near) {
    let (fd, _far) = n.connected();
    n.say("listen", sys::listen(fd, 1));
}

fn twice(n: &mut Near) {
    let (fd, address) = n.listener(1);
    n.say("listen again", sys::listen(fd, 5));
    n.called(address);
    n.say("accept", sys::accept(fd).0.is_ok());
}

/// Several rounds, because the outcome is a race.
fn by_two_processes(n: &mut Near) {
    for _ in 0..8 {
        let fd = n.stream();
        let listen = move || i32::from(sys::listen(fd, 5).0.is_err());
        let children = [super::processes::fork(listen), super::processes::fork(listen)];
        for child in children {
            n.say("listen failed", child.wait());
        }
    }
}

fn datagram(n: &mut Near) {
    let fd = n.datagram();
    n.say("listen", sys::listen(fd, 1));
    n.say("accept", sys::accept(fd));
}

fn negative_backlog(n: &mut Near) {
    let fd = n.stream();
    n.say("listen", sys::listen(fd, -1));
    let address = n.own(sys::getsockname(fd).ok().flatten().map_or(0, |name| name.port()));
    n.called(address);
    n.say("accept", sys::accept(fd).0.is_ok());
}

fn nothing_waits(n: &mut Near) {
    let (fd, _) = n.listener(1);
    sys::fcntl(fd, libc::F_SETFL, libc::O_NONBLOCK);
    n.say("accept", sys::accept(fd));
    n.mask("poll", fd);
}

fn not_listening(n: &mut Near) {
    let fd = n.stream();
    n.say("accept of a fresh one", sys::accept(fd));
    let (fd, _far) = n.connected();
    n.say("accept of a connected one", sys::accept(fd));
}

fn accepted(n: &mut Near) {
    let (fd, far) = n.accepted();
    n.hear("send", &format!("send {} hello", far.0));
    n.receive("recv", fd, 10, 0);
    n.say("send", sys::send(fd, b"answer", 0));
    n.hear("recv", &format!("recv {} 10", far.0));
    n.say("close", sys::close(fd));
    n.hear("recv", &format!("recv {} 10", far.0));
}

fn flags(n: &mut Near) {
    let (fd, address) = n.listener(4);
    for flags in [0, libc::SOCK_NONBLOCK, libc::SOCK_CLOEXEC, libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC] {
        n.called(address);
        let (answer, _) = sys::accept_from(fd, flags);
        let child = answer.descriptor();
        n.say(
            "flags",
            format!("{} {}", sys::fcntl(child, libc::F_GETFL, 0), sys::fcntl(child, libc::F_GETFD, 0)),
        );
    }
    n.say("wrong flags", sys::accept_from(fd, 1).0);
}

fn data_waiting(n: &mut Near) {
    let (listener, address) = n.listener(1);
    let far = n.called(address);
    n.hear("send", &format!("send {} hello", far.0));
    Near::settle();
    let fd = sys::accept(listener).descriptor();
    n.until("poll", fd, libc::POLLIN);
    n.receive("recv", fd, 10, 0);
}

fn data_and_end_waiting(n: &mut Near) {
    let (listener, address) = n.listener(1);
    let far = n.called(address);
    n.hear("send", &format!("send {} hello", far.0));
    n.hear("close", &format!("close {}", far.0));
    Near::settle();
    let fd = sys::accept(listener).descriptor();
    n.until("poll", fd, libc::POLLRDHUP);
    n.receive("recv", fd, 10, 0);
    n.receive("recv", fd, 10, 0);
}

/// Linux still returns the connection, with the error pending on it.
fn reset_before(n: &mut Near) {
    let (listener, address) = n.listener(1);
    let far = n.called(address);
    n.until("poll", listener, libc::POLLIN);
    n.hear("reset", &format!("reset {}", far.0));
    Near::settle();
    n.mask("poll after", listener);
    let (answer, peer) = sys::accept_from(listener, 0);
    n.say("accept", answer.0.is_ok());
    n.say("from somebody", peer.is_some());
    let fd = answer.descriptor();
    n.until("poll of it", fd, libc::POLLIN);
    n.receive("recv", fd, 10, 0);
    n.receive("recv again", fd, 10, 0);
}

fn many(n: &mut Near) {
    let (listener, address) = n.listener(8);
    let mut right = 0;
    for number in 0..20 {
        let far = n.called(address);
        let fd = sys::accept(listener).descriptor();
        n.far.ask(&format!("send {} {number}", far.0));
        right += i32::from(received(fd, 10, 0) == format!("\"{number}\""));
        sys::close(fd);
        n.far.ask(&format!("close {}", far.0));
    }
    n.say("right", right);
}

fn from_two_threads(n: &mut Near) {
    let (listener, address) = n.listener(8);
    let waiters: Vec<_> =
        (0..2).map(|_| std::thread::spawn(move || sys::accept(listener).0.is_ok())).collect();
    Near::settle();
    for _ in 0..2 {
        n.called(address);
    }
    for waiter in waiters {
        n.say("accept", waiter.join().expect("an answer"));
    }
}

/// A forking server: parent and child share the connection, and it ends when both have closed it.
fn in_a_child(n: &mut Near) {
    let (listener, address) = n.listener(1);
    let child = super::processes::fork(move || {
        let fd = sys::accept(listener).descriptor();
        let mut room = [0; 10];
        let count = sys::recv(fd, &mut room, 0).count();
        sys::send(fd, &room[..count], 0);
        0
    });
    let far = n.called(address);
    n.hear("send", &format!("send {} hello", far.0));
    n.hear("recv", &format!("recv {} 10", far.0));
    n.say("exit", child.wait());
    n.hear("recv", &format!("recv {} 10", far.0));
    let far = n.called(address);
    let fd = sys::accept(listener).descriptor();
    n.say("send", sys::send(fd, b"here", 0));
    n.hear("recv", &format!("recv {} 10", far.0));
}

fn order(n: &mut Near) {
    let (listener, address) = n.listener(4);
    let ports: Vec<u16> = (0..3)
        .map(|_| {
            let far = n.called(address);
            n.far.port(far)
        })
        .collect();
    let accepted: Vec<u16> =
        (0..3).map(|_| sys::accept_from(listener, 0).1.map_or(0, |peer| peer.port())).collect();
    n.say("in order", ports == accepted);
}

fn closed_with_waiting(n: &mut Near) {
    let (listener, address) = n.listener(4);
    let (one, two) = (n.called(address), n.called(address));
    n.hear("send", &format!("send {} x", two.0));
    Near::settle();
    n.say("close", sys::close(listener));
    n.hear("recv", &format!("recv {} 10", one.0));
    n.hear("recv", &format!("recv {} 10", two.0));
    n.hear("connect", &format!("connect {} {address}", crate::far::version(n.family)));
}

fn shutdown_wakes(n: &mut Near) {
    let (listener, address) = n.listener(1);
    let waiter = std::thread::spawn(move || sys::accept(listener));
    Near::settle();
    n.say("shutdown", sys::shutdown(listener, libc::SHUT_RD));
    n.say("accept", waiter.join().expect("an answer"));
    n.say("accept again", sys::accept(listener));
    n.mask("poll", listener);
    n.hear("connect", &format!("connect {} {address}", crate::far::version(n.family)));
}

fn shutdown_writing_half(n: &mut Near) {
    let (listener, address) = n.listener(1);
    n.say("shutdown", sys::shutdown(listener, libc::SHUT_WR));
    n.called(address);
    n.say("accept", sys::accept(listener).0.is_ok());
}

fn shutdown_then_listen(n: &mut Near) {
    let (listener, address) = n.listener(1);
    n.say("shutdown", sys::shutdown(listener, libc::SHUT_RDWR));
    n.say("SO_ACCEPTCONN", sys::get(listener, libc::SOL_SOCKET, libc::SO_ACCEPTCONN));
    n.say("listen", sys::listen(listener, 1));
    let port = sys::getsockname(listener).ok().flatten().map_or(0, |name| name.port());
    n.say("the same port", port == address.port());
    let address = n.own(port);
    n.called(address);
    n.say("accept", sys::accept(listener).0.is_ok());
}

fn time_limit(n: &mut Near) {
    let (listener, _) = n.listener(1);
    n.say("SO_RCVTIMEO", sys::set_time_limit(listener, libc::SO_RCVTIMEO, 300));
    let begin = Instant::now();
    n.say("accept", sys::accept(listener));
    n.took("it took", begin, 300);
}

fn reopened(n: &mut Near) {
    let (listener, address) = n.listener(1);
    n.say("close", sys::close(listener));
    let fd = n.stream();
    n.say("bind", sys::bind(fd, n.any(address.port())));
    n.say("listen", sys::listen(fd, 1));
    n.called(address);
    n.say("accept", sys::accept(fd).0.is_ok());
}

/// Returns how many of `tried` connections from the far host are established while the program does
/// not accept.
fn taken(n: &mut Near, address: std::net::SocketAddr, tried: usize) -> usize {
    let version = crate::far::version(n.family);
    (0..tried)
        .filter(|_| n.far.ask(&format!("attempt {version} {address} 250")).parse::<usize>().is_ok())
        .count()
}

fn backlog(n: &mut Near) {
    let (listener, address) = n.listener(2);
    let count = taken(n, address, 5);
    n.say("taken", count);
    sys::fcntl(listener, libc::F_SETFL, libc::O_NONBLOCK);
    let mut accepted = 0;
    // Connections that wait at a server arrive one by one.
    while sys::poll(listener, libc::POLLIN, 500).0.0 == Ok(1) && sys::accept(listener).0.is_ok() {
        accepted += 1;
    }
    n.say("accepted", accepted >= count);
}

fn backlog_zero(n: &mut Near) {
    let (_, address) = n.listener(0);
    let count = taken(n, address, 3);
    n.say("taken", count);
}

fn backlog_frees(n: &mut Near) {
    let (listener, address) = n.listener(1);
    let count = taken(n, address, 2);
    n.say("taken", count);
    n.say("accept", sys::accept(listener).0.is_ok());
    n.say("accept", sys::accept(listener).0.is_ok());
    n.called(address);
    n.say("accept", sys::accept(listener).0.is_ok());
}

fn read_a_listener(n: &mut Near) {
    let (fd, address) = n.listener(1);
    n.receive("recv", fd, 10, 0);
    let _far = n.called(address);
    n.until("poll", fd, libc::POLLIN);
    n.receive("recv with one waiting", fd, 10, 0);
    let mut room = [0; 10];
    n.say("read", sys::read(fd, &mut room));
    n.say("accept", sys::accept(fd).0.is_ok());
}

fn write_a_listener(n: &mut Near) {
    let (fd, _) = n.listener(1);
    n.say("send", sys::send(fd, b"x", 0));
    n.signals("signals", &[libc::SIGPIPE]);
    n.say("write", sys::write(fd, b"x"));
    n.signals("signals", &[libc::SIGPIPE]);
    n.say("send without signal", sys::send(fd, b"x", libc::MSG_NOSIGNAL));
}

/// Each connection causes an edge.
fn edges(n: &mut Near) {
    let (fd, address) = n.listener(8);
    let epoll = sys::epoll(fd, (libc::EPOLLIN | libc::EPOLLET) as u32);
    n.say("nothing yet", sys::epoll_wait(epoll, 50).0);
    for _ in 0..3 {
        n.called(address);
        n.say("edge", sys::epoll_wait(epoll, 3000).0);
    }
    sys::fcntl(fd, libc::F_SETFL, libc::O_NONBLOCK);
    let mut count = 0;
    while sys::accept(fd).0.is_ok() {
        count += 1;
    }
    n.say("accepted", count);
}

fn of_many_listeners(n: &mut Near) {
    let listeners: Vec<_> = (0..5).map(|_| n.listener(1)).collect();
    for (fd, address) in &listeners[1..3] {
        n.called(*address);
        n.until("poll", *fd, libc::POLLIN);
    }
    let masks: Vec<String> =
        listeners.iter().map(|(fd, _)| crate::names::mask(sys::poll(*fd, libc::POLLIN, 0).1)).collect();
    n.say("all", masks.join(" "));
}

fn bad_pointers(n: &mut Near) {
    let (fd, address) = n.listener(2);
    n.called(address);
    n.until("poll", fd, libc::POLLIN);
    let mut length = 16;
    let nowhere = std::ptr::without_provenance_mut::<libc::sockaddr>(8);
    n.say("accept", call!(accept(fd, nowhere, &raw mut length)));
    n.called(address);
    n.until("poll", fd, libc::POLLIN);
    n.say("accept without a length", call!(accept(fd, nowhere, std::ptr::null_mut())));
}

fn no_descriptor_left(n: &mut Near) {
    let (fd, address) = n.listener(2);
    n.called(address);
    n.until("poll", fd, libc::POLLIN);
    let limit = libc::rlimit { rlim_cur: fd as u64 + 1, rlim_max: 4096 };
    call!(setrlimit(libc::RLIMIT_NOFILE, &raw const limit));
    // The file descriptors of the case have the lowest numbers.
    n.say("accept", sys::accept(fd));
    n.say("socket", sys::socket(n.family, libc::SOCK_STREAM, 0));
    let limit = libc::rlimit { rlim_cur: 1024, rlim_max: 4096 };
    call!(setrlimit(libc::RLIMIT_NOFILE, &raw const limit));
    n.mask("poll", fd);
    sys::fcntl(fd, libc::F_SETFL, libc::O_NONBLOCK);
    n.say("accept then", sys::accept(fd).0.is_ok());
}

fn takes_version_4(n: &mut Near) {
    let fd = n.stream();
    n.say("listen", sys::listen(fd, 2));
    let port = sys::getsockname(fd).ok().flatten().map_or(0, |name| name.port());
    n.family = libc::AF_INET;
    let address = n.own(port);
    let far = n.called(address);
    let (answer, peer) = sys::accept_from(fd, 0);
    let text = peer.map_or("nobody".into(), |peer| n.show(peer, 0));
    n.say("from", text);
    let child = answer.descriptor();
    n.name("getsockname", sys::getsockname(child), port);
    n.hear("send", &format!("send {} hello", far.0));
    n.receive("recv", child, 10, 0);
}

fn only_version_6(n: &mut Near) {
    let fd = n.stream();
    n.say("IPV6_V6ONLY", sys::set(fd, libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, 1));
    n.say("listen", sys::listen(fd, 2));
    let port = sys::getsockname(fd).ok().flatten().map_or(0, |name| name.port());
    let six = n.own(port);
    n.called(six);
    n.say("accept", sys::accept(fd).0.is_ok());
    n.family = libc::AF_INET;
    let four = n.own(port);
    n.hear("connect by version 4", &format!("connect 4 {four}"));
}
