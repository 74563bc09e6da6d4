//! Reading and writing: flags, credits, urgent bytes, and flow control of the link.

use super::{Pair, address, bytes};
use crate::calls::{ReceiveFlags, SendFlags, Signal, SocketCall, Value};
use crate::client::Client;
use crate::lhp::Indication;
use crate::message::Operation;
use crate::server::{Addresses, ServerSettings};
use crate::settings::Settings;
use crate::tcp::{TcpAction, TcpEvent};
use crate::{Errno, RsockId};
use std::time::Duration;

fn small(send_buffer: u32, send_space: u32) -> Pair {
    let server = ServerSettings { send_space, ..ServerSettings::new(Addresses::shared(address(0).ip())) };
    Pair::with(Settings { send_buffer, chunk: 4, ..Settings::default() }, server)
}

fn sent(octets: &[u8]) -> TcpAction {
    TcpAction::Send { bytes: octets.to_vec(), urgent: false }
}

/// C21, C22, C42, C43: data is taken and forwarded at once; or kept here and merged; or, without
/// any room, the call waits.
#[test]
fn writes_in_three_regimes() {
    let mut pair = small(6, 3);
    let socket = pair.connected();
    let calls = [pair.send(socket, b"ab"), pair.send(socket, b"cd"), pair.send(socket, b"e")];
    for (call, count) in calls.into_iter().zip([2, 2, 1]) {
        assert_eq!(pair.ended(call), Some(Ok(Value::Count(count))));
    }
    assert_eq!(pair.asked(), [sent(b"ab"), sent(b"c")]);
    assert_eq!(pair.poll(socket), "");
    // C41: TIOCOUTQ counts both places.
    let outq = Operation::Ioctl { command: 0x5411, argument: Vec::new() };
    assert_eq!(pair.call(socket, outq), Ok(Value::Option(5_u32.to_ne_bytes().to_vec())));
    let waits = pair.send(socket, b"fgh");
    assert_eq!(pair.ended(waits), None);
    let flags = SendFlags { dont_wait: true, ..SendFlags::default() };
    let now = SocketCall::Send { bytes: b"x".to_vec(), to: None, flags };
    assert_eq!(pair.call(socket, now), Err(Errno::EAGAIN));
    // The far host acknowledges, so waiting data is sent, in order and merged.
    pair.event(1, TcpEvent::Acknowledged(3));
    assert_eq!(pair.asked(), [sent(b"def")]);
    assert_eq!(pair.ended(waits), Some(Ok(Value::Count(3))));
    pair.event(1, TcpEvent::Acknowledged(3));
    assert_eq!(pair.asked(), [sent(b"gh")]);
    pair.event(1, TcpEvent::Acknowledged(2));
    assert_eq!(pair.poll(socket), "O");
}

/// C42: data that was not taken when the time is over or a signal arrives is not written. The call
/// returns how much was.
#[test]
fn part_of_a_write() {
    let mut pair = small(2, 2);
    let socket = pair.connected();
    let call = pair.send(socket, b"abc");
    pair.at_client(|client, now, out| client.interrupt(socket, call, now, out));
    assert_eq!(pair.ended(call), Some(Ok(Value::Count(2))));
    let call = pair.send(socket, b"d");
    pair.at_client(|client, now, out| client.interrupt(socket, call, now, out));
    assert_eq!(pair.ended(call), Some(Err(Errno::EINTR)));
}

/// C24, C25: the window opens by what was read, with few messages. A message that is sent anyway
/// contains the report.
#[test]
fn windows_follow_the_reader() {
    let settings = Settings { report_after: 4, ..Settings::default() };
    let mut pair = Pair::with(settings, ServerSettings::new(Addresses::shared(address(0).ip())));
    let socket = pair.connected();
    pair.event(1, TcpEvent::Received(b"abcdefgh".to_vec()));
    assert_eq!(pair.asked(), []);
    assert_eq!(pair.read(socket, 3), bytes(b"abc"));
    assert_eq!(pair.asked(), [], "too little for a message");
    assert_eq!(pair.read(socket, 1), bytes(b"d"));
    assert_eq!(pair.asked(), [TcpAction::Consume(4)]);
    assert_eq!(pair.read(socket, 1), bytes(b"e"));
    let up = pair.messages[0];
    pair.send(socket, b"x");
    assert_eq!(pair.asked(), [TcpAction::Consume(1), sent(b"x")]);
    assert_eq!(pair.messages[0], up + 1);
    assert_eq!(pair.read(socket, 1), bytes(b"f"));
    pair.now += Duration::from_millis(10);
    assert_eq!(pair.client.deadline(), Some(pair.now));
    pair.at_client(Client::expire);
    assert_eq!(pair.asked(), [TcpAction::Consume(1)]);
}

