//! Dual protocol stack mode (5.3.6, C02): the stack that sockets use, by rule. Connections and
//! datagrams from [`THERE`] came through the server.

use crate::rig::{HERE, PATIENCE, Program, Rig, THERE, at, until};
use resoa_calls::datagram::{header, split};
use resoa_calls::{Request, Response};
use resoa_protocol::message::{Ancillary, Family, Operation, Query};
use std::io::{ErrorKind, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};

/// The local destination.
const NEAR: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
/// The rules that make it local.
const RULES: &[&str] = &["127.0.0.2"];

fn listener(address: IpAddr) -> TcpListener {
    TcpListener::bind((address, 0)).expect("loopback")
}

fn port(address: IpAddr) -> UdpSocket {
    let socket = UdpSocket::bind((address, 0)).expect("loopback");
    socket.set_read_timeout(Some(PATIENCE)).expect("it is one");
    socket
}

/// Connects, and checks that data flows in both directions. Returns the program's address as the
/// far host sees it.
fn seen_at(rig: &Rig, program: &Program, far: &TcpListener) -> IpAddr {
    assert_eq!(rig.connect(program, at(far)), Response::Done);
    let (mut stream, peer) = far.accept().expect("has connected");
    program.write(b"question");
    assert_eq!(crate::rig::read_exactly(&mut stream, 8), b"question");
    stream.write_all(b"answer").expect("it reads");
    assert_eq!(program.read(6), b"answer");
    peer.ip()
}

fn send_to(program: &Program, to: SocketAddr, octets: &[u8]) {
    let packet = [&header(Some(to))[..], octets].concat();
    assert_eq!(rustix::io::write(&program.fd, &packet), Ok(packet.len()));
}

fn heard_from(far: &UdpSocket, expected: &[u8]) -> SocketAddr {
    let mut room = [0; 64];
    let (count, from) = far.recv_from(&mut room).expect("a datagram");
    assert_eq!(&room[..count], expected);
    from
}

fn bind(rig: &Rig, program: &Program, address: &str) -> Response {
    let address = address.parse().expect("an address with a port");
    rig.call(&Request::operation(program.id, Operation::Bind(address)), None)
}

fn own_address(rig: &Rig, program: &Program) -> SocketAddr {
    match rig.call(&Request::LocalName(program.id), None) {
        Response::Address(address) => address,
        other => panic!("{other:?}"),
    }
}

/// C02: a stream uses the stack that the rules give for its destination, and the server's without a
/// rule.
#[test]
fn streams_go_by_rule() {
    let rig = Rig::with_local(RULES);
    let (near, far) = (listener(NEAR), listener(HERE));
    let (one, two) = (rig.stream(), rig.stream());
    assert_eq!(seen_at(&rig, &one, &near), HERE);
    assert_eq!(seen_at(&rig, &two, &far), THERE);
    let unused = (rig.stream(), rig.socket(libc::SOCK_DGRAM));
    let status = rig.status();
    assert_eq!((status.made, status.carried, status.local), (4, 1, 1));
    drop((one, two, unused));
    rig.nothing_is_left();
}

/// C02: a socket without an address chooses anew with each connect.
#[test]
fn a_refused_attempt_chooses_nothing() {
    let rig = Rig::with_local(RULES);
    let (near, far) = (listener(NEAR), listener(HERE));
    for (first, second, seen) in [(&far, &near, HERE), (&near, &far, THERE)] {
        let nobody = at(&listener(at(first).ip()));
        let program = rig.stream();
        assert_eq!(rig.connect(&program, nobody), Response::Failed(libc::ECONNREFUSED));
        assert_eq!(seen_at(&rig, &program, second), seen);
    }
    rig.nothing_is_left();
}

