//! `listen` and `accept`.

use super::{LINK, Pair, STREAM, address, bytes, execute};
use crate::calls::{SocketCall, Value};
use crate::message::{Half, Operation, Reply};
use crate::server::{Addresses, Grant, ServerSettings, SocketState};
use crate::settings::Settings;
use crate::tcp::{Endpoint, TcpAction, TcpEvent};
use crate::{Errno, RsockId};

impl Pair {
    fn listener(&mut self, backlog: u32) -> RsockId {
        let socket = self.socket(STREAM);
        let call = self.begin(socket, Operation::Listen { backlog });
        self.done(1, Ok(Reply::Local(address(7000))));
        assert_eq!(self.ended(call), Some(Ok(Value::Done)));
        self.stack.clear();
        self.messages = [0; 2];
        socket
    }

    fn arrival(&mut self, port: u16) -> Option<Endpoint> {
        let mut endpoint = None;
        self.at_server(|server, _, out| {
            endpoint = server.incoming(Endpoint(1), address(7000), address(port), out);
        });
        endpoint
    }
}

/// C32, A8: `listen` on a bound socket is one message and returns at once. On any other socket it
/// waits for an address.
#[test]
fn listen_by_call_and_by_request() {
    let mut pair = Pair::new();
    let socket = pair.socket(STREAM);
    let call = pair.begin(socket, Operation::Bind(address(7000)));
    pair.done(1, Ok(Reply::Local(address(7000))));
    assert_eq!(pair.ended(call), Some(Ok(Value::Done)));
    pair.messages = [0; 2];
    pair.stack.clear();
    assert_eq!(pair.call(socket, Operation::Listen { backlog: 5 }), Ok(Value::Done));
    assert_eq!(pair.messages, [1, 0]);
    assert_eq!(pair.asked(), [execute(Operation::Listen { backlog: 5 })]);
    // If it fails later, the next call reports the error.
    pair.done(1, Err(Errno::EADDRINUSE));
    assert_eq!(pair.call(socket, SocketCall::Accept), Err(Errno::EADDRINUSE));

    // With an address that others may share, `listen` can fail, so it waits.
    let mut pair = Pair::new();
    let socket = pair.socket(STREAM);
    let call =
        pair.begin(socket, Operation::SetOption { level: 1, name: 2, value: 1_i32.to_ne_bytes().to_vec() });
    pair.done(1, Ok(Reply::Value(1_i32.to_ne_bytes().to_vec())));
    assert_eq!(pair.ended(call), Some(Ok(Value::Done)));
    pair.begin(socket, Operation::Bind(address(7000)));
    pair.done(1, Ok(Reply::Local(address(7000))));
    let call = pair.begin(socket, Operation::Listen { backlog: 5 });
    assert_eq!(pair.ended(call), None);
    pair.done(1, Err(Errno::EADDRINUSE));
    assert_eq!(pair.ended(call), Some(Err(Errno::EADDRINUSE)));

    let mut pair = Pair::new();
    let listener = pair.listener(5);
    assert_eq!(pair.call(listener, SocketCall::LocalName), Ok(Value::Address(address(7000))));
    assert_eq!(pair.get(listener, 30), 1, "SO_ACCEPTCONN");
    assert_eq!(pair.call(listener, Operation::Connect(address(1))), Err(Errno::EISCONN));
    assert_eq!(pair.read(listener, 1), Err(Errno::ENOTCONN));
}

