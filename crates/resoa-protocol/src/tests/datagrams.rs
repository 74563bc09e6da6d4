//! UDP and look-ups: the server executes both, and message boundaries are preserved.

use super::{DATAGRAM, LINK, Pair, address};
use crate::calls::{CallId, DatagramPart, ReceiveFlags, SendFlags, SocketCall, Value};
use crate::client::Client;
use crate::client::lookup::AT_A_TIME;
use crate::lhp::{Indication, Lost};
use crate::message::{Ancillary, Body, Call, Control, Fault, Operation, Query, Reply, Unresolved, Update};
use crate::server::{Addresses, ServerAction, ServerSettings};
use crate::settings::Settings;
use crate::tcp::{Endpoint, TcpAction, TcpEvent};
use crate::{Errno, Message, RsockId, Target, Xid};
use proptest::prelude::*;
use std::net::SocketAddr;
use std::time::Duration;

fn send_to(bytes: &[u8], port: Option<u16>) -> SocketCall {
    SocketCall::Send { bytes: bytes.to_vec(), to: port.map(address), flags: SendFlags::default() }
}

/// C91: boundaries are preserved, sources are reported, and a datagram that is too long or has no
/// destination is refused.
#[test]
fn datagrams_keep_their_boundaries() {
    let mut pair = Pair::new();
    let socket = pair.socket(DATAGRAM);
    assert_eq!(pair.call(socket, send_to(b"x", None)), Err(Errno::EDESTADDRREQ));
    assert_eq!(pair.call(socket, send_to(&vec![0; 65_508], Some(53))), Err(Errno::EMSGSIZE));
    assert_eq!(pair.call(socket, Operation::Listen { backlog: 1 }), Err(Errno::EOPNOTSUPP));
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

/// E1d: WRITE is refused for a datagram socket. The client is told, the stack gets no request, and
/// no room is used, which nothing would free.
#[test]
fn a_stream_is_not_written_to_a_socket_of_datagrams() {
    let mut pair = Pair::new();
    let socket = pair.socket(DATAGRAM);
    assert_eq!(pair.call(socket, send_to(b"ab", Some(53))), Ok(Value::Count(2)));
    let (target, before) = (Target::Socket(socket), pair.server.counts(LINK, Endpoint(1)));
    pair.asked();
    pair.flows = false;
    for urgent in [false, true] {
        let call = Call::Write { bytes: vec![7; 1 << 16], urgent, scarce: true };
        let write = Message { target, body: Body::Call { create: None, consumed: 0, call } };
        pair.at_server(|server, now, out| server.message(LINK, write, now, out));
        let told = Message { target, body: Body::Control(Control::Error(Fault::NotAllowed)) };
        assert_eq!(std::mem::take(&mut pair.down), [told]);
    }
    assert_eq!(pair.asked(), []);
    assert_eq!(pair.server.counts(LINK, Endpoint(1)), before);
}

/// C91: `connect` sets the destination. A datagram for which there is no room is lost, as on any
/// host.
#[test]
fn datagrams_with_a_destination() {
    let settings = Settings { receive_buffer: 8, report_after: 1, ..Settings::default() };
    let mut pair = Pair::with(settings, ServerSettings::new(Addresses::shared(address(0).ip())));
    let socket = pair.socket(DATAGRAM);
    let call = pair.begin(socket, Operation::Connect(address(53)));
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

/// C38, C91: after `connect` to AF_UNSPEC, a socket keeps the address that it was bound to, but not
/// one that the stack chose for it.
#[test]
fn addresses_of_the_disconnected() {
    let any = |port| SocketAddr::from(([0, 0, 0, 0], port));
    for (asked_for, left) in
        [(None, any(0)), (Some(any(0)), any(0)), (Some(any(7)), any(7)), (Some(address(0)), address(0))]
    {
        let mut pair = Pair::new();
        let socket = pair.socket(DATAGRAM);
        if let Some(wanted) = asked_for {
            let bind = pair.begin(socket, Operation::Bind(wanted));
            let port = if wanted.port() == 0 { 5000 } else { wanted.port() };
            pair.done(1, Ok(Reply::Local(SocketAddr::new(wanted.ip(), port))));
            assert_eq!(pair.ended(bind), Some(Ok(Value::Done)));
        }
        let connect = pair.begin(socket, Operation::Connect(address(53)));
        pair.done(1, Ok(Reply::Connected { local: address(5000), peer: address(53) }));
        assert_eq!(pair.ended(connect), Some(Ok(Value::Done)));
        assert_eq!(pair.call(socket, SocketCall::LocalName), Ok(Value::Address(address(5000))));
        let disconnect = pair.begin(socket, Operation::Disconnect);
        pair.done(1, Ok(Reply::Done));
        assert_eq!(pair.ended(disconnect), Some(Ok(Value::Done)));
        assert_eq!(pair.call(socket, SocketCall::LocalName), Ok(Value::Address(left)), "{asked_for:?}");
        assert_eq!(pair.client.stream(socket).map(|stream| stream.named), Some(left != any(0)));
    }
}

/// C53, C91: datagrams written before `close` are sent, and an error in between does not stop this.
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
    assert_eq!((pair.client.sockets(), pair.server.sockets(LINK)), (0, 0));
    let sent = pair.asked().into_iter().filter(|action| matches!(action, TcpAction::SendTo { .. }));
    assert_eq!(sent.count(), 4);
}

/// C91, C21: a program that sends for ever is told of free room in time, whatever the sizes.
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

/// C49: the server executes look-ups, a limited number at a time. One that takes long does not
/// delay the others; those beyond the limit wait here.
#[test]
fn names_are_looked_up_by_the_server() {
    let mut pair = Pair::new();
    let query = |number: u64| {
        let host = format!("{number}.example");
        Query::Host { host, service: "80".into(), family: None }
    };
    let numbers = 1..=AT_A_TIME as u64 + 1;
    pair.flows = false;
    pair.at_client(|client, now, out| {
        for number in numbers.clone() {
            client.look_up(CallId(100 + number), query(number), now, out);
        }
    });
    assert_eq!(pair.up.len(), AT_A_TIME);
    let requests = std::mem::take(&mut pair.up);
    for (number, request) in (1..).zip(requests) {
        let mut asked = Vec::new();
        pair.server.message(LINK, request, pair.now, &mut asked);
        let xid = Xid(number);
        let query = query(number.into());
        assert_eq!(asked, [ServerAction::Resolve { connection: LINK, xid, query }]);
    }
    pair.flows = true;
    // The last request is answered first, and makes room for the one that waits.
    let last = AT_A_TIME as u32;
    for number in (1..=last).rev() {
        let hosts = vec![address(number as u16)];
        pair.at_server(|server, _, out| {
            server.resolved(LINK, Xid(number), Ok(Reply::Hosts(hosts.clone())), out);
        });
        assert_eq!(pair.ended(CallId(100 + u64::from(number))), Some(Ok(Value::Hosts(hosts))), "{number}");
    }
    let nothing = Reply::Unresolved(Unresolved::NoName);
    pair.at_server(|server, _, out| server.resolved(LINK, Xid(last + 1), Ok(nothing), out));
    let call = CallId(101 + u64::from(last));
    assert_eq!(pair.ended(call), Some(Ok(Value::Unresolved(Unresolved::NoName))));
    assert_eq!(pair.asked(), []);
}

/// C91: a driver moves whole datagrams with their addresses and control messages. A datagram that
/// it has taken counts as read.
#[test]
fn a_driver_moves_datagrams() {
    let mut pair = Pair::new();
    let socket = pair.client.socket(DATAGRAM).expect("registered");
    let mut taken = [Ok(()); 2];
    pair.at_client(|client, now, out| {
        taken = [None, Some(address(9))].map(|to| {
            let part = DatagramPart { to, ancillary: beside(1, 1), bytes: b"up".to_vec(), more: false };
            client.give_datagram(socket, part, false, now, out)
        });
    });
    assert_eq!(taken, [Err(Errno::EDESTADDRREQ), Ok(())]);
    let sent = TcpAction::SendTo { to: Some(address(9)), ancillary: beside(1, 1), bytes: b"up".to_vec() };
    assert!(pair.asked().contains(&sent));
    pair.event(1, TcpEvent::Datagram { from: address(9), ancillary: beside(2, 1), bytes: b"down".to_vec() });
    let mut found = Vec::new();
    pair.at_client(|client, now, out| {
        found = (0..2).map(|_| client.take_datagram(socket, now, out)).collect();
    });
    assert_eq!(found, [Some((address(9), beside(2, 1), b"down".to_vec())), None]);
}

/// Returns a control message of this type, with a value of this many bytes.
pub(super) fn beside(kind: u8, octets: u8) -> Ancillary {
    Ancillary::read(&[&[0, kind, octets][..], &vec![7; octets.into()]].concat()).expect("a record")
}

/// What happens to a message on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Arrives,
    /// It is lost, and the other side is told.
    Lost,
    /// It is lost, and nobody is told.
    Dropped,
}