/// C02, C39: options set before the choice also apply at the chosen stack.
#[test]
fn options_are_kept() {
    let rig = Rig::with_local(RULES);
    for (far, seen) in [(listener(NEAR), HERE), (listener(HERE), THERE)] {
        let program = rig.stream();
        let options = [
            (libc::SOL_SOCKET, libc::SO_PRIORITY, 4),
            (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, 77),
            (libc::SOL_SOCKET, libc::SO_LINGER, 1),
        ];
        for (level, name, value) in options {
            rig.set_option(&program, level, name, &[3, 0]);
            rig.set_option(&program, level, name, &[value, 0]);
        }
        // An option that is refused changes nothing, at any stack.
        let value = 0_i32.to_ne_bytes().to_vec();
        let (level, name) = (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE);
        let refused = Request::operation(program.id, Operation::SetOption { level, name, value });
        assert_eq!(rig.call(&refused, None), Response::Failed(libc::EINVAL));
        assert_eq!(seen_at(&rig, &program, &far), seen);
        for (level, name, value) in options {
            assert_eq!(rig.option(&program, level, name), value, "{name}");
        }
    }
    rig.nothing_is_left();
}

/// C02, C91: a datagram without a destination chooses no stack, and gives no address.
#[test]
fn a_datagram_without_a_destination_chooses_nothing() {
    let rig = Rig::with_local(RULES);
    let near = port(NEAR);
    let program = rig.socket(libc::SOCK_DGRAM);
    for octets in [&[0; 40][..], b"short"] {
        assert_eq!(rustix::io::write(&program.fd, octets), Ok(octets.len()));
        assert_eq!(own_address(&rig, &program), ([0, 0, 0, 0], 0).into());
    }
    send_to(&program, near.local_addr().expect("bound"), b"x");
    assert_eq!(heard_from(&near, b"x").ip(), HERE);
    assert_eq!((rig.status().carried, rig.status().local), (0, 1));
    drop(program);
    rig.nothing_is_left();
}

/// C02, C91: the first datagram chooses the stack. Datagrams of a local socket to other
/// destinations are not sent.
#[test]
fn datagrams_go_by_rule() {
    let rig = Rig::with_local(RULES);
    let (near, far) = (port(NEAR), port(HERE));
    let at = |socket: &UdpSocket| socket.local_addr().expect("is bound");
    let (one, two) = (rig.socket(libc::SOCK_DGRAM), rig.socket(libc::SOCK_DGRAM));
    rig.set_option(&one, libc::SOL_SOCKET, libc::SO_PRIORITY, &[4]);
    send_to(&one, at(&near), b"near");
    let from = heard_from(&near, b"near");
    assert_eq!((from.ip(), own_address(&rig, &one).port()), (HERE, from.port()));
    assert_eq!(rig.option(&one, libc::SOL_SOCKET, libc::SO_PRIORITY), 4);
    near.send_to(b"answer", from).expect("it is there");
    let mut room = [0; 64];
    let count = rustix::io::read(&one.fd, &mut room).expect("an answer");
    assert_eq!(split(&room[..count]), Some((Some(at(&near)), Ancillary::none(), &b"answer"[..])));
    send_to(&two, at(&far), b"far");
    assert_eq!(heard_from(&far, b"far").ip(), THERE);
    send_to(&one, at(&far), b"nowhere");
    send_to(&one, at(&near), b"behind it");
    heard_from(&near, b"behind it");
    far.set_nonblocking(true).expect("it is one");
    assert_eq!(far.recv(&mut room).map_err(|error| error.kind()), Err(ErrorKind::WouldBlock));
    // A connected socket is at the stack of its peer.
    let three = rig.socket(libc::SOCK_DGRAM);
    for (far, seen) in [(&far, THERE), (&near, HERE)] {
        assert_eq!(rig.connect(&three, at(far)), Response::Done);
        assert_eq!(own_address(&rig, &three).ip(), seen);
    }
    drop((one, two, three));
    rig.nothing_is_left();
}

