//! `setsockopt`, `getsockopt`, `ioctl`: which half handles each.

use super::{DATAGRAM, Pair, SOL_SOCKET, STREAM, execute};
use crate::Errno;
use crate::calls::{SocketCall, Value};
use crate::message::{Control, Fault, Operation, Reply};
use crate::tcp::TcpAction;

fn number(value: i32) -> Vec<u8> {
    value.to_ne_bytes().to_vec()
}

/// C39: options of the client's half send no message.
#[test]
fn options_of_the_client() {
    let mut pair = Pair::new();
    let socket = pair.socket(STREAM);
    assert_eq!(pair.set(socket, 7, &[10_000]), Ok(Value::Done));
    // Linux reports twice the value of SO_SNDBUF; then SO_TYPE, SO_DOMAIN, SO_PROTOCOL, SO_ERROR,
    // SO_ACCEPTCONN, SO_SNDLOWAT, SO_KEEPALIVE, SO_ZEROCOPY.
    let said = [7, 3, 39, 38, 4, 30, 19, 9, 60].map(|name| pair.get(socket, name));
    assert_eq!(said, [20_000, 1, 2, 6, 0, 0, 1, 0, 0]);
    assert_eq!(pair.set(socket, 60, &[0]), Ok(Value::Done));
    assert_eq!(pair.set(socket, 60, &[1]), Err(Errno::ENOPROTOOPT));
    assert_eq!(pair.set(socket, 19, &[5]), Err(Errno::ENOPROTOOPT));
    assert_eq!(
        pair.call(socket, Operation::Ioctl { command: 0x541b, argument: vec![] }),
        Ok(Value::Option(number(0)))
    );
    assert_eq!(pair.messages, [0, 0]);
    // A shared TCP cannot provide this (C39). Libraries work without it.
    let ulp = Operation::SetOption { level: 6, name: 31, value: b"tls".to_vec() };
    assert_eq!(pair.call(socket, ulp), Err(Errno::ENOENT));
}

/// C39: the client handles SO_RCVLOWAT. For a value beyond any stack's room, the server's stack is
/// asked, and its result is used.
#[test]
fn a_high_low_water_mark() {
    let mut pair = Pair::new();
    let socket = pair.connected();
    let set = |value| Operation::SetOption { level: SOL_SOCKET, name: 18, value: number(value) };
    assert_eq!(pair.call(socket, set(1000)), Ok(Value::Done));
    assert_eq!((pair.get(socket, 18), pair.messages), (1000, [0, 0]));
    for value in [1153, i32::MAX, -1] {
        let call = pair.begin(socket, set(value));
        assert_eq!((pair.ended(call), pair.get(socket, 18)), (None, 1000));
    }
    assert_eq!(pair.asked(), [execute(Operation::SetOption { level: 1, name: 18, value: number(1153) })]);
    for made in [1153, 5, 3] {
        pair.done(1, Ok(Reply::Value(number(made))));
        assert_eq!(pair.get(socket, 18), made);
    }
    let read = pair.receive(socket, 9);
    pair.event(1, crate::tcp::TcpEvent::Received(b"ab".to_vec()));
    assert_eq!(pair.ended(read), None);
    pair.event(1, crate::tcp::TcpEvent::Received(b"c".to_vec()));
    assert_eq!(pair.ended(read), Some(Ok(Value::Bytes(b"abc".to_vec()))));
}

/// C39: a socket is bound to no interface, which can be read and set without a message. Only the
/// server knows about its interfaces.
#[test]
fn no_interface() {
    let mut pair = Pair::new();
    let socket = pair.socket(STREAM);
    let get = Operation::GetOption { level: SOL_SOCKET, name: 25, length: 16 };
    let set = |value: &[u8]| Operation::SetOption { level: SOL_SOCKET, name: 25, value: value.to_vec() };
    assert_eq!(pair.call(socket, get), Ok(Value::Option(Vec::new())));
    assert_eq!(pair.call(socket, set(b"")), Ok(Value::Done));
    assert_eq!(pair.call(socket, set(b"\0\0\0\0")), Ok(Value::Done));
    assert_eq!(pair.messages, [0, 0]);
    pair.begin(socket, set(b"lo\0"));
    assert_eq!(pair.messages, [1, 0]);
}

