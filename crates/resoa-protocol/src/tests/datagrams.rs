//! UDP, and look-ups: both are the server's, and a datagram stays one.

use super::{DATAGRAM, Pair, address};
use crate::calls::{CallId, ReceiveFlags, SendFlags, SocketCall, Value};
use crate::message::{Ancillary, Operation, Query, Reply, Unresolved};
use crate::server::{Addresses, ServerAction, ServerSettings};
use crate::settings::Settings;
use crate::tcp::{TcpAction, TcpEvent};
use crate::{Errno, Xid};
use std::net::SocketAddr;

fn send_to(bytes: &[u8], port: Option<u16>) -> SocketCall {
    SocketCall::Send { bytes: bytes.to_vec(), to: port.map(address), flags: SendFlags::default() }
}

/// C91: boundaries are kept, sources told, and what is too long or goes nowhere refused.
#[test]
fn datagrams_keep_their_boundaries() {
    let mut pair = Pair::new();
    let socket = pair.socket(DATAGRAM);
    assert_eq!(pair.call(socket, send_to(b"x", None)), Err(Errno::EDESTADDRREQ));
    assert_eq!(pair.call(socket, send_to(&vec![0; 65_508], Some(53))), Err(Errno::EMSGSIZE));
    assert_eq!(pair.call(socket, SocketCall::Listen { backlog: 1 }), Err(Errno::EOPNOTSUPP));
    assert_eq!(pair.call(socket, send_to(b"ab", Some(53))), Ok(Value::Count(2)));
    assert_eq!(pair.call(socket, send_to(b"", Some(53))), Ok(Value::Count(0)));
    let sent = |bytes: &[u8]| TcpAction::SendTo {
        to: Some(address(53)),
        ancillary: Ancillary::none(),
        bytes: bytes.to_vec(),
    };
    assert_eq!(pair.asked()[1..], [sent(b"ab"), sent(b"")]);
    for bytes in [&b"answer"[..], b""] {
        pair.event(
            1,
            TcpEvent::Datagram { from: address(53), ancillary: Ancillary::none(), bytes: bytes.to_vec() },
        );
    }
    let datagram =
        |bytes: &[u8], length| Ok(Value::Datagram { bytes: bytes.to_vec(), from: address(53), length });
    assert_eq!(pair.read(socket, 3), datagram(b"ans", 6));
    assert_eq!(pair.read(socket, 3), datagram(b"", 0));
    assert_eq!(pair.read(socket, 3), Err(Errno::EAGAIN));
    pair.event(1, TcpEvent::Failed(Errno::ECONNREFUSED));
    assert_eq!(pair.read(socket, 3), Err(Errno::ECONNREFUSED));
    assert_eq!(pair.call(socket, send_to(b"go on", Some(53))), Ok(Value::Count(5)));
}

/// C91: `connect` gives a destination, and a datagram that nobody reads is lost, as anywhere.
#[test]
fn datagrams_with_a_destination() {
    let settings = Settings { receive_buffer: 8, report_after: 1, ..Settings::default() };
    let mut pair = Pair::with(settings, ServerSettings::new(Addresses::shared(address(0).ip())));
    let socket = pair.socket(DATAGRAM);
    let call = pair.begin(socket, SocketCall::Connect(address(53)));
    pair.done(1, Ok(Reply::Connected { local: address(4000), peer: address(53) }));
    assert_eq!(pair.ended(call), Some(Ok(Value::Done)));
    assert_eq!(pair.call(socket, send_to(b"x", None)), Ok(Value::Count(1)));
    assert!(pair.asked().contains(&TcpAction::SendTo {
        to: None,
        ancillary: Ancillary::none(),
        bytes: b"x".to_vec()
    }));
    for octet in 0..3 {
        pair.event(
            1,
            TcpEvent::Datagram { from: address(53), ancillary: Ancillary::none(), bytes: vec![octet; 4] },
        );
    }
    let peek = ReceiveFlags { peek: true, dont_wait: true, ..ReceiveFlags::default() };
    let first = Ok(Value::Datagram { bytes: vec![0; 4], from: address(53), length: 4 });
    assert_eq!(pair.call(socket, SocketCall::Receive { length: 9, flags: peek }), first);
    assert_eq!(pair.read(socket, 9), first);
    assert!(matches!(pair.read(socket, 9), Ok(Value::Datagram { bytes, .. }) if bytes == [1; 4]));
    assert_eq!(pair.read(socket, 9), Err(Errno::EAGAIN));
    pair.event(1, TcpEvent::Datagram { from: address(53), ancillary: Ancillary::none(), bytes: vec![3; 4] });
    assert!(pair.read(socket, 9).is_ok(), "there is room again");
}

