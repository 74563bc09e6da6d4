//! Listeners on the kernel's TCP: accepted connections, and limits of the queue.

use crate::rig::{LOOPBACKS, Rig, Turns, bytes};
use resoa_protocol::message::{Half, Operation};
use resoa_protocol::{RsockId, SocketCall, Value};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};

/// Creates a listening socket. Returns it and its address.
fn listening(rig: &mut Rig, own: IpAddr, backlog: u32) -> (RsockId, SocketAddr) {
    let socket = rig.socket();
    assert_eq!(rig.call(socket, Operation::Bind(SocketAddr::new(own, 0))), Ok(Value::Done));
    assert_eq!(rig.call(socket, Operation::Listen { backlog }), Ok(Value::Done));
    match rig.call(socket, SocketCall::LocalName) {
        Ok(Value::Address(address)) => {
            assert_eq!(address.ip(), own);
            // LISTEN has no answer, so connect until the server has it.
            rig.until(|_| TcpStream::connect(address).is_ok().then_some(()));
            assert!(matches!(rig.call(socket, SocketCall::Accept), Ok(Value::Accepted { .. })));
            (socket, address)
        }
        other => panic!("{other:?}"),
    }
}

fn accepted(rig: &mut Rig, listener: RsockId) -> (RsockId, SocketAddr) {
    match rig.call(listener, SocketCall::Accept) {
        Ok(Value::Accepted { socket, peer }) => (socket, peer),
        other => panic!("{other:?}"),
    }
}

/// C33: two far hosts have a connection each. Data that one sent before it was accepted is not
/// lost.
#[test]
fn two_far_hosts() {
    for own in LOOPBACKS {
        let mut rig = Rig::new(own);
        let (listener, address) = listening(&mut rig, own, 8);
        let mut far = [(); 2].map(|()| TcpStream::connect(address).expect("listens"));
        for (far, octet) in far.iter_mut().zip(b"AB") {
            far.write_all(&[*octet]).expect("is taken");
        }
        for (far, octet) in far.iter_mut().zip(b"AB") {
            let (socket, peer) = accepted(&mut rig, listener);
            assert_eq!(peer, far.local_addr().expect("is connected"));
            assert_eq!(rig.read(socket, 100), bytes(&[*octet]));
            assert_eq!(rig.send(socket, &[*octet + 1]), Ok(Value::Count(1)));
            assert_eq!(rig.close(socket), Ok(Value::Done));
            let mut all = Vec::new();
            rig.far(|| far.read_to_end(&mut all).expect("FIN, not RST"));
            assert_eq!(all, [*octet + 1]);
        }
    }
}

/// C32: with a backlog of 1, the second far host waits in the kernel's queue. It is taken when the
/// program has accepted the first, without any further event.
#[test]
fn the_queue_moves_up() {
    for own in LOOPBACKS {
        let mut rig = Rig::new(own);
        let (listener, address) = listening(&mut rig, own, 1);
        // The server may not know yet that the previous connection was accepted, because a carrier
        // takes its time.
        let far = [(); 2].map(|()| rig.far(|| TcpStream::connect(address).expect("listens")));
        for _ in 0..20 {
            rig.turn();
        }
        for far in far {
            assert_eq!(accepted(&mut rig, listener).1, far.local_addr().expect("is connected"));
        }
    }
}

/// Connects until an attempt is not answered, and returns the established connections. An
/// unanswered `connect` stays in progress forever. `turn` lets the other side act meanwhile.
fn takes(address: SocketAddr, mut turn: impl FnMut()) -> Vec<TcpStream> {
    let mut established = Vec::new();
    while let Some(far) = taken(address, &mut turn) {
        established.push(far);
    }
    established
}

