//! Options: their initial values, the results of setting them, and their values after that; and the
//! options that an accepted connection inherits.

use super::{call, cases};
use crate::near::{Near, received};
use crate::sys;

cases! {
    "C39" Both: keepalive, reuse_address, reuse_port, broadcast, do_not_route, inline_urgent, send_buffer, receive_buffer, receive_low_water, send_low_water, priority,
        kind, linger, receive_time_limit, send_time_limit, debug_off, time_stamps, no_device;
    "C39" Both: no_delay, segment, cork, keep_idle, keep_interval, keep_count, syn_count, linger2, defer_accept, window_clamp, quick_ack, congestion, user_timeout,
        unsent_low_water, upper_layer, information, maximum_segment_connected;
    "C39" One: type_of_service, time_to_live, path_mtu, receive_error;
    "C39" Six: only_version_6, hops, traffic_class;
    "C39" Both: unknown, unknown_level, bad_length, bad_pointer, short_room, long_room, negative_length, datagram_asks_tcp;
    "C39" Both: inherited, buffers_while_connected, error_kept;
}

const SOCKET: i32 = libc::SOL_SOCKET;
const TCP: i32 = libc::IPPROTO_TCP;

/// Records the option's value on a fresh socket, sets each value, and repeats the first one on the
/// connected socket.
fn each(n: &mut Near, level: i32, name: i32, values: &[i32]) {
    let fd = n.stream();
    n.say("at first", sys::get(fd, level, name));
    for value in values {
        n.say(&format!("set {value}"), sys::set(fd, level, name, *value));
        n.say("is", sys::get(fd, level, name));
    }
    if name == libc::SO_RCVLOWAT && level == SOCKET {
        sys::set(fd, level, name, 1);
    }
    n.connect(fd);
    n.say("when connected", sys::get(fd, level, name));
    if let Some(value) = values.first() {
        n.say(&format!("set {value} then"), sys::set(fd, level, name, *value));
        n.say("is then", sys::get(fd, level, name));
    }
}

macro_rules! each {
    ($($case:ident $level:expr, $name:expr, $values:expr;)*) => { $(fn $case(n: &mut Near) { each(n, $level, $name, &$values); })* };
}

each! {
    keepalive SOCKET, libc::SO_KEEPALIVE, [1, 0, 7];
    reuse_address SOCKET, libc::SO_REUSEADDR, [1, 0, 2];
    reuse_port SOCKET, libc::SO_REUSEPORT, [1, 0];
    broadcast SOCKET, libc::SO_BROADCAST, [1, 0];
    inline_urgent SOCKET, libc::SO_OOBINLINE, [1, 0, 1];
    send_low_water SOCKET, libc::SO_SNDLOWAT, [10];
    receive_low_water SOCKET, libc::SO_RCVLOWAT, [10, 0, -1];
    priority SOCKET, libc::SO_PRIORITY, [3, 6, 0];
    time_stamps SOCKET, libc::SO_TIMESTAMP, [1, 0];
    no_delay TCP, libc::TCP_NODELAY, [1, 0, 5];
    segment TCP, libc::TCP_MAXSEG, [600, 7, 40_000];
    cork TCP, libc::TCP_CORK, [1, 0];
    keep_idle TCP, libc::TCP_KEEPIDLE, [10, 0, 40_000];
    keep_interval TCP, libc::TCP_KEEPINTVL, [10, 0, 40_000];
    keep_count TCP, libc::TCP_KEEPCNT, [3, 0, 200];
    syn_count TCP, libc::TCP_SYNCNT, [3, 0, 200];
    linger2 TCP, libc::TCP_LINGER2, [10, 100_000, -1];
    defer_accept TCP, libc::TCP_DEFER_ACCEPT, [1, 0];
    window_clamp TCP, libc::TCP_WINDOW_CLAMP, [10_000, 1];
    user_timeout TCP, libc::TCP_USER_TIMEOUT, [5000, 0, -1];
    unsent_low_water TCP, libc::TCP_NOTSENT_LOWAT, [16_384];
}