/// C24, C25: of a small SO_RCVBUF, a quarter is reported at once, because little of its window can
/// be missing. A connection inherits the buffer of its listener.
#[test]
fn windows_of_small_buffers() {
    let rcvbuf = Operation::SetOption { level: 1, name: 8, value: 4096_i32.to_ne_bytes().to_vec() };
    let mut pair = Pair::new();
    let (large, small) = (pair.connected(), pair.connected());
    assert_eq!(pair.call(small, rcvbuf.clone()), Ok(Value::Done));
    pair.asked();
    for (socket, endpoint) in [(large, 1), (small, 2)] {
        pair.event(endpoint, TcpEvent::Received(vec![7; 2000]));
        assert_eq!(pair.read(socket, 1023), bytes(&[7; 1023]));
        assert_eq!(pair.asked(), []);
        assert_eq!(pair.read(socket, 1), bytes(&[7]));
        let reported = if socket == small { vec![TcpAction::Consume(1024)] } else { vec![] };
        assert_eq!(pair.asked(), reported);
    }
    // Also of a buffer that is so small that the kernel enlarges it.
    let least = Operation::SetOption { level: 1, name: 8, value: 1_i32.to_ne_bytes().to_vec() };
    assert_eq!(pair.call(small, least), Ok(Value::Done));
    pair.asked();
    assert_eq!(pair.read(small, 287), bytes(&[7; 287]));
    assert_eq!(pair.asked(), []);
    assert_eq!(pair.read(small, 1), bytes(&[7]));
    assert_eq!(pair.asked(), [TcpAction::Consume(288)]);
}

/// C21, C25, C107: for a program that has enough room, free room is not worth a message. It is
/// reported with data that is sent anyway once it has waited, and alone after a longer wait. A
/// program that has little room is told at once.
#[test]
fn room_goes_along() {
    let mut pair = Pair::new();
    let socket = pair.connected();
    let outq = Operation::Ioctl { command: 0x5411, argument: Vec::new() };
    let left = |pair: &mut Pair| match pair.call(socket, outq.clone()) {
        Ok(Value::Option(value)) => i32::from_ne_bytes(value.try_into().expect("four octets")),
        other => panic!("{other:?}"),
    };
    pair.send(socket, &[1; 100]);
    pair.event(1, TcpEvent::Acknowledged(100));
    pair.event(1, TcpEvent::Received(b"a".to_vec()));
    assert_eq!((pair.messages, left(&mut pair)), ([1, 1], 100), "an exchange is a message each way");
    pair.at_server(|server, _, out| server.remind(out));
    assert_eq!(pair.messages[1], 1);
    pair.event(1, TcpEvent::Received(b"b".to_vec()));
    assert_eq!((pair.messages[1], left(&mut pair), pair.server.owes()), (3, 0, true));
    pair.at_server(|server, _, out| server.remind(out));
    assert_eq!((pair.messages[1], pair.server.owes()), (3, false));
    pair.send(socket, &[1; 999]);
    pair.event(1, TcpEvent::Acknowledged(999));
    pair.at_server(|server, _, out| server.remind(out));
    assert_eq!((pair.messages[1], left(&mut pair), pair.server.owes()), (3, 999, true));
    pair.at_server(|server, _, out| server.remind(out));
    assert_eq!((pair.messages[1], left(&mut pair), pair.server.owes()), (4, 0, false));
    // A program with little room may be waiting for it.
    assert_eq!(pair.set(socket, 7, &[2304]), Ok(Value::Done));
    pair.send(socket, &[1; 100]);
    pair.event(1, TcpEvent::Acknowledged(100));
    assert_eq!((pair.messages[1], left(&mut pair)), (4, 100));
    pair.send(socket, &[1; 200]);
    assert_eq!((pair.messages[1], left(&mut pair)), (5, 200));
    pair.event(1, TcpEvent::Acknowledged(200));
    assert_eq!((pair.messages[1], left(&mut pair)), (6, 0));
}

/// C23, C27: a program that does not read stalls only its own socket.
#[test]
fn a_stalled_socket_holds_up_no_other() {
    let settings = Settings { receive_buffer: 4, report_after: 1, ..Settings::default() };
    let mut pair = Pair::with(settings, ServerSettings::new(Addresses::shared(address(0).ip())));
    let sockets = [pair.connected(), pair.connected()];
    pair.event(1, TcpEvent::Received(b"0123456789".to_vec()));
    assert_eq!(pair.client.holds(sockets[0]), Some((4, false)));
    pair.event(2, TcpEvent::Received(b"ab".to_vec()));
    assert_eq!(pair.read(sockets[1], 9), bytes(b"ab"));
    assert_eq!(pair.read(sockets[0], 3), bytes(b"012"));
    assert_eq!(pair.client.holds(sockets[0]), Some((4, false)));
}

