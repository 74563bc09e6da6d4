//! UDP: addresses, destinations, errors.

use super::{call, cases};
use crate::far::Handle;
use crate::near::Near;
use crate::sys;
use std::net::SocketAddr;

cases! {
    "C91" Both: to_and_from, connected, too_long, refused, refused_told_by_option, many_sources, filtered, disconnected;
    "C91" Both: no_destination, destination_of_connected, names, shut, reconnected;
    "C91" Both: sent_before_bound, answered_by_bound, bad_length, options;
    "C91" Both: lite, refused_wakes;
    "C91" One: broadcast, broadcast_to_all;
    "C91" Six: mapped;
}

/// Opens a datagram socket at the far host. Returns it and its address.
pub fn far(n: &mut Near) -> (Handle, SocketAddr) {
    let handle = n.far.open(&format!("datagram {}", crate::far::version(n.family)));
    let port = n.far.port(handle);
    (handle, n.far.address(n.family, port))
}

/// Returns a bound datagram socket and the address at which the far host reaches it.
pub fn bound(n: &mut Near) -> (i32, SocketAddr) {
    let fd = n.datagram();
    assert_eq!(sys::bind(fd, n.any(0)).0, Ok(0), "bind");
    let port = sys::getsockname(fd).ok().flatten().expect("a name").port();
    (fd, n.own(port))
}

pub fn receive(n: &mut Near, what: &str, fd: i32, room: usize, flags: i32, known: u16) {
    let mut octets = vec![0; room];
    let (answer, from) = sys::receive_from(fd, &mut octets, flags);
    let text = match answer.0 {
        Ok(count) => {
            let from = from.map_or("nobody".into(), |from| n.show(from, known));
            format!(
                "{count} {:?} from {from}",
                String::from_utf8_lossy(&octets[..(count as usize).min(room)])
            )
        }
        Err(_) => answer.to_string(),
    };
    n.say(what, text);
}

fn to_and_from(n: &mut Near) {
    let ((far, to), fd) = (far(n), n.datagram());
    n.say("sendto", sys::send_to(fd, b"hello", 0, to));
    let heard = n.far.ask(&format!("recv_from {}", far.0));
    let port = sys::getsockname(fd).ok().flatten().map_or(0, |name| name.port());
    let own = n.own(port);
    n.say("far", heard.replace(&own.to_string(), "near"));
    n.hear("send_to", &format!("send_to {} {own} answer", far.0));
    receive(n, "recvfrom", fd, 20, 0, to.port());
}

fn connected(n: &mut Near) {
    let ((far, to), fd) = (far(n), n.datagram());
    n.say("connect", sys::connect(fd, to));
    n.name("getpeername", sys::getpeername(fd), to.port());
    n.say("send", sys::send(fd, b"hello", 0));
    let heard = n.far.ask(&format!("recv_from {}", far.0));
    let own = sys::getsockname(fd).ok().flatten().expect("a name");
    n.say("far", heard.replace(&own.to_string(), "near"));
    n.hear("send_to", &format!("send_to {} {own} answer", far.0));
    n.receive("recv", fd, 20, 0);
    n.hear("send_to", &format!("send_to {} {own} again", far.0));
    receive(n, "recvfrom", fd, 20, 0, to.port());
}

fn too_long(n: &mut Near) {
    let ((_, to), fd) = (far(n), n.datagram());
    n.say("65 508", sys::send_to(fd, &vec![0; 65_508], 0, to));
    n.say("65 536", sys::send_to(fd, &vec![0; 65_536], 0, to));
    n.say("100 000", sys::send_to(fd, &vec![0; 100_000], 0, to));
    n.say("connect", sys::connect(fd, to));
    n.say("send of 65 536", sys::send(fd, &vec![0; 65_536], 0));
}

fn refused(n: &mut Near) {
    let (to, fd) = (n.closed_port(), n.datagram());
    n.say("connect", sys::connect(fd, to));
    n.say("send", sys::send(fd, b"x", 0));
    n.until("poll", fd, libc::POLLERR);
    n.receive("recv", fd, 10, libc::MSG_DONTWAIT);
    n.receive("recv again", fd, 10, libc::MSG_DONTWAIT);
    n.say("send", sys::send(fd, b"x", 0));
    Near::settle();
    n.say("send after the answer", sys::send(fd, b"x", 0));
}

