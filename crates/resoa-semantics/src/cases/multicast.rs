//! Multicast groups: joining and leaving by the options of ip(7), ipv6(7) and RFC 3678, and
//! receiving from groups.

use super::cases;
use super::datagrams::receive;
use crate::near::Near;
use crate::sys::{self, Address, Answer};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

cases! {
    "C91" Both: joined_and_left, joined_by_address, joined_for_a_source, wrong_groups, group_options;
    "C91" One: received_by_group, received_by_source, memberships_of_version_4;
    "C91" Six: memberships_of_version_6;
}

/// Builds a `struct group_req`: the interface, followed by an address.
fn group_req(interface: u32, group: SocketAddr) -> Vec<u8> {
    let address = Address::from(group);
    // SAFETY: the storage is initialised and has this length.
    let storage = unsafe { std::slice::from_raw_parts((&raw const address.storage).cast::<u8>(), 128) };
    [&interface.to_ne_bytes()[..], &[0; 4], storage].concat()
}

/// Builds a `struct group_source_req`: the same with a source.
fn group_source_req(interface: u32, group: SocketAddr, source: SocketAddr) -> Vec<u8> {
    [&group_req(interface, group)[..], &group_req(0, source)[8..]].concat()
}

fn level(n: &Near) -> i32 {
    if n.family == libc::AF_INET6 { libc::IPPROTO_IPV6 } else { libc::IPPROTO_IP }
}

fn group(n: &Near) -> SocketAddr {
    let ip: IpAddr = if n.family == libc::AF_INET6 {
        Ipv6Addr::new(0xff15, 0, 0, 0, 0, 0, 0, 7).into()
    } else {
        Ipv4Addr::new(239, 99, 0, 7).into()
    };
    SocketAddr::new(ip, 0)
}

fn set(n: &Near, fd: i32, name: i32, value: &[u8]) -> Answer {
    sys::set_octets(fd, level(n), name, value)
}

/// The index of the interface is the server's, which has one interface up besides the loopback. 0
/// lets the routes choose, and there is no route for groups.
fn joined_and_left(n: &mut Near) {
    let (fd, group) = (n.datagram(), group(n));
    for interface in [0, 1, 77] {
        let value = group_req(interface, group);
        n.say(&format!("join at {interface}"), set(n, fd, libc::MCAST_JOIN_GROUP, &value));
        n.say("once more", set(n, fd, libc::MCAST_JOIN_GROUP, &value));
        n.say("leave", set(n, fd, libc::MCAST_LEAVE_GROUP, &value));
        n.say("once more", set(n, fd, libc::MCAST_LEAVE_GROUP, &value));
    }
}

fn joined_by_address(n: &mut Near) {
    let fd = n.datagram();
    let (name_add, name_drop, value) = match (group(n).ip(), n.own(0).ip()) {
        (IpAddr::V4(group), IpAddr::V4(own)) => {
            (libc::IP_ADD_MEMBERSHIP, libc::IP_DROP_MEMBERSHIP, [group.octets(), own.octets()].concat())
        }
        (IpAddr::V6(group), _) => (
            libc::IPV6_ADD_MEMBERSHIP,
            libc::IPV6_DROP_MEMBERSHIP,
            [&group.octets()[..], &1_u32.to_ne_bytes()].concat(),
        ),
        _ => unreachable!("of one version"),
    };
    n.say("join", set(n, fd, name_add, &value));
    n.say("once more", set(n, fd, name_add, &value));
    n.say("read back", sys::get(fd, level(n), name_add));
    n.say("leave", set(n, fd, name_drop, &value));
    n.say("once more", set(n, fd, name_drop, &value));
    n.say("too short", set(n, fd, name_add, &value[..value.len() - 1]));
}

fn joined_for_a_source(n: &mut Near) {
    let (fd, group) = (n.datagram(), group(n));
    let value = group_source_req(1, group, n.far.address(n.family, 0));
    n.say("leave", set(n, fd, libc::MCAST_LEAVE_SOURCE_GROUP, &value));
    n.say("join", set(n, fd, libc::MCAST_JOIN_SOURCE_GROUP, &value));
    n.say("once more", set(n, fd, libc::MCAST_JOIN_SOURCE_GROUP, &value));
    n.say("block", set(n, fd, libc::MCAST_BLOCK_SOURCE, &value));
    n.say("leave", set(n, fd, libc::MCAST_LEAVE_SOURCE_GROUP, &value));
    let any = group_req(1, group);
    n.say("join for all", set(n, fd, libc::MCAST_JOIN_GROUP, &any));
    n.say("unblock", set(n, fd, libc::MCAST_UNBLOCK_SOURCE, &value));
    n.say("block", set(n, fd, libc::MCAST_BLOCK_SOURCE, &value));
    n.say("unblock", set(n, fd, libc::MCAST_UNBLOCK_SOURCE, &value));
    n.say("leave", set(n, fd, libc::MCAST_LEAVE_GROUP, &any));
}

fn wrong_groups(n: &mut Near) {
    let (fd, own) = (n.datagram(), n.own(0));
    n.say("no group", set(n, fd, libc::MCAST_JOIN_GROUP, &group_req(1, own)));
    let right = group_req(1, group(n));
    for length in [0, 4, 8, 100, 135] {
        n.say(&format!("{length} octets"), set(n, fd, libc::MCAST_JOIN_GROUP, &right[..length]));
    }
    let mut wrong = right.clone();
    wrong[8] = libc::AF_UNIX as u8;
    n.say("of another family", set(n, fd, libc::MCAST_JOIN_GROUP, &wrong));
    let stream = n.stream();
    n.say("of a stream", set(n, stream, libc::MCAST_JOIN_GROUP, &right));
}