/// Returns an established connection, or `None` if the listener has no room, in which case it drops
/// the SYN. The listener may just be making room, and the answer to the first retransmission may be
/// on its way. So only a second retransmission counts as no room.
fn taken(address: SocketAddr, turn: &mut impl FnMut()) -> Option<TcpStream> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let far = rustix::net::socket_with(family, SocketType::STREAM, SocketFlags::NONBLOCK, None);
    let far = TcpStream::from(far.expect("descriptors"));
    match rustix::net::connect(&far, &address) {
        Ok(()) | Err(Errno::INPROGRESS) => {}
        Err(error) => panic!("{error}"),
    }
    loop {
        turn();
        let repeated = netlab::tcp::info(&far).expect("is a socket").retransmissions;
        let moment = Timespec { tv_sec: 0, tv_nsec: 2_000_000 };
        if poll(&mut [PollFd::new(&far, PollFlags::OUT)], Some(&moment)).expect("poll") > 0 {
            if let Some(error) = far.take_error().expect("is a socket") {
                panic!("{error}");
            }
            far.set_nonblocking(false).expect("is a socket");
            return Some(far);
        }
        if repeated >= 2 {
            return None;
        }
    }
}

/// C32: while the program accepts nothing, as many connections are established as with a native
/// listener of the same backlog, however many of them the server has taken from the kernel. The
/// waiting ones are reset when the listener stops (C34).
#[test]
fn backlog_is_that_of_a_native_listener() {
    // In parallel, since each waits for retransmissions.
    std::thread::scope(|scope| {
        for own in LOOPBACKS {
            for backlog in [1, 2, 5] {
                scope.spawn(move || backlog_is_native(own, backlog));
            }
        }
    });
}

fn backlog_is_native(own: IpAddr, backlog: u32) {
    let native = TcpListener::bind(SocketAddr::new(own, 0)).expect("loopback");
    rustix::net::listen(&native, backlog.cast_signed()).expect("is bound");
    let expected = takes(native.local_addr().expect("is bound"), || {}).len();

    let mut rig = Rig::new(own);
    let (listener, address) = listening(&mut rig, own, backlog);
    rig.until(|rig| (rig.host.sockets() == 2).then_some(()));
    let mut far = takes(address, || rig.turn());
    assert_eq!(far.len(), expected, "backlog {backlog}");

    assert_eq!(rig.call(listener, SocketCall::Shutdown(Half::Read)), Ok(Value::Done));
    for far in &mut far {
        let error = rig.far(|| far.read(&mut [0; 1])).expect_err("RST");
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    }
}

/// C32: the program accepts nothing and increases its backlog. The new number of connections is
/// taken at once, half of them by the server.
#[test]
fn a_larger_backlog_while_nothing_is_accepted() {
    for own in LOOPBACKS {
        let mut rig = Rig::new(own);
        let (listener, address) = listening(&mut rig, own, 1);
        let _first = TcpStream::connect(address).expect("there is room");
        rig.until(|rig| (rig.host.sockets() == 3).then_some(()));
        assert_eq!(rig.call(listener, Operation::Listen { backlog: 5 }), Ok(Value::Done));
        let _more = rig.far(|| [(); 2].map(|()| TcpStream::connect(address).expect("there is room")));
        rig.until(|rig| (rig.host.sockets() == 5).then_some(()));
    }
}

/// C10, C31, C38: if the address is in use, the program gets the kernel's error. It can bind to no
/// address but its own. The unspecified address stays unspecified.
#[test]
fn bind_fails_as_the_kernel_says() {
    for own in LOOPBACKS {
        let mut rig = Rig::new(own);
        let native = TcpListener::bind(SocketAddr::new(own, 0)).expect("loopback");
        let taken = native.local_addr().expect("is bound");
        let socket = rig.socket();
        let bind = rig.call(socket, Operation::Bind(taken));
        assert_eq!(bind, Err(resoa_protocol::Errno::EADDRINUSE));
        let any = if own.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let unnamed = rig.socket();
        assert_eq!(rig.call(unnamed, Operation::Bind(SocketAddr::new(any, 0))), Ok(Value::Done));
        let Ok(Value::Address(name)) = rig.call(unnamed, SocketCall::LocalName) else { panic!("is bound") };
        assert!(name.ip() == any && name.port() != 0, "{name}");
        let other = SocketAddr::new(
            if own.is_ipv4() { [127, 0, 0, 2].into() } else { "2001:db8::1".parse().unwrap() },
            0,
        );
        // The address is checked before whether the socket is bound already.
        for socket in [socket, unnamed] {
            assert_eq!(rig.call(socket, Operation::Bind(other)), Err(resoa_protocol::Errno::EADDRNOTAVAIL));
        }
    }
}
