//! How connections begin and end, seen by the program and by the far host.

use crate::rig::{LOOPBACKS, Rig, Turns, bytes, listener};
use resoa_protocol::message::{Half, Operation};
use resoa_protocol::{Errno, SocketCall, Value};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr};

/// C35, C38: connect, an octet each way, names that are those on the wire; C52: `close` of a
/// program that has read everything ends by FIN.
#[test]
fn exchange_and_close() {
    for own in LOOPBACKS {
        let mut rig = Rig::new(own);
        let (socket, mut far) = rig.connected();
        let local = far.peer_addr().expect("is connected");
        assert_eq!(local.ip(), own);
        assert_eq!(rig.call(socket, SocketCall::LocalName), Ok(Value::Address(local)));
        let peer = far.local_addr().expect("is connected");
        assert_eq!(rig.call(socket, SocketCall::PeerName), Ok(Value::Address(peer)));

        assert_eq!(rig.send(socket, b"ask"), Ok(Value::Count(3)));
        let mut asked = [0; 3];
        rig.far(|| far.read_exact(&mut asked).expect("arrives"));
        assert_eq!(&asked, b"ask");
        far.write_all(b"tell").expect("is taken");
        assert_eq!(rig.read(socket, 100), bytes(b"tell"));

        assert_eq!(rig.close(socket), Ok(Value::Done));
        assert_eq!(rig.far(|| far.read(&mut asked)).expect("FIN, not RST"), 0);
        drop(far);
        rig.nothing_is_left();
    }
}

/// C58: the far host closes; its program's octets and then the end are read, and our FIN follows.
#[test]
fn the_far_host_closes_first() {
    for own in LOOPBACKS {
        let mut rig = Rig::new(own);
        let (socket, mut far) = rig.connected();
        far.write_all(b"bye").expect("is taken");
        far.shutdown(Shutdown::Write).expect("is connected");
        assert_eq!(rig.read(socket, 100), bytes(b"bye"));
        assert_eq!(rig.read(socket, 100), bytes(b""));
        assert_eq!(rig.close(socket), Ok(Value::Done));
        assert_eq!(rig.far(|| far.read(&mut [0; 1])).expect("FIN, not RST"), 0);
        rig.nothing_is_left();
    }
}

/// C35, C36: nobody listens; the socket can be used for another attempt.
#[test]
fn refused() {
    for own in LOOPBACKS {
        let mut rig = Rig::new(own);
        let nobody = listener(own).local_addr().expect("was bound");
        let socket = rig.socket();
        assert_eq!(rig.call(socket, Operation::Connect(nobody)), Err(Errno::ECONNREFUSED));
        let somebody = listener(own);
        let address = somebody.local_addr().expect("is bound");
        assert_eq!(rig.call(socket, Operation::Connect(address)), Ok(Value::Done));
        assert_eq!(rig.close(socket), Ok(Value::Done));
        rig.nothing_is_left();
    }
}

/// C36, C37: while the far host does not answer the SYN nothing returns but a `connect` that does
/// not wait; a `close` leaves nothing.
#[test]
fn connect_without_an_answer() {
    let own = LOOPBACKS[0];
    let mut rig = Rig::new(own);
    // The queue holds one connection more than its length; whoever comes next gets no answer.
    let far = far_listener(own, 0);
    let first = rig.socket();
    assert_eq!(rig.call(first, Operation::Connect(far.1)), Ok(Value::Done));
    let second = rig.socket();
    assert_eq!(rig.call(second, SocketCall::SetNonblocking(true)), Ok(Value::Done));
    assert_eq!(rig.call(second, Operation::Connect(far.1)), Err(Errno::EINPROGRESS));
    assert_eq!(rig.call(second, Operation::Connect(far.1)), Err(Errno::EALREADY));
    rig.until(|rig| (rig.host.sockets() == 2).then_some(()));
    // What the server does meanwhile is not taken for the answer.
    let (level, name, value) = (libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1_i32.to_ne_bytes().to_vec());
    assert_eq!(rig.call(second, Operation::SetOption { level, name, value }), Ok(Value::Done));
    for _ in 0..20 {
        rig.turn();
    }
    assert_eq!(rig.call(second, Operation::Connect(far.1)), Err(Errno::EALREADY));
    assert_eq!(rig.close(second), Ok(Value::Done));
    rig.until(|rig| (rig.host.sockets() == 1).then_some(()));
    assert_eq!(rig.close(first), Ok(Value::Done));
    drop(far);
    rig.nothing_is_left();
}