fn do_not_route(n: &mut Near) {
    let fd = n.stream();
    n.say("at first", sys::get(fd, SOCKET, libc::SO_DONTROUTE));
    n.say("set", sys::set(fd, SOCKET, libc::SO_DONTROUTE, 1));
    n.say("is", sys::get(fd, SOCKET, libc::SO_DONTROUTE));
    n.say("unset", sys::set(fd, SOCKET, libc::SO_DONTROUTE, 0));
}

/// Setting SO_DEBUG needs a privilege, except for setting it to 0.
fn debug_off(n: &mut Near) {
    let fd = n.stream();
    n.say("at first", sys::get(fd, SOCKET, libc::SO_DEBUG));
    n.say("set 0", sys::set(fd, SOCKET, libc::SO_DEBUG, 0));
}

/// The interface that a socket is bound to: none. sshd reads this option of each connection.
fn no_device(n: &mut Near) {
    for fd in [n.stream(), n.connected().0, n.datagram()] {
        let mut room = [7; 16];
        let (answer, length) = sys::get_octets(fd, SOCKET, libc::SO_BINDTODEVICE, &mut room);
        n.say("at first", format!("{answer} {length} {}", room[0]));
        n.say("set none", sys::set_octets(fd, SOCKET, libc::SO_BINDTODEVICE, b"\0\0\0\0"));
        n.say("set nothing", sys::set_octets(fd, SOCKET, libc::SO_BINDTODEVICE, b""));
    }
}

/// Linux doubles the requested value. The initial value depends on the host.
fn buffer(n: &mut Near, name: i32) {
    let fd = n.stream();
    let first = sys::get(fd, SOCKET, name).count() as u64;
    n.measure("at first", first, 4.0);
    for value in [20_000, 0, 100_000, -1] {
        n.say(&format!("set {value}"), sys::set(fd, SOCKET, name, value));
        n.say("is", sys::get(fd, SOCKET, name));
    }
}

fn send_buffer(n: &mut Near) {
    buffer(n, libc::SO_SNDBUF);
}

fn receive_buffer(n: &mut Near) {
    buffer(n, libc::SO_RCVBUF);
}

fn buffers_while_connected(n: &mut Near) {
    let (fd, _far) = n.connected();
    for name in [libc::SO_SNDBUF, libc::SO_RCVBUF] {
        n.say("set", sys::set(fd, SOCKET, name, 30_000));
        n.say("is", sys::get(fd, SOCKET, name));
    }
}

fn kind(n: &mut Near) {
    for fd in [n.stream(), n.datagram(), n.listener(1).0, n.connected().0] {
        for name in [libc::SO_TYPE, libc::SO_DOMAIN, libc::SO_PROTOCOL, libc::SO_ACCEPTCONN, libc::SO_ERROR] {
            n.say(&format!("option {name}"), sys::get(fd, SOCKET, name));
        }
        n.say("set SO_TYPE", sys::set(fd, SOCKET, libc::SO_TYPE, 1));
        n.say("set SO_ERROR", sys::set(fd, SOCKET, libc::SO_ERROR, 1));
        n.say("set SO_ACCEPTCONN", sys::set(fd, SOCKET, libc::SO_ACCEPTCONN, 1));
    }
}

fn linger(n: &mut Near) {
    let fd = n.stream();
    let show = |n: &mut Near, what: &str| {
        let mut room = [0; 8];
        let (answer, length) = sys::get_octets(fd, SOCKET, libc::SO_LINGER, &mut room);
        n.say(what, format!("{answer} {length} {room:?}"));
    };
    show(n, "at first");
    n.say("set", sys::set_linger(fd, true, 7));
    show(n, "is");
    n.say("set without time", sys::set_linger(fd, false, 9));
    show(n, "is then");
    n.say("short", sys::set(fd, SOCKET, libc::SO_LINGER, 1));
}

