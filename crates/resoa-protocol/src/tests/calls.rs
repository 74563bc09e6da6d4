//! `socket`, `bind`, `connect`, names, and `poll`.

use super::{DATAGRAM, Pair, STREAM, address, bytes, execute};
use crate::calls::{SocketCall, Value};
use crate::message::{Half, Operation, Reply};
use crate::server::{Addresses, ServerSettings};
use crate::settings::Settings;
use crate::tcp::{TcpAction, TcpEvent};
use crate::{Errno, RsockId};

fn connect(port: u16) -> Operation {
    Operation::Connect(address(port))
}

/// C17, C30, C35, C38: `socket` sends no message, and with `connect` it takes 2; names take none.
#[test]
fn socket_and_connect_are_two_messages() {
    let mut pair = Pair::new();
    let socket = pair.socket(STREAM);
    assert_eq!(pair.messages, [0, 0]);
    assert_eq!(pair.call(socket, SocketCall::PeerName), Err(Errno::ENOTCONN));
    let nowhere = Value::Address("0.0.0.0:0".parse().expect("an address"));
    assert_eq!(pair.call(socket, SocketCall::LocalName), Ok(nowhere));
    let call = pair.begin(socket, connect(80));
    assert_eq!(pair.ended(call), None, "I12: waits for the server's TCP");
    let source = address(0).ip();
    let create = TcpAction::Create { create: STREAM, source, foreign: false };
    assert_eq!(pair.asked(), [create, execute(Operation::Connect(address(80)))]);
    assert_eq!(pair.poll(socket), "");
    pair.done(1, Ok(Reply::Connected { local: address(4000), peer: address(80) }));
    assert_eq!(pair.ended(call), Some(Ok(Value::Done)));
    assert_eq!(pair.call(socket, SocketCall::LocalName), Ok(Value::Address(address(4000))));
    assert_eq!(pair.call(socket, SocketCall::PeerName), Ok(Value::Address(address(80))));
    assert_eq!(pair.poll(socket), "O");
    assert_eq!(pair.call(socket, connect(80)), Err(Errno::EISCONN));
    assert_eq!(pair.messages, [1, 1]);
}

/// C30: the server's limit of open sockets.
#[test]
fn one_socket_more_than_the_limit() {
    let server = ServerSettings { sockets: 2, ..ServerSettings::new(Addresses::shared(address(0).ip())) };
    let mut pair = Pair::with(Settings::default(), server);
    let first = pair.socket(STREAM);
    pair.socket(STREAM);
    assert_eq!(pair.client.socket(STREAM), Err(Errno::ENFILE));
    assert_eq!(pair.call(first, SocketCall::Close { may_wait: true }), Ok(Value::Done));
    assert_eq!(pair.client.socket(STREAM), Ok(RsockId(3)), "numbers are not used again (A17)");
    assert_eq!(pair.messages, [0, 0]);
    // C57: a closed socket is no longer valid.
    assert_eq!(pair.call(first, SocketCall::LocalName), Err(Errno::EBADF));
}

/// C31: only the server knows which addresses are free. Other errors are reported at once.
#[test]
fn bind_asks_the_server() {
    let mut pair = Pair::new();
    let socket = pair.socket(STREAM);
    let other = Operation::Bind("[::1]:80".parse().expect("an address"));
    assert_eq!(pair.call(socket, other), Err(Errno::EAFNOSUPPORT));
    let call = pair.begin(socket, Operation::Bind(address(80)));
    pair.done(1, Err(Errno::EADDRINUSE));
    assert_eq!(pair.ended(call), Some(Err(Errno::EADDRINUSE)));
    let call = pair.begin(socket, Operation::Bind(address(0)));
    pair.done(1, Ok(Reply::Local(address(5000))));
    assert_eq!(pair.ended(call), Some(Ok(Value::Done)));
    assert_eq!(pair.call(socket, SocketCall::LocalName), Ok(Value::Address(address(5000))));
    assert_eq!(pair.call(socket, Operation::Bind(([0, 0, 0, 0], 1).into())), Err(Errno::EINVAL));
    // That the server does not have an address is reported first, although the socket has one
    // already.
    let call = pair.begin(socket, Operation::Bind(address(1)));
    pair.done(1, Err(Errno::EADDRNOTAVAIL));
    assert_eq!(pair.ended(call), Some(Err(Errno::EADDRNOTAVAIL)));
    assert_eq!(pair.call(socket, SocketCall::LocalName), Ok(Value::Address(address(5000))));
}

