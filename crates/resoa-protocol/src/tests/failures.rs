//! Lost links, lost servers, halves without the other, and requests without an answer.

use super::{LINK, Pair, STREAM, address, bytes};
use crate::calls::{SocketCall, Value};
use crate::client::{Client, Registration};
use crate::lhp::{Connection, DisconnectReason, Identity, Indication, Statistics};
use crate::message::{Body, Call, Control, Fault, Operation, Reply};
use crate::server::ServerAction;
use crate::tcp::{Endpoint, TcpAction, TcpEvent};
use crate::{Errno, Incarnation, Message, RsockId, Target, Xid};
use std::time::Duration;

fn lose(pair: &mut Pair) {
    let lost = Indication::Disconnected(DisconnectReason::Unreachable);
    pair.at_client(|client, now, out| client.indication(lost, now, out));
}

/// C76, C80, A14: data that has arrived is read first, then ECONNRESET is reported once. No call
/// waits for ever, and the socket stays until it is closed.
#[test]
fn the_link_is_lost() {
    let mut pair = Pair::new();
    let [reads, has] = [pair.connected(), pair.connected()];
    let fresh = pair.socket(STREAM);
    pair.event(2, TcpEvent::Received(b"x".to_vec()));
    let waits = pair.receive(reads, 1);
    let asks = pair.begin(has, Operation::GetOption { level: 6, name: 11, length: 9 });
    lose(&mut pair);
    assert_eq!(pair.registrations.pop(), Some(Registration::Lost(DisconnectReason::Unreachable)));
    for call in [waits, asks] {
        assert_eq!(pair.ended(call), Some(Err(Errno::ECONNRESET)));
    }
    assert_eq!((pair.read(has, 9), pair.read(has, 9)), (bytes(b"x"), Err(Errno::ECONNRESET)));
    assert_eq!(pair.get(fresh, 4), Errno::ECONNRESET.linux());
    assert_eq!(pair.poll(has), "IOHR");
    pair.messages = [0; 2];
    for socket in [reads, has, fresh] {
        assert_eq!(pair.call(socket, SocketCall::Close { may_wait: true }), Ok(Value::Done));
    }
    assert_eq!((pair.messages, pair.client.sockets()), ([0, 0], 0));
    assert_eq!(pair.client.socket(STREAM), Err(Errno::ENETDOWN), "C06");
}

/// C76, C68: the server resets all connections of that client, and of no other client.
#[test]
fn the_server_loses_a_client() {
    let mut pair = Pair::new();
    pair.connected();
    pair.connected();
    pair.event(1, TcpEvent::FinReceived);
    pair.stack.clear();
    pair.at_server(|server, _, out| server.disconnected(LINK, out));
    assert_eq!(pair.asked(), [TcpAction::Abort, TcpAction::Abort]);
}

/// C07, C72: a client that is not registered gets no answer; a message for an unknown socket is
/// answered with ERROR; a late message for a closed socket is ignored.
#[test]
fn messages_for_nobody() {
    let mut pair = Pair::new();
    let socket = pair.connected();
    let say = |socket, call| {
        let body = Body::Call { create: None, consumed: 0, call };
        Message { target: Target::Socket(socket), body }
    };
    let mut out = Vec::new();
    pair.server.connected(Connection(2), Identity(vec![8]), pair.now);
    pair.server.message(Connection(2), say(socket, Call::Consumed), pair.now, &mut out);
    assert_eq!(out, [], "C05: another's socket, and unregistered");
    pair.flows = false;
    pair.at_server(|server, now, out| server.message(LINK, say(RsockId(9), Call::Consumed), now, out));
    let fault = |socket, fault| Message::socket_control(socket, Control::Error(fault));
    assert_eq!(pair.down, [fault(RsockId(9), Fault::InvalidRsockId)]);
    pair.down.clear();
    let accepted = Call::Listen { backlog: 1 };
    pair.at_server(|server, now, out| server.message(LINK, say(socket, accepted), now, out));
    assert_eq!(pair.down, [fault(socket, Fault::NotAllowed)]);
    pair.down.clear();
    pair.event(1, TcpEvent::Failed(Errno::ECONNRESET));
    pair.begin(socket, SocketCall::Close { may_wait: true });
    pair.flows = true;
    pair.exchange();
    pair.flows = false;
    pair.at_server(|server, now, out| server.message(LINK, say(socket, Call::FinDelivered), now, out));
    assert_eq!(pair.down, []);
    // At the client: a late message, and one for a socket that never existed.
    for (number, answers) in [(1, 0), (50, 1)] {
        let news = Message::update(Target::Socket(RsockId(number)), crate::message::Update::PeerClosed);
        pair.at_client(|client, now, out| client.message(news, now, out));
        assert_eq!(pair.up.drain(..).count(), answers);
    }
    // An ERROR is not answered.
    let fault = fault(RsockId(60), Fault::InvalidRsockId);
    pair.at_client(|client, now, out| client.message(fault.clone(), now, out));
    pair.at_server(|server, now, out| server.message(LINK, fault, now, out));
    assert_eq!((pair.up.len(), pair.down.len()), (0, 0));
}

