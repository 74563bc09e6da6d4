//! Names of hosts and services, and IPv4 addresses in IPv6 sockets.

use super::cases;
use crate::names;
use crate::near::Near;
use crate::sys;
use std::ffi::{CStr, CString};
use std::net::{IpAddr, SocketAddr};

cases! {
    "C49" One: numbers, passive, services, wrong, this_host, unknown_name, back_numeric, back_wrong, kinds, freed;
    "C35 C38" Six: mapped, mapped_refused, mapped_names, only_version_6_connects, mapped_after_bind;
}

/// Returns the result of `getaddrinfo` as text.
fn look_up(host: Option<&str>, service: Option<&str>, flags: i32, family: i32, kind: i32) -> String {
    let host = host.map(|host| CString::new(host).expect("no 0"));
    let service = service.map(|service| CString::new(service).expect("no 0"));
    // SAFETY: all zeros are empty hints.
    let mut hints: libc::addrinfo = unsafe { std::mem::zeroed() };
    (hints.ai_flags, hints.ai_family, hints.ai_socktype) = (flags, family, kind);
    let mut list = std::ptr::null_mut();
    let pointer = |text: &Option<CString>| text.as_ref().map_or(std::ptr::null(), |text| text.as_ptr());
    // SAFETY: strings, hints and the place for the list live until the call returns.
    let answer =
        unsafe { libc::getaddrinfo(pointer(&host), pointer(&service), &raw const hints, &raw mut list) };
    if answer != 0 {
        return names::lookup(answer);
    }
    let mut texts = Vec::new();
    let mut entry = list;
    // SAFETY: the list comes from libc and ends with null.
    while let Some(info) = unsafe { entry.as_ref() } {
        let mut address = sys::Address::empty();
        // SAFETY: the entry has an address of that length.
        unsafe {
            std::ptr::copy_nonoverlapping(
                info.ai_addr.cast::<u8>(),
                address.room().0.cast(),
                info.ai_addrlen as usize,
            );
        };
        let text = address.read().map_or("of no family".into(), |address| address.to_string());
        texts.push(format!("{text} {}/{}", info.ai_socktype, info.ai_protocol));
        entry = info.ai_next;
    }
    // SAFETY: getaddrinfo returned the list, and it is freed once.
    unsafe { libc::freeaddrinfo(list) };
    texts.join(", ")
}

fn numbers(n: &mut Near) {
    n.say("version 4", look_up(Some("192.0.2.1"), Some("80"), 0, 0, libc::SOCK_STREAM));
    n.say("version 6", look_up(Some("2001:db8::1"), Some("80"), 0, 0, libc::SOCK_STREAM));
    n.say(
        "version 4 as 6",
        look_up(Some("192.0.2.1"), Some("80"), libc::AI_V4MAPPED, libc::AF_INET6, libc::SOCK_STREAM),
    );
    n.say(
        "version 4 and not 6",
        look_up(Some("192.0.2.1"), Some("80"), 0, libc::AF_INET6, libc::SOCK_STREAM),
    );
    n.say("short", look_up(Some("127.1"), None, libc::AI_NUMERICHOST, 0, libc::SOCK_STREAM));
    n.say("all kinds", look_up(Some("192.0.2.1"), Some("80"), 0, libc::AF_INET, 0));
}

fn passive(n: &mut Near) {
    n.say("passive", look_up(None, Some("80"), libc::AI_PASSIVE, libc::AF_INET, libc::SOCK_STREAM));
    n.say(
        "passive of version 6",
        look_up(None, Some("80"), libc::AI_PASSIVE, libc::AF_INET6, libc::SOCK_STREAM),
    );
    n.say("not passive", look_up(None, Some("80"), 0, libc::AF_INET, libc::SOCK_STREAM));
}

fn services(n: &mut Near) {
    n.say("http", look_up(Some("192.0.2.1"), Some("http"), 0, 0, libc::SOCK_STREAM));
    n.say("domain", look_up(Some("192.0.2.1"), Some("domain"), 0, 0, libc::SOCK_DGRAM));
    n.say("unknown", look_up(Some("192.0.2.1"), Some("nosuchservice"), 0, 0, libc::SOCK_STREAM));
    n.say(
        "numeric only",
        look_up(Some("192.0.2.1"), Some("http"), libc::AI_NUMERICSERV, 0, libc::SOCK_STREAM),
    );
    n.say("without kind", look_up(Some("192.0.2.1"), Some("nosuchservice"), 0, 0, 0));
}

fn wrong(n: &mut Near) {
    n.say("nothing", look_up(None, None, 0, 0, 0));
    n.say("family", look_up(Some("192.0.2.1"), None, 0, 99, 0));
    n.say("kind", look_up(Some("192.0.2.1"), None, 0, 0, 99));
    n.say("flags", look_up(Some("192.0.2.1"), None, 0x4000_0000, 0, 0));
    n.say("name where a number must be", look_up(Some("example.test"), None, libc::AI_NUMERICHOST, 0, 0));
    n.say("canonical of nothing", look_up(None, Some("80"), libc::AI_CANONNAME, 0, 0));
}