/// C36, as measured on Linux 6.18: EINPROGRESS, EALREADY, then 0 once, then EISCONN.
#[test]
fn connect_that_does_not_wait() {
    let mut pair = Pair::new();
    let socket = pair.socket(STREAM);
    assert_eq!(pair.call(socket, SocketCall::SetNonblocking(true)), Ok(Value::Done));
    assert_eq!(pair.call(socket, connect(80)), Err(Errno::EINPROGRESS));
    assert_eq!(pair.call(socket, connect(80)), Err(Errno::EALREADY));
    assert_eq!(pair.read(socket, 1), Err(Errno::EAGAIN), "I1");
    pair.done(1, Ok(Reply::Connected { local: address(4000), peer: address(80) }));
    assert_eq!(pair.call(socket, connect(80)), Ok(Value::Done));
    assert_eq!(pair.call(socket, connect(80)), Err(Errno::EISCONN));
}

/// C36, C66, as measured on Linux 6.18: a refusal is reported once, by whichever call comes first.
/// Then the socket can connect again.
#[test]
fn connect_that_is_refused_while_nobody_waits() {
    let mut pair = Pair::new();
    for (first, then) in
        [("connect", Errno::EINPROGRESS), ("read", Errno::ECONNABORTED), ("error", Errno::ECONNABORTED)]
    {
        let socket = pair.socket(STREAM);
        assert_eq!(pair.call(socket, SocketCall::SetNonblocking(true)), Ok(Value::Done));
        assert_eq!(pair.call(socket, connect(80)), Err(Errno::EINPROGRESS));
        pair.done(socket.0.into(), Err(Errno::ECONNREFUSED));
        assert_eq!(pair.poll(socket), "IOEHR");
        match first {
            "connect" => assert_eq!(pair.call(socket, connect(80)), Err(Errno::ECONNREFUSED)),
            "error" => assert_eq!(pair.get(socket, 4), Errno::ECONNREFUSED.linux()),
            _ => {
                assert_eq!(pair.read(socket, 1), Err(Errno::ECONNREFUSED));
                assert_eq!(pair.read(socket, 1), bytes(&[]));
            }
        }
        assert_eq!(pair.call(socket, connect(80)), Err(then));
    }
}

/// C35, as measured: the error, no SO_ERROR, and a socket as new.
#[test]
fn connect_that_is_refused() {
    let mut pair = Pair::new();
    let socket = pair.socket(STREAM);
    let call = pair.begin(socket, connect(80));
    pair.done(1, Err(Errno::ECONNREFUSED));
    assert_eq!(pair.ended(call), Some(Err(Errno::ECONNREFUSED)));
    assert_eq!(pair.get(socket, 4), 0);
    assert_eq!(pair.read(socket, 1), Err(Errno::ENOTCONN));
    assert_eq!(pair.call(socket, SocketCall::Shutdown(Half::Write)), Err(Errno::ENOTCONN));
    assert_eq!(pair.poll(socket), "OH");
    let call = pair.begin(socket, connect(81));
    pair.done(1, Ok(Reply::Connected { local: address(4000), peer: address(81) }));
    assert_eq!(pair.ended(call), Some(Ok(Value::Done)));
}

/// C38: the local address of a connection attempt is requested from the server when a program asks,
/// once. It becomes the socket's address only if the attempt succeeds.
#[test]
fn the_name_of_a_socket_that_connects() {
    for outcome in [Ok(Reply::Connected { local: address(4001), peer: address(80) }), Err(Errno::ETIMEDOUT)] {
        let mut pair = Pair::new();
        let socket = pair.socket(STREAM);
        pair.begin(socket, connect(80));
        pair.stack.clear();
        let asking = [(); 2].map(|()| pair.begin(socket, SocketCall::LocalName));
        assert_eq!((pair.asked(), pair.messages), (vec![TcpAction::Locate], [2, 0]));
        assert_eq!(asking.map(|call| pair.ended(call)), [None, None]);
        pair.event(1, TcpEvent::Located(address(4000)));
        let name = |port| Ok(Value::Address(address(port)));
        assert_eq!(asking.map(|call| pair.ended(call)), [(); 2].map(|()| Some(name(4000))));
        assert_eq!(pair.call(socket, SocketCall::LocalName), name(4000));
        assert_eq!(pair.messages, [2, 1]);
        let is_connected = outcome.is_ok();
        pair.done(1, outcome);
        let after = if is_connected { name(4001) } else { Ok(Value::Address(([0, 0, 0, 0], 0).into())) };
        assert_eq!(pair.call(socket, SocketCall::LocalName), after);
        // The next attempt has another local address.
        if !is_connected {
            pair.begin(socket, connect(81));
            let asking = pair.begin(socket, SocketCall::LocalName);
            assert_eq!(pair.ended(asking), None);
            pair.done(1, Ok(Reply::Connected { local: address(4002), peer: address(81) }));
            assert_eq!(pair.ended(asking), Some(name(4002)), "the answer says it as well");
        }
    }
}