/// A client that sends requests during a `connect`, which all wait behind it, is refused beyond a
/// limit.
#[test]
fn questions_behind_a_connect_are_bounded() {
    let mut pair = Pair::new();
    pair.flows = false;
    let ask = |xid, operation| {
        let body = Body::Request { xid: Xid(xid), create: Some(STREAM), operation };
        Message { target: Target::Socket(RsockId(1)), body }
    };
    let mut out = Vec::new();
    pair.server.message(LINK, ask(1, Operation::Connect(address(80))), pair.now, &mut out);
    out.clear();
    let question = || Operation::GetOption { level: 6, name: 11, length: 256 };
    for xid in 2..2000 {
        pair.server.message(LINK, ask(xid, question()), pair.now, &mut out);
    }
    let is_asked = |action: &&ServerAction| matches!(action, ServerAction::Tcp { .. });
    let asked = out.iter().filter(is_asked).count();
    assert!((100..1000).contains(&asked), "{asked} are asked of the stack");
    let refused = Body::Response { xid: Xid(1999), outcome: Err(Errno::ENOBUFS) };
    let refused = Message { target: Target::Socket(RsockId(1)), body: refused };
    assert_eq!(out.last(), Some(&ServerAction::Send { connection: LINK, message: refused }));
    assert_eq!(out.len(), 1998, "each is asked, or answered");
    // Requests that are answered make room.
    out.clear();
    let local = address(9);
    let connected = TcpEvent::Done(Ok(Reply::Connected { local, peer: address(80) }));
    pair.server.tcp(Endpoint(1), connected, &mut out);
    pair.server.message(LINK, ask(2000, question()), pair.now, &mut out);
    assert!(out.last().is_some_and(|last| is_asked(&last)));
}

/// C05: two clients with the same socket numbers.
#[test]
fn two_clients() {
    let mut pair = Pair::new();
    pair.connected();
    let other = Connection(2);
    pair.server.connected(other, Identity(vec![8]), pair.now);
    let mode = crate::message::AddressMode::Shared;
    let register = Control::Register { version: 1, mode, receive_space: 100, resume: false };
    let mut out = Vec::new();
    pair.server.message(other, Message::control(register), pair.now, &mut out);
    let operation = Operation::Connect(address(81));
    let body = Body::Request { xid: Xid(1), create: Some(STREAM), operation };
    let target = Target::Socket(RsockId(1));
    pair.server.message(other, Message { target, body }, pair.now, &mut out);
    assert_eq!((pair.server.sockets(LINK), pair.server.sockets(other)), (1, 1));
    pair.event(1, TcpEvent::Received(b"x".to_vec()));
    assert_eq!(pair.read(RsockId(1), 9), bytes(b"x"));
    pair.at_server(|server, _, out| server.disconnected(other, out));
    assert_eq!((pair.server.sockets(LINK), pair.server.sockets(other)), (1, 0));
}

/// C81: the server has lost its half, and the client drops its own.
#[test]
fn a_half_without_the_other() {
    let mut pair = Pair::new();
    let socket = pair.connected();
    let waits = pair.receive(socket, 1);
    let error = Message::socket_control(socket, Control::Error(Fault::InvalidRsockId));
    pair.at_client(|client, now, out| client.message(error, now, out));
    assert_eq!(pair.ended(waits), Some(Err(Errno::ECONNRESET)));
    // And in the other direction: a connection that the client does not know.
    let target = Target::Child { listener: socket, incarnation: Incarnation(4) };
    let error = Message { target, body: Body::Control(Control::Error(Fault::InvalidRsockId)) };
    pair.at_server(|server, now, out| server.message(LINK, error, now, out));
    assert_eq!(pair.server.sockets(LINK), 1);
}