fn time_limit(n: &mut Near, name: i32) {
    let fd = n.stream();
    let show = |n: &mut Near, what: &str| {
        let mut room = [0; 16];
        let (answer, length) = sys::get_octets(fd, SOCKET, name, &mut room);
        n.say(what, format!("{answer} {length} {room:?}"));
    };
    show(n, "at first");
    n.say("set", sys::set_time_limit(fd, name, 1500));
    show(n, "is");
    n.say("set 0", sys::set_time_limit(fd, name, 0));
    show(n, "is");
    let wrong = libc::timeval { tv_sec: 0, tv_usec: 2_000_000 };
    n.say("too many microseconds", call!(setsockopt(fd, SOCKET, name, (&raw const wrong).cast(), 16)));
    n.say("short", sys::set(fd, SOCKET, name, 1));
}

fn receive_time_limit(n: &mut Near) {
    time_limit(n, libc::SO_RCVTIMEO);
}

fn send_time_limit(n: &mut Near) {
    time_limit(n, libc::SO_SNDTIMEO);
}

/// The stack changes the value at any time, so only setting it is checked.
fn quick_ack(n: &mut Near) {
    let (fd, _far) = n.connected();
    n.say("set", sys::set(fd, TCP, libc::TCP_QUICKACK, 1));
    n.say("is there", sys::get(fd, TCP, libc::TCP_QUICKACK).0.is_ok());
}

fn congestion(n: &mut Near) {
    let fd = n.stream();
    let mut room = [0; 16];
    let (answer, length) = sys::get_octets(fd, TCP, libc::TCP_CONGESTION, &mut room);
    n.say("get", answer);
    n.say("length", length);
    n.say("has a name", room[0] != 0);
    n.say("set an unknown one", sys::set_octets(fd, TCP, libc::TCP_CONGESTION, b"nosuch"));
}

/// Without this option, TLS libraries encrypt in the program.
fn upper_layer(n: &mut Near) {
    let (fd, _far) = n.connected();
    n.say("set an unknown one", sys::set_octets(fd, TCP, libc::TCP_ULP, b"nosuch"));
}

fn information(n: &mut Near) {
    let state = |fd| sys::tcp_state(fd).map_or_else(|error| error.to_string(), str::to_owned);
    let fresh = n.stream();
    n.say("fresh", state(fresh));
    let (listener, _) = n.listener(1);
    n.say("listener", state(listener));
    let (fd, far) = n.connected();
    n.say("connected", state(fd));
    for (what, level, name) in [("memory", SOCKET, libc::SO_MEMINFO), ("algorithm", TCP, libc::TCP_CC_INFO)] {
        let (answer, length) = sys::get_octets(fd, level, name, &mut [0; 64]);
        n.say(what, format!("{answer} {length}"));
    }
    sys::shutdown(fd, libc::SHUT_WR);
    Near::settle();
    n.say("our end", state(fd));
    let answer = n.far.ask(&format!("close {}", far.0));
    n.say("far close", answer);
    n.until("poll", fd, libc::POLLHUP);
    let mut room = [0; 16];
    let (answer, length) = sys::get_octets(fd, TCP, libc::TCP_INFO, &mut room);
    n.say("short room", format!("{answer} {length}"));
}

fn maximum_segment_connected(n: &mut Near) {
    let (fd, _far) = n.connected();
    let size = sys::get(fd, TCP, libc::TCP_MAXSEG).count() as u64;
    n.measure("size", size, 1.1);
}

fn type_of_service(n: &mut Near) {
    each(n, libc::IPPROTO_IP, libc::IP_TOS, &[0x10, 0x08, 0]);
}

fn time_to_live(n: &mut Near) {
    each(n, libc::IPPROTO_IP, libc::IP_TTL, &[44, 0, 256, -1]);
}

fn path_mtu(n: &mut Near) {
    each(n, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, &[libc::IP_PMTUDISC_DO, libc::IP_PMTUDISC_DONT, 77]);
}

