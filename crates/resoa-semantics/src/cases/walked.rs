//! Statements of socket(2), socket(7), tcp(7), ip(7) and ipv6(7) that no other file covers.

use super::{call, cases};
use crate::near::Near;
use crate::sys;

cases! {
    "C30" One: types_of_sockets, flags_of_types;
    "C30" Both: other_protocols;
    "C50" Both: no_number_left;
    "C39" Both: options_of_sockets, options_of_sockets_set, options_of_tcp, options_of_tcp_set;
    "C39" One: options_of_ip, options_of_ip_set;
    "C39" Six: options_of_ipv6, options_of_ipv6_set;
    "C39" Six: not_carried;
    "C30" One: types_of_other_families, multipath;
    "C39" Both: no_check;
}

const SOCKET: i32 = libc::SOL_SOCKET;
const TCP: i32 = libc::IPPROTO_TCP;

/// Gives up all privileges for good. An ordinary program must not be able to do what the server
/// can.
fn as_anybody() {
    const VERSION_3: u32 = 0x2008_0522;
    let header = [VERSION_3, 0];
    let none = [0_u32; 6];
    // SAFETY: both structures have the size of this version.
    unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), none.as_ptr()) };
}

fn types_of_sockets(n: &mut Near) {
    as_anybody();
    for family in [libc::AF_INET, libc::AF_INET6] {
        for kind in [0, 4, 5, 6, 7, 8, 9, 11, 12, 15, -1, 16, 0x100, i32::MIN] {
            n.say(&format!("type {kind} of {family}"), sys::socket(family, kind, 0));
        }
        for kind in [0, 4, 5, 11, -1] {
            for protocol in [6, 17, 263, -1] {
                n.say(
                    &format!("type {kind} and protocol {protocol} of {family}"),
                    sys::socket(family, kind, protocol),
                );
            }
        }
    }
    for family in [-1, 46, 99, i32::MAX] {
        n.say(&format!("family {family}"), sys::socket(family, libc::SOCK_STREAM, 0));
    }
    for kind in [97, 98, 99, 106] {
        n.say(&format!("type {kind}"), sys::socket(libc::AF_INET, kind, 0));
    }
}

fn types_of_other_families(n: &mut Near) {
    for family in [-1, 46, 99, i32::MAX] {
        n.say(&format!("family {family}, and no type"), sys::socket(family, 97, 0));
    }
}

fn multipath(n: &mut Near) {
    n.say("made", sys::socket(libc::AF_INET, libc::SOCK_STREAM, 262).0.is_ok());
}

/// Flags of the resulting file descriptor.
fn flags_of_types(n: &mut Near) {
    for flags in [0, libc::SOCK_NONBLOCK, libc::SOCK_CLOEXEC, libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC] {
        let fd = sys::socket(libc::AF_INET, libc::SOCK_DGRAM | flags, 0).descriptor();
        n.say("F_GETFL", sys::fcntl(fd, libc::F_GETFL, 0));
        n.say("F_GETFD", sys::fcntl(fd, libc::F_GETFD, 0));
        n.say("SO_TYPE", sys::get(fd, SOCKET, libc::SO_TYPE));
    }
}

fn other_protocols(n: &mut Near) {
    as_anybody();
    let family = n.family;
    for (kind, name) in [(libc::SOCK_STREAM, "stream"), (libc::SOCK_DGRAM, "datagrams")] {
        for protocol in [0, 1, 2, 6, 17, 33, 41, 58, 132, 136, 255, 256, 263, -1] {
            let made = sys::socket(family, kind, protocol);
            n.say(
                &format!("protocol {protocol}, {name}"),
                made.0.map_or_else(crate::names::errno, |_| "made".into()),
            );
        }
    }
}

/// A call that creates no file descriptor needs no free number.
fn no_number_left(n: &mut Near) {
    let (connected, fresh, datagram) = (n.connected().0, n.stream(), n.datagram());
    let (listener, address) = n.listener(4);
    let bound = n.stream();
    let _far = n.called(address);
    let to = n.closed_port();
    // SAFETY: all zeros is a value of this type.
    let mut limit: libc::rlimit = unsafe { std::mem::zeroed() };
    call!(getrlimit(libc::RLIMIT_NOFILE, &raw mut limit));
    // Lower the limit to the open descriptors.
    let most = call!(dup(0)).descriptor();
    sys::close(most);
    limit.rlim_cur = most as u64;
    n.say("setrlimit", call!(setrlimit(libc::RLIMIT_NOFILE, &raw const limit)));
    n.say("socket", sys::socket(n.family, libc::SOCK_STREAM, 0));
    n.say("accept", sys::accept(listener));
    n.name("getsockname", sys::getsockname(connected), 0);
    n.name("getpeername", sys::getpeername(connected), 0);
    n.say("getsockopt", sys::get(connected, SOCKET, libc::SO_KEEPALIVE));
    n.say("setsockopt", sys::set(connected, SOCKET, libc::SO_KEEPALIVE, 1));
    n.say("SO_ERROR", sys::get(connected, SOCKET, libc::SO_ERROR));
    n.say("TIOCOUTQ", sys::ioctl(connected, libc::TIOCOUTQ, &mut 0));
    n.say("bind", sys::bind(bound, n.any(0)));
    n.say("listen", sys::listen(bound, 1));
    n.say("connect", sys::connect(fresh, to));
    n.say("connect of datagrams", sys::connect(datagram, to));
    n.say("shutdown", sys::shutdown(connected, libc::SHUT_RDWR));
    n.say("getrlimit", call!(getrlimit(libc::RLIMIT_NOFILE, &raw mut limit)));
    n.say("as before", limit.rlim_cur == most as u64);
    limit.rlim_cur = limit.rlim_max;
    call!(setrlimit(libc::RLIMIT_NOFILE, &raw const limit));
    n.say("accept then", sys::accept(listener).0.is_ok());
}