fn refused_told_by_option(n: &mut Near) {
    let (to, fd) = (n.closed_port(), n.datagram());
    n.say("connect", sys::connect(fd, to));
    n.say("send", sys::send(fd, b"x", 0));
    Near::settle();
    n.pending_error("SO_ERROR", fd);
    n.mask("poll", fd);
    let unconnected = n.datagram();
    n.say("sendto", sys::send_to(unconnected, b"x", 0, to));
    Near::settle();
    n.mask("poll of one that is not connected", unconnected);
}

/// A call that waits for a datagram gets the error. So does the next call that sends.
fn refused_wakes(n: &mut Near) {
    let (to, fd) = (n.closed_port(), n.datagram());
    n.say("SO_RCVTIMEO", sys::set_time_limit(fd, libc::SO_RCVTIMEO, 2000));
    n.say("connect", sys::connect(fd, to));
    n.say("send", sys::send(fd, b"x", 0));
    n.receive("recv", fd, 10, 0);
    n.say("send", sys::send(fd, b"x", 0));
    receive(n, "recvfrom", fd, 10, 0, 0);
    n.say("send", sys::send(fd, b"x", 0));
    Near::settle();
    n.say("send after the answer", sys::send(fd, b"x", 0));
    Near::settle();
    n.pending_error("SO_ERROR", fd);
    n.receive("recv at once", fd, 10, libc::MSG_DONTWAIT);
}

fn many_sources(n: &mut Near) {
    let ((one, address_one), (two, address_two), (fd, own)) = (far(n), far(n), bound(n));
    n.hear("send_to", &format!("send_to {} {own} one", one.0));
    n.until("poll", fd, libc::POLLIN);
    n.hear("send_to", &format!("send_to {} {own} two", two.0));
    receive(n, "recvfrom", fd, 20, 0, address_one.port());
    receive(n, "recvfrom", fd, 20, 0, address_two.port());
}

/// A connected socket receives only from its peer.
fn filtered(n: &mut Near) {
    let ((one, to), (two, _), (fd, own)) = (far(n), far(n), bound(n));
    n.say("connect", sys::connect(fd, to));
    n.hear("send_to", &format!("send_to {} {own} stranger", two.0));
    n.hear("send_to", &format!("send_to {} {own} friend", one.0));
    n.receive("recv", fd, 20, 0);
    n.receive("recv", fd, 20, libc::MSG_DONTWAIT);
}

fn disconnected(n: &mut Near) {
    let ((_, to), (two, _), fd) = (far(n), far(n), n.datagram());
    // A port that was requested by number is kept; one that the kernel chose is not.
    let port = 20_000 + (std::process::id() % 10_000) as u16;
    n.say("bind", sys::bind(fd, n.any(port)));
    n.say("connect", sys::connect(fd, to));
    n.say("connect to nobody", sys::disconnect(fd));
    n.name("getpeername", sys::getpeername(fd), 0);
    n.name("getsockname", sys::getsockname(fd), port);
    n.say("send", sys::send(fd, b"x", 0));
    let own = n.own(port);
    n.hear("send_to", &format!("send_to {} {own} hello", two.0));
    receive(n, "recvfrom", fd, 20, 0, 0);
}

fn reconnected(n: &mut Near) {
    let ((one, to_one), (two, to_two), fd) = (far(n), far(n), n.datagram());
    n.say("connect", sys::connect(fd, to_one));
    n.say("send", sys::send(fd, b"first", 0));
    n.say("connect", sys::connect(fd, to_two));
    n.name("getpeername", sys::getpeername(fd), to_two.port());
    n.say("send", sys::send(fd, b"second", 0));
    for far in [one, two] {
        let heard = n.far.ask(&format!("recv_from {}", far.0));
        n.say("far", heard.split(' ').nth(1).unwrap_or(&heard).to_owned());
    }
}