/// C02, C31: `bind` to an address of this host chooses its stack, from which other destinations are
/// unreachable. `bind` to the unspecified address chooses the server.
#[test]
fn addresses_choose() {
    let rig = Rig::with_local(RULES);
    let (near, far) = (listener(NEAR), listener(HERE));
    let program = rig.stream();
    assert_eq!(bind(&rig, &program, "127.0.0.2:0"), Response::Done);
    assert_eq!(own_address(&rig, &program).ip(), NEAR);
    assert_eq!(rig.connect(&program, at(&far)), Response::Failed(libc::ENETUNREACH));
    assert_eq!(seen_at(&rig, &program, &near), NEAR);
    let listening = rig.stream();
    assert_eq!(bind(&rig, &listening, "127.0.0.2:0"), Response::Done);
    let listen = Request::operation(listening.id, Operation::Listen { backlog: 1 });
    assert_eq!(rig.call(&listen, Some(&listening.fd)), Response::Done);
    // The server within the process gets `listen` later (C83).
    until(|| TcpStream::connect(own_address(&rig, &listening)).ok());
    let any = rig.stream();
    assert_eq!(bind(&rig, &any, "0.0.0.0:0"), Response::Done);
    assert_eq!(seen_at(&rig, &any, &near), THERE);
    drop((program, listening, any));
    rig.nothing_is_left();
}

/// C02: a local socket can share its port with other programs of this host, like any program of
/// this user.
#[test]
fn ports_are_shared_as_by_any_program() {
    let rig = Rig::with_local(RULES);
    let near = port(NEAR);
    rustix::net::sockopt::set_socket_reuseaddr(&near, true).expect("may be set");
    let address = near.local_addr().expect("is bound").to_string();
    let (one, two) = (rig.socket(libc::SOCK_DGRAM), rig.socket(libc::SOCK_DGRAM));
    assert_eq!(bind(&rig, &one, &address), Response::Failed(libc::EADDRINUSE));
    rig.set_option(&two, libc::SOL_SOCKET, libc::SO_REUSEADDR, &[1]);
    assert_eq!(bind(&rig, &two, &address), Response::Done);
    drop((one, two));
    rig.nothing_is_left();
}

/// C02, C76: without the server, local destinations are reached and names of this host are found.
/// Everything else fails, and does not use this host's stack instead.
#[test]
fn without_a_server() {
    let rig = Rig::without_server(&["127.0.0.2", "127.0.0.1 80"]);
    let (near, far) = (listener(NEAR), listener(HERE));
    let program = rig.stream();
    rig.set_option(&program, libc::SOL_SOCKET, libc::SO_KEEPALIVE, &[1]);
    assert_eq!(rig.connect(&program, at(&far)), Response::Failed(libc::ENETDOWN));
    assert_eq!(seen_at(&rig, &rig.stream(), &near), HERE);
    let resolve = |host: &str| {
        let query = Query::Host { host: host.into(), service: "80".into(), family: Some(Family::V4) };
        rig.call(&Request::Resolve(query), None)
    };
    assert_eq!(resolve("localhost"), Response::Hosts(vec!["127.0.0.1:80".parse().expect("an address")]));
    assert_eq!(resolve("far.example"), Response::Failed(libc::ENETDOWN));
    drop(program);
    far.set_nonblocking(true).expect("it is one");
    assert_eq!(far.accept().map_err(|error| error.kind()).map(|_| ()), Err(ErrorKind::WouldBlock));
}

/// C02, C77: when the server is lost, only the sockets there fail.
#[test]
fn the_server_is_lost_alone() {
    let rig = Rig::with_local(RULES);
    let (near, far) = (listener(NEAR), listener(HERE));
    let (one, two) = (rig.stream(), rig.stream());
    assert_eq!(rig.connect(&one, at(&near)), Response::Done);
    let (mut stream, _) = near.accept().expect("has connected");
    assert_eq!(rig.connect(&two, at(&far)), Response::Done);
    let (_lost, peer) = far.accept().expect("has connected");
    assert_eq!(peer.ip(), THERE);
    rig.cut();
    assert_eq!(two.read_to_end(), Err(rustix::io::Errno::CONNRESET));
    one.write(b"still here");
    assert_eq!(crate::rig::read_exactly(&mut stream, 10), b"still here");
    drop((one, two));
    rig.registered();
    rig.nothing_is_left();
}
