//! Datagrams, and look-ups.

use crate::rig::{HERE, Program, Rig, until_polled};
use resoa_calls::datagram::{header, split};
use resoa_calls::{Query, Request, Response};
use rustix::event::PollFlags;
use std::net::{SocketAddr, UdpSocket};

impl Rig {
    fn connect_datagrams(&self, program: &Program, address: Option<SocketAddr>) {
        let request = Request::Connect { socket: program.id, address, nonblocking: false };
        assert_eq!(self.call(&request, Some(&program.fd)), Response::Done);
    }
}

fn far() -> (UdpSocket, SocketAddr) {
    let far = UdpSocket::bind((HERE, 0)).expect("loopback");
    far.set_read_timeout(Some(crate::rig::PATIENCE)).expect("is a socket");
    let address = far.local_addr().expect("is bound");
    (far, address)
}

fn receive(program: &Program) -> Vec<u8> {
    let mut octets = vec![0; 70_000];
    let (count, _) =
        rustix::net::recv(&program.fd, &mut octets[..], rustix::net::RecvFlags::empty()).expect("is open");
    octets.truncate(count);
    octets
}

fn heard(far: &UdpSocket) -> (Vec<u8>, SocketAddr) {
    let mut octets = vec![0; 70_000];
    let (count, from) = far.recv_from(&mut octets).expect("one comes");
    octets.truncate(count);
    (octets, from)
}

/// C91: datagrams go whole and with their addresses, also the longest and an empty one; to whom they go is said by each, or once.
#[test]
fn datagrams_with_addresses_and_without() {
    let rig = Rig::new();
    let program = rig.socket(libc::SOCK_DGRAM);
    assert_eq!(program.polled(), PollFlags::OUT);
    let (first, at_first) = far();
    let (second, at_second) = far();
    let mut from = None;
    for (far, address, octets) in
        [(&first, at_first, vec![1; 5]), (&second, at_second, vec![2; 65_507]), (&first, at_first, vec![])]
    {
        let packet = [&header(Some(address))[..], &octets].concat();
        assert_eq!(rustix::io::write(&program.fd, &packet), Ok(packet.len()));
        let (found, source) = heard(far);
        assert!(found == octets, "{} octets came", found.len());
        assert_eq!(*from.get_or_insert(source), source, "one socket has one address");
        far.send_to(&octets, source).expect("it is there");
        let back = receive(&program);
        assert_eq!(split(&back), Some((Some(address), &octets[..])));
    }
    // What waits when it is connected loses the address in front.
    first.send_to(b"early", from.expect("known")).expect("it is there");
    until_polled(&program.fd, PollFlags::IN | PollFlags::OUT);
    rig.connect_datagrams(&program, Some(at_second));
    assert_eq!(rig.call(&Request::PeerName(program.id), None), Response::Address(at_second));
    assert_eq!(receive(&program), b"early");
    program.write(b"to the second");
    let (octets, source) = heard(&second);
    assert_eq!(octets, b"to the second");
    second.send_to(b"back", source).expect("it is there");
    assert_eq!(receive(&program), b"back");
    rustix::net::send(&program.fd, b"", rustix::net::SendFlags::empty()).expect("is connected");
    assert_eq!(heard(&second).0, b"");
    second.send_to(b"late", source).expect("it is there");
    until_polled(&program.fd, PollFlags::IN | PollFlags::OUT);
    rig.connect_datagrams(&program, None);
    assert_eq!(split(&receive(&program)), Some((Some(at_second), &b"late"[..])));
    drop(program);
    rig.nothing_is_left();
}

/// C91: what a program sends before it closes is sent.
#[test]
fn datagrams_before_the_end() {
    let rig = Rig::new();
    let (far, address) = far();
    for _ in 0..20 {
        let program = rig.socket(libc::SOCK_DGRAM | libc::SOCK_NONBLOCK);
        for number in 0..3_u8 {
            program.write(&[&header(Some(address))[..], &[number]].concat());
        }
        drop(program);
        for number in 0..3 {
            assert_eq!(heard(&far).0, [number]);
        }
    }
    // Also more than there is room for (SO_SNDBUF).
    let program = rig.socket(libc::SOCK_DGRAM);
    rig.set_option(&program, libc::SOL_SOCKET, libc::SO_SNDBUF, &[1]);
    let datagram = |number| [number; 1000];
    for number in 0..40 {
        program.write(&[&header(Some(address))[..], &datagram(number)].concat());
    }
    drop(program);
    for number in 0..40 {
        assert_eq!(heard(&far).0, datagram(number));
    }
    rig.nothing_is_left();
}

/// C91: halves of a connected one are shut, and it stays until it is closed.
#[test]
fn datagrams_that_are_shut() {
    let rig = Rig::new();
    let (far, address) = far();
    let program = rig.socket(libc::SOCK_DGRAM);
    let shut = Request::Shutdown { socket: program.id, how: libc::SHUT_RDWR };
    assert_eq!(rig.call(&shut, None), Response::Failed(libc::ENOTCONN));
    rig.connect_datagrams(&program, Some(address));
    program.write(b"one");
    assert_eq!(heard(&far).0, b"one");
    assert_eq!(rig.call(&shut, None), Response::Done);
    assert_eq!(receive(&program), b"");
    let flags = rustix::net::SendFlags::NOSIGNAL;
    assert_eq!(rustix::net::send(&program.fd, b"x", flags), Err(rustix::io::Errno::PIPE));
    assert_eq!(rig.status().open, 1);
    drop(program);
    rig.nothing_is_left();
}

/// C31, C38: the first datagram gives an address, which is then known, and not to be changed by `bind`.
#[test]
fn datagrams_give_an_address() {
    let rig = Rig::new();
    let (far, address) = far();
    let program = rig.socket(libc::SOCK_DGRAM);
    assert_eq!(rig.call(&Request::LocalName(program.id), None), Response::Address(([0, 0, 0, 0], 0).into()));
    program.write(&[&header(Some(address))[..], b"x"].concat());
    let Response::Address(name) = rig.call(&Request::LocalName(program.id), None) else { panic!("a name") };
    assert_eq!(heard(&far).1.port(), name.port());
    let bind = Request::Bind { socket: program.id, address: (HERE, 0).into() };
    assert_eq!(rig.call(&bind, None), Response::Failed(libc::EINVAL));
    drop(program);
    rig.nothing_is_left();
}

/// C38, C91: so does the first one after the socket was connected and is not any more.
#[test]
fn datagrams_give_an_address_again() {
    let rig = Rig::new();
    let (far, address) = far();
    let program = rig.socket(libc::SOCK_DGRAM);
    let name = || rig.call(&Request::LocalName(program.id), None);
    rig.connect_datagrams(&program, Some(address));
    rig.connect_datagrams(&program, None);
    assert_eq!(name(), Response::Address(([0, 0, 0, 0], 0).into()));
    program.write(&[&header(Some(address))[..], b"x"].concat());
    let Response::Address(named) = name() else { panic!("a name") };
    assert_eq!(heard(&far).1.port(), named.port());
    drop(program);
    rig.nothing_is_left();
}

/// C49: the server looks names up.
#[test]
fn names_are_the_servers() {
    let rig = Rig::new();
    let host = Query::Host { host: "192.0.2.7".into(), service: "80".into(), family: libc::AF_INET };
    let found = rig.call(&Request::Resolve(host), None);
    assert_eq!(found, Response::Hosts(vec![([192, 0, 2, 7], 80).into()]));
}
