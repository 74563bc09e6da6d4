//! IPv4 over IPv6 sockets: mapped addresses, options of both versions, and IPV6_ADDRFORM (ipv6(7),
//! RFC 3493 3.7).

use super::cases;
use crate::near::Near;
use crate::sys;
use std::net::{IpAddr, SocketAddr};

cases! {
    "C35 C38" Six: accepted, bound_listener, connected_from_bound, both_versions, only_version_6_binds, only_version_6_listens;
    "C35" Six: foreign_bind, broadcast_bind, any_of_version_4, wildcard, refused_nonblocking;
    "C39" Six: options_of_version_4, options_of_version_6, options_when_connected;
    "C39" Six: other_form, other_form_fresh, other_form_of_version_6, other_form_of_a_listener, other_form_of_an_accepted;
}

const IP: i32 = libc::IPPROTO_IP;
const IPV6: i32 = libc::IPPROTO_IPV6;

/// Maps an IPv4 address to IPv6.
fn as_six(address: SocketAddr) -> SocketAddr {
    let IpAddr::V4(ip) = address.ip() else { unreachable!("version 4") };
    (ip.to_ipv6_mapped(), address.port()).into()
}

/// Returns this host's IPv4 address.
fn own(n: &mut Near, port: u16) -> SocketAddr {
    n.family = libc::AF_INET;
    let own = n.own(port);
    n.family = libc::AF_INET6;
    own
}

/// Returns a socket that is connected to the far host by IPv4.
fn connected(n: &mut Near) -> i32 {
    let (fd, (listener, to)) = (n.stream(), n.far.listen(libc::AF_INET, 1));
    n.say("connect", sys::connect(fd, as_six(to)));
    n.far.accept(listener);
    fd
}

fn names(n: &mut Near, fd: i32, port: u16) {
    n.name("getsockname", sys::getsockname(fd), port);
    n.name("getpeername", sys::getpeername(fd), 0);
    n.say("SO_DOMAIN", sys::get(fd, libc::SOL_SOCKET, libc::SO_DOMAIN));
}

/// Connects from the far host by IPv4. Returns the handle of the connection, or the error.
fn call(n: &mut Near, port: u16) -> String {
    let to = own(n, port);
    let mut answer = String::new();
    // `listen` may return before a server has received it.
    for _ in 0..3 {
        answer = n.far.ask(&format!("connect 4 {to}"));
        if answer.parse::<u32>().is_ok() {
            break;
        }
        Near::settle();
    }
    answer
}

fn accepted(n: &mut Near) {
    let (listener, address) = n.listener(4);
    let far = call(n, address.port());
    n.until("poll", listener, libc::POLLIN);
    let (answer, peer) = sys::accept_from(listener, 0);
    n.name("accept", Ok(peer), 0);
    let fd = answer.descriptor();
    names(n, fd, address.port());
    n.say("send", sys::send(fd, b"hello", 0));
    n.hear("recv", &format!("recv {far} 5"));
}

fn bound_listener(n: &mut Near) {
    let fd = n.stream();
    let address = as_six(own(n, 0));
    n.say("bind", sys::bind(fd, address));
    n.say("listen", sys::listen(fd, 4));
    n.name("getsockname", sys::getsockname(fd), 0);
    let port = sys::getsockname(fd).ok().flatten().map_or(0, |name| name.port());
    let far = call(n, port);
    n.say("by version 4", far.parse::<u32>().is_ok());
    n.until("poll", fd, libc::POLLIN);
    let accepted = sys::accept(fd).descriptor();
    names(n, accepted, port);
    let six = n.own(port);
    n.hear("by version 6", &format!("connect 6 {six}"));
}

fn connected_from_bound(n: &mut Near) {
    for to_six in [false, true] {
        let fd = n.stream();
        let address = if to_six { n.own(0) } else { as_six(own(n, 0)) };
        n.say("bind", sys::bind(fd, address));
        let (_, to) = n.far.listen(libc::AF_INET, 1);
        n.say("connect", sys::connect(fd, as_six(to)));
        if !to_six {
            names(n, fd, 0);
        }
    }
}