/// A listener with a backlog of the test's choosing, and its address.
fn far_listener(own: std::net::IpAddr, backlog: i32) -> (std::net::TcpListener, SocketAddr) {
    let far = listener(own);
    rustix::net::listen(&far, backlog).expect("is bound");
    let address = far.local_addr().expect("is bound");
    (far, address)
}

/// Closes by RST.
fn reset(far: std::net::TcpStream) {
    rustix::net::sockopt::set_socket_linger(&far, Some(std::time::Duration::ZERO)).expect("is a socket");
    drop(far);
}

/// C66, C82: the far host resets; what it sent before is read first, and then the error, once.
#[test]
fn reset_by_the_far_host() {
    for own in LOOPBACKS {
        let mut rig = Rig::new(own);
        let (socket, mut far) = rig.connected();
        far.write_all(b"last").expect("is taken");
        reset(far);
        assert_eq!(rig.read(socket, 100), bytes(b"last"));
        assert_eq!(rig.read(socket, 100), Err(Errno::ECONNRESET));
        assert_eq!(rig.read(socket, 100), bytes(b""));
        assert_eq!(rig.send(socket, b"x"), Err(Errno::EPIPE));
        assert_eq!(rig.close(socket), Ok(Value::Done));
        rig.nothing_is_left();
    }
}

/// C66: RST behind FIN is EPIPE, as Linux has it.
#[test]
fn reset_behind_fin() {
    for own in LOOPBACKS {
        let mut rig = Rig::new(own);
        let (socket, far) = rig.connected();
        // It closes, and what comes then for it is answered by RST.
        drop(far);
        assert_eq!(rig.read(socket, 100), bytes(b""));
        assert_eq!(rig.send(socket, b"x"), Ok(Value::Count(1)));
        let error = rig.until(|rig| match rig.option(socket, libc::SOL_SOCKET, libc::SO_ERROR) {
            none if none == 0_i32.to_ne_bytes() => None,
            error => Some(error),
        });
        assert_eq!(error, libc::EPIPE.to_ne_bytes());
        assert_eq!(rig.close(socket), Ok(Value::Done));
        rig.nothing_is_left();
    }
}

/// C56: SO_LINGER of 0 is RST, at once.
#[test]
fn linger_of_no_time() {
    for own in LOOPBACKS {
        let mut rig = Rig::new(own);
        let (socket, mut far) = rig.connected();
        rig.linger(socket, 0);
        assert_eq!(rig.close(socket), Ok(Value::Done));
        let error = rig.far(|| far.read(&mut [0; 1])).expect_err("RST");
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        rig.nothing_is_left();
    }
}

/// C51: what the program has not read is lost, and the far host is told by RST; wherever it was.
#[test]
fn close_with_something_unread() {
    for own in LOOPBACKS {
        for reads in [0, 1] {
            let mut rig = Rig::new(own);
            let (socket, mut far) = rig.connected();
            far.write_all(b"ab").expect("is taken");
            if reads > 0 {
                assert_eq!(rig.read(socket, reads), bytes(b"a"));
            }
            // Without a turn the server may not even know of them.
            assert_eq!(rig.close(socket), Ok(Value::Done));
            let error = rig.far(|| far.read(&mut [0; 1])).expect_err("RST");
            assert_eq!(error.kind(), ErrorKind::ConnectionReset);
            rig.nothing_is_left();
        }
    }
}

/// C63: the writing half is shut while something arrives that the program will read: FIN goes all
/// the same.
#[test]
fn shutdown_while_something_arrives() {
    for own in LOOPBACKS {
        let mut rig = Rig::new(own);
        let (socket, mut far) = rig.connected();
        far.write_all(b"late").expect("is taken");
        assert_eq!(rig.call(socket, SocketCall::Shutdown(Half::Write)), Ok(Value::Done));
        assert_eq!(rig.far(|| far.read(&mut [0; 1])).expect("FIN, not RST"), 0);
        assert_eq!(rig.read(socket, 100), bytes(b"late"));
        drop(far);
        assert_eq!(rig.close(socket), Ok(Value::Done));
        rig.nothing_is_left();
    }
}

/// C23: what the far host says at once is not overlooked, though it comes with the connection.
#[test]
fn the_far_host_speaks_first() {
    for own in LOOPBACKS {
        let mut rig = Rig::new(own);
        let listener = listener(own);
        let socket = rig.socket();
        let connect = rig.begin(socket, Operation::Connect(listener.local_addr().expect("is bound")));
        // The kernel connects while the server does not look.
        rig.until(|rig| (rig.host.sockets() == 1).then_some(()));
        let mut far = listener.accept().expect("has connected").0;
        far.write_all(b"hello").expect("is taken");
        assert_eq!(rig.until(|rig| rig.ended(connect)), Ok(Value::Done));
        assert_eq!(rig.read(socket, 100), bytes(b"hello"));
    }
}