fn flags(flags: ReceiveFlags, length: usize) -> SocketCall {
    SocketCall::Receive { length, flags }
}

/// C44: MSG_PEEK, MSG_WAITALL, MSG_DONTWAIT, and the end of the stream.
#[test]
fn reads_by_flag() {
    let mut pair = Pair::new();
    let socket = pair.connected();
    let peek = ReceiveFlags { peek: true, ..ReceiveFlags::default() };
    let all = ReceiveFlags { wait_all: true, ..ReceiveFlags::default() };
    assert_eq!(pair.read(socket, 1), Err(Errno::EAGAIN));
    let call = pair.begin(socket, flags(all, 4));
    pair.event(1, TcpEvent::Received(b"abc".to_vec()));
    assert_eq!(pair.ended(call), None);
    pair.event(1, TcpEvent::Received(b"defg".to_vec()));
    assert_eq!(pair.ended(call), Some(bytes(b"abcd")));
    assert_eq!(pair.call(socket, flags(peek, 2)), bytes(b"ef"));
    assert_eq!(pair.call(socket, flags(peek, 9)), bytes(b"efg"));
    let call = pair.begin(socket, flags(all, 9));
    pair.event(1, TcpEvent::FinReceived);
    assert_eq!(pair.ended(call), Some(bytes(b"efg")));
    assert_eq!(pair.read(socket, 9), bytes(&[]));
    assert_eq!(pair.read(socket, 0), bytes(&[]));
}

/// C39: the client handles SO_RCVLOWAT and SO_RCVTIMEO.
#[test]
fn low_water_and_time_out() {
    let mut pair = Pair::new();
    let socket = pair.connected();
    assert_eq!(pair.set(socket, 18, &[3]), Ok(Value::Done));
    // A struct timeval of two seconds.
    assert_eq!(pair.set(socket, 20, &[2, 0, 0, 0]), Ok(Value::Done));
    let call = pair.receive(socket, 9);
    pair.event(1, TcpEvent::Received(b"ab".to_vec()));
    assert_eq!((pair.ended(call), pair.poll(socket).as_str()), (None, "O"));
    pair.event(1, TcpEvent::Received(b"c".to_vec()));
    assert_eq!(pair.ended(call), Some(bytes(b"abc")));
    let call = pair.receive(socket, 9);
    pair.now += Duration::from_secs(2);
    pair.at_client(Client::expire);
    assert_eq!(pair.ended(call), Some(Err(Errno::EAGAIN)));
    assert_eq!(pair.set(socket, 20, &[2, 0, 1_000_000, 0]), Err(Errno::EDOM));
    // With negative seconds Linux does not wait, whatever the microseconds are.
    assert_eq!(pair.set(socket, 20, &[-1, -1, 500_000, 0]), Ok(Value::Done));
    let call = pair.receive(socket, 9);
    pair.at_client(Client::expire);
    assert_eq!(pair.ended(call), Some(Err(Errno::EAGAIN)));
}

fn urgent(pair: &mut Pair, socket: RsockId) -> Result<Value, Errno> {
    pair.call(socket, flags(ReceiveFlags { urgent: true, ..ReceiveFlags::default() }, 1))
}

