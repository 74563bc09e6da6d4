//! Control messages of datagrams (RFC 3542) that `sendmsg` sends and `recvmsg` receives.

use super::cases;
use super::datagrams::{bound, far};
use crate::control::{self, Control, list};
use crate::far::Handle;
use crate::near::Near;
use crate::sys;
use std::net::IpAddr;
use std::time::{SystemTime, UNIX_EPOCH};

cases! {
    "C91" Both: told, told_nothing, told_to_a_connected_one, said, said_by_a_connected_one, answered_from, options_read_back;
    "C91" Both: room_is_short, peeked, many, lengths_that_are_none, time_stamped, time_stamped_another_way, refused;
    "C91" One: type_of_service_in_one_octet;
    "C91" Six: of_version_4;
}

const IP: i32 = libc::IPPROTO_IP;
const IPV6: i32 = libc::IPPROTO_IPV6;

/// Options that request hop limit, traffic class and address, and the types of their control
/// messages.
struct Words {
    level: i32,
    /// Option and type.
    hops: (i32, i32),
    class: (i32, i32),
    address: (i32, i32),
}

fn words(family: i32) -> Words {
    if family == libc::AF_INET6 {
        Words {
            level: IPV6,
            hops: (libc::IPV6_RECVHOPLIMIT, libc::IPV6_HOPLIMIT),
            class: (libc::IPV6_RECVTCLASS, libc::IPV6_TCLASS),
            address: (libc::IPV6_RECVPKTINFO, libc::IPV6_PKTINFO),
        }
    } else {
        Words {
            level: IP,
            hops: (libc::IP_RECVTTL, libc::IP_TTL),
            class: (libc::IP_RECVTOS, libc::IP_TOS),
            address: (libc::IP_PKTINFO, libc::IP_PKTINFO),
        }
    }
}