fn group_options(n: &mut Near) {
    let fd = n.datagram();
    let names = if n.family == libc::AF_INET6 {
        [libc::IPV6_MULTICAST_HOPS, libc::IPV6_MULTICAST_LOOP, libc::IPV6_MULTICAST_ALL]
    } else {
        [libc::IP_MULTICAST_TTL, libc::IP_MULTICAST_LOOP, libc::IP_MULTICAST_ALL]
    };
    for name in names {
        n.say(&format!("option {name}"), sys::get(fd, level(n), name));
        for value in [0, 1, 2, -1, 255, 256] {
            n.say(&format!("set {value}"), sys::set(fd, level(n), name, value));
            n.say("is", sys::get(fd, level(n), name));
        }
    }
}

/// Sends from the far host to a group, over the interface with the first far address.
fn far_sends(n: &mut Near, port: u16, text: &str) {
    let far = n.far.open("datagram 4");
    let IpAddr::V4(ip) = n.far.addresses[0] else { unreachable!("version 4") };
    let at = i32::from_ne_bytes(ip.octets());
    n.hear("IP_MULTICAST_IF", &format!("set {} 0 {} {at}", far.0, libc::IP_MULTICAST_IF));
    n.hear("send_to", &format!("send_to {} {}:{port} {text}", far.0, group(n).ip()));
}

fn joined(n: &mut Near, name: i32, value: &[u8]) -> (i32, u16) {
    let fd = n.datagram();
    n.say("SO_RCVTIMEO", sys::set_time_limit(fd, libc::SO_RCVTIMEO, 10_000));
    n.say("bind", sys::bind(fd, n.any(0)));
    n.say("join", set(n, fd, name, value));
    let port = sys::getsockname(fd).ok().flatten().map_or(0, |name| name.port());
    (fd, port)
}

fn v4(address: IpAddr) -> [u8; 4] {
    let IpAddr::V4(ip) = address else { unreachable!("version 4") };
    ip.octets()
}

fn received_by_group(n: &mut Near) {
    let member = [v4(group(n).ip()), v4(n.own(0).ip())].concat();
    let (fd, port) = joined(n, libc::IP_ADD_MEMBERSHIP, &member);
    far_sends(n, port, "hello");
    receive(n, "recvfrom", fd, 20, 0, 0);
    // Otherwise the socket receives groups that other sockets of its host have joined.
    n.say("IP_MULTICAST_ALL", sys::set(fd, libc::IPPROTO_IP, libc::IP_MULTICAST_ALL, 0));
    n.say("leave", set(n, fd, libc::IP_DROP_MEMBERSHIP, &member));
    far_sends(n, port, "nobody");
    Near::settle();
    receive(n, "recvfrom", fd, 20, libc::MSG_DONTWAIT, 0);
}

fn received_by_source(n: &mut Near) {
    let (own, far) = (v4(n.own(0).ip()), v4(n.far.addresses[0]));
    let member = [v4(group(n).ip()), own, far].concat();
    let (fd, port) = joined(n, libc::IP_ADD_SOURCE_MEMBERSHIP, &member);
    far_sends(n, port, "hello");
    receive(n, "recvfrom", fd, 20, 0, 0);
    let other = [v4(group(n).ip()), own, [10, 99, 0, 77]].concat();
    let (stranger, port) = joined(n, libc::IP_ADD_SOURCE_MEMBERSHIP, &other);
    n.say("IP_MULTICAST_ALL", sys::set(stranger, libc::IPPROTO_IP, libc::IP_MULTICAST_ALL, 0));
    far_sends(n, port, "of another source");
    Near::settle();
    receive(n, "recvfrom", stranger, 20, libc::MSG_DONTWAIT, 0);
}

fn memberships_of_version_4(n: &mut Near) {
    let fd = n.datagram();
    let (own, far) = (v4(n.own(0).ip()), v4(n.far.addresses[0]));
    let member = [v4(group(n).ip()), own, far].concat();
    for (what, name) in [
        ("drop source", libc::IP_DROP_SOURCE_MEMBERSHIP),
        ("add source", libc::IP_ADD_SOURCE_MEMBERSHIP),
        ("add source again", libc::IP_ADD_SOURCE_MEMBERSHIP),
        ("block", libc::IP_BLOCK_SOURCE),
        ("drop source", libc::IP_DROP_SOURCE_MEMBERSHIP),
    ] {
        n.say(what, set(n, fd, name, &member));
    }
    n.say("short", set(n, fd, libc::IP_ADD_SOURCE_MEMBERSHIP, &member[..11]));
    n.say(
        "of version 6",
        sys::set_octets(fd, libc::IPPROTO_IPV6, libc::MCAST_JOIN_GROUP, &group_req(1, group(n))),
    );
}

fn memberships_of_version_6(n: &mut Near) {
    let fd = n.datagram();
    let mapped = SocketAddr::from(([239, 99, 0, 7], 0));
    n.say(
        "of version 4",
        sys::set_octets(fd, libc::IPPROTO_IP, libc::MCAST_JOIN_GROUP, &group_req(1, mapped)),
    );
    n.say("by version 6", set(n, fd, libc::MCAST_JOIN_GROUP, &group_req(1, mapped)));
}