fn no_destination(n: &mut Near) {
    let fd = n.datagram();
    n.say("send", sys::send(fd, b"x", 0));
    n.say("write", sys::write(fd, b"x"));
    n.name("getpeername", sys::getpeername(fd), 0);
    let to = n.far.address(n.family, 0);
    n.say("sendto port 0", sys::send_to(fd, b"x", 0, to));
}

fn destination_of_connected(n: &mut Near) {
    let ((_, to), (other, to_other), fd) = (far(n), far(n), n.datagram());
    n.say("connect", sys::connect(fd, to));
    n.say("sendto", sys::send_to(fd, b"elsewhere", 0, to_other));
    let heard = n.far.ask(&format!("recv_from {}", other.0));
    n.say("far", heard.split(' ').nth(1).unwrap_or(&heard).to_owned());
}

fn names(n: &mut Near) {
    let ((_, to), fd) = (far(n), n.datagram());
    n.name("fresh", sys::getsockname(fd), 0);
    n.say("sendto", sys::send_to(fd, b"x", 0, to));
    n.name("after sendto", sys::getsockname(fd), 0);
    n.say("connect", sys::connect(fd, to));
    n.name("after connect", sys::getsockname(fd), 0);
    n.name("getpeername", sys::getpeername(fd), to.port());
}

fn shut(n: &mut Near) {
    let ((_, to), fd) = (far(n), n.datagram());
    n.say("shutdown", sys::shutdown(fd, libc::SHUT_RDWR));
    n.say("connect", sys::connect(fd, to));
    n.say("shutdown", sys::shutdown(fd, libc::SHUT_WR));
    n.say("send", sys::send(fd, b"x", libc::MSG_NOSIGNAL));
    n.say("shutdown", sys::shutdown(fd, libc::SHUT_RD));
    n.receive("recv", fd, 10, 0);
    n.mask("poll", fd);
}

fn sent_before_bound(n: &mut Near) {
    let ((_, to), fd) = (far(n), n.datagram());
    n.say("sendto", sys::send_to(fd, b"x", 0, to));
    n.say("bind", sys::bind(fd, n.any(0)));
}

fn answered_by_bound(n: &mut Near) {
    let ((far, _), (fd, own)) = (far(n), bound(n));
    n.hear("send_to", &format!("send_to {} {own} question", far.0));
    let (answer, from) = sys::receive_from(fd, &mut [0; 20], 0);
    n.say("recvfrom", answer);
    n.say("sendto", sys::send_to(fd, b"answer", 0, from.expect("somebody")));
    let heard = n.far.ask(&format!("recv_from {}", far.0));
    n.say("far", heard.replace(&own.to_string(), "near"));
}

fn bad_length(n: &mut Near) {
    let ((_, to), fd) = (far(n), n.datagram());
    let address = sys::Address::from(to);
    n.say("sendto with 2 octets", call!(sendto(fd, b"x".as_ptr().cast(), 1, 0, address.pointer(), 2)));
    n.say(
        "sendto from nowhere",
        call!(sendto(fd, b"x".as_ptr().cast(), 1, 0, std::ptr::without_provenance(8), 16)),
    );
    n.say("connect with 2 octets", call!(connect(fd, address.pointer(), 2)));
}

fn options(n: &mut Near) {
    let fd = n.datagram();
    for name in [
        libc::SO_TYPE,
        libc::SO_PROTOCOL,
        libc::SO_BROADCAST,
        libc::SO_REUSEADDR,
        libc::SO_ERROR,
        libc::SO_KEEPALIVE,
    ] {
        n.say(&format!("option {name}"), sys::get(fd, libc::SOL_SOCKET, name));
    }
    n.say("SO_BROADCAST", sys::set(fd, libc::SOL_SOCKET, libc::SO_BROADCAST, 1));
    n.say("is", sys::get(fd, libc::SOL_SOCKET, libc::SO_BROADCAST));
    n.say("SO_RCVBUF", sys::set(fd, libc::SOL_SOCKET, libc::SO_RCVBUF, 30_000));
    n.say("is", sys::get(fd, libc::SOL_SOCKET, libc::SO_RCVBUF));
}