/// A port of one version is in use for the other, unless the socket is for its own version only.
fn both_versions(n: &mut Near) {
    for only in [0, 1] {
        let (six, four) = (n.stream(), sys::socket(libc::AF_INET, libc::SOCK_STREAM, 0).descriptor());
        n.say("IPV6_V6ONLY", sys::set(six, IPV6, libc::IPV6_V6ONLY, only));
        n.say("bind of version 6", sys::bind(six, n.any(0)));
        n.say("listen", sys::listen(six, 1));
        let port = sys::getsockname(six).ok().flatten().map_or(0, |name| name.port());
        n.say("bind of version 4", sys::bind(four, ([0, 0, 0, 0], port).into()));
    }
}

fn only_version_6_binds(n: &mut Near) {
    let fd = n.stream();
    n.say("IPV6_V6ONLY", sys::set(fd, IPV6, libc::IPV6_V6ONLY, 1));
    let address = as_six(own(n, 0));
    n.say("bind", sys::bind(fd, address));
    let fd = n.stream();
    n.say("bind without", sys::bind(fd, address));
    n.say("IPV6_V6ONLY then", sys::set(fd, IPV6, libc::IPV6_V6ONLY, 1));
}

fn only_version_6_listens(n: &mut Near) {
    let fd = n.stream();
    n.say("IPV6_V6ONLY", sys::set(fd, IPV6, libc::IPV6_V6ONLY, 1));
    n.say("listen", sys::listen(fd, 1));
    let port = sys::getsockname(fd).ok().flatten().map_or(0, |name| name.port());
    let four = call(n, port);
    n.say("by version 4", four);
    let address = n.own(port);
    n.called(address);
    n.say("accept", sys::accept(fd).0.is_ok());
}

fn foreign_bind(n: &mut Near) {
    let fd = n.stream();
    n.say("bind", sys::bind(fd, "[::ffff:192.0.2.77]:0".parse().expect("an address")));
}

fn broadcast_bind(n: &mut Near) {
    let fd = n.stream();
    n.say("bind", sys::bind(fd, "[::ffff:255.255.255.255]:0".parse().expect("an address")));
}

fn any_of_version_4(n: &mut Near) {
    let fd = n.stream();
    n.say("bind", sys::bind(fd, "[::ffff:0.0.0.0]:0".parse().expect("an address")));
    n.say("listen", sys::listen(fd, 1));
    n.name("getsockname", sys::getsockname(fd), 0);
    let port = sys::getsockname(fd).ok().flatten().map_or(0, |name| name.port());
    let four = call(n, port);
    n.say("by version 4", four.parse::<u32>().is_ok());
    let six = n.own(port);
    n.hear("by version 6", &format!("connect 6 {six}"));
}

/// The unspecified address stands for this host.
fn wildcard(n: &mut Near) {
    let (_, address) = n.listener(4);
    for to in ["[::ffff:0.0.0.0]:0", "[::]:0", "[::ffff:127.0.0.1]:0"] {
        let mut to: SocketAddr = to.parse().expect("an address");
        to.set_port(address.port());
        let fd = n.stream();
        n.say("connect", sys::connect(fd, to));
        n.name("getpeername", sys::getpeername(fd), address.port());
    }
}

fn refused_nonblocking(n: &mut Near) {
    n.family = libc::AF_INET;
    let to = n.closed_port();
    n.family = libc::AF_INET6;
    let fd = n.nonblocking();
    n.say("connect", sys::connect(fd, as_six(to)));
    n.until("poll", fd, libc::POLLOUT);
    n.pending_error("SO_ERROR", fd);
}

/// Records the value of each option, the result of setting it, and its value after that.
fn try_all(n: &mut Near, fd: i32, level: i32, options: &[(&str, i32, i32)]) {
    for (what, name, value) in options {
        n.say(&format!("{what} at first"), sys::get(fd, level, *name));
        n.say(&format!("{what} set"), sys::set(fd, level, *name, *value));
        n.say(&format!("{what} is"), sys::get(fd, level, *name));
    }
}