fn receive_error(n: &mut Near) {
    each(n, libc::IPPROTO_IP, libc::IP_RECVERR, &[1, 0]);
}

fn only_version_6(n: &mut Near) {
    let fd = n.stream();
    n.say("at first", sys::get(fd, libc::IPPROTO_IPV6, libc::IPV6_V6ONLY));
    n.say("set", sys::set(fd, libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, 1));
    n.say("is", sys::get(fd, libc::IPPROTO_IPV6, libc::IPV6_V6ONLY));
    n.say("bind", sys::bind(fd, n.any(0)));
    n.say("set when bound", sys::set(fd, libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, 0));
}

fn hops(n: &mut Near) {
    each(n, libc::IPPROTO_IPV6, libc::IPV6_UNICAST_HOPS, &[44, -1, 300]);
}

fn traffic_class(n: &mut Near) {
    each(n, libc::IPPROTO_IPV6, libc::IPV6_TCLASS, &[0x10, -1, 300]);
}

fn unknown(n: &mut Near) {
    for fd in [n.stream(), n.connected().0] {
        n.say("set of the socket", sys::set(fd, SOCKET, 9999, 1));
        n.say("get of the socket", sys::get(fd, SOCKET, 9999));
        n.say("set of TCP", sys::set(fd, TCP, 9999, 1));
        n.say("get of TCP", sys::get(fd, TCP, 9999));
        n.say("set of IP", sys::set(fd, libc::IPPROTO_IP, 9999, 1));
    }
}

fn unknown_level(n: &mut Near) {
    let fd = n.stream();
    n.say("set", sys::set(fd, 9999, 1, 1));
    n.say("get", sys::get(fd, 9999, 1));
    n.say("set of UDP", sys::set(fd, libc::IPPROTO_UDP, 1, 1));
}

fn bad_length(n: &mut Near) {
    let fd = n.stream();
    n.say("set of the socket", sys::set_octets(fd, SOCKET, libc::SO_KEEPALIVE, &[1]));
    n.say("set of TCP", sys::set_octets(fd, TCP, libc::TCP_NODELAY, &[1, 0]));
    n.say("set of nothing", sys::set_octets(fd, TCP, libc::TCP_NODELAY, &[]));
    n.say("set of more", sys::set_octets(fd, TCP, libc::TCP_NODELAY, &[1, 0, 0, 0, 0, 0, 0, 0]));
    n.say("is", sys::get(fd, TCP, libc::TCP_NODELAY));
}

fn bad_pointer(n: &mut Near) {
    let fd = n.stream();
    let nowhere = std::ptr::without_provenance_mut::<libc::c_void>(8);
    let mut length = 4;
    n.say("set", call!(setsockopt(fd, SOCKET, libc::SO_KEEPALIVE, nowhere.cast_const(), 4)));
    n.say("get", call!(getsockopt(fd, SOCKET, libc::SO_KEEPALIVE, nowhere, &raw mut length)));
    n.say(
        "get without a length",
        call!(getsockopt(fd, SOCKET, libc::SO_KEEPALIVE, nowhere, std::ptr::null_mut())),
    );
}

fn short_room(n: &mut Near) {
    let fd = n.stream();
    sys::set(fd, SOCKET, libc::SO_KEEPALIVE, 1);
    sys::set(fd, TCP, libc::TCP_NODELAY, 1);
    for (level, name) in [(SOCKET, libc::SO_KEEPALIVE), (TCP, libc::TCP_NODELAY)] {
        for length in 0..3 {
            let mut room = [0xff; 4];
            let (answer, length) = sys::get_octets(fd, level, name, &mut room[..length]);
            n.say("get", format!("{answer} {length} {room:?}"));
        }
    }
}

fn long_room(n: &mut Near) {
    let fd = n.stream();
    let mut room = [0xff; 8];
    let (answer, length) = sys::get_octets(fd, SOCKET, libc::SO_KEEPALIVE, &mut room);
    n.say("get", format!("{answer} {length} {room:?}"));
}

