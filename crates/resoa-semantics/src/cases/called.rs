//! Statements of the manual pages of the calls (socket(2), bind(2), listen(2), accept(2),
//! connect(2), shutdown(2), send(2), recv(2), getsockopt(2)) that no other file covers.

use super::{call, cases};
use crate::near::{Near, received};
use crate::sys;

cases! {
    "C31" Both: bound_while_listening, bound_while_connected, port_of_another_family;
    "C32" Both: listening_while_connecting, listening_again_with_less;
    "C33" Both: accepted_by_flags, accepted_with_little_room, accepted_flags_of_none;
    "C35" Both: connected_twice_to_one, connected_from_a_shut_one;
    "C63" Both: shut_by_numbers, shut_listener_reads;
    "C42" Both: send_of_nothing, send_with_unknown_flags, send_not_connected, send_routes, send_confirms;
    "C44" Both: receive_of_nothing, receive_with_unknown_flags, receive_urgent_without;
    "C41" Both: owners, answers_of_ioctls, unsent;
    "C39" Both: option_of_no_value, option_of_short_value, option_read_in_part;
}

const QUIET: i32 = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;

fn bound_while_listening(n: &mut Near) {
    let (fd, _) = n.listener(1);
    n.say("bind", sys::bind(fd, n.any(0)));
    n.say("bind to own", sys::bind(fd, n.own(0)));
}

fn bound_while_connected(n: &mut Near) {
    let (fd, _far) = n.connected();
    n.say("bind", sys::bind(fd, n.any(0)));
    n.say("bind to own", sys::bind(fd, n.own(0)));
}

fn port_of_another_family(n: &mut Near) {
    let (stream, datagram) = (n.stream(), n.datagram());
    n.say("bind", sys::bind(stream, n.own(0)));
    let port = sys::getsockname(stream).ok().flatten().map_or(0, |name| name.port());
    n.say("bind of datagrams", sys::bind(datagram, n.own(port)));
}

fn listening_while_connecting(n: &mut Near) {
    let (to, fd) = (n.elsewhere(crate::worlds::SILENT), n.nonblocking());
    n.say("connect", sys::connect(fd, to));
    n.say("listen", sys::listen(fd, 1));
    n.say("accept", sys::accept(fd));
}

fn listening_again_with_less(n: &mut Near) {
    let (fd, address) = n.listener(8);
    for backlog in [1, 0, -1, 100_000] {
        n.say("listen", sys::listen(fd, backlog));
    }
    let _far = n.called(address);
    n.say("accept", sys::accept(fd).0.is_ok());
}

fn accepted_by_flags(n: &mut Near) {
    let (listener, address) = n.listener(8);
    for flags in [0, libc::SOCK_NONBLOCK, libc::SOCK_CLOEXEC, libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC] {
        let _far = n.called(address);
        let fd = sys::accept_from(listener, flags).0.descriptor();
        n.say("F_GETFL", sys::fcntl(fd, libc::F_GETFL, 0));
        n.say("F_GETFD", sys::fcntl(fd, libc::F_GETFD, 0));
    }
}

fn accepted_flags_of_none(n: &mut Near) {
    let (listener, address) = n.listener(8);
    let _far = n.called(address);
    for flags in [1, 0x10, -1] {
        n.say("accept4", sys::accept_from(listener, flags).0);
    }
    n.say("accept", sys::accept(listener).0.is_ok());
}

/// The address is truncated, and its full length is returned.
fn accepted_with_little_room(n: &mut Near) {
    let (listener, address) = n.listener(8);
    for room in [0, 2, 8, 128] {
        let _far = n.called(address);
        let (mut place, mut length) = ([0xff_u8; 128], room);
        let answer = call!(accept(listener, place.as_mut_ptr().cast(), &raw mut length));
        n.say("accept", answer.0.is_ok());
        n.say("length", length);
        n.say("family", format!("{:?}", &place[..2]));
    }
}

fn connected_twice_to_one(n: &mut Near) {
    let (listener, address) = n.far.listen(n.family, 4);
    let (one, two) = (n.stream(), n.stream());
    n.say("connect", sys::connect(one, address));
    n.say("connect another", sys::connect(two, address));
    n.say("connect again", sys::connect(one, address));
    n.far.accept(listener);
}

fn connected_from_a_shut_one(n: &mut Near) {
    let (fd, _far) = n.connected();
    n.say("shutdown", sys::shutdown(fd, libc::SHUT_WR));
    let (_, address) = n.far.listen(n.family, 1);
    n.say("connect", sys::connect(fd, address));
}