/// C09: connections come from the client's address, which need not be the one that the server would
/// choose.
#[test]
fn connections_come_from_the_clients_address() {
    let own = [127, 0, 0, 2].into();
    let mut rig = Rig::new(own);
    let listener = listener(LOOPBACKS[0]);
    let socket = rig.socket();
    let connect = Operation::Connect(listener.local_addr().expect("is bound"));
    assert_eq!(rig.call(socket, connect), Ok(Value::Done));
    assert_eq!(listener.accept().expect("has connected").1.ip(), own);
}

/// C63: each half is shut by itself, and the other still carries.
#[test]
fn half_closes() {
    for own in LOOPBACKS {
        let mut rig = Rig::new(own);
        let (socket, mut far) = rig.connected();
        assert_eq!(rig.send(socket, b"all"), Ok(Value::Count(3)));
        assert_eq!(rig.call(socket, SocketCall::Shutdown(Half::Write)), Ok(Value::Done));
        let mut all = Vec::new();
        rig.far(|| far.read_to_end(&mut all).expect("FIN, not RST"));
        assert_eq!(all, b"all");
        assert_eq!(rig.send(socket, b"x"), Err(Errno::EPIPE));
        far.write_all(b"answer").expect("is taken");
        assert_eq!(rig.read(socket, 100), bytes(b"answer"));
        far.shutdown(Shutdown::Write).expect("is connected");
        assert_eq!(rig.read(socket, 100), bytes(b""));
        assert_eq!(rig.close(socket), Ok(Value::Done));
        rig.nothing_is_left();

        let (socket, mut far) = rig.connected();
        far.shutdown(Shutdown::Write).expect("is connected");
        assert_eq!(rig.read(socket, 100), bytes(b""));
        assert_eq!(rig.send(socket, b"still"), Ok(Value::Count(5)));
        assert_eq!(rig.close(socket), Ok(Value::Done));
        let mut all = Vec::new();
        rig.far(|| far.read_to_end(&mut all).expect("FIN, not RST"));
        assert_eq!(all, b"still");
        rig.nothing_is_left();
    }
}

/// C55: a lingering `close` returns when the far host has acknowledged everything, our FIN
/// included; until then it does not.
#[test]
fn linger_waits_for_acknowledgements() {
    for own in LOOPBACKS {
        let mut rig = Rig::new(own);
        let (socket, mut far) = rig.connected();
        rig.linger(socket, 600);
        // More than the buffers of both kernels take from a far host that does not read.
        let total = 3 << 20;
        assert_eq!(rig.send(socket, &vec![7; total]), Ok(Value::Count(total)));
        let close = rig.begin(socket, SocketCall::Close { may_wait: true });
        for _ in 0..50 {
            rig.turn();
        }
        assert_eq!(rig.ended(close), None);
        let mut all = Vec::new();
        rig.far(|| far.read_to_end(&mut all).expect("FIN, not RST"));
        assert!(all.len() == total && all.iter().all(|&octet| octet == 7));
        assert_eq!(rig.until(|rig| rig.ended(close)), Ok(Value::Done));
        rig.nothing_is_left();
    }
}

/// C76, C80: the client is lost; its far hosts are told by RST, and its program by an error.
#[test]
fn the_client_is_lost() {
    for own in LOOPBACKS {
        let mut rig = Rig::new(own);
        let (socket, mut far) = rig.connected();
        rig.cut();
        let error = rig.far(|| far.read(&mut [0; 1])).expect_err("RST");
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        assert_eq!(rig.read(socket, 1), Err(Errno::ECONNRESET));
        assert_eq!(rig.host.sockets(), 0);
    }
}

/// E8: a server that ends without a word ends its connections by RST: what far hosts have is not
/// all there was to be.
#[test]
fn a_server_that_dies() {
    for own in LOOPBACKS {
        let mut rig = Rig::new(own);
        let (socket, mut far) = rig.connected();
        assert_eq!(rig.send(socket, b"half"), Ok(Value::Count(4)));
        let mut octets = [0; 4];
        rig.far(|| far.read_exact(&mut octets)).expect("has arrived");
        drop(rig);
        let error = far.read(&mut octets).expect_err("no end");
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    }
}