fn negative_length(n: &mut Near) {
    let fd = n.stream();
    let mut room = [0_u8; 4];
    let mut length = u32::MAX;
    n.say(
        "get",
        call!(getsockopt(fd, SOCKET, libc::SO_KEEPALIVE, room.as_mut_ptr().cast(), &raw mut length)),
    );
    n.say("set", call!(setsockopt(fd, SOCKET, libc::SO_KEEPALIVE, room.as_ptr().cast(), u32::MAX)));
}

fn datagram_asks_tcp(n: &mut Near) {
    let fd = n.datagram();
    n.say("set", sys::set(fd, TCP, libc::TCP_NODELAY, 1));
    n.say("get", sys::get(fd, TCP, libc::TCP_NODELAY));
}

/// O_NONBLOCK and O_CLOEXEC belong to the listener's file descriptor and are not inherited.
fn inherited(n: &mut Near) {
    let (listener, address) = n.listener(4);
    sys::set(listener, SOCKET, libc::SO_KEEPALIVE, 1);
    sys::set(listener, TCP, libc::TCP_NODELAY, 1);
    sys::set(listener, TCP, libc::TCP_KEEPIDLE, 77);
    sys::set(listener, SOCKET, libc::SO_OOBINLINE, 1);
    sys::set(listener, SOCKET, libc::SO_REUSEADDR, 1);
    sys::set(listener, SOCKET, libc::SO_PRIORITY, 3);
    sys::set(listener, SOCKET, libc::SO_SNDBUF, 30_000);
    sys::set(listener, SOCKET, libc::SO_RCVBUF, 30_000);
    sys::set_linger(listener, true, 3);
    sys::set_time_limit(listener, libc::SO_RCVTIMEO, 2000);
    sys::fcntl(listener, libc::F_SETFL, libc::O_NONBLOCK);
    let far = n.called(address);
    n.until("poll", listener, libc::POLLIN);
    let fd = sys::accept(listener).descriptor();
    for (what, level, name) in [
        ("SO_KEEPALIVE", SOCKET, libc::SO_KEEPALIVE),
        ("TCP_NODELAY", TCP, libc::TCP_NODELAY),
        ("TCP_KEEPIDLE", TCP, libc::TCP_KEEPIDLE),
        ("SO_OOBINLINE", SOCKET, libc::SO_OOBINLINE),
        ("SO_REUSEADDR", SOCKET, libc::SO_REUSEADDR),
        ("SO_PRIORITY", SOCKET, libc::SO_PRIORITY),
        ("SO_SNDBUF", SOCKET, libc::SO_SNDBUF),
        ("SO_RCVBUF", SOCKET, libc::SO_RCVBUF),
        ("SO_ACCEPTCONN", SOCKET, libc::SO_ACCEPTCONN),
    ] {
        n.say(what, sys::get(fd, level, name));
    }
    for name in [libc::SO_LINGER, libc::SO_RCVTIMEO] {
        let mut room = [0; 16];
        let (answer, length) = sys::get_octets(fd, SOCKET, name, &mut room);
        n.say("octets", format!("{answer} {length} {room:?}"));
    }
    n.say("F_GETFL", sys::fcntl(fd, libc::F_GETFL, 0));
    n.say("F_GETFD", sys::fcntl(fd, libc::F_GETFD, 0));
    n.hear("send", &format!("send {} x", far.0));
    n.say("recv", received(fd, 10, 0));
}

/// Reading an option does not clear a pending error.
fn error_kept(n: &mut Near) {
    let (fd, far) = n.connected();
    n.hear("reset", &format!("reset {}", far.0));
    n.until("poll", fd, libc::POLLIN);
    n.say("SO_TYPE", sys::get(fd, SOCKET, libc::SO_TYPE));
    n.say("TCP_NODELAY", sys::get(fd, TCP, libc::TCP_NODELAY));
    n.pending_error("SO_ERROR", fd);
}