fn expire(pair: &mut Pair, healthy: bool) {
    pair.client.statistics(Statistics { round_trip: None, healthy, retransmissions: 0 });
    pair.now = pair.client.deadline().expect("a request is timed");
    pair.at_client(Client::expire);
}

/// C74: the client asks after a request and never repeats it. It does not ask while the link is
/// bad. Each answer doubles the time until it asks again, up to a minute.
#[test]
fn requests_are_asked_after() {
    let mut pair = Pair::new();
    let round_trip = Some(Duration::from_millis(500));
    pair.client.statistics(Statistics { round_trip, healthy: true, retransmissions: 0 });
    let socket = pair.socket(STREAM);
    let call = pair.begin(socket, Operation::Connect(address(80)));
    assert_eq!((pair.client.deadline(), pair.messages), (Some(Duration::from_secs(5)), [1, 0]));
    expire(&mut pair, false);
    assert_eq!((pair.client.deadline(), pair.messages), (Some(Duration::from_secs(10)), [1, 0]));
    for timeout in [10, 20, 40, 60, 60] {
        expire(&mut pair, true);
        assert_eq!(pair.client.deadline(), Some(pair.now + Duration::from_secs(timeout)));
    }
    assert_eq!(pair.messages, [6, 5]);
    // For any number of times, as long as there are answers (A2).
    for _ in 0..20 {
        expire(&mut pair, true);
    }
    assert_eq!(pair.ended(call), None);
    pair.done(1, Err(Errno::ETIMEDOUT));
    assert_eq!(pair.ended(call), Some(Err(Errno::ETIMEDOUT)));
}

/// C74: after 16 unanswered questions the server is given up.
#[test]
fn a_server_that_does_not_answer() {
    let mut pair = Pair::new();
    let socket = pair.socket(STREAM);
    let call = pair.begin(socket, Operation::Connect(address(80)));
    pair.flows = false;
    for _ in 0..16 {
        expire(&mut pair, true);
        assert_eq!(pair.ended(call), None);
    }
    assert_eq!(pair.up.len(), 16);
    expire(&mut pair, true);
    assert_eq!((pair.ended(call), pair.resets[0]), (Some(Err(Errno::ECONNRESET)), true));
}

/// E1d: if a client exceeds the server's room, the server resets the connection and tells the
/// client.
#[test]
fn more_than_there_is_room_for() {
    use crate::server::{Addresses, ServerSettings};
    let server = ServerSettings { send_space: 2, ..ServerSettings::new(Addresses::shared(address(0).ip())) };
    let mut pair = Pair::with(crate::Settings::default(), server);
    let socket = pair.connected();
    let body = Body::Call {
        create: None,
        consumed: 0,
        call: Call::Write { bytes: vec![1; 3], urgent: false, scarce: false },
    };
    let write = Message { target: Target::Socket(socket), body };
    pair.at_server(|server, now, out| server.message(LINK, write, now, out));
    assert_eq!(pair.asked(), [TcpAction::Abort]);
    assert_eq!(pair.read(socket, 1), Err(Errno::ECONNRESET));
}

/// C73, A21: if a half cannot be made for a call without an answer, the next call reports the
/// error, and the one after that tries again.
#[test]
fn no_room_for_a_call_without_an_answer() {
    let mut pair = Pair::new();
    let socket = pair.socket(STREAM);
    assert_eq!(pair.set(socket, 9, &[1]), Ok(Value::Done));
    pair.event(1, TcpEvent::NotCreated);
    assert_eq!(pair.get(socket, 4), Errno::ENOBUFS.linux());
    pair.stack.clear();
    pair.begin(socket, Operation::Connect(address(80)));
    assert!(matches!(pair.asked()[0], TcpAction::Create { .. }));
}

