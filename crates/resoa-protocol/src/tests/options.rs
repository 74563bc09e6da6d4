//! `setsockopt`, `getsockopt`, `ioctl`: where each is done.

use super::{Pair, SOL_SOCKET, STREAM, execute};
use crate::Errno;
use crate::calls::{SocketCall, Value};
use crate::message::{Operation, Reply};
use crate::tcp::TcpAction;

fn number(value: i32) -> Vec<u8> {
    value.to_ne_bytes().to_vec()
}

/// C39: what concerns the client's half sends nothing.
#[test]
fn options_of_the_client() {
    let mut pair = Pair::new();
    let socket = pair.socket(STREAM);
    assert_eq!(pair.set(socket, 7, &[10_000]), Ok(Value::Done));
    // Linux says the double of SO_SNDBUF; SO_TYPE, SO_DOMAIN, SO_PROTOCOL, SO_ERROR, SO_ACCEPTCONN, SO_SNDLOWAT, SO_KEEPALIVE.
    let said = [7, 3, 39, 38, 4, 30, 19, 9].map(|name| pair.get(socket, name));
    assert_eq!(said, [20_000, 1, 2, 6, 0, 0, 1, 0]);
    assert_eq!(pair.set(socket, 19, &[5]), Err(Errno::ENOPROTOOPT));
    assert_eq!(
        pair.call(socket, SocketCall::Ioctl { command: 0x541b, argument: vec![] }),
        Ok(Value::Option(number(0)))
    );
    assert_eq!(pair.messages, [0, 0]);
    // What a shared TCP cannot give (C39): libraries go on without.
    let ulp = SocketCall::SetOption { level: 6, name: 31, value: b"tls".to_vec() };
    assert_eq!(pair.call(socket, ulp), Err(Errno::ENOENT));
}

/// C40: SO_KEEPALIVE is told, and nobody waits.
#[test]
fn keep_alive_is_told() {
    let mut pair = Pair::new();
    let socket = pair.connected();
    assert_eq!(pair.set(socket, 9, &[5]), Ok(Value::Done));
    let operation = Operation::SetOption { level: SOL_SOCKET, name: 9, value: number(5) };
    assert_eq!((pair.asked(), pair.messages), (vec![execute(operation)], [1, 0]));
    pair.done(1, Ok(Reply::Done));
    assert_eq!((pair.get(socket, 9), pair.messages), (1, [1, 0]));
}

/// C39: the others are done by the server; what it has set is known here afterwards.
#[test]
fn options_of_the_server() {
    let mut pair = Pair::new();
    let socket = pair.connected();
    let set = SocketCall::SetOption { level: 6, name: 1, value: number(1) };
    let call = pair.begin(socket, set);
    assert_eq!(pair.ended(call), None);
    pair.done(1, Ok(Reply::Value(number(1))));
    assert_eq!(pair.ended(call), Some(Ok(Value::Done)));
    let get = |name| SocketCall::GetOption { level: 6, name, length: 4 };
    assert_eq!(pair.call(socket, get(1)), Ok(Value::Option(number(1))));
    assert_eq!(pair.messages, [1, 1]);
    // TCP_INFO, cut to the room for it.
    let call = pair.begin(socket, get(11));
    pair.done(1, Ok(Reply::Value(vec![9; 20])));
    assert_eq!(pair.ended(call), Some(Ok(Value::Option(vec![9; 4]))));
    let call = pair.begin(socket, get(99));
    pair.done(1, Err(Errno::ENOPROTOOPT));
    assert_eq!(pair.ended(call), Some(Err(Errno::ENOPROTOOPT)));
}

/// A18: with a larger SO_RCVBUF more is forwarded before the program reads, so that nothing waits at the server.
#[test]
fn a_larger_receive_buffer() {
    use crate::server::{Addresses, ServerSettings};
    use crate::settings::Settings;
    use crate::tcp::TcpEvent;
    let settings = Settings { receive_buffer: 4, ..Settings::default() };
    let mut pair = Pair::with(settings, ServerSettings::new(Addresses::shared(super::address(0).ip())));
    let socket = pair.connected();
    let set = SocketCall::SetOption { level: SOL_SOCKET, name: 8, value: number(4) };
    pair.begin(socket, set);
    pair.done(1, Ok(Reply::Value(number(8))));
    pair.event(1, TcpEvent::Received(b"0123456789".to_vec()));
    assert_eq!(pair.client.holds(socket), Some((8, false)));
    assert!(!pair.asked().iter().any(|action| matches!(action, TcpAction::Consume(_))));
}

/// C41: other `ioctl`s are the server's.
#[test]
fn ioctl_is_forwarded() {
    let mut pair = Pair::new();
    let socket = pair.connected();
    let call = pair.begin(socket, SocketCall::Ioctl { command: 0x8910, argument: vec![1] });
    pair.done(1, Ok(Reply::Value(vec![2])));
    assert_eq!(pair.ended(call), Some(Ok(Value::Option(vec![2]))));
    let nonblocking = SocketCall::Ioctl { command: 0x5421, argument: number(1) };
    assert_eq!(pair.call(socket, nonblocking), Ok(Value::Done));
    let call = pair.receive(socket, 1);
    assert_eq!(pair.ended(call), Some(Err(Errno::EAGAIN)));
}