/// Options of one level by their numbers: those that are read, and those that are set.
struct Level {
    number: i32,
    last: i32,
    /// Options that are not transferred. [`not_carried`] records their results.
    not_read: &'static [i32],
    not_set: &'static [i32],
}

const SOCKETS: Level = Level {
    number: SOCKET,
    last: 83,
    not_read: &[26, 57, 59, 66, 67, 71, 77],
    not_set: &[25, 26, 37, 40, 41, 43, 44, 46, 50, 51, 52, 53, 60, 61, 62, 65, 66, 67, 68, 73, 75, 80, 82],
};
const OF_TCP: Level = Level {
    number: TCP,
    last: 48,
    not_read: &[20, 21, 29, 35, 42],
    not_set: &[14, 21, 22, 32, 36, 37, 44, 45, 46],
};
/// Setting a group membership needs more than a number.
const OF_IP: Level = Level {
    number: libc::IPPROTO_IP,
    last: 60,
    not_read: &[9, 41, 48],
    not_set: &[4, 5, 6, 7, 15, 18, 23, 24, 25, 26, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 50, 51],
};
const OF_IPV6: Level = Level {
    number: libc::IPPROTO_IPV6,
    last: 81,
    not_read: &[6, 32, 48, 54, 55, 57, 59, 61, 64, 65, 68, 69, 80],
    not_set: &[
        2, 3, 4, 5, 6, 8, 11, 20, 21, 24, 27, 28, 30, 31, 32, 33, 42, 43, 44, 45, 46, 47, 48, 50, 53, 56, 57,
        58, 60, 64, 65, 76, 77, 78,
    ],
};
/// Values of the machine, of the moment, or of different sizes: only their length is recorded.
const MEASURED: [i32; 7] = [7, 8, 28, 31, 49, 55, 56];

fn read(n: &mut Near, what: &str, fd: i32, level: &Level, name: i32) {
    let mut room = [0; 4];
    let (answer, length) = sys::get_octets(fd, level.number, name, &mut room);
    let is_measured = level.number != SOCKET || MEASURED.contains(&name);
    n.say(
        &format!("{what} {name}"),
        match answer.0 {
            Ok(_) if is_measured => format!("{length} octets"),
            Ok(_) => format!("{length} octets, {}", i32::from_ne_bytes(room)),
            Err(number) => crate::names::errno(number),
        },
    );
}

fn set(n: &mut Near, level: &Level, name: i32) {
    let fd = n.stream();
    n.say(&format!("{name}"), sys::set(fd, level.number, name, 1));
    sys::close(fd);
}

/// Records all options of a level, on a fresh stream and on a connected one.
fn all_read(n: &mut Near, level: &Level) {
    as_anybody();
    for (what, fd) in [("fresh", n.stream()), ("connected", n.connected().0)] {
        for name in (1..=level.last).filter(|name| !level.not_read.contains(name)) {
            read(n, what, fd, level, name);
        }
    }
}

/// Records the result of setting each option to 1, each on a stream of its own.
fn all_set(n: &mut Near, level: &Level) {
    as_anybody();
    for name in (1..=level.last).filter(|name| !level.not_set.contains(name)) {
        set(n, level, name);
    }
}

fn options_of_sockets(n: &mut Near) {
    all_read(n, &SOCKETS);
}

fn options_of_sockets_set(n: &mut Near) {
    all_set(n, &SOCKETS);
}

fn options_of_tcp(n: &mut Near) {
    all_read(n, &OF_TCP);
}

fn options_of_tcp_set(n: &mut Near) {
    all_set(n, &OF_TCP);
}

fn options_of_ip(n: &mut Near) {
    all_read(n, &OF_IP);
}

fn options_of_ip_set(n: &mut Near) {
    all_set(n, &OF_IP);
}

fn options_of_ipv6(n: &mut Near) {
    all_read(n, &OF_IPV6);
}

fn options_of_ipv6_set(n: &mut Near) {
    all_set(n, &OF_IPV6);
}

fn not_carried(n: &mut Near) {
    as_anybody();
    for level in [&SOCKETS, &OF_TCP, &OF_IP, &OF_IPV6] {
        let fd = n.stream();
        for name in level.not_read {
            read(n, &format!("level {}", level.number), fd, level, *name);
        }
        n.say("level", level.number);
        for name in level.not_set {
            set(n, level, *name);
        }
    }
}

fn no_check(n: &mut Near) {
    for fd in [n.stream(), n.datagram(), n.connected().0] {
        n.say("at first", sys::get(fd, SOCKET, libc::SO_NO_CHECK));
        n.say("set", sys::set(fd, SOCKET, libc::SO_NO_CHECK, 1));
        n.say("is", sys::get(fd, SOCKET, libc::SO_NO_CHECK));
    }
}