/// C39, C73: options for a half that could not be made are repeated for the half that is made
/// later, before it is used.
#[test]
fn options_of_a_half_that_could_not_be_made() {
    let mut pair = Pair::new();
    let socket = pair.socket(STREAM);
    // SO_KEEPALIVE, SO_REUSEADDR, and the first one again.
    for (name, value) in [(9, 1), (2, 1), (9, 0)] {
        assert_eq!(pair.set(socket, name, &[value]), Ok(Value::Done));
    }
    let option = |name, value: i32| {
        let value = value.to_ne_bytes().to_vec();
        TcpAction::Execute(Operation::SetOption { level: 1, name, value })
    };
    let is_create = |action: &TcpAction| matches!(action, TcpAction::Create { .. });
    pair.event(1, TcpEvent::NotCreated);
    pair.stack.clear();
    let call = pair.begin(socket, Operation::Connect(address(80)));
    let asked = pair.asked();
    let connect = TcpAction::Execute(Operation::Connect(address(80)));
    assert!(is_create(&asked[0]), "{asked:?}");
    assert_eq!(asked[1..], [option(2, 1), option(9, 0), connect.clone()]);
    // It fails for this one, too: the options come first, so no call waits for their answers.
    pair.event(2, TcpEvent::NotCreated);
    assert_eq!(pair.ended(call), Some(Err(Errno::ENOBUFS)));
    let call = pair.begin(socket, Operation::Connect(address(80)));
    let asked = pair.asked();
    assert!(is_create(&asked[0]), "{asked:?}");
    assert_eq!(asked[1..], [option(2, 1), option(9, 0), connect]);
    for _ in 0..2 {
        pair.done(3, Ok(Reply::Done));
    }
    pair.done(3, Ok(Reply::Connected { local: address(40_000), peer: address(80) }));
    assert_eq!(pair.ended(call), Some(Ok(Value::Done)));
    assert_eq!((pair.get(socket, 2), pair.get(socket, 9)), (1, 0));
}

/// C73, A21: messages that a client sends for a half before it knows that it could not be made are
/// not faults. They fail only for want of room, and the socket can be used when there is room
/// again.
#[test]
fn said_of_a_half_that_could_not_be_made() {
    use crate::server::{Addresses, ServerSettings};
    for is_full in [true, false] {
        let sockets = if is_full { 1 } else { 2 };
        let server = ServerSettings { sockets, ..ServerSettings::new(Addresses::shared(address(0).ip())) };
        let mut pair = Pair::with(crate::Settings::default(), server);
        // The server's half of a closed socket exists until the far host has its end.
        let closed = pair.connected();
        assert_eq!(pair.call(closed, SocketCall::Close { may_wait: true }), Ok(Value::Done));
        let socket = pair.socket(STREAM);
        pair.flows = false;
        for name in [9, 2] {
            assert_eq!(pair.set(socket, name, &[1]), Ok(Value::Done));
        }
        let call = pair.begin(socket, Operation::Connect(address(80)));
        for message in std::mem::take(&mut pair.up) {
            pair.at_server(|server, now, out| server.message(LINK, message, now, out));
            let made = |(endpoint, action)| matches!(action, TcpAction::Create { .. }).then_some(endpoint);
            let endpoint = pair.stack.drain(..).find_map(made);
            if let Some(Endpoint(number)) = endpoint {
                pair.event(number, TcpEvent::NotCreated);
            }
        }
        pair.flows = true;
        pair.exchange();
        assert_eq!(pair.ended(call), Some(Err(Errno::ENOBUFS)));
        pair.event(1, TcpEvent::FinAcknowledged);
        pair.stack.clear();
        assert_eq!(pair.get(socket, 4), 0, "told already");
        let call = pair.begin(socket, Operation::Connect(address(80)));
        let (endpoint, _) = pair.stack[0].clone();
        assert_eq!(pair.asked().len(), 4);
        for _ in 0..2 {
            pair.event(endpoint.0, TcpEvent::Done(Ok(Reply::Done)));
        }
        let connected = Reply::Connected { local: address(40_000), peer: address(80) };
        pair.event(endpoint.0, TcpEvent::Done(Ok(connected)));
        assert_eq!(pair.ended(call), Some(Ok(Value::Done)));
        assert_eq!(pair.poll(socket), "O");
    }
}

/// A4: the server does not know the request. The call fails, and both halves are dropped.
#[test]
fn a_request_that_is_not_known() {
    let mut pair = Pair::new();
    let socket = pair.connected();
    let call = pair.begin(socket, Operation::GetOption { level: 6, name: 11, length: 9 });
    pair.stack.clear();
    let answer = Control::Pending { xid: Xid(2), pending: false };
    let answer = Message::socket_control(socket, answer);
    pair.at_client(|client, now, out| client.message(answer, now, out));
    assert_eq!(pair.ended(call), Some(Err(Errno::ECONNRESET)));
    assert_eq!((pair.asked(), pair.server.sockets(LINK)), (vec![TcpAction::Abort], 0));
}
