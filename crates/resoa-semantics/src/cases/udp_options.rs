//! Options and ioctl requests of datagram sockets, by the statements of socket(7), udp(7), ip(7)
//! and ipv6(7).

use super::cases;
use super::datagrams::{bound, far};
use crate::near::Near;
use crate::sys;
use std::time::{SystemTime, UNIX_EPOCH};

cases! {
    "C91" Both: time_of_last, time_of_a_stream, mark_of_urgent_data, waiting_octets;
    "C39" Both: options_of_tcp, options_of_udp, options_of_levels, options_of_ip;
}

const SIOCGSTAMP: u64 = 0x8906;
const SIOCGSTAMPNS: u64 = 0x8907;

fn stamp(n: &mut Near, what: &str, fd: i32, request: u64) {
    let mut value = [0_i64; 2];
    let answer = sys::call!(ioctl(fd, request as _, value.as_mut_ptr()));
    n.say(what, answer);
    if answer.0.is_ok() {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs().cast_signed();
        n.say("is now", now - 20 <= value[0] && value[0] <= now);
        n.say("in a second", (0..1_000_000_000).contains(&value[1]));
    }
}

fn time_of_last(n: &mut Near) {
    let ((far, _), (fd, own)) = (far(n), bound(n));
    stamp(n, "SIOCGSTAMP of a fresh one", fd, SIOCGSTAMP);
    stamp(n, "SIOCGSTAMPNS of a fresh one", fd, SIOCGSTAMPNS);
    n.hear("send_to", &format!("send_to {} {own} hello", far.0));
    n.receive("recv", fd, 20, 0);
    stamp(n, "SIOCGSTAMP", fd, SIOCGSTAMP);
    stamp(n, "SIOCGSTAMPNS", fd, SIOCGSTAMPNS);
    n.say("nowhere", sys::call!(ioctl(fd, SIOCGSTAMP as _, std::ptr::without_provenance_mut::<u8>(8))));
}

fn time_of_a_stream(n: &mut Near) {
    let fresh = n.stream();
    stamp(n, "SIOCGSTAMP of a fresh one", fresh, SIOCGSTAMP);
    let (fd, far) = n.connected();
    n.hear("send", &format!("send {} hello", far.0));
    n.receive("recv", fd, 20, 0);
    stamp(n, "SIOCGSTAMP", fd, SIOCGSTAMP);
    stamp(n, "SIOCGSTAMPNS", fd, SIOCGSTAMPNS);
}

fn mark_of_urgent_data(n: &mut Near) {
    let (fd, mut mark) = (n.datagram(), 7);
    n.say("SIOCATMARK", sys::ioctl(fd, 0x8905, &mut mark));
    n.say("is", mark);
}

fn waiting_octets(n: &mut Near) {
    let ((far, to), (fd, own)) = (far(n), bound(n));
    let mut count = 7;
    n.say("FIONREAD", sys::ioctl(fd, libc::FIONREAD, &mut count));
    n.say("is", count);
    n.hear("send_to", &format!("send_to {} {own} hello", far.0));
    n.hear("send_to", &format!("send_to {} {own} longer", far.0));
    n.until("poll", fd, libc::POLLIN);
    n.say("FIONREAD", sys::ioctl(fd, libc::FIONREAD, &mut count));
    n.say("is", count);
    n.say("sendto", sys::send_to(fd, b"x", 0, to));
    Near::settle();
    n.say("TIOCOUTQ", sys::ioctl(fd, libc::TIOCOUTQ, &mut count));
    n.say("is", count);
}

fn options_of_tcp(n: &mut Near) {
    let fd = n.datagram();
    for name in [
        libc::TCP_NODELAY,
        libc::TCP_MAXSEG,
        libc::TCP_CORK,
        libc::TCP_INFO,
        libc::TCP_CONGESTION,
        libc::TCP_FASTOPEN,
        libc::TCP_ULP,
        libc::TCP_REPAIR,
        99,
    ] {
        n.say(&format!("get {name}"), sys::get(fd, libc::IPPROTO_TCP, name));
        n.say(&format!("set {name}"), sys::set(fd, libc::IPPROTO_TCP, name, 1));
    }
    n.say("TCP_CONGESTION", sys::set_octets(fd, libc::IPPROTO_TCP, libc::TCP_CONGESTION, b"reno"));
    n.say("none", sys::set_octets(fd, libc::IPPROTO_TCP, libc::TCP_CONGESTION, b"no such one"));
}

fn options_of_udp(n: &mut Near) {
    let fd = n.datagram();
    for name in [1, libc::UDP_SEGMENT, libc::UDP_GRO, 99] {
        n.say(&format!("get {name}"), sys::get(fd, libc::SOL_UDP, name));
        n.say(&format!("set {name}"), sys::set(fd, libc::SOL_UDP, name, 1));
        n.say("of one octet", sys::set_octets(fd, libc::SOL_UDP, name, &[1]));
        n.say(&format!("get {name}"), sys::get(fd, libc::SOL_UDP, name));
    }
    let stream = n.stream();
    n.say("of a stream", sys::get(stream, libc::SOL_UDP, 1));
    n.say("of a stream", sys::set(stream, libc::SOL_UDP, 1, 1));
}

fn options_of_levels(n: &mut Near) {
    let fd = n.datagram();
    for level in [libc::IPPROTO_RAW, libc::IPPROTO_UDPLITE, libc::IPPROTO_ICMPV6, 200, -1] {
        n.say(&format!("get of level {level}"), sys::get(fd, level, 1));
        n.say(&format!("set of level {level}"), sys::set(fd, level, 1, 1));
    }
}

fn options_of_ip(n: &mut Near) {
    let fd = n.datagram();
    let (level, names): (_, &[i32]) = if n.family == libc::AF_INET6 {
        (
            libc::IPPROTO_IPV6,
            &[
                libc::IPV6_UNICAST_HOPS,
                libc::IPV6_TCLASS,
                libc::IPV6_V6ONLY,
                libc::IPV6_RECVPKTINFO,
                libc::IPV6_RECVHOPLIMIT,
                libc::IPV6_RECVTCLASS,
                libc::IPV6_RECVERR,
                libc::IPV6_DONTFRAG,
            ],
        )
    } else {
        (
            libc::IPPROTO_IP,
            &[
                libc::IP_TOS,
                libc::IP_TTL,
                libc::IP_PKTINFO,
                libc::IP_RECVTTL,
                libc::IP_RECVTOS,
                libc::IP_RECVORIGDSTADDR,
                libc::IP_RECVERR,
            ],
        )
    };
    for name in names {
        n.say(&format!("option {name}"), sys::get(fd, level, *name));
        for value in [1, 0, 255, 256, -1, -2] {
            n.say(&format!("set {value}"), sys::set(fd, level, *name, value));
            n.say("is", sys::get(fd, level, *name));
        }
        n.say("of one octet", sys::set_octets(fd, level, *name, &[1]));
        n.say("is", sys::get(fd, level, *name));
        n.say("of none", sys::set_octets(fd, level, *name, &[]));
    }
}
