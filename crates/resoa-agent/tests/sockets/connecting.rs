//! `connect`, and a descriptor's poll events before, during and after it.

use crate::rig::{Program, Rig, at, nobody, polled, until, until_polled};
use resoa_calls::{Request, Response};
use resoa_protocol::message::Operation;
use rustix::event::PollFlags;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

const FRESH: PollFlags = PollFlags::OUT.union(PollFlags::HUP);
const RESET: PollFlags =
    PollFlags::IN.union(PollFlags::OUT).union(PollFlags::ERR).union(PollFlags::HUP).union(PollFlags::RDHUP);

/// C17, C35, C46, C66: after a blocking connect, data flows in both directions. The descriptor
/// polls the same as a TCP socket, before and after it.
#[test]
fn connect_and_talk() {
    let rig = Rig::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let program = rig.stream();
    assert_eq!(program.polled(), FRESH);
    assert_eq!(rig.connect(&program, at(&listener)), Response::Done);
    let (mut far, from) = listener.accept().expect("has connected");
    assert_eq!(program.polled(), PollFlags::OUT);
    assert_eq!(rig.call(&Request::LocalName(program.id), None), Response::Address(from));
    assert_eq!(rig.call(&Request::PeerName(program.id), None), Response::Address(at(&listener)));
    for round in 0..50_u8 {
        program.write(&[round; 3]);
        let mut heard = [0; 3];
        far.read_exact(&mut heard).expect("three octets");
        far.write_all(&heard).expect("is connected");
        assert_eq!(program.read(3), [round; 3]);
    }
    drop(program);
    assert_eq!(far.read(&mut [0]).expect("the end"), 0);
    drop(far);
    rig.nothing_is_left();
}

/// C38: a blocking connect that is refused fails, and can be repeated.
#[test]
fn connect_that_is_refused() {
    let rig = Rig::new();
    let program = rig.stream();
    for _ in 0..2 {
        assert_eq!(rig.connect(&program, nobody()), Response::Failed(libc::ECONNREFUSED));
        assert_eq!(program.polled(), FRESH);
    }
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    assert_eq!(rig.connect(&program, at(&listener)), Response::Done);
    assert_eq!(rig.error(&program), 0);
    drop(program);
    rig.nothing_is_left();
}

/// C36, C66: after a non-blocking connect, the descriptor is writable once it is connected, and
/// nothing of the filling remains.
#[test]
fn connect_that_does_not_wait() {
    let rig = Rig::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let program = rig.socket(libc::SOCK_STREAM | libc::SOCK_NONBLOCK);
    assert_eq!(rig.begin_to_connect(&program, at(&listener)), Response::Failed(libc::EINPROGRESS));
    let (mut far, _) = listener.accept().expect("connects");
    until_polled(&program.fd, PollFlags::OUT);
    assert_eq!(rig.error(&program), 0);
    assert_eq!(rig.begin_to_connect(&program, at(&listener)), Response::Done);
    assert_eq!(rig.begin_to_connect(&program, at(&listener)), Response::Failed(libc::EISCONN));
    program.write(b"hello");
    let mut heard = [0; 5];
    far.read_exact(&mut heard).expect("five octets");
    assert_eq!(&heard, b"hello");
    drop(program);
    assert_eq!(far.read(&mut [0]).expect("the end"), 0);
    drop(far);
    rig.nothing_is_left();
}

/// C37, C66: a refused non-blocking connect polls the same as with TCP, and SO_ERROR returns the
/// error once.
#[test]
fn connect_that_does_not_wait_and_is_refused() {
    let rig = Rig::new();
    let program = rig.socket(libc::SOCK_STREAM | libc::SOCK_NONBLOCK);
    assert_eq!(rig.begin_to_connect(&program, nobody()), Response::Failed(libc::EINPROGRESS));
    until_polled(&program.fd, RESET);
    assert_eq!(rig.error(&program), libc::ECONNREFUSED);
    assert_eq!(rig.error(&program), 0);
    drop(program);
    rig.nothing_is_left();
}