/// C48: a signal ends the waiting, but not the connection attempt.
#[test]
fn connect_that_is_interrupted() {
    let mut pair = Pair::new();
    let socket = pair.socket(STREAM);
    let call = pair.begin(socket, connect(80));
    pair.at_client(|client, now, out| client.interrupt(socket, call, now, out));
    assert_eq!(pair.ended(call), Some(Err(Errno::EINTR)));
    let call = pair.begin(socket, connect(80));
    assert_eq!(pair.ended(call), None, "a second one waits again");
    pair.done(1, Ok(Reply::Connected { local: address(4000), peer: address(80) }));
    assert_eq!(pair.ended(call), Some(Ok(Value::Done)));
}

/// C13, C73, I14: a socket has one request in progress at a time. If the server has no room for its
/// half, the next use tries again.
#[test]
fn requests_follow_each_other() {
    let mut pair = Pair::new();
    let socket = pair.socket(STREAM);
    let option = |name| Operation::GetOption { level: 6, name, length: 4 };
    let calls = [pair.begin(socket, option(1)), pair.begin(socket, option(2))];
    assert_eq!(pair.messages, [1, 0]);
    pair.done(1, Ok(Reply::Value(vec![1])));
    assert_eq!(pair.messages, [2, 1]);
    pair.done(1, Ok(Reply::Value(vec![2])));
    assert_eq!(calls.map(|call| pair.ended(call)), [1, 2].map(|value| Some(Ok(Value::Option(vec![value])))));

    let socket = pair.socket(STREAM);
    for endpoint in 2..4 {
        let call = pair.begin(socket, connect(80));
        pair.event(endpoint, TcpEvent::NotCreated);
        assert_eq!(pair.ended(call), Some(Err(Errno::ENOBUFS)));
    }
    // A stack may return the same error for a socket that it has. Then the server must be told of
    // the socket's end.
    let call = pair.begin(socket, connect(80));
    pair.done(4, Err(Errno::ENOBUFS));
    assert_eq!(pair.ended(call), Some(Err(Errno::ENOBUFS)));
    assert_eq!(pair.server.sockets(super::LINK), 2);
    assert_eq!(pair.call(socket, SocketCall::Close { may_wait: true }), Ok(Value::Done));
    assert_eq!(pair.server.sockets(super::LINK), 1);
}

/// C46: `poll` returns Linux's masks, without a message.
#[test]
fn masks_of_poll() {
    let mut pair = Pair::new();
    let (fresh, datagram) = (pair.socket(STREAM), pair.socket(DATAGRAM));
    assert_eq!((pair.poll(fresh).as_str(), pair.poll(datagram).as_str()), ("OH", "O"));
    let mut pair = Pair::new();
    let socket = pair.connected();
    pair.event(1, TcpEvent::Received(vec![1]));
    assert_eq!(pair.poll(socket), "IO");
    pair.event(1, TcpEvent::FinReceived);
    assert_eq!(pair.poll(socket), "IOR");
    pair.event(1, TcpEvent::Failed(Errno::ECONNRESET));
    assert_eq!(pair.poll(socket), "IOEHR");
    // C66, as measured: the error once, and the later results of such a socket.
    assert_eq!((pair.read(socket, 9), pair.read(socket, 9)), (bytes(&[1]), Err(Errno::ECONNRESET)));
    assert_eq!(pair.read(socket, 9), bytes(&[]));
    let call = pair.send(socket, b"x");
    assert_eq!(pair.ended(call), Some(Err(Errno::EPIPE)));
    assert_eq!(pair.signals, [crate::Signal::Pipe]);
    assert_eq!(pair.call(socket, SocketCall::Shutdown(Half::Write)), Err(Errno::ENOTCONN));
    assert_eq!(pair.call(socket, SocketCall::PeerName), Err(Errno::ENOTCONN));
    assert_eq!(pair.call(socket, connect(80)), Err(Errno::EISCONN));
}