/// C45, A20: an urgent byte is announced in advance and read separately. The stream stops before it
/// and does not contain it.
#[test]
fn urgent_octets() {
    let mut pair = Pair::new();
    let socket = pair.connected();
    assert_eq!(urgent(&mut pair, socket), Err(Errno::EINVAL));
    pair.event(1, TcpEvent::Urgent { ahead: 2 });
    assert_eq!(pair.signals, [Signal::Urgent]);
    assert_eq!(urgent(&mut pair, socket), Err(Errno::EAGAIN), "it has not come");
    let readable = Operation::Ioctl { command: 0x541b, argument: Vec::new() };
    pair.event(1, TcpEvent::Received(b"abUcd".to_vec()));
    assert_eq!(pair.poll(socket), "IOP");
    assert_eq!(pair.call(socket, readable), Ok(Value::Option(2_u32.to_ne_bytes().to_vec())));
    assert_eq!(pair.read(socket, 9), bytes(b"ab"));
    let at_mark = Operation::Ioctl { command: 0x8905, argument: Vec::new() };
    assert_eq!(pair.call(socket, at_mark), Ok(Value::Option(1_u32.to_ne_bytes().to_vec())));
    assert_eq!(urgent(&mut pair, socket), bytes(b"U"));
    assert_eq!((urgent(&mut pair, socket), pair.poll(socket).as_str()), (Err(Errno::EINVAL), "IO"));
    assert_eq!(pair.read(socket, 9), bytes(b"cd"));
    // It does not make the socket readable, and reading skips it.
    pair.event(1, TcpEvent::Urgent { ahead: 0 });
    pair.event(1, TcpEvent::Received(b"W".to_vec()));
    assert_eq!((pair.poll(socket).as_str(), pair.read(socket, 9)), ("OP", Err(Errno::EAGAIN)));
    // With SO_OOBINLINE it is read like other bytes, but reading still stops before it.
    assert_eq!(pair.set(socket, 10, &[1]), Ok(Value::Done));
    pair.event(1, TcpEvent::Urgent { ahead: 1 });
    pair.event(1, TcpEvent::Received(b"eVf".to_vec()));
    assert_eq!((pair.read(socket, 9), pair.read(socket, 9)), (bytes(b"e"), bytes(b"Vf")));
    pair.stack.clear();
    let call = SocketCall::Send {
        bytes: b"xyZ".to_vec(),
        to: None,
        flags: SendFlags { urgent: true, ..SendFlags::default() },
    };
    assert_eq!(pair.call(socket, call), Ok(Value::Count(3)));
    assert!(pair.asked().contains(&TcpAction::Send { bytes: b"xyZ".to_vec(), urgent: true }));
}

/// C45: an urgent byte keeps its place behind data that waits for room, and data written after it
/// is not urgent.
#[test]
fn an_urgent_octet_behind_others() {
    let mut pair = small(9, 3);
    let socket = pair.connected();
    let flags = SendFlags { urgent: true, ..SendFlags::default() };
    let call = SocketCall::Send { bytes: b"abcdU".to_vec(), to: None, flags };
    assert_eq!(pair.call(socket, call), Ok(Value::Count(5)));
    pair.send(socket, b"ef");
    assert_eq!(pair.asked(), [sent(b"abc")]);
    pair.event(1, TcpEvent::Acknowledged(3));
    assert_eq!(pair.asked(), [TcpAction::Send { bytes: b"dU".to_vec(), urgent: true }, sent(b"e")]);
    pair.event(1, TcpEvent::Acknowledged(3));
    assert_eq!(pair.asked(), [sent(b"f")]);
}

/// C45, C51: an urgent byte that was skipped counts as read, so the end is not an RST.
#[test]
fn an_urgent_octet_that_was_passed_over() {
    let mut pair = Pair::new();
    let socket = pair.connected();
    pair.event(1, TcpEvent::Urgent { ahead: 1 });
    pair.event(1, TcpEvent::Received(b"aUb".to_vec()));
    assert_eq!((pair.read(socket, 9), pair.read(socket, 9)), (bytes(b"a"), bytes(b"b")));
    pair.stack.clear();
    assert_eq!(pair.call(socket, SocketCall::Close { may_wait: true }), Ok(Value::Done));
    assert_eq!(pair.asked(), [TcpAction::Consume(3), TcpAction::ShutdownWrite]);
}

/// C26: while the link takes no messages, none is lost and none overtakes.
#[test]
fn a_link_that_takes_nothing() {
    let mut pair = Pair::new();
    let socket = pair.connected();
    pair.at_client(|client, now, out| client.indication(Indication::Off, now, out));
    for octets in [b"ab", b"cd"] {
        let call = pair.send(socket, octets);
        assert_eq!(pair.ended(call), Some(Ok(Value::Count(2))));
    }
    assert_eq!(pair.asked(), []);
    pair.at_client(|client, now, out| client.indication(Indication::On, now, out));
    assert_eq!(pair.asked(), [sent(b"ab"), sent(b"cd")]);
    pair.at_server(|server, _, out| server.flow(super::LINK, false, out));
    pair.event(1, TcpEvent::Received(b"x".to_vec()));
    pair.event(1, TcpEvent::FinReceived);
    assert_eq!(pair.read(socket, 1), Err(Errno::EAGAIN));
    pair.at_server(|server, _, out| server.flow(super::LINK, true, out));
    assert_eq!((pair.read(socket, 1), pair.read(socket, 1)), (bytes(b"x"), bytes(&[])));
}