/// Delivers the messages that wait, and applies this fate to those that may be lost.
fn cross(pair: &mut Pair, fate: Fate) {
    while !(pair.up.is_empty() && pair.down.is_empty()) {
        for message in std::mem::take(&mut pair.up) {
            let lost = Lost::of(&message.encode());
            match fate {
                Fate::Lost if message.may_be_lost() => pair.at_server(|server, now, out| {
                    server.lost_datagram(LINK, Message::decode_lost(&lost).expect("was written"), now, out);
                }),
                Fate::Dropped if message.may_be_lost() => {}
                _ => pair.at_server(|server, now, out| server.message(LINK, message, now, out)),
            }
        }
        for message in std::mem::take(&mut pair.down) {
            let octets = message.encode();
            let told = match fate {
                Fate::Lost if message.may_be_lost() => Indication::Lost(Lost::of(&octets)),
                Fate::Dropped if message.may_be_lost() => continue,
                _ => Indication::Data(octets),
            };
            pair.at_client(|client, now, out| client.indication(told, now, out));
        }
    }
}

/// Sends datagrams both ways, with one fate per step. Returns the counts at the client and at the
/// server when everything was read and reported.
fn counted(steps: &[(Fate, usize, usize, bool)]) -> ((u32, u32), [u32; 3]) {
    let server =
        ServerSettings { send_space: 4000, ..ServerSettings::new(Addresses::shared(address(0).ip())) };
    let settings = Settings { send_buffer: 3000, receive_buffer: 3000, ..Settings::default() };
    let mut pair = Pair::with(settings, server);
    let socket = pair.socket(DATAGRAM);
    assert!(pair.call(socket, send_to(b"first", Some(53))).is_ok());
    pair.flows = false;
    for &(fate, up, down, reads) in steps {
        for length in [up, down] {
            // With the most control messages possible, or none.
            let ancillary = || if length % 2 == 0 { Ancillary::none() } else { beside(1, 252) };
            pair.at_client(|client, now, out| {
                let (to, bytes) = (Some(address(53)), vec![1; length]);
                let part = DatagramPart { to, ancillary: ancillary(), bytes, more: false };
                let _ = client.give_datagram(socket, part, false, now, out);
            });
            let from = address(53);
            pair.event(1, TcpEvent::Datagram { from, ancillary: ancillary(), bytes: vec![2; length] });
        }
        while reads && pair.read(socket, 1).is_ok() {}
        cross(&mut pair, fate);
    }
    while pair.read(socket, 1).is_ok() {}
    pair.now += Duration::from_secs(1);
    pair.at_client(Client::expire);
    cross(&mut pair, Fate::Arrives);
    let counts = pair.client.counts(socket).expect("it is open");
    (counts, pair.server.counts(LINK, Endpoint(1)).expect("it is open"))
}

