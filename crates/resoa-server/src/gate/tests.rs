//! Tests of the gate: admission of clients, their actions, and the owners of ports.

use super::groups::{IPV6_JOIN_ANYCAST, MCAST_MSFILTER};
use super::*;
use libc::MCAST_JOIN_GROUP;
use resoa_policy::Rules;
use resoa_protocol::message::{Ancillary, Create, Family, RsockType};

const A: Connection = Connection(1);
const B: Connection = Connection(2);
const STREAM: Create = Create { family: Family::V4, kind: RsockType::Stream };

fn gate(rules: Rules) -> Gate {
    let client = Client { rules, ..Client::named("anybody") };
    let mut gate = Gate::new(Arc::new(Policy::anybody(client)));
    for connection in [A, B] {
        assert!(gate.come(connection, &Identity(vec![connection.0 as u8]), Duration::ZERO).is_some());
    }
    gate
}

fn socket(gate: &mut Gate, connection: Connection, number: u64, source: [u8; 4]) -> Endpoint {
    let endpoint = Endpoint(number);
    let action = TcpAction::Create { create: STREAM, source: source.into(), foreign: false };
    assert_eq!(gate.ask(connection, endpoint, &action, |_| false), Ok(()));
    gate.does(connection, endpoint, &action);
    endpoint
}

fn bind(gate: &mut Gate, connection: Connection, endpoint: Endpoint, address: &str) -> Result<(), Refusal> {
    let address: SocketAddr = address.parse().expect("an address with a port");
    gate.ask(connection, endpoint, &TcpAction::Execute(Operation::Bind(address)), |_| false)?;
    gate.happened(endpoint, &TcpEvent::Done(Ok(Reply::Local(address))));
    Ok(())
}

/// C10: only one client has a port at an address, even where the kernel would let both have it. At
/// addresses of their own, both may have it (C09).
#[test]
fn ports_are_one_clients() {
    let mut gate = gate(Rules::default());
    let shared = [192, 0, 2, 1];
    let first = socket(&mut gate, A, 1, shared);
    assert_eq!(bind(&mut gate, A, first, "0.0.0.0:8080"), Ok(()));
    let second = socket(&mut gate, B, 2, shared);
    for address in ["0.0.0.0:8080", "192.0.2.1:8080", "[::ffff:192.0.2.1]:8080"] {
        assert_eq!(bind(&mut gate, B, second, address), Err(Refusal::Taken), "{address}");
    }
    assert_eq!(bind(&mut gate, B, second, "0.0.0.0:8081"), Ok(()));
    let own = socket(&mut gate, B, 3, [192, 0, 2, 7]);
    assert_eq!(bind(&mut gate, B, own, "0.0.0.0:8080"), Ok(()));
    // Conflicts between a client's own sockets are left to the kernel.
    let third = socket(&mut gate, A, 4, shared);
    assert_eq!(bind(&mut gate, A, third, "0.0.0.0:8080"), Ok(()));
    gate.closed(first);
    gate.closed(third);
    let fourth = socket(&mut gate, B, 5, shared);
    assert_eq!(bind(&mut gate, B, fourth, "0.0.0.0:8080"), Ok(()));
    assert_eq!(gate.total().refusals, [(Refusal::Taken, 3)].into());
}

/// Bytes count for a client from their sending until the far host acknowledges them or the socket
/// is closed.
#[test]
fn octets_are_counted() {
    let mut gate = gate(Rules::default());
    let endpoint = socket(&mut gate, A, 1, [192, 0, 2, 1]);
    gate.does(A, endpoint, &TcpAction::Send { bytes: vec![0; 100], urgent: false });
    gate.happened(endpoint, &TcpEvent::Acknowledged(30));
    gate.happened(endpoint, &TcpEvent::Received(vec![0; 7]));
    let visitor = gate.visitor(A).expect("is here");
    assert_eq!((visitor.outstanding, visitor.counts.sent, visitor.counts.received), (70, 100, 7));
    gate.closed(endpoint);
    assert_eq!(gate.visitor(A).expect("is here").outstanding, 0);
    gate.gone(A);
    assert_eq!((gate.total().sent, gate.total().sockets), (100, 1));
}

/// Bytes of a lost connection are not outstanding any more, whether its program closes the socket
/// or keeps it.
#[test]
fn octets_of_a_lost_connection() {
    let mut gate = gate(Rules::default());
    let [lost, other] = [1, 2].map(|number| socket(&mut gate, A, number, [192, 0, 2, 1]));
    for endpoint in [lost, other] {
        gate.does(A, endpoint, &TcpAction::Send { bytes: vec![0; 100], urgent: false });
    }
    gate.happened(lost, &TcpEvent::Acknowledged(30));
    gate.happened(lost, &TcpEvent::Failed(resoa_protocol::Errno::ECONNRESET));
    assert_eq!(gate.visitor(A).expect("is here").outstanding, 100);
    gate.closed(lost);
    assert_eq!(gate.visitor(A).expect("is here").outstanding, 100);
    gate.closed(other);
    assert_eq!(gate.visitor(A).expect("is here").outstanding, 0);
}