/// C47: SIGIO for programs that have enabled it.
#[test]
fn asynchronous_sockets() {
    use crate::calls::Cause;
    let mut pair = Pair::new();
    let socket = pair.connected();
    assert_eq!(pair.call(socket, SocketCall::SetAsynchronous(true)), Ok(Value::Done));
    pair.event(1, TcpEvent::Received(b"x".to_vec()));
    pair.send(socket, b"y");
    pair.event(1, TcpEvent::Acknowledged(1));
    pair.at_server(|server, _, out| (server.remind(out), server.remind(out)).0);
    pair.event(1, TcpEvent::FinReceived);
    assert_eq!(pair.call(socket, SocketCall::Shutdown(crate::message::Half::Write)), Ok(Value::Done));
    pair.event(1, TcpEvent::Failed(Errno::ETIMEDOUT));
    let causes = [Cause::Data, Cause::Space, Cause::PeerClosed, Cause::HalfShut, Cause::Error];
    assert_eq!(pair.signals, causes.map(Signal::Io));
}

/// C24, C51: data that a driver has taken for a program counts as unread. The window opens when the
/// program has read it, and before that `close` ends by RST.
#[test]
fn what_was_taken_is_not_read() {
    let settings = Settings { report_after: 4, ..Settings::default() };
    let mut pair = Pair::with(settings, ServerSettings::new(Addresses::shared(address(0).ip())));
    for reads in [true, false] {
        let socket = pair.connected();
        let endpoint = if reads { 1 } else { 2 };
        pair.event(endpoint, TcpEvent::Received(b"abcdefgh".to_vec()));
        let mut taken = Vec::new();
        pair.at_client(|client, now, out| taken = client.take(socket, 6, now, out));
        assert_eq!((&taken[..], pair.asked()), (&b"abcdef"[..], vec![]));
        pair.at_client(|client, now, out| taken = client.take(socket, 6, now, out));
        assert_eq!((&taken[..], pair.asked()), (&b"gh"[..], vec![]));
        assert_eq!(pair.client.stream(socket).map(|stream| stream.waiting), Some(0));
        pair.at_client(|client, now, out| client.consumed(socket, 4, now, out));
        assert_eq!(pair.asked(), [TcpAction::Consume(4)]);
        if reads {
            pair.at_client(|client, now, out| client.consumed(socket, 4, now, out));
        }
        pair.asked();
        pair.call(socket, SocketCall::Close { may_wait: true }).expect("closes");
        let asked = pair.asked();
        assert_eq!(asked.contains(&TcpAction::Abort), !reads, "{asked:?}");
    }
}

/// C22: a driver gives as much as there is room for, and can see the room.
#[test]
fn a_driver_gives_what_there_is_room_for() {
    let settings = Settings { send_buffer: 5000, ..Settings::default() };
    let mut pair = Pair::with(settings, ServerSettings::new(Addresses::shared(address(0).ip())));
    let socket = pair.connected();
    pair.asked();
    let mut given = [0; 3];
    pair.at_client(|client, now, out| {
        given =
            [&[1; 3000][..], &[2; 3000], &[3; 1]].map(|bytes| client.give(socket, bytes, false, now, out));
    });
    assert_eq!(given, [3000, 2000, 0]);
    let stream = pair.client.stream(socket).expect("is open");
    assert_eq!((stream.stage, stream.room), (crate::Stage::Connected, 0));
    pair.event(1, TcpEvent::Acknowledged(5000));
    assert_eq!(pair.client.stream(socket).map(|stream| stream.room), Some(5000));
    pair.at_client(|client, now, out| client.give_last(socket, &[4; 6000], now, out));
    pair.call(socket, SocketCall::Close { may_wait: true }).expect("closes");
    let sent: usize = pair
        .asked()
        .iter()
        .filter_map(|asked| match asked {
            TcpAction::Send { bytes, .. } => Some(bytes.len()),
            _ => None,
        })
        .sum();
    assert_eq!(sent, 5000 + 6000);
}

/// C45: a driver finds the urgent byte in its place, once.
#[test]
fn a_driver_finds_the_urgent_octet() {
    let mut pair = Pair::new();
    let socket = pair.connected();
    pair.event(1, TcpEvent::Urgent { ahead: 2 });
    pair.event(1, TcpEvent::Received(b"ab!cd".to_vec()));
    let (mut bytes, mut urgent) = (Vec::new(), Vec::new());
    pair.at_client(|client, now, out| {
        for _ in 0..3 {
            urgent.push(client.take_urgent(socket, now, out));
            bytes.push(client.take(socket, 9, now, out));
            bytes.push(client.take(socket, 9, now, out));
        }
    });
    assert_eq!(urgent, [None, Some(b'!'), None]);
    assert_eq!(bytes, [&b"ab"[..], b"", b"cd", b"", b"", b""]);
}