/// C32: connections are accepted from the stack as long as fewer than half of the backlog wait for
/// the program, and at least one. The stack's own queue gets shorter by those that wait.
#[test]
fn backlog_counts_what_is_not_accepted() {
    let admit = |accept, backlog| TcpAction::Admit { accept, backlog };
    for (backlog, taken) in [(0, 1), (1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (128, 64)] {
        let mut pair = Pair::new();
        let listener = pair.listener(backlog);
        for held in 1..=taken {
            pair.arrival(held as u16);
            assert_eq!(pair.asked(), [admit(held < taken, backlog.saturating_sub(held))]);
        }
        assert!(matches!(pair.call(listener, SocketCall::Accept), Ok(Value::Accepted { .. })));
        assert_eq!(pair.asked(), [admit(true, backlog + 1 - taken)]);
    }
}

/// C32: a program that accepts all the time finds the next connection, as natively, although each
/// takes some time on the last hop. All connections are accepted for it. When as many as its
/// backlog have waited without an `accept`, the backlog counts again.
#[test]
fn a_program_that_accepts_all_the_time_loses_none() {
    let takes = |pair: &mut Pair| match pair.asked().last() {
        Some(TcpAction::Admit { accept, backlog }) => (*accept, *backlog),
        other => panic!("{other:?}"),
    };
    let all = (true, u32::MAX);
    let mut pair = Pair::new();
    let listener = pair.listener(100);
    let accept = |pair: &mut Pair| {
        assert!(matches!(pair.call(listener, SocketCall::Accept), Ok(Value::Accepted { .. })));
        takes(pair)
    };
    (1..=50).for_each(|port| assert!(pair.arrival(port).is_some()));
    assert_eq!(takes(&mut pair), (false, 50));
    // A few that are accepted do not change the limit.
    let first: Vec<_> = (0..8).map(|_| accept(&mut pair)).collect();
    assert_eq!((first[6], first[7]), ((true, 57), all));
    (51..=149).for_each(|port| assert!(pair.arrival(port).is_some()));
    assert_eq!(takes(&mut pair), all, "99 have come, 141 wait");
    assert_eq!(accept(&mut pair), all);
    (150..=248).for_each(|port| assert!(pair.arrival(port).is_some()));
    assert_eq!(takes(&mut pair), all, "99 more, 239 wait");
    pair.arrival(249);
    assert_eq!(takes(&mut pair), (false, 0), "it does not accept");
    let rest: Vec<_> = (0..240).map(|_| accept(&mut pair)).collect();
    assert_eq!((rest[6], rest[7], rest[239]), ((false, 0), all, all));
}

/// C32: processes that share a socket may call `listen` at the same time. Natively both succeed.
#[test]
fn two_processes_listen_at_once() {
    let mut pair = Pair::new();
    let socket = pair.socket(STREAM);
    let calls = [5, 7].map(|backlog| pair.begin(socket, Operation::Listen { backlog }));
    for (call, backlog) in calls.into_iter().zip([5, 7]) {
        assert_eq!(pair.asked().pop(), Some(execute(Operation::Listen { backlog })));
        pair.done(1, Ok(Reply::Local(address(7000))));
        assert_eq!(pair.ended(call), Some(Ok(Value::Done)));
    }
    assert_eq!(pair.get(socket, 30), 1, "SO_ACCEPTCONN");
}

/// C34: a listener that was shut down and listens again gets another port if the stack chose it,
/// which the client must learn. A port that the program chose stays.
#[test]
fn a_listener_that_listens_again() {
    for named in [false, true] {
        let mut pair = Pair::new();
        let socket = pair.socket(STREAM);
        let bind = pair.begin(socket, Operation::Bind(address(if named { 7000 } else { 0 })));
        pair.done(1, Ok(Reply::Local(address(7000))));
        assert_eq!(pair.ended(bind), Some(Ok(Value::Done)));
        let listen = || Operation::Listen { backlog: 1 };
        assert_eq!(pair.call(socket, listen()), Ok(Value::Done));
        pair.done(1, Ok(Reply::Local(address(7000))));
        assert_eq!(pair.call(socket, SocketCall::Shutdown(Half::Both)), Ok(Value::Done));
        let again = pair.begin(socket, listen());
        assert_eq!(pair.ended(again).is_some(), named);
        pair.done(1, Ok(Reply::Local(address(if named { 7000 } else { 7001 }))));
        let port = address(if named { 7000 } else { 7001 });
        assert_eq!(pair.call(socket, SocketCall::LocalName), Ok(Value::Address(port)));
        assert_eq!(pair.get(socket, 30), 1, "SO_ACCEPTCONN");
    }
}

/// C33, A9: `accept` takes 2 messages. Data and the end of a connection arrive before it is
/// accepted.
#[test]
fn accept_returns_at_once() {
    let mut pair = Pair::new();
    let listener = pair.listener(5);
    let waits = pair.begin(listener, SocketCall::Accept);
    assert_eq!(pair.ended(waits), None);
    pair.arrival(1);
    let accepted = Ok(Value::Accepted { socket: RsockId(2), peer: address(1) });
    assert_eq!((pair.ended(waits), pair.messages), (Some(accepted), [1, 1]));
    let end = pair.arrival(2).expect("is taken").0;
    pair.event(end, TcpEvent::Received(b"x".to_vec()));
    pair.event(end, TcpEvent::FinReceived);
    assert!(pair.asked().contains(&TcpAction::ReleaseFin));
    assert_eq!(pair.poll(listener), "I");
    let accepted = Value::Accepted { socket: RsockId(3), peer: address(2) };
    assert_eq!(pair.call(listener, SocketCall::Accept), Ok(accepted));
    let child = RsockId(3);
    pair.stack.clear();
    pair.send(child, b"z");
    assert_eq!(pair.asked(), [TcpAction::Send { bytes: b"z".to_vec(), urgent: false }]);
    assert_eq!((pair.read(child, 9), pair.read(child, 9)), (bytes(b"x"), bytes(&[])));
    assert_eq!(pair.call(child, SocketCall::LocalName), Ok(Value::Address(address(7000))));
    // Messages that the server sent before it knew the number also find the socket.
    pair.flows = false;
    let end = pair.arrival(3).expect("is taken").0;
    pair.event(end, TcpEvent::Received(b"y".to_vec()));
    let early: Vec<_> = pair.down.drain(..).collect();
    pair.at_client(|client, now, out| client.message(early[0].clone(), now, out));
    assert!(matches!(pair.call(listener, SocketCall::Accept), Ok(Value::Accepted { .. })));
    pair.at_client(|client, now, out| client.message(early[1].clone(), now, out));
    assert_eq!(pair.read(RsockId(4), 9), bytes(b"y"));
}

/// C34: closing or shutting down a listener resets the connections that wait. A connection that was
/// reset can still be accepted.
#[test]
fn listener_that_goes_away() {
    for close in [true, false] {
        let mut pair = Pair::new();
        let listener = pair.listener(5);
        pair.arrival(1);
        pair.stack.clear();
        let call =
            if close { SocketCall::Close { may_wait: true } } else { SocketCall::Shutdown(Half::Read) };
        assert_eq!(pair.call(listener, call), Ok(Value::Done));
        let asked = pair.asked();
        assert!(asked.contains(&TcpAction::Abort), "{asked:?}");
        assert_eq!(asked[0], if close { TcpAction::Close } else { TcpAction::StopListening });
        assert_eq!(pair.client.sockets(), usize::from(!close));
        if !close {
            assert_eq!(pair.call(listener, SocketCall::Accept), Err(Errno::EINVAL));
            let again = pair.begin(listener, Operation::Listen { backlog: 1 });
            pair.done(1, Ok(Reply::Local(address(7001))));
            assert_eq!(pair.ended(again), Some(Ok(Value::Done)));
        }
    }
    let mut pair = Pair::new();
    let listener = pair.listener(5);
    let end = pair.arrival(1).expect("is taken").0;
    pair.event(end, TcpEvent::Failed(Errno::ECONNRESET));
    assert!(matches!(pair.call(listener, SocketCall::Accept), Ok(Value::Accepted { .. })));
    assert_eq!(pair.read(RsockId(2), 1), Err(Errno::ECONNRESET));
}

/// C34: a client without room rejects a connection.
#[test]
fn no_room_for_a_connection() {
    let server = ServerSettings { sockets: 2, ..ServerSettings::new(Addresses::shared(address(0).ip())) };
    let mut pair = Pair::with(Settings::default(), server);
    pair.listener(5);
    // The server does not know of this socket.
    pair.socket(STREAM);
    pair.arrival(1);
    let admit = TcpAction::Admit { accept: true, backlog: 5 };
    assert_eq!(pair.asked()[1..], [TcpAction::Abort, admit]);
}

/// C39: a connection inherits the options of its listener, but is blocking.
#[test]
fn options_are_inherited() {
    let mut pair = Pair::new();
    let listener = pair.listener(5);
    assert_eq!(pair.set(listener, 7, &[9000]), Ok(Value::Done));
    assert_eq!(pair.set(listener, 13, &[1, 3]), Ok(Value::Done));
    assert_eq!(pair.call(listener, SocketCall::SetNonblocking(true)), Ok(Value::Done));
    assert_eq!(pair.call(listener, SocketCall::Accept), Err(Errno::EAGAIN));
    pair.arrival(1);
    assert!(matches!(pair.call(listener, SocketCall::Accept), Ok(Value::Accepted { .. })));
    assert_eq!((pair.get(RsockId(2), 7), pair.get(RsockId(2), 3)), (18_000, 1));
    let waits = pair.receive(RsockId(2), 1);
    assert_eq!(pair.ended(waits), None);
}

/// A quota counts both sockets that a client makes and connections that arrive for it. A change of
/// it affects new ones.
#[test]
fn a_quota_of_sockets() {
    let server = ServerSettings { sockets: 2, ..ServerSettings::new(Addresses::shared(address(0).ip())) };
    let mut pair = Pair::with(Settings::default(), server.clone());
    pair.listener(5);
    pair.arrival(1);
    let mut out = Vec::new();
    assert_eq!(pair.server.incoming(Endpoint(1), address(7000), address(2), &mut out), None);
    let grant = Grant { sockets: 3, ..Grant::of(&server) };
    pair.server.regrant(LINK, grant);
    assert_eq!(pair.server.incoming(Endpoint(1), address(7000), address(2), &mut out), Some(Endpoint(3)));
    let census = pair.server.census(LINK).expect("is there").sockets;
    assert_eq!(census, [(SocketState::Listening, 1), (SocketState::Open, 2)].into());
    assert_eq!((pair.server.owner(Endpoint(3)), pair.server.owner(Endpoint(4))), (Some(LINK), None));
}

/// C32: a larger backlog makes room at once, even if nothing is accepted. A smaller one does not
/// drop connections.
#[test]
fn another_backlog() {
    let mut pair = Pair::new();
    let listener = pair.listener(1);
    pair.arrival(1);
    assert_eq!(pair.asked().last(), Some(&TcpAction::Admit { accept: false, backlog: 0 }));
    for (backlog, admit) in [
        (3, TcpAction::Admit { accept: true, backlog: 2 }),
        (1, TcpAction::Admit { accept: false, backlog: 0 }),
    ] {
        pair.begin(listener, Operation::Listen { backlog });
        pair.event(1, TcpEvent::Done(Ok(Reply::Local(address(7000)))));
        assert_eq!(pair.asked().last(), Some(&admit), "{backlog}");
    }
}

/// C39: options that a connection inherits are in effect when `setsockopt` of its listener returns.
/// Values that the server would refuse are refused here.
#[test]
fn options_of_a_listener_are_asked_for() {
    let mut pair = Pair::new();
    let listener = pair.listener(5);
    let set =
        |level, name, value: i32| Operation::SetOption { level, name, value: value.to_ne_bytes().to_vec() };
    // SO_RCVBUF, TCP_NODELAY.
    for (level, name) in [(1, 8), (6, 1)] {
        let call = pair.begin(listener, set(level, name, 60_000));
        assert_eq!(pair.ended(call), None);
        pair.done(1, Ok(Reply::Value(1_i32.to_ne_bytes().to_vec())));
        assert_eq!(pair.ended(call), Some(Ok(Value::Done)));
    }
    assert_eq!(pair.call(listener, set(6, 6, 128)), Err(Errno::EINVAL), "TCP_KEEPCNT");
}