fn shut_by_numbers(n: &mut Near) {
    for how in [-1, 3, 4, i32::MAX] {
        let (fd, _far) = n.connected();
        n.say(&format!("{how}, connected"), sys::shutdown(fd, how));
        n.say(&format!("{how}, fresh"), sys::shutdown(n.stream(), how));
        n.say(&format!("{how}, datagrams"), sys::shutdown(n.datagram(), how));
    }
}

fn shut_listener_reads(n: &mut Near) {
    let (fd, _) = n.listener(1);
    n.say("shutdown", sys::shutdown(fd, libc::SHUT_RD));
    n.say("accept", sys::accept(fd));
    n.say("SO_ACCEPTCONN", sys::get(fd, libc::SOL_SOCKET, libc::SO_ACCEPTCONN));
    n.say("shutdown again", sys::shutdown(fd, libc::SHUT_RD));
}

fn send_of_nothing(n: &mut Near) {
    let (fd, far) = n.connected();
    n.say("send", sys::send(fd, b"", 0));
    n.say("write", sys::write(fd, b""));
    n.say("send by a fresh one", sys::send(n.stream(), b"", QUIET));
    n.say("send", sys::send(fd, b"x", 0));
    n.hear("recv", &format!("recv {} 10", far.0));
    sys::shutdown(fd, libc::SHUT_WR);
    n.say("send behind the end", sys::send(fd, b"", QUIET));
}

/// Flags without meaning for TCP are ignored.
fn send_with_unknown_flags(n: &mut Near) {
    let (fd, far) = n.connected();
    for flags in
        [0x10_0000, libc::MSG_EOR, libc::MSG_TRUNC, libc::MSG_PEEK, libc::MSG_WAITALL, libc::MSG_CTRUNC]
    {
        n.say(&format!("send with {flags:#x}"), sys::send(fd, b"x", flags));
    }
    n.hear("recv", &format!("recv {} 1", far.0));
}

fn send_not_connected(n: &mut Near) {
    for fd in [n.stream(), n.listener(1).0] {
        n.say("send", sys::send(fd, b"x", QUIET));
        n.say("send of MSG_OOB", sys::send(fd, b"x", QUIET | libc::MSG_OOB));
    }
    n.say("send by datagrams", sys::send(n.datagram(), b"x", QUIET));
    n.say("send of MSG_OOB by datagrams", sys::send(n.datagram(), b"x", QUIET | libc::MSG_OOB));
}

fn send_routes(n: &mut Near) {
    let (fd, far) = n.connected();
    n.say("send", sys::send(fd, b"x", libc::MSG_DONTROUTE));
    n.hear("recv", &format!("recv {} 10", far.0));
}

fn send_confirms(n: &mut Near) {
    let (fd, far) = n.connected();
    n.say("send", sys::send(fd, b"x", libc::MSG_CONFIRM));
    n.hear("recv", &format!("recv {} 10", far.0));
}

/// A read of 0 bytes from a stream does not wait.
fn receive_of_nothing(n: &mut Near) {
    let (fd, far) = n.connected();
    n.say("recv", sys::recv(fd, &mut [], libc::MSG_DONTWAIT));
    n.say("read", sys::read(fd, &mut []));
    n.hear("send", &format!("send {} x", far.0));
    n.until("poll", fd, libc::POLLIN);
    n.say("recv with some there", sys::recv(fd, &mut [], 0));
    n.say("recv", received(fd, 10, 0));
    n.say("recv of a fresh one", sys::recv(n.stream(), &mut [], 0));
}

fn receive_with_unknown_flags(n: &mut Near) {
    let (fd, far) = n.connected();
    n.hear("send", &format!("send {} abcdefgh", far.0));
    n.until("poll", fd, libc::POLLIN);
    for flags in [0x10_0000, libc::MSG_EOR, libc::MSG_MORE, libc::MSG_NOSIGNAL, libc::MSG_CONFIRM] {
        n.say(&format!("recv with {flags:#x}"), received(fd, 1, flags));
    }
}

fn receive_urgent_without(n: &mut Near) {
    let (fd, far) = n.connected();
    n.say("recv", sys::recv(fd, &mut [0; 4], libc::MSG_OOB));
    n.hear("send", &format!("send {} x", far.0));
    n.until("poll", fd, libc::POLLIN);
    n.say("recv with some there", sys::recv(fd, &mut [0; 4], libc::MSG_OOB));
    sys::set(fd, libc::SOL_SOCKET, libc::SO_OOBINLINE, 1);
    n.say("recv in line", sys::recv(fd, &mut [0; 4], libc::MSG_OOB));
}