/// C39: initial SO_SNDBUF, of streams and of datagrams.
#[test]
fn send_buffers_at_first() {
    let mut pair = Pair::new();
    let stream = pair.socket(STREAM);
    let datagrams = pair.socket(DATAGRAM);
    assert_eq!((pair.get(stream, 7), pair.get(datagrams, 7)), (16_384, 212_992));
}

/// C39: this host handles TCP_FASTOPEN_CONNECT, and has no cookie. A program cannot read a key that
/// was never set, because it would be the key of the server's stack.
#[test]
fn fast_open() {
    const CONNECT: i32 = 30;
    let mut pair = Pair::new();
    let set = |value: i32| Operation::SetOption { level: 6, name: CONNECT, value: number(value) };
    let get = |name: i32| Operation::GetOption { level: 6, name, length: 40 };
    let connected = pair.connected();
    assert_eq!(pair.call(connected, set(1)), Err(Errno::EINVAL));
    let socket = pair.socket(STREAM);
    for (value, is_valid, is) in [(1, true, 1), (2, false, 1), (-1, false, 1), (0, true, 0)] {
        let outcome = if is_valid { Ok(Value::Done) } else { Err(Errno::EINVAL) };
        assert_eq!(pair.call(socket, set(value)), outcome, "{value}");
        assert_eq!(pair.call(socket, get(CONNECT)), Ok(Value::Option(number(is))), "{value}");
    }
    assert_eq!(pair.call(socket, get(33)), Ok(Value::Option(Vec::new())));
    assert_eq!(pair.messages, [0, 0]);
    let datagrams = pair.socket(DATAGRAM);
    let call = pair.begin(datagrams, set(1));
    assert_eq!(pair.ended(call), Some(Err(Errno::ENOPROTOOPT)), "datagrams have no option of TCP");
}

/// C39: this host handles time stamps, and each kind replaces the others.
#[test]
fn time_stamps() {
    let mut pair = Pair::new();
    let socket = pair.socket(DATAGRAM);
    let kinds = [29, 35, 63, 64];
    assert_eq!(kinds.map(|name| pair.get(socket, name)), [0; 4]);
    for (set, value, are) in [(29, 1, [1, 0, 0, 0]), (64, 5, [0, 0, 0, 1]), (35, 0, [0; 4])] {
        assert_eq!(pair.set(socket, set, &[value]), Ok(Value::Done));
        assert_eq!(kinds.map(|name| pair.get(socket, name)), are);
    }
    assert_eq!(pair.set(socket, 29, &[]), Err(Errno::EINVAL));
    assert_eq!(pair.messages, [0, 0]);
}

/// C39: the client stores IP_RECVERR without telling the server. IPV6_RECVERR belongs to version 6.
#[test]
fn errors_have_no_queue() {
    let mut pair = Pair::new();
    let socket = pair.socket(STREAM);
    let get = |level, name| Operation::GetOption { level, name, length: 4 };
    assert_eq!(pair.call(socket, get(0, 11)), Ok(Value::Option(number(0))));
    for (value, read_back) in [(1, 1), (7, 1), (0, 0)] {
        let set = Operation::SetOption { level: 0, name: 11, value: number(value) };
        assert_eq!(pair.call(socket, set), Ok(Value::Done));
        assert_eq!(pair.call(socket, get(0, 11)), Ok(Value::Option(number(read_back))));
    }
    assert_eq!(pair.messages, [0, 0]);
    // For this one the server returns what its kernel returns.
    pair.begin(socket, Operation::SetOption { level: 41, name: 25, value: number(1) });
    assert_eq!(pair.messages, [1, 0]);
}

/// C40: the server is told of SO_KEEPALIVE, and no call waits.
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