/// C47: an interrupted connect continues, like a non-blocking one.
#[test]
fn connect_that_is_interrupted() {
    let rig = Rig::new();
    let (listener, first) = silent();
    let program = rig.stream();
    let request = Request::operation(program.id, Operation::Connect(at(&listener)));
    interrupted(&rig, &request, &program);
    until_polled(&program.fd, PollFlags::empty());
    drop((listener.accept().expect("the first"), first));
    let (far, _) = listener.accept().expect("the program");
    until_polled(&program.fd, PollFlags::OUT);
    drop((far, program));
    rig.nothing_is_left();
}

/// Returns a listener whose queue is full, so that it does not answer for a while.
fn silent() -> (TcpListener, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    rustix::net::listen(&listener, 0).expect("listens");
    let first = TcpStream::connect(at(&listener)).expect("there is room for one");
    (listener, first)
}

/// C38: the local address is known while a socket connects.
#[test]
fn the_name_of_a_socket_that_connects() {
    let rig = Rig::new();
    let (listener, first) = silent();
    let program = rig.socket(libc::SOCK_STREAM | libc::SOCK_NONBLOCK);
    assert_eq!(rig.begin_to_connect(&program, at(&listener)), Response::Failed(libc::EINPROGRESS));
    let name = rig.call(&Request::LocalName(program.id), None);
    assert_eq!(program.polled(), PollFlags::empty(), "it connects");
    drop((listener.accept().expect("the first"), first));
    let (far, from) = listener.accept().expect("the program");
    assert_eq!(name, Response::Address(from));
    drop((far, program));
    rig.nothing_is_left();
}

/// `shutdown` of any direction ends a pending connect, blocking or not.
#[test]
fn shutdown_while_it_connects() {
    let rig = Rig::new();
    let (listener, first) = silent();
    for how in [libc::SHUT_RD, libc::SHUT_WR, libc::SHUT_RDWR] {
        let program = rig.socket(libc::SOCK_STREAM | libc::SOCK_NONBLOCK);
        assert_eq!(rig.begin_to_connect(&program, at(&listener)), Response::Failed(libc::EINPROGRESS));
        assert_eq!(rig.call(&Request::Shutdown { socket: program.id, how }, None), Response::Done);
        assert_eq!(program.polled(), RESET);
        assert_eq!(rig.error(&program), libc::ECONNRESET);

        let program = rig.stream();
        let request = Request::operation(program.id, Operation::Connect(at(&listener)));
        let fd = rustix::fd::AsFd::as_fd(&program.fd);
        let call = rig.calls().start(&request, Some(fd)).expect("is taken");
        rig.status();
        assert_eq!(rig.call(&Request::Shutdown { socket: program.id, how }, None), Response::Done);
        assert_eq!(call.answer().expect("it answers").0, Response::Failed(libc::ECONNRESET));
    }
    drop((listener, first));
    rig.nothing_is_left();
}

/// C63: interposers request the shutdown of the sending direction if nothing can be written, which
/// may be because the queue is full. The end then follows that data.
#[test]
fn shutdown_of_a_descriptor_that_is_full() {
    let rig = Rig::new();
    let (program, mut far) = rig.connected();
    rustix::io::ioctl_fionbio(&program.fd, true).expect("a descriptor");
    let mut written = 0;
    // Until the agent takes no more data either.
    while program.polled().contains(PollFlags::OUT) || rig.status().octets.0 == 0 {
        written += rustix::io::write(&program.fd, &[7; 4096]).unwrap_or(0);
    }
    let shut = Request::Shutdown { socket: program.id, how: libc::SHUT_WR };
    assert_eq!(rig.call(&shut, None), Response::Done);
    rustix::net::shutdown(&program.fd, rustix::net::Shutdown::Write).expect("is connected");
    let mut heard = Vec::new();
    far.read_to_end(&mut heard).expect("the end");
    assert_eq!(heard.len(), written);
    drop((program, far));
    rig.nothing_is_left();
}