fn this_host(n: &mut Near) {
    n.say("localhost", look_up(Some("localhost"), Some("80"), 0, libc::AF_INET, libc::SOCK_STREAM));
}

fn unknown_name(n: &mut Near) {
    let text = look_up(Some("nosuchhost.invalid"), Some("80"), 0, 0, libc::SOCK_STREAM);
    n.say("fails", text.starts_with("EAI_"));
}

fn kinds(n: &mut Near) {
    n.say("datagrams", look_up(Some("192.0.2.1"), Some("80"), 0, 0, libc::SOCK_DGRAM));
    n.say("number of a service without kind", look_up(Some("2001:db8::1"), Some("80"), 0, 0, 0));
}

/// Lists are freed, many times.
fn freed(n: &mut Near) {
    for _ in 0..1000 {
        look_up(Some("192.0.2.1"), Some("80"), 0, 0, 0);
    }
    n.say("done", true);
}

fn back(address: SocketAddr, room: (usize, usize), flags: i32) -> String {
    let address = sys::Address::from(address);
    let (mut host, mut service) = (vec![0; room.0.max(1)], vec![0; room.1.max(1)]);
    // SAFETY: both buffers have the lengths that are passed.
    let answer = unsafe {
        libc::getnameinfo(
            address.pointer(),
            address.length,
            host.as_mut_ptr(),
            room.0 as libc::socklen_t,
            service.as_mut_ptr(),
            room.1 as libc::socklen_t,
            flags,
        )
    };
    if answer != 0 {
        return names::lookup(answer);
    }
    // SAFETY: both end with 0; a buffer without room is empty.
    let [host, service] =
        [&host, &service].map(|text| unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy().into_owned());
    format!("{host} {service}")
}

fn back_numeric(n: &mut Near) {
    let numeric = libc::NI_NUMERICHOST | libc::NI_NUMERICSERV;
    n.say("version 4", back(([192, 0, 2, 1], 80).into(), (100, 100), numeric));
    n.say("version 6", back("[2001:db8::1]:80".parse().expect("one"), (100, 100), numeric));
    n.say("service", back(([192, 0, 2, 1], 80).into(), (100, 100), libc::NI_NUMERICHOST));
    n.say(
        "service of datagrams",
        back(([192, 0, 2, 1], 53).into(), (100, 100), libc::NI_NUMERICHOST | libc::NI_DGRAM),
    );
    n.say("no name of the service", back(([192, 0, 2, 1], 80).into(), (100, 0), numeric));
}

fn back_wrong(n: &mut Near) {
    let numeric = libc::NI_NUMERICHOST | libc::NI_NUMERICSERV;
    n.say("little room", back(([192, 0, 2, 1], 80).into(), (3, 100), numeric));
    n.say("nothing asked", back(([192, 0, 2, 1], 80).into(), (0, 0), numeric));
    n.say(
        "name required",
        back(([192, 0, 2, 1], 80).into(), (100, 100), libc::NI_NUMERICHOST | libc::NI_NAMEREQD),
    );
}

/// Maps an IPv4 address to IPv6.
fn as_six(address: SocketAddr) -> SocketAddr {
    let IpAddr::V4(ip) = address.ip() else { unreachable!("version 4") };
    (ip.to_ipv6_mapped(), address.port()).into()
}

fn mapped(n: &mut Near) {
    let fd = n.stream();
    let (listener, address) = n.far.listen(libc::AF_INET, 1);
    n.say("connect", sys::connect(fd, as_six(address)));
    let far = n.far.accept(listener);
    n.hear("send", &format!("send {} hello", far.0));
    n.receive("recv", fd, 10, 0);
    n.say("SO_DOMAIN", sys::get(fd, libc::SOL_SOCKET, libc::SO_DOMAIN));
}

fn mapped_names(n: &mut Near) {
    let fd = n.stream();
    let (_, address) = n.far.listen(libc::AF_INET, 1);
    n.say("connect", sys::connect(fd, as_six(address)));
    n.name("getsockname", sys::getsockname(fd), 0);
    n.name("getpeername", sys::getpeername(fd), address.port());
}

fn mapped_refused(n: &mut Near) {
    n.family = libc::AF_INET;
    let to = n.closed_port();
    n.family = libc::AF_INET6;
    let fd = n.stream();
    n.say("connect", sys::connect(fd, as_six(to)));
}

fn only_version_6_connects(n: &mut Near) {
    let fd = n.stream();
    n.say("IPV6_V6ONLY", sys::set(fd, libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, 1));
    let (_, address) = n.far.listen(libc::AF_INET, 1);
    n.say("connect", sys::connect(fd, as_six(address)));
}

fn mapped_after_bind(n: &mut Near) {
    let fd = n.stream();
    n.family = libc::AF_INET;
    let own = as_six(n.own(0));
    n.family = libc::AF_INET6;
    n.say("bind", sys::bind(fd, own));
    n.name("getsockname", sys::getsockname(fd), 0);
    let (_, address) = n.far.listen(libc::AF_INET6, 1);
    n.say("connect to version 6", sys::connect(fd, address));
}