proptest! {
    /// C91: whatever is lost, both sides finally count the same bytes, and none in flight. So no
    /// byte is freed twice or never.
    #[test]
    fn what_is_lost_is_free_once(
        steps in prop::collection::vec((prop_oneof![Just(Fate::Arrives), Just(Fate::Lost)], 0..900_usize, 0..900_usize, any::<bool>()), 1..60),
    ) {
        let ((client_used, unreported), [under_way, used, unread]) = counted(&steps);
        prop_assert_eq!((unreported, under_way, unread), (0, 0, 0));
        prop_assert_eq!(client_used, used);
        prop_assert!(used < 1024, "{} octets are not told of", used);
    }
}

/// If lost datagrams are not reported, their room is gone for good at both sides.
#[test]
fn what_is_dropped_is_never_free() {
    let ((client_used, _), [_, used, unread]) =
        counted(&[(Fate::Dropped, 500, 300, true), (Fate::Arrives, 5, 5, true)]);
    assert_eq!((client_used - used, unread), (800, 800));
}

/// C91: the report of bytes read in a lost datagram counts.
#[test]
fn what_a_lost_datagram_reports_counts() {
    let mut pair = Pair::new();
    let socket = pair.socket(DATAGRAM);
    assert!(pair.call(socket, send_to(b"first", Some(53))).is_ok());
    pair.event(1, TcpEvent::Datagram { from: address(53), ancillary: Ancillary::none(), bytes: vec![2; 70] });
    assert!(pair.read(socket, 9).is_ok());
    pair.flows = false;
    assert!(pair.call(socket, send_to(b"second", Some(53))).is_ok());
    assert!(matches!(pair.up[..], [Message { body: Body::Call { consumed: 70, .. }, .. }]), "{:?}", pair.up);
    pair.stack.clear();
    cross(&mut pair, Fate::Lost);
    assert_eq!(pair.server.counts(LINK, Endpoint(1)), Some([0, 11, 0]));
    assert_eq!(pair.asked(), [], "it is not sent");
}