/// C39: options about which the client knows everything are told to the server without waiting.
/// Values that the stack would refuse are refused here.
#[test]
fn options_that_are_told() {
    let mut pair = Pair::new();
    let socket = pair.socket(STREAM);
    let set = |level, name, value| Operation::SetOption { level, name, value };
    let get = |level, name| Operation::GetOption { level, name, length: 4 };
    // TCP_NODELAY, TCP_KEEPIDLE, TCP_KEEPCNT, SO_REUSEADDR, IP_TTL: before the first use, in one
    // message each and without an answer.
    let valid = [(6, 1, 7, 1), (6, 4, 60, 60), (6, 6, 127, 127), (SOL_SOCKET, 2, 1, 1), (0, 2, 64, 64)];
    for (told, (level, name, value, read_back)) in valid.into_iter().enumerate() {
        assert_eq!(pair.call(socket, set(level, name, number(value))), Ok(Value::Done));
        assert_eq!(pair.call(socket, get(level, name)), Ok(Value::Option(number(read_back))));
        assert_eq!(pair.messages, [told + 1, 0]);
    }
    let refused = [(6, 4, 0), (6, 4, 32_768), (6, 6, 128), (6, 18, -1), (0, 2, 0), (0, 2, 256)];
    for (level, name, value) in refused {
        assert_eq!(
            pair.call(socket, set(level, name, number(value))),
            Err(Errno::EINVAL),
            "{level} {name} {value}"
        );
    }
    assert_eq!(pair.call(socket, set(6, 1, vec![1, 0])), Err(Errno::EINVAL), "not an int");
    // -1 is the stack's default, which only the server knows.
    assert_eq!(pair.call(socket, set(0, 2, number(-1))), Ok(Value::Done));
    assert_eq!(pair.messages, [6, 0]);
    let call = pair.begin(socket, get(0, 2));
    assert_eq!((pair.ended(call), pair.messages), (None, [7, 0]));
    // Options of another family or type go to the server, which refuses them as its kernel does.
    let call = pair.begin(socket, set(41, 26, number(1)));
    assert_eq!(pair.ended(call), None);
}

/// C26, C39: while the link takes no messages, options become requests. So a program that sets
/// options for ever has to wait, and no queue grows.
#[test]
fn options_while_the_link_takes_nothing() {
    use crate::lhp::Indication;
    let mut pair = Pair::new();
    let socket = pair.connected();
    pair.at_client(|client, now, out| client.indication(Indication::Off, now, out));
    // TCP_NODELAY, TCP_QUICKACK. Values that the stack would refuse are still refused at once.
    let set = |name, value| Operation::SetOption { level: 6, name, value: number(value) };
    assert_eq!(pair.call(socket, set(4, 0)), Err(Errno::EINVAL));
    let calls = [(1, 5), (12, 1)].map(|(name, value)| pair.begin(socket, set(name, value)));
    assert_eq!(calls.map(|call| pair.ended(call)), [None, None]);
    pair.at_client(|client, now, out| client.indication(Indication::On, now, out));
    for call in calls {
        assert_eq!(pair.ended(call), None);
        pair.done(1, Ok(Reply::Value(number(1))));
        assert_eq!(pair.ended(call), Some(Ok(Value::Done)));
    }
    let get = |name| Operation::GetOption { level: 6, name, length: 4 };
    assert_eq!(pair.call(socket, get(1)), Ok(Value::Option(number(1))));
    // TCP_QUICKACK does not last.
    let call = pair.begin(socket, get(12));
    assert_eq!(pair.ended(call), None);
    pair.done(1, Ok(Reply::Value(number(0))));
    assert_eq!(pair.ended(call), Some(Ok(Value::Option(number(0)))));
    // A lost server is not told, whatever the link does.
    let error = Control::Error(Fault::InvalidRsockId);
    let error = crate::Message::socket_control(socket, error);
    pair.at_client(|client, now, out| client.message(error, now, out));
    pair.at_client(|client, now, out| client.indication(Indication::Off, now, out));
    assert_eq!(pair.call(socket, set(1, 0)), Ok(Value::Done));
}