/// Every action that sends something to an address is checked.
#[test]
fn every_way_out_is_asked_for() {
    let mut gate = gate(Rules { listen: false, ..Rules::default() });
    let endpoint = socket(&mut gate, A, 1, [192, 0, 2, 1]);
    let to: SocketAddr = "127.0.0.1:80".parse().expect("an address");
    let membership = [[224, 0, 0, 251], [0; 4]].concat();
    let mut from_loopback = Ancillary::none();
    let source = [[0; 4], [127, 0, 0, 1], [0; 4]].concat();
    assert!(from_loopback.push(libc::IPPROTO_IP as u8, libc::IP_PKTINFO as u8, &source));
    for action in [
        TcpAction::Execute(Operation::Connect(to)),
        TcpAction::SendTo { to: Some(to), ancillary: Ancillary::none(), bytes: Vec::new() },
        TcpAction::SendTo { to: None, ancillary: from_loopback, bytes: Vec::new() },
        TcpAction::Execute(Operation::Listen { backlog: 1 }),
        TcpAction::Execute(Operation::Bind(to)),
        TcpAction::Execute(Operation::SetOption {
            level: libc::IPPROTO_IP,
            name: libc::IP_ADD_MEMBERSHIP,
            value: membership,
        }),
    ] {
        assert!(gate.ask(A, endpoint, &action, |_| false).is_err(), "{action:?}");
    }
    // Nothing is permitted to a connection without a client.
    let connect = TcpAction::Execute(Operation::Connect("192.0.2.9:80".parse().expect("an address")));
    assert_eq!(gate.ask(A, endpoint, &connect, |_| false), Ok(()));
    assert_eq!(gate.ask(Connection(9), endpoint, &connect, |_| false), Err(Refusal::Denied));
    assert_eq!(gate.total().refusals.values().sum::<u64>(), 6);
}

/// A client that the new policy lacks has to leave. For other clients, new permissions apply at
/// once.
#[test]
fn another_policy() {
    let mut gate = gate(Rules::default());
    let closed = Policy::parse("p", "").expect("a policy without clients");
    assert_eq!(gate.reload(Arc::new(closed)), [A, B]);
    let strict = Client { rules: Rules { allow: Vec::new(), ..Rules::default() }, ..Client::named("x") };
    assert_eq!(gate.reload(Arc::new(Policy::anybody(strict))), []);
    let endpoint = socket(&mut gate, A, 1, [192, 0, 2, 1]);
    let connect = TcpAction::Execute(Operation::Connect("192.0.2.9:80".parse().expect("an address")));
    assert_eq!(gate.ask(A, endpoint, &connect, |_| false), Err(Refusal::NotAllowed));
}

/// A client that connects again and again does not use up the room of others. When one of its
/// connections ends, it may open another.
#[test]
fn one_client_does_not_take_all_places() {
    let mut gate = gate(Rules::default());
    let who = Identity(vec![9]);
    let places = (100..).take_while(|&number| gate.come(Connection(number), &who, Duration::ZERO).is_some());
    assert_eq!(places.count(), OF_ONE);
    assert!(gate.come(Connection(1000), &Identity(vec![8]), Duration::ZERO).is_some());
    gate.gone(Connection(100));
    assert!(gate.come(Connection(1001), &who, Duration::ZERO).is_some());
    assert!(gate.come(Connection(1002), &who, Duration::ZERO).is_none());
}

/// Connections are overdue after 30 s without a registration, in the order of their arrival.
#[test]
fn who_does_not_register() {
    let mut gate = gate(Rules::default());
    let later = Connection(3);
    assert!(gate.come(later, &Identity(vec![3]), Duration::from_secs(5)).is_some());
    assert_eq!((gate.deadline(), gate.overdue(Duration::from_secs(29))), (Some(UNREGISTERED), vec![]));
    assert_eq!(gate.overdue(Duration::from_secs(30)), [A, B]);
    assert_eq!(gate.overdue(Duration::from_secs(35)), [later]);
    assert_eq!(gate.deadline(), None);
}

/// Every option with a multicast group is checked, in whatever form it names the group.
#[test]
fn groups_are_asked_for() {
    let mut gate = gate(Rules { allow: vec!["239.1.2.3".parse().expect("a group")], ..Rules::default() });
    let endpoint = socket(&mut gate, A, 1, [192, 0, 2, 1]);
    let four = |last: u8| [[239, 1, 2, last], [0; 4], [10, 0, 0, 1]].concat();
    let six = |last: u8| [&[0xff, 2][..], &[0; 13], &[last], &[0; 4]].concat();
    let storage = |octets: &[u8], family: i32, at: usize| {
        let mut value = vec![0; 8 + 128];
        value[8..10].copy_from_slice(&(family as u16).to_ne_bytes());
        value[8 + at..][..octets.len()].copy_from_slice(octets);
        value
    };
    let mut ask = |level, name, value| {
        let action = TcpAction::Execute(Operation::SetOption { level, name, value });
        gate.ask(A, endpoint, &action, |_| false).is_ok()
    };
    // Options from IP_ADD_MEMBERSHIP to IP_MSFILTER (`linux/in.h`).
    for name in 35..=41 {
        assert!(ask(libc::IPPROTO_IP, name, four(3)), "{name}");
        assert!(!ask(libc::IPPROTO_IP, name, four(4)), "{name}");
    }
    for name in [libc::IPV6_ADD_MEMBERSHIP, libc::IPV6_DROP_MEMBERSHIP, IPV6_JOIN_ANYCAST] {
        assert!(!ask(libc::IPPROTO_IPV6, name, six(0xfb)), "{name}");
    }
    for name in MCAST_JOIN_GROUP..=MCAST_MSFILTER {
        let group = |last: u8| storage(&[239, 1, 2, last], libc::AF_INET, 4);
        assert!(ask(libc::IPPROTO_IP, name, group(3)), "{name}");
        assert!(!ask(libc::IPPROTO_IP, name, group(4)), "{name}");
        assert!(!ask(libc::IPPROTO_IPV6, name, storage(&six(0xfb)[..16], libc::AF_INET6, 8)), "{name}");
    }
    assert!(ask(libc::IPPROTO_IP, libc::IP_TTL, vec![9, 0, 0, 0]));
}