/// C91: messages that may be lost are datagrams of a socket with a number, but not the one that
/// makes the socket.
#[test]
fn what_may_be_lost() {
    let call = |create, call| Message {
        target: Target::Socket(RsockId(1)),
        body: Body::Call { create, consumed: 0, call },
    };
    let datagram = |to| Call::Datagram { to, ancillary: Ancillary::none(), bytes: vec![1] };
    for to in [None, Some(address(53))] {
        assert!(call(None, datagram(to)).may_be_lost());
        assert!(!call(Some(DATAGRAM), datagram(to)).may_be_lost());
    }
    assert!(!call(None, Call::Write { bytes: vec![1], urgent: false, scarce: false }).may_be_lost());
    assert!(!call(None, Call::Consumed).may_be_lost());
    let arrived = || Update::Datagram { from: address(53), ancillary: Ancillary::none(), bytes: vec![] };
    assert!(Message::update(Target::Socket(RsockId(1)), arrived()).may_be_lost());
    assert!(!Message::update(Target::Socket(RsockId::CLIENT), arrived()).may_be_lost());
    let child = Target::Child { listener: RsockId(1), incarnation: crate::Incarnation(1) };
    assert!(!Message::update(child, arrived()).may_be_lost());
    assert!(!Message::update(Target::Socket(RsockId(1)), Update::Data(vec![1])).may_be_lost());
}

