//! Start and end of connections, as seen by the program and by the far host.

use crate::rig::{LOOPBACKS, Rig, Turns, bytes, listener};
use resoa_protocol::message::{Half, Operation};
use resoa_protocol::{Errno, SocketCall, Value};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr};

/// C35, C38: connect, exchange data both ways, names as on the wire. C52: `close` of a program that
/// has read everything ends by FIN.
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

/// C58: the far host closes. Its data and then the end of the stream are read, and our FIN follows.
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

/// C35, C36: without a listener the connect is refused, and the socket can be used for another
/// attempt.
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

/// C36, C37: while the far host does not answer the SYN, only a non-blocking `connect` returns. A
/// `close` leaves no state.
#[test]
fn connect_without_an_answer() {
    let own = LOOPBACKS[0];
    let mut rig = Rig::new(own);
    // The queue holds one connection more than its length. The next SYN gets no answer.
    let far = far_listener(own, 0);
    let first = rig.socket();
    assert_eq!(rig.call(first, Operation::Connect(far.1)), Ok(Value::Done));
    let second = rig.socket();
    assert_eq!(rig.call(second, SocketCall::SetNonblocking(true)), Ok(Value::Done));
    assert_eq!(rig.call(second, Operation::Connect(far.1)), Err(Errno::EINPROGRESS));
    assert_eq!(rig.call(second, Operation::Connect(far.1)), Err(Errno::EALREADY));
    rig.until(|rig| (rig.host.sockets() == 2).then_some(()));
    // The answer to another request in between is not mistaken for that of the connect.
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

/// Creates a listener with this backlog and returns it with its address.
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

/// C66, C82: after a reset by the far host, data sent before it is read first, and then the error,
/// once.
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

/// C66: RST after FIN is EPIPE, as on Linux.
#[test]
fn reset_behind_fin() {
    for own in LOOPBACKS {
        let mut rig = Rig::new(own);
        let (socket, far) = rig.connected();
        // The far host closes, and answers later data with RST.
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

/// C56: SO_LINGER of 0 sends RST at once.
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

/// C51: `close` with unread data sends RST to the far host, wherever the data is.
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
            // Without a turn, the server may not even know of the data.
            assert_eq!(rig.close(socket), Ok(Value::Done));
            let error = rig.far(|| far.read(&mut [0; 1])).expect_err("RST");
            assert_eq!(error.kind(), ErrorKind::ConnectionReset);
            rig.nothing_is_left();
        }
    }
}

/// C63: the writing half is shut down while data arrives that the program will read. FIN is sent
/// nevertheless.
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

/// C23: data that the far host sends at once is not missed, although it arrives with the
/// connection.
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

/// C09: connections have the client's address as their source, which may differ from the server's
/// choice.
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

/// C63: each half is shut down by itself, and the other still carries data.
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

/// C55: a lingering `close` returns when the far host has acknowledged everything, including our
/// FIN, and not before.
#[test]
fn linger_waits_for_acknowledgements() {
    for own in LOOPBACKS {
        let mut rig = Rig::new(own);
        let (socket, mut far) = rig.connected();
        rig.linger(socket, 600);
        // More than the buffers of both kernels hold while the far host does not read.
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

/// C76, C80: when the client is lost, its far hosts get RST, and its program gets an error.
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

/// E8: a server that dies ends its connections by RST, because the far hosts do not have all data.
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