/// socket(7): the process that gets the signals of a file descriptor.
fn owners(n: &mut Near) {
    let (fd, _far) = n.connected();
    let own = call!(getpid()).0.unwrap_or(0) as i32;
    // SIOCSPGRP, FIOSETOWN; SIOCGPGRP, FIOGETOWN.
    for (set, get) in [(0x8902, 0x8904), (0x8901, 0x8903)] {
        let mut owner = own;
        n.say("set", sys::ioctl(fd, set, &mut owner));
        n.say("F_GETOWN is own", sys::fcntl(fd, libc::F_GETOWN, 0).0 == Ok(own.into()));
        owner = 7;
        n.say("get", sys::ioctl(fd, get, &mut owner));
        n.say("own", owner == own);
        owner = 0;
        n.say("set none", sys::ioctl(fd, set, &mut owner));
    }
}

/// tcp(7): SIOCINQ, SIOCOUTQ, SIOCATMARK, for each kind of stream.
fn answers_of_ioctls(n: &mut Near) {
    let listener = n.listener(1).0;
    for (what, fd) in [("fresh", n.stream()), ("listener", listener), ("connected", n.connected().0)] {
        for (name, request) in
            [("SIOCINQ", libc::FIONREAD), ("SIOCOUTQ", libc::TIOCOUTQ), ("SIOCATMARK", 0x8905)]
        {
            let mut value = 7;
            let answer = sys::ioctl(fd, request, &mut value);
            n.say(&format!("{name}, {what}"), format!("{answer} {value}"));
        }
    }
}

/// SIOCOUTQNSD: bytes that have not been sent at all.
fn unsent(n: &mut Near) {
    let (fd, _far) = n.connected();
    let mut value = 7;
    let answer = sys::ioctl(fd, 0x894b, &mut value);
    n.say("SIOCOUTQNSD", format!("{answer} {value}"));
}

fn option_of_no_value(n: &mut Near) {
    let fd = n.stream();
    let nothing = std::ptr::null::<libc::c_void>();
    n.say("set of null", call!(setsockopt(fd, libc::SOL_SOCKET, libc::SO_KEEPALIVE, nothing, 4)));
    n.say("set of null, 0 octets", call!(setsockopt(fd, libc::SOL_SOCKET, libc::SO_KEEPALIVE, nothing, 0)));
    n.say("set of TCP", call!(setsockopt(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY, nothing, 4)));
    let mut length = 4;
    let place = std::ptr::null_mut::<libc::c_void>();
    n.say("get", call!(getsockopt(fd, libc::SOL_SOCKET, libc::SO_KEEPALIVE, place, &raw mut length)));
    length = 0;
    n.say("get of 0", call!(getsockopt(fd, libc::SOL_SOCKET, libc::SO_KEEPALIVE, place, &raw mut length)));
}

fn option_of_short_value(n: &mut Near) {
    let fd = n.stream();
    for length in 0..4 {
        let value = vec![1; length];
        n.say(
            &format!("SO_KEEPALIVE of {length}"),
            sys::set_octets(fd, libc::SOL_SOCKET, libc::SO_KEEPALIVE, &value),
        );
        n.say(
            &format!("TCP_NODELAY of {length}"),
            sys::set_octets(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY, &value),
        );
        n.say(
            &format!("SO_LINGER of {length}"),
            sys::set_octets(fd, libc::SOL_SOCKET, libc::SO_LINGER, &value),
        );
        n.say(
            &format!("SO_SNDTIMEO of {length}"),
            sys::set_octets(fd, libc::SOL_SOCKET, libc::SO_SNDTIMEO, &value),
        );
    }
}

fn option_read_in_part(n: &mut Near) {
    let fd = n.stream();
    sys::set_linger(fd, true, 7);
    for (level, name) in [
        (libc::SOL_SOCKET, libc::SO_LINGER),
        (libc::SOL_SOCKET, libc::SO_RCVTIMEO),
        (libc::SOL_SOCKET, libc::SO_TYPE),
        (libc::IPPROTO_TCP, libc::TCP_MAXSEG),
    ] {
        for room in [1, 5, 9, 32] {
            let mut place = vec![0xff; room];
            let (answer, length) = sys::get_octets(fd, level, name, &mut place);
            n.say(&format!("{level}/{name} of {room}"), format!("{answer} {length}"));
        }
    }
}