/// The longest header of a datagram is known in full, and so is the length of its payload. Any
/// other message is refused.
#[test]
fn what_is_known_of_a_lost_one() {
    let to = Some("[2001:db8::1]:53".parse().expect("an address"));
    let target = Target::Socket(RsockId(7));
    let of = |ancillary, bytes: Vec<u8>| {
        let call = Call::Datagram { to, ancillary, bytes };
        Message { target, body: Body::Call { create: None, consumed: 9, call } }
    };
    for length in [0, 1, 65_000] {
        for ancillary in [Ancillary::none(), beside(2, 252)] {
            let lost = Lost::of(&of(ancillary, vec![0; length]).encode());
            assert_eq!(Message::decode_lost(&lost), Ok(of(Ancillary::none(), vec![0; length])));
        }
    }
    assert!(Message::decode_lost(&Lost { head: vec![0x13, 4], octets: usize::MAX }).is_err());
    let mut pair = Pair::new();
    let socket = pair.connected();
    let write = Message {
        target: Target::Socket(socket),
        body: Body::Call { create: None, consumed: 3, call: Call::Consumed },
    };
    pair.at_server(|server, now, out| server.lost_datagram(LINK, write, now, out));
    let data = Lost::of(&Message::update(Target::Socket(socket), Update::Data(vec![1; 50])).encode());
    pair.at_client(|client, now, out| client.indication(Indication::Lost(data), now, out));
    assert_eq!((pair.asked(), pair.messages), (vec![], [0, 0]));
}

/// C26, C91: while the carrier takes no messages, datagrams still go to the carrier, where their
/// age is known. They do not overtake messages of their socket or about the client as a whole.
#[test]
fn datagrams_do_not_wait_here() {
    let mut pair = Pair::new();
    let socket = pair.socket(DATAGRAM);
    assert!(pair.call(socket, send_to(b"first", Some(53))).is_ok());
    let stream = pair.connected();
    pair.flows = false;
    pair.at_client(|client, now, out| client.indication(Indication::Off, now, out));
    pair.at_server(|server, _, out| server.flow(LINK, false, out));
    pair.send(stream, b"held");
    // Messages that only count bytes of the same socket do not hold them back.
    pair.event(1, TcpEvent::Datagram { from: address(53), ancillary: Ancillary::none(), bytes: vec![2; 3] });
    let down = std::mem::take(&mut pair.down);
    pair.at_client(|client, now, out| {
        for message in down {
            client.message(message, now, out);
        }
    });
    assert!(pair.read(socket, 9).is_ok());
    pair.now += Duration::from_secs(1);
    pair.at_client(Client::expire);
    let target = Target::Socket(socket);
    let body = Body::Call {
        create: None,
        consumed: 0,
        call: Call::Datagram { to: Some(address(53)), ancillary: Ancillary::none(), bytes: vec![1; 2000] },
    };
    pair.at_server(|server, now, out| server.message(LINK, Message { target, body }, now, out));
    assert_eq!((pair.up.len(), pair.down.len()), (0, 0));
    for _ in 0..2 {
        assert!(pair.call(socket, send_to(b"datagram", Some(53))).is_ok());
        pair.event(
            1,
            TcpEvent::Datagram { from: address(53), ancillary: Ancillary::none(), bytes: vec![2; 3] },
        );
    }
    assert_eq!((pair.up.len(), pair.down.len()), (2, 2));
    assert!(pair.up.iter().chain(&pair.down).all(Message::may_be_lost));
    // A message of the same socket does.
    pair.event(1, TcpEvent::Failed(Errno::ECONNREFUSED));
    pair.begin(socket, Operation::Bind(address(9)));
    assert!(pair.call(socket, send_to(b"behind it", Some(53))).is_ok());
    pair.event(1, TcpEvent::Datagram { from: address(53), ancillary: Ancillary::none(), bytes: vec![2; 3] });
    assert_eq!((pair.up.len(), pair.down.len()), (2, 2));
    pair.at_client(|client, now, out| client.indication(Indication::On, now, out));
    pair.at_server(|server, _, out| server.flow(LINK, true, out));
    // The write, the count, the request and its datagram; the count, the error and its datagram.
    assert_eq!((pair.up.len(), pair.down.len()), (6, 5));
}