/// C38, C91: disconnected, a socket has the address that it has asked for and none that the stack chose for it.
#[test]
fn addresses_of_the_disconnected() {
    let any = |port| SocketAddr::from(([0, 0, 0, 0], port));
    for (asked_for, left) in
        [(None, any(0)), (Some(any(0)), any(0)), (Some(any(7)), any(7)), (Some(address(0)), address(0))]
    {
        let mut pair = Pair::new();
        let socket = pair.socket(DATAGRAM);
        if let Some(wanted) = asked_for {
            let bind = pair.begin(socket, SocketCall::Bind(wanted));
            let port = if wanted.port() == 0 { 5000 } else { wanted.port() };
            pair.done(1, Ok(Reply::Local(SocketAddr::new(wanted.ip(), port))));
            assert_eq!(pair.ended(bind), Some(Ok(Value::Done)));
        }
        let connect = pair.begin(socket, SocketCall::Connect(address(53)));
        pair.done(1, Ok(Reply::Connected { local: address(5000), peer: address(53) }));
        assert_eq!(pair.ended(connect), Some(Ok(Value::Done)));
        assert_eq!(pair.call(socket, SocketCall::LocalName), Ok(Value::Address(address(5000))));
        let disconnect = pair.begin(socket, SocketCall::Disconnect);
        pair.done(1, Ok(Reply::Done));
        assert_eq!(pair.ended(disconnect), Some(Ok(Value::Done)));
        assert_eq!(pair.call(socket, SocketCall::LocalName), Ok(Value::Address(left)), "{asked_for:?}");
        assert_eq!(pair.client.stream(socket).map(|stream| stream.named), Some(left != any(0)));
    }
}

/// C53, C91: what was written before `close` goes, and an error in between does not end it.
#[test]
fn datagrams_that_are_left() {
    let server = ServerSettings { send_space: 10, ..ServerSettings::new(Addresses::shared(address(0).ip())) };
    let mut pair = Pair::with(Settings::default(), server);
    let socket = pair.socket(DATAGRAM);
    assert_eq!(pair.call(socket, send_to(&[1; 600], Some(53))), Ok(Value::Count(600)));
    pair.flows = false;
    for _ in 0..3 {
        assert_eq!(pair.call(socket, send_to(&[1; 600], Some(53))), Ok(Value::Count(600)));
    }
    assert_eq!(pair.call(socket, SocketCall::Close { may_wait: true }), Ok(Value::Done));
    pair.event(1, TcpEvent::Failed(Errno::ECONNREFUSED));
    assert_eq!(pair.client.sockets(), 1);
    pair.flows = true;
    pair.exchange();
    assert_eq!((pair.client.sockets(), pair.server.sockets(super::LINK)), (0, 0));
    let sent = pair.asked().into_iter().filter(|action| matches!(action, TcpAction::SendTo { .. }));
    assert_eq!(sent.count(), 4);
}

/// C91, C21: a program that sends for ever is told of the room in time, whatever the sizes.
#[test]
fn datagrams_do_not_run_out_of_room() {
    let server =
        ServerSettings { send_space: 4000, ..ServerSettings::new(Addresses::shared(address(0).ip())) };
    let mut pair = Pair::with(Settings { send_buffer: 2304, ..Settings::default() }, server);
    let socket = pair.socket(DATAGRAM);
    for length in (0..300).map(|step| step * 37 % 9000) {
        assert_eq!(pair.call(socket, send_to(&vec![1; length], Some(53))), Ok(Value::Count(length)));
    }
    assert_eq!(pair.asked().len(), 301);
}

/// C49: a look-up is the server's, one at a time.
#[test]
fn names_are_looked_up_by_the_server() {
    let mut pair = Pair::new();
    let query = |host: &str| Query::Host { host: host.into(), service: "80".into(), family: None };
    pair.flows = false;
    pair.at_client(|client, now, out| {
        client.look_up(CallId(100), query("a.example"), now, out);
        client.look_up(CallId(101), query("b.example"), now, out);
    });
    assert_eq!(pair.up.len(), 1);
    let mut asked = Vec::new();
    let request = pair.up.remove(0);
    pair.server.message(super::LINK, request, pair.now, &mut asked);
    let xid = Xid(1);
    let resolve = ServerAction::Resolve { connection: super::LINK, xid, query: query("a.example") };
    assert_eq!(asked, [resolve]);
    pair.flows = true;
    let hosts = vec![address(80)];
    pair.at_server(|server, _, out| server.resolved(super::LINK, xid, Ok(Reply::Hosts(hosts)), out));
    assert_eq!(pair.ended(CallId(100)), Some(Ok(Value::Hosts(vec![address(80)]))));
    let nothing = Reply::Unresolved(Unresolved::NoName);
    pair.at_server(|server, _, out| server.resolved(super::LINK, Xid(2), Ok(nothing), out));
    assert_eq!(pair.ended(CallId(101)), Some(Ok(Value::Unresolved(Unresolved::NoName))));
    assert!(!matches!(pair.asked()[..], [TcpAction::Execute(Operation::Resolve(_)), ..]));
}

/// C91: a driver moves datagrams whole, with their addresses and what is said beside them, and what it has taken is read.
#[test]
fn a_driver_moves_datagrams() {
    let mut pair = Pair::new();
    let socket = pair.client.socket(DATAGRAM).expect("registered");
    let mut taken = [true; 2];
    let beside = |kind| Ancillary::read(&[0, kind, 1, 7]).expect("a record");
    pair.at_client(|client, now, out| {
        taken = [None, Some(address(9))]
            .map(|to| client.give_datagram(socket, to, beside(1), b"up".to_vec(), now, out));
    });
    assert_eq!(taken, [false, true], "one of them goes nowhere");
    let sent = TcpAction::SendTo { to: Some(address(9)), ancillary: beside(1), bytes: b"up".to_vec() };
    assert!(pair.asked().contains(&sent));
    pair.event(1, TcpEvent::Datagram { from: address(9), ancillary: beside(2), bytes: b"down".to_vec() });
    let mut found = Vec::new();
    pair.at_client(|client, now, out| {
        found = (0..2).map(|_| client.take_datagram(socket, now, out)).collect();
    });
    assert_eq!(found, [Some((address(9), beside(2), b"down".to_vec())), None]);
}