/// C39: the server handles other options. The client then knows the values that were set.
#[test]
fn options_of_the_server() {
    let mut pair = Pair::new();
    let socket = pair.connected();
    // TCP_DEFER_ACCEPT, which the kernel rounds up.
    let set = Operation::SetOption { level: 6, name: 9, value: number(2) };
    let call = pair.begin(socket, set);
    assert_eq!(pair.ended(call), None);
    pair.done(1, Ok(Reply::Value(number(3))));
    assert_eq!(pair.ended(call), Some(Ok(Value::Done)));
    let get = |name| Operation::GetOption { level: 6, name, length: 4 };
    assert_eq!(pair.call(socket, get(9)), Ok(Value::Option(number(3))));
    assert_eq!(pair.messages, [1, 1]);
    // TCP_INFO, truncated to the program's buffer.
    let call = pair.begin(socket, get(11));
    pair.done(1, Ok(Reply::Value(vec![9; 20])));
    assert_eq!(pair.ended(call), Some(Ok(Value::Option(vec![9; 4]))));
    let call = pair.begin(socket, get(99));
    pair.done(1, Err(Errno::ENOPROTOOPT));
    assert_eq!(pair.ended(call), Some(Err(Errno::ENOPROTOOPT)));
}

/// C02, C39: options repeated for a socket that replaces another are told without waiting, so later
/// calls do not wait either. Their resulting values are requested when a program asks.
#[test]
fn options_that_are_set_again() {
    let mut pair = Pair::new();
    let socket = pair.connected();
    let again = |level, name, value| SocketCall::SetOptionAgain { level, name, value };
    // TCP_DEFER_ACCEPT, SO_LINGER.
    assert_eq!(pair.call(socket, again(6, 9, number(2))), Ok(Value::Done));
    assert_eq!(pair.messages, [1, 0]);
    pair.done(1, Ok(Reply::Value(number(3))));
    let linger = [number(1), number(7)].concat();
    assert_eq!(pair.call(socket, again(SOL_SOCKET, 13, linger.clone())), Ok(Value::Done));
    let get = |level, name| Operation::GetOption { level, name, length: 8 };
    assert_eq!(pair.call(socket, get(SOL_SOCKET, 13)), Ok(Value::Option(linger)));
    assert_eq!(pair.messages, [1, 0]);
    let call = pair.begin(socket, get(6, 9));
    pair.done(1, Ok(Reply::Value(number(3))));
    assert_eq!(pair.ended(call), Some(Ok(Value::Option(number(3)))));
}

/// A18: with a larger SO_RCVBUF, more is forwarded before the program reads, so that no data waits
/// at the server.
#[test]
fn a_larger_receive_buffer() {
    use crate::server::{Addresses, ServerSettings};
    use crate::settings::Settings;
    use crate::tcp::TcpEvent;
    let settings = Settings { receive_buffer: 4, ..Settings::default() };
    let mut pair = Pair::with(settings, ServerSettings::new(Addresses::shared(super::address(0).ip())));
    let socket = pair.connected();
    let set = Operation::SetOption { level: SOL_SOCKET, name: 8, value: number(4) };
    pair.begin(socket, set);
    pair.done(1, Ok(Reply::Value(number(8))));
    pair.event(1, TcpEvent::Received(b"0123456789".to_vec()));
    assert_eq!(pair.client.holds(socket), Some((8, false)));
    assert!(!pair.asked().iter().any(|action| matches!(action, TcpAction::Consume(_))));
}

/// C41: other `ioctl`s go to the server.
#[test]
fn ioctl_is_forwarded() {
    let mut pair = Pair::new();
    let socket = pair.connected();
    let call = pair.begin(socket, Operation::Ioctl { command: 0x8910, argument: vec![1] });
    pair.done(1, Ok(Reply::Value(vec![2])));
    assert_eq!(pair.ended(call), Some(Ok(Value::Option(vec![2]))));
    let nonblocking = Operation::Ioctl { command: 0x5421, argument: number(1) };
    assert_eq!(pair.call(socket, nonblocking), Ok(Value::Done));
    let call = pair.receive(socket, 1);
    assert_eq!(pair.ended(call), Some(Err(Errno::EAGAIN)));
}