const OF_VERSION_4: &[(&str, i32, i32)] = &[
    ("IP_TOS", libc::IP_TOS, 0x10),
    ("IP_TTL", libc::IP_TTL, 44),
    ("IP_TTL of 0", libc::IP_TTL, 0),
    ("IP_MTU_DISCOVER", libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_DO),
    ("IP_RECVERR", libc::IP_RECVERR, 1),
    ("unknown", 9999, 1),
];
const OF_VERSION_6: &[(&str, i32, i32)] = &[
    ("IPV6_TCLASS", libc::IPV6_TCLASS, 0x10),
    ("IPV6_UNICAST_HOPS", libc::IPV6_UNICAST_HOPS, 44),
    ("IPV6_MTU_DISCOVER", libc::IPV6_MTU_DISCOVER, libc::IP_PMTUDISC_DO),
    ("IPV6_RECVERR", libc::IPV6_RECVERR, 1),
    ("unknown", 9999, 1),
];

fn options_of_version_4(n: &mut Near) {
    let (stream, datagram) = (n.stream(), n.datagram());
    for fd in [stream, datagram] {
        try_all(n, fd, IP, OF_VERSION_4);
    }
}

fn options_of_version_6(n: &mut Near) {
    let four = sys::socket(libc::AF_INET, libc::SOCK_STREAM, 0).descriptor();
    try_all(n, four, IPV6, OF_VERSION_6);
}

fn options_when_connected(n: &mut Near) {
    let fd = connected(n);
    try_all(n, fd, IP, OF_VERSION_4);
    try_all(n, fd, IPV6, OF_VERSION_6);
    n.say("IP_MTU", sys::get(fd, IP, libc::IP_MTU));
    n.say("IPV6_MTU", sys::get(fd, IPV6, libc::IPV6_MTU));
    let six = n.connected().0;
    n.say("IP_MTU of version 6", sys::get(six, IP, libc::IP_MTU));
    n.say("IPV6_MTU of version 6", sys::get(six, IPV6, libc::IPV6_MTU));
}

fn form(n: &mut Near, what: &str, fd: i32) {
    n.say(&format!("{what} is"), sys::get(fd, IPV6, libc::IPV6_ADDRFORM));
    n.say(&format!("{what} to 6"), sys::set(fd, IPV6, libc::IPV6_ADDRFORM, libc::AF_INET6));
    n.say(&format!("{what} to 7"), sys::set(fd, IPV6, libc::IPV6_ADDRFORM, 7));
    n.say(&format!("{what} short"), sys::set_octets(fd, IPV6, libc::IPV6_ADDRFORM, &[2, 0]));
    n.say(&format!("{what} to 4"), sys::set(fd, IPV6, libc::IPV6_ADDRFORM, libc::AF_INET));
    n.say(&format!("{what} is then"), sys::get(fd, IPV6, libc::IPV6_ADDRFORM));
}

fn other_form(n: &mut Near) {
    let fd = connected(n);
    form(n, "connected", fd);
    names(n, fd, 0);
    n.say("IPV6_TCLASS", sys::get(fd, IPV6, libc::IPV6_TCLASS));
    n.say("IP_TTL", sys::set(fd, IP, libc::IP_TTL, 44));
    n.say("send", sys::send(fd, b"hello", 0));
    n.say("close", sys::close(fd));
}

fn other_form_fresh(n: &mut Near) {
    let (stream, datagram) = (n.stream(), n.datagram());
    form(n, "stream", stream);
    form(n, "datagrams", datagram);
    let four = sys::socket(libc::AF_INET, libc::SOCK_STREAM, 0).descriptor();
    form(n, "version 4", four);
}

fn other_form_of_version_6(n: &mut Near) {
    let fd = n.connected().0;
    form(n, "connected", fd);
    names(n, fd, 0);
}

fn other_form_of_a_listener(n: &mut Near) {
    let fd = n.listener(1).0;
    form(n, "listener", fd);
}

fn other_form_of_an_accepted(n: &mut Near) {
    let (listener, address) = n.listener(4);
    let far = call(n, address.port());
    n.until("poll", listener, libc::POLLIN);
    let fd = sys::accept(listener).descriptor();
    form(n, "accepted", fd);
    names(n, fd, address.port());
    n.say("send", sys::send(fd, b"hello", 0));
    n.hear("recv", &format!("recv {far} 5"));
}