fn broadcast(n: &mut Near) {
    let fd = n.datagram();
    n.say("sendto", sys::send_to(fd, b"x", 0, ([10, 99, 0, 255], 9).into()));
    n.say("connect", sys::connect(fd, ([10, 99, 0, 255], 9).into()));
}

fn broadcast_to_all(n: &mut Near) {
    let fd = n.datagram();
    let all = ([255, 255, 255, 255], 9).into();
    n.say("sendto", sys::send_to(fd, b"x", 0, all));
    n.say("connect", sys::connect(fd, all));
    n.say("once more", sys::send_to(fd, b"x", 0, ([10, 99, 0, 255], 9).into()));
    n.say("SO_BROADCAST", sys::set(fd, libc::SOL_SOCKET, libc::SO_BROADCAST, 1));
    n.say("allowed", sys::send_to(fd, b"x", 0, ([10, 99, 0, 255], 9).into()));
    n.pending_error("SO_ERROR", fd);
    n.say("SO_BROADCAST", sys::set(fd, libc::SOL_SOCKET, libc::SO_BROADCAST, 0));
    n.say("sendto", sys::send_to(fd, b"x", 0, ([10, 99, 0, 255], 9).into()));
}

/// UDP-Lite (RFC 3828): a protocol with ports of its own and a checksum that may cover only a part.
fn lite(n: &mut Near) {
    const SEND_COVERAGE: i32 = 10;
    const RECEIVE_COVERAGE: i32 = 11;
    let protocol = libc::IPPROTO_UDPLITE;
    let fd = sys::socket(n.family, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, protocol).descriptor();
    n.say("SO_PROTOCOL", sys::get(fd, libc::SOL_SOCKET, libc::SO_PROTOCOL));
    n.say("SO_TYPE", sys::get(fd, libc::SOL_SOCKET, libc::SO_TYPE));
    let far = n.far.open(&format!("lite {}", crate::far::version(n.family)));
    let to = n.far.port(far);
    let to = n.far.address(n.family, to);
    n.say("bind", sys::bind(fd, n.any(0)));
    n.say("sendto", sys::send_to(fd, b"hello", 0, to));
    let own = n.own(sys::getsockname(fd).ok().flatten().map_or(0, |name| name.port()));
    let heard = n.far.ask(&format!("recv_from {}", far.0));
    n.say("far", heard.replace(&own.to_string(), "near"));
    // The same port number of UDP is independent.
    let udp = n.datagram();
    n.say("bind of UDP there", sys::bind(udp, n.any(own.port())));
    for option in [SEND_COVERAGE, RECEIVE_COVERAGE] {
        n.say("coverage", sys::get(fd, protocol, option));
        n.say("coverage of 12", sys::set(fd, protocol, option, 12));
        n.say("is", sys::get(fd, protocol, option));
        n.say("coverage of 3", sys::set(fd, protocol, option, 3));
        n.say("is", sys::get(fd, protocol, option));
    }
    n.say("connect", sys::connect(fd, to));
    n.say("send", sys::send(fd, b"partly covered", 0));
    let heard = n.far.ask(&format!("recv_from {}", far.0));
    n.say("far", heard.replace(&own.to_string(), "near"));
    n.say("option of UDP", sys::set(udp, protocol, SEND_COVERAGE, 12));
}

fn mapped(n: &mut Near) {
    let fd = n.datagram();
    n.family = libc::AF_INET;
    let (far, to) = far(n);
    let std::net::IpAddr::V4(ip) = to.ip() else { unreachable!("version 4") };
    let mapped = SocketAddr::from((ip.to_ipv6_mapped(), to.port()));
    n.say("sendto", sys::send_to(fd, b"hello", 0, mapped));
    let port = sys::getsockname(fd).ok().flatten().map_or(0, |name| name.port());
    let own = n.own(port);
    let heard = n.far.ask(&format!("recv_from {}", far.0));
    n.say("far", heard.replace(&own.to_string(), "near"));
    n.hear("send_to", &format!("send_to {} {own} answer", far.0));
    receive(n, "recvfrom", fd, 20, 0, to.port());
}