/// Makes a call and closes it before its answer.
fn interrupted(rig: &Rig, request: &Request, program: &Program) {
    let call = rig.calls().start(request, Some(rustix::fd::AsFd::as_fd(&program.fd))).expect("is taken");
    // When the agent answers this, it has received the request.
    rig.status();
    assert!(!polled(&call).contains(PollFlags::IN), "it waits");
}

/// C31, C50: the errors of socket(2) for invalid arguments.
#[test]
fn sockets_that_there_are_not() {
    let rig = Rig::new();
    let said = [
        (libc::AF_UNIX, libc::SOCK_STREAM, 0, libc::EAFNOSUPPORT),
        (libc::AF_INET, libc::SOCK_STREAM, libc::IPPROTO_UDP, libc::EPROTONOSUPPORT),
        (libc::AF_INET, libc::SOCK_SEQPACKET, 0, libc::ESOCKTNOSUPPORT),
        (libc::AF_INET, 14, 0, libc::EINVAL),
        (libc::AF_INET, libc::SOCK_STREAM, 300, libc::EINVAL),
        (libc::AF_INET6, libc::SOCK_RAW, libc::IPPROTO_ICMPV6, libc::EPERM),
    ];
    for (family, kind, protocol, error) in said {
        let request = Request::Socket { family, kind, protocol, sees_data: false };
        assert_eq!(rig.call(&request, None), Response::Failed(error), "{request:?}");
    }
    let socket = resoa_calls::SocketId(99);
    let name = Request::LocalName(socket);
    assert_eq!(rig.call(&name, None), Response::Failed(libc::EBADF));
    let shutdown = Request::Shutdown { socket: rig.stream().id, how: 7 };
    assert_eq!(rig.call(&shutdown, None), Response::Failed(libc::EINVAL));
    // Another socket's descriptor is refused.
    let (one, other) = (rig.stream(), rig.stream());
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let request = Request::operation(one.id, Operation::Connect(at(&listener)));
    assert_eq!(rig.call(&request, Some(&other.fd)), Response::Failed(libc::EBADF));
}

/// C46: the numbers of an earlier agent's sockets match none of this agent, so requests with them
/// reach no other socket.
#[test]
fn sockets_of_another_agent() {
    let (before, now) = (Rig::new(), Rig::new());
    let (one, other) = (now.connected(), now.connected());
    for stale in [before.stream().id, before.stream().id] {
        let name = libc::SO_ERROR;
        for request in [
            Request::PeerName(stale),
            Request::operation(stale, Operation::GetOption { level: libc::SOL_SOCKET, name, length: 4 }),
            Request::Shutdown { socket: stale, how: libc::SHUT_RD },
            Request::operation(stale, Operation::Listen { backlog: 1 }),
        ] {
            assert_eq!(now.call(&request, None), Response::Failed(libc::EBADF), "{request:?}");
        }
    }
    drop((one, other));
}

/// C46: nothing is left of a socket that is closed before it was used, or while it is only bound.
#[test]
fn sockets_that_nobody_uses() {
    let rig = Rig::new();
    let program = rig.stream();
    let address = nobody();
    assert_eq!(rig.call(&Request::operation(program.id, Operation::Bind(address)), None), Response::Done);
    assert_eq!(rig.call(&Request::LocalName(program.id), None), Response::Address(address));
    drop((program, rig.stream()));
    // The address is free again at once.
    let program = rig.stream();
    assert_eq!(rig.call(&Request::operation(program.id, Operation::Bind(address)), None), Response::Done);
    let other = rig.stream();
    let bind = Request::operation(other.id, Operation::Bind(address));
    assert_eq!(rig.call(&bind, None), Response::Failed(libc::EADDRINUSE));
    drop((program, other));
    until(|| (rig.status().open == 0).then_some(()));
    rig.nothing_is_left();
}