/// Records the result of `recvmsg`. Of a datagram's address it records only the owner, because
/// interfaces have different indices.
fn receive(n: &mut Near, what: &str, fd: i32, room: usize, flags: i32) -> Vec<Control> {
    let received = control::receive(fd, room, flags);
    n.say(what, format!("{} {:?}", received.answer, received.text));
    n.say("flags", received.flags & (libc::MSG_TRUNC | libc::MSG_CTRUNC));
    n.say("octets of control", received.length);
    let own = match n.own(0).ip() {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    for mut control in received.controls.clone() {
        if let Some(at) = control.value.windows(own.len()).position(|part| part == own) {
            control.value.drain(at..at + own.len());
            if control.level == IP {
                // The destination and the address to answer from are the same.
                n.say("the same twice", control.value.windows(own.len()).any(|part| part == own));
                control.value.truncate(4);
            }
            let interface = control.value.first_chunk().map_or(0, |octets| i32::from_ne_bytes(*octets));
            n.say(
                "near address",
                format!("{}/{}, of an interface: {}", control.level, control.kind, interface != 0),
            );
        } else {
            n.say("beside", control);
        }
    }
    received.controls
}

fn all_wanted(n: &mut Near, fd: i32) {
    let words = words(n.family);
    for (option, _) in [words.hops, words.class, words.address] {
        n.say("option", sys::set(fd, words.level, option, 1));
    }
}

fn far_sends(n: &mut Near, (far, own): (Handle, std::net::SocketAddr), text: &str) {
    n.hear("send_to", &format!("send_to {} {own} {text}", far.0));
}

fn told(n: &mut Near) {
    let ((far, _), (fd, own)) = (far(n), bound(n));
    all_wanted(n, fd);
    far_sends(n, (far, own), "hello");
    receive(n, "recvmsg", fd, 200, 0);
    let words = words(n.family);
    n.say("off", sys::set(fd, words.level, words.hops.0, 0));
    n.say("off", sys::set(fd, words.level, words.address.0, 0));
    far_sends(n, (far, own), "again");
    receive(n, "recvmsg", fd, 200, 0);
    // A call without a control buffer gets no control messages.
    far_sends(n, (far, own), "plainly");
    super::datagrams::receive(n, "recvfrom", fd, 20, 0, 0);
    far_sends(n, (far, own), "longer than there is room for");
    super::datagrams::receive(n, "recvfrom", fd, 6, 0, 0);
    far_sends(n, (far, own), "counted");
    n.until("poll", fd, libc::POLLIN);
    let mut count = 0;
    n.say("FIONREAD", sys::ioctl(fd, libc::FIONREAD, &mut count));
    n.say("is", count);
}

fn told_nothing(n: &mut Near) {
    let ((far, _), (fd, own)) = (far(n), bound(n));
    far_sends(n, (far, own), "hello");
    receive(n, "recvmsg", fd, 200, 0);
    far_sends(n, (far, own), "hello");
    receive(n, "recvmsg without a place", fd, 0, 0);
}

fn told_to_a_connected_one(n: &mut Near) {
    let ((far, to), (fd, own)) = (far(n), bound(n));
    n.say("connect", sys::connect(fd, to));
    all_wanted(n, fd);
    far_sends(n, (far, own), "hello");
    receive(n, "recvmsg", fd, 200, 0);
    n.say("send", sys::send(fd, b"plainly", 0));
    let heard = n.far.ask(&format!("recv_from {}", far.0));
    n.say("far", heard.replace(&own.to_string(), "near"));
    n.say("connect to nobody", sys::disconnect(fd));
    // Disconnecting released the port, because the program had not requested it by number. The next
    // datagram gets another one.
    n.name("getsockname", sys::getsockname(fd), 0);
    n.say("sendto", sys::send_to(fd, b"anew", 0, to));
    let own = n.own(sys::getsockname(fd).ok().flatten().map_or(0, |name| name.port()));
    let heard = n.far.ask(&format!("recv_from {}", far.0));
    n.say("far", heard.replace(&own.to_string(), "near"));
    far_sends(n, (far, own), "again");
    receive(n, "recvmsg", fd, 200, 0);
}

/// Records the datagram that the far host receives, with its control messages.
fn far_hears(n: &mut Near, far: Handle) {
    n.hear("recv_message", &format!("recv_message {}", far.0));
}

/// Makes the far host request hop limits and classes.
fn far_wants(n: &mut Near, far: Handle) {
    let words = words(n.family);
    for (option, _) in [words.hops, words.class] {
        n.hear("option", &format!("set {} {} {option} 1", far.0, words.level));
    }
}

fn said(n: &mut Near) {
    let ((far, to), fd) = (far(n), n.datagram());
    far_wants(n, far);
    let words = words(n.family);
    let hops = Control::number(words.level, words.hops.1, 9);
    let class = Control::number(words.level, words.class.1, 0x2e);
    n.say("hops", control::send(fd, b"one", Some(to), std::slice::from_ref(&hops)));
    far_hears(n, far);
    n.say("class", control::send(fd, b"two", Some(to), std::slice::from_ref(&class)));
    far_hears(n, far);
    n.say("both", control::send(fd, b"three", Some(to), &[class.clone(), hops]));
    far_hears(n, far);
    n.say(
        "twice",
        control::send(fd, b"four", Some(to), &[class, Control::number(words.level, words.class.1, 4)]),
    );
    far_hears(n, far);
    n.say("none", control::send(fd, b"five", Some(to), &[]));
    far_hears(n, far);
    // Control messages of another version, and of an unknown level.
    let (other, kind) =
        if n.family == libc::AF_INET6 { (IP, libc::IP_TTL) } else { (IPV6, libc::IPV6_HOPLIMIT) };
    let passed_over = [Control::number(other, kind, 7), Control::number(99, 1, 7)];
    n.say("passed over", control::send(fd, b"six", Some(to), &passed_over));
    far_hears(n, far);
    n.say(
        "descriptors",
        control::send(fd, b"seven", Some(to), &[Control::number(libc::SOL_SOCKET, libc::SCM_RIGHTS, 0)]),
    );
    far_hears(n, far);
}

fn said_by_a_connected_one(n: &mut Near) {
    let ((far, to), (other, to_other), fd) = (far(n), far(n), n.datagram());
    far_wants(n, far);
    far_wants(n, other);
    n.say("connect", sys::connect(fd, to));
    let words = words(n.family);
    let class = [Control::number(words.level, words.class.1, 0x2e)];
    n.say("send", sys::send(fd, b"before", 0));
    n.say("class", control::send(fd, b"beside", None, &class));
    n.say("send", sys::send(fd, b"behind", 0));
    for _ in 0..3 {
        far_hears(n, far);
    }
    n.say("class, to the peer", control::send(fd, b"peer", Some(to), &class));
    far_hears(n, far);
    n.say("class, to elsewhere", control::send(fd, b"elsewhere", Some(to_other), &class));
    far_hears(n, other);
}

/// A host with several addresses answers from the one that was asked this way.
fn answered_from(n: &mut Near) {
    let ((far, to), (fd, own)) = (far(n), bound(n));
    let words = words(n.family);
    n.say("option", sys::set(fd, words.level, words.address.0, 1));
    far_sends(n, (far, own), "question");
    let told = receive(n, "recvmsg", fd, 200, 0);
    n.say("sendmsg", control::send(fd, b"answer", Some(to), &told));
    let heard = n.far.ask(&format!("recv_from {}", far.0));
    n.say("far", heard.replace(&own.to_string(), "near"));
}

fn options_read_back(n: &mut Near) {
    let fd = n.datagram();
    let words = words(n.family);
    for (option, _) in [words.hops, words.class, words.address] {
        n.say("at first", sys::get(fd, words.level, option));
        n.say("set", sys::set(fd, words.level, option, 5));
        n.say("is", sys::get(fd, words.level, option));
    }
}

fn room_is_short(n: &mut Near) {
    let ((far, _), (fd, own)) = (far(n), bound(n));
    let words = words(n.family);
    n.say("option", sys::set(fd, words.level, words.hops.0, 1));
    n.say("option", sys::set(fd, words.level, words.class.0, 1));
    for room in [0, 15, 16, 18, 20, 23, 24, 32, 40, 44, 48] {
        far_sends(n, (far, own), "hello");
        receive(n, &format!("recvmsg with {room}"), fd, room, 0);
    }
}

fn peeked(n: &mut Near) {
    let ((far, _), (fd, own)) = (far(n), bound(n));
    all_wanted(n, fd);
    far_sends(n, (far, own), "hello");
    n.until("poll", fd, libc::POLLIN);
    receive(n, "peek", fd, 200, libc::MSG_PEEK);
    receive(n, "recvmsg", fd, 200, 0);
    receive(n, "recvmsg of nothing", fd, 200, libc::MSG_DONTWAIT);
}

/// Several datagrams, each with control messages of its own.
fn many(n: &mut Near) {
    let ((far, to), (fd, _)) = (far(n), bound(n));
    far_wants(n, far);
    let words = words(n.family);
    for class in [4, 8, 12] {
        let beside = [Control::number(words.level, words.class.1, class)];
        n.say("sendmsg", control::send(fd, b"x", Some(to), &beside));
    }
    for _ in 0..3 {
        far_hears(n, far);
    }
}

fn lengths_that_are_none(n: &mut Near) {
    let ((_, to), fd) = (far(n), n.datagram());
    let with_length = |length: usize| {
        let level = libc::SOL_SOCKET.to_ne_bytes();
        [&length.to_ne_bytes()[..], &level, &libc::SCM_RIGHTS.to_ne_bytes(), &[0; 8]].concat()
    };
    for length in [0, 15, 16, 20, 24, 25, usize::MAX] {
        n.say(&format!("{length} octets"), control::send_raw(fd, b"x", Some(to), &with_length(length)));
    }
    n.say("less than a header", control::send_raw(fd, b"x", Some(to), &[0; 15]));
}

fn stamp(n: &mut Near, option: i32) {
    let ((far, _), (fd, own)) = (far(n), bound(n));
    n.say("option", sys::set(fd, libc::SOL_SOCKET, option, 1));
    n.say("is", sys::get(fd, libc::SOL_SOCKET, option));
    far_sends(n, (far, own), "hello");
    let received = control::receive(fd, 200, 0);
    n.say(
        "recvmsg",
        format!("{} {:?}, {} octets of control", received.answer, received.text, received.length),
    );
    for control in &received.controls {
        let second = control.value.first_chunk().map_or(0, |octets| u64::from_ne_bytes(*octets));
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
        n.say("stamp", format!("{}/{} of {} octets", control.level, control.kind, control.value.len()));
        n.say("is now", now - 20 <= second && second <= now);
    }
    n.say("off", sys::set(fd, libc::SOL_SOCKET, option, 0));
    far_sends(n, (far, own), "hello");
    receive(n, "recvmsg", fd, 200, 0);
}

fn time_stamped(n: &mut Near) {
    stamp(n, libc::SO_TIMESTAMP);
}

fn time_stamped_another_way(n: &mut Near) {
    stamp(n, libc::SO_TIMESTAMPNS);
}

fn refused(n: &mut Near) {
    let ((_, to), fd) = (far(n), n.datagram());
    let words = words(n.family);
    let number = |kind, value| Control::number(words.level, kind, value);
    let mut tried = vec![
        number(words.hops.1, 256),
        number(words.hops.1, -2),
        number(words.class.1, 256),
        number(words.class.1, -2),
        Control::new(words.level, words.hops.1, &[9]),
        Control::new(words.level, words.class.1, &[9; 3]),
        Control::new(words.level, words.address.1, &[0; 11]),
        number(120, 1),
        Control::number(libc::SOL_SOCKET, 120, 1),
        Control::number(libc::SOL_SOCKET, libc::SCM_TXTIME, 1),
        Control::new(libc::SOL_UDP, 120, &[0; 2]),
    ];
    if n.family == libc::AF_INET6 {
        tried.extend([number(libc::IPV6_DONTFRAG, 2), number(libc::IPV6_DONTFRAG, 1)]);
    } else {
        tried.extend([number(words.hops.1, 0), Control::new(IP, libc::IP_PKTINFO, &[0; 13])]);
    }
    for control in tried {
        n.say(&list(std::slice::from_ref(&control)), control::send(fd, b"x", Some(to), &[control]));
    }
    let valid = number(words.class.1, 4);
    n.say("one of two", control::send(fd, b"x", Some(to), &[valid.clone(), number(120, 1)]));
    n.say("without a destination", control::send(fd, b"x", None, &[valid]));
}

fn type_of_service_in_one_octet(n: &mut Near) {
    let ((far, to), fd) = (far(n), n.datagram());
    far_wants(n, far);
    n.say("sendmsg", control::send(fd, b"x", Some(to), &[Control::new(IP, libc::IP_TOS, &[3])]));
    far_hears(n, far);
}

/// An IPv6 socket that exchanges datagrams with an IPv4 host.
fn of_version_4(n: &mut Near) {
    let (fd, own) = bound(n);
    for (level, option) in
        [(IPV6, libc::IPV6_RECVHOPLIMIT), (IPV6, libc::IPV6_RECVTCLASS), (IP, libc::IP_RECVTOS)]
    {
        n.say("option", sys::set(fd, level, option, 1));
    }
    n.family = libc::AF_INET;
    let ((far, to), own) = (far(n), n.own(own.port()));
    far_wants(n, far);
    far_sends(n, (far, own), "hello");
    receive(n, "recvmsg", fd, 200, 0);
    let IpAddr::V4(ip) = to.ip() else { unreachable!("version 4") };
    let mapped = (ip.to_ipv6_mapped(), to.port()).into();
    n.say("sendmsg", control::send(fd, b"x", Some(mapped), &[Control::number(IP, libc::IP_TOS, 4)]));
    far_hears(n, far);
    n.say(
        "of version 6",
        control::send(fd, b"x", Some(mapped), &[Control::number(IPV6, libc::IPV6_TCLASS, 8)]),
    );
    far_hears(n, far);
}
