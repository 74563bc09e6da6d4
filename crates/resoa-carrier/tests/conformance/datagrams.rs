//! What the Link Layer Protocol promises in addition: on a damaging wire, against strangers, and to
//! a client whose address changes.

use crate::ends::{Ends, PATIENCE};
use crate::wire::{Faults, Wire};
use resoa_carrier::datagram::{Datagrams, INTRODUCTION, KeepAlive, SUSPICIOUS};
use resoa_carrier::keys::SecretKey;
use resoa_carrier::{Allowed, Carrier};
use resoa_protocol::lhp::{DisconnectReason, Handed, Identity, Indication, LastHop, Provider, Service};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

const ANY_PORT: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);
const PROVIDER: Provider = Provider { id: 4, protocol: 0 };
const MESSAGES: u32 = 400;
/// Short, but long enough that a busy machine does not count as an outage.
pub const BRIEF: KeepAlive = KeepAlive { interval: Duration::from_secs(1), end: Duration::from_secs(6) };
/// Longer than any outage in a test.
pub const LONG: KeepAlive = KeepAlive { interval: Duration::from_secs(1), end: Duration::from_mins(2) };

fn key() -> SecretKey {
    SecretKey::generate().expect("random octets")
}

/// Returns two ends with a wire between them.
pub fn over(faults: Faults, keep_alive: KeepAlive) -> (Ends, Wire) {
    let (ours, theirs) = (key(), key());
    let allowed = Allowed::keys([theirs.public()].into());
    let server = Datagrams::udp_server(ANY_PORT.into(), &ours, allowed, keep_alive).expect("loopback");
    let wire = Wire::new(server.address().expect("is bound"), faults, 1);
    let client =
        Datagrams::udp_client(wire.address, &theirs, ours.public(), keep_alive).expect("descriptors");
    let address = wire.address.to_string().into_bytes();
    let identity = Identity(theirs.public().0.to_vec());
    (Ends::of(Box::new(server), Box::new(client), address, identity), wire)
}

/// Returns a data message of a socket, with a number.
pub fn data(socket: u32, number: u32, octets: usize) -> Vec<u8> {
    let mut message = vec![0x13, 3, 0];
    message.extend(socket.to_be_bytes());
    message.extend(number.to_be_bytes());
    message.resize(message.len() + octets, number as u8);
    message
}

/// C87: exactly once and in the order of each socket, in both directions, over a wire that loses a
/// tenth, repeats a tenth and delays some for long; then a close.
#[test]
fn a_wire_that_damages() {
    let late = (0.2, Duration::from_millis(30));
    let faults = Faults { loss: 0.1, repeated: 0.1, late, delay: Duration::from_millis(2) };
    let (ends, _wire) = over(faults, KeepAlive::default());
    damaged(ends);
}

/// Sends messages both ways over a faulty wire, and closes.
pub fn damaged(mut ends: Ends) {
    let taken = ends.connect();
    let (mut sent, mut found) = ([0; 2], [BTreeMap::<u32, u32>::new(), BTreeMap::new()]);
    let mut full = [false; 2];
    let length = |number: u32| number as usize * 7919 % 30_000;
    let begin = Instant::now();
    while found.iter().any(|found| found.values().sum::<u32>() < MESSAGES) {
        assert!(begin.elapsed() < PATIENCE, "does not come");
        for (end, number) in sent.iter_mut().enumerate() {
            while *number < MESSAGES && !full[end] {
                let message = data(1 + *number % 5, *number / 5, length(*number));
                *number += 1;
                let handed = match end {
                    0 => ends.client.carrier.send(ends.link, &message),
                    _ => ends.server.carrier.send(taken, &message),
                };
                full[end] = handed == Handed::TakenLast;
            }
        }
        ends.wait();
        let told = [&mut ends.client.kept, &mut ends.server.kept].map(std::mem::take);
        for (end, told) in told.into_iter().enumerate() {
            for (_, told) in told {
                match told {
                    Indication::On => full[end] = false,
                    Indication::Data(message) => {
                        let socket = u32::from_be_bytes(message[3..7].try_into().expect("4 octets"));
                        let next = found[end].entry(socket).or_default();
                        let number = *next * 5 + socket - 1;
                        assert!(
                            message == data(socket, *next, length(number)),
                            "message {next} of socket {socket}"
                        );
                        *next += 1;
                    }
                    told => panic!("{told:?}"),
                }
            }
        }
    }
    assert!(ends.client.carrier.statistics(ends.link).retransmissions > 100, "nothing was lost");
    ends.client.carrier.close(ends.link);
    assert_eq!(ends.server_told(), (taken, Indication::Disconnected(DisconnectReason::Closed)));
}

/// C89: the round-trip time is at least the wire's. The tests of the state machine show that it is
/// hardly more; there, only the wire takes time.
#[test]
fn round_trip_time() {
    let delay = Duration::from_millis(25);
    let (ends, _wire) = over(Faults { delay, ..Faults::default() }, KeepAlive::default());
    measured(ends, delay);
}

/// Exchanges messages, and checks the round-trip time.
pub fn measured(mut ends: Ends, delay: Duration) {
    let taken = ends.connect();
    for number in 0..20 {
        let _ = ends.client.carrier.send(ends.link, &data(1, number, 10));
        assert_eq!(ends.server_told(), (taken, Indication::Data(data(1, number, 10))));
        let _ = ends.server.carrier.send(taken, &data(1, number, 10));
        assert_eq!(ends.client_told(), (ends.link, Indication::Data(data(1, number, 10))));
    }
    let trip = ends.client.carrier.statistics(ends.link).round_trip.expect("is measured");
    assert!(trip >= delay * 2, "{trip:?}");
}

/// C90: both sides are told of an outage that does not end.
#[test]
fn an_outage_for_good() {
    let (ends, wire) = over(Faults::default(), BRIEF);
    dead(ends, &wire);
}

/// C90: an outage that ends in time does not end the connection.
#[test]
fn an_outage_that_ends() {
    let (ends, wire) = over(Faults::default(), LONG);
    interrupted(ends, &wire);
}

/// Checks an idle wire, and then one that is dead for good. The connection must use [`BRIEF`].
pub fn dead(mut ends: Ends, wire: &Wire) {
    let taken = ends.connect();
    let idle = Instant::now();
    let mut turns = 0;
    while idle.elapsed() < BRIEF.end + BRIEF.interval {
        ends.wait();
        turns += 1;
    }
    assert!(turns < 500, "{turns} turns for a few questions and answers");
    assert_eq!((ends.client.kept.len(), ends.server.kept.len()), (0, 0), "questions have answers");
    wire.set(Faults { loss: 1.0, ..Faults::default() });
    assert_eq!(ends.client_told(), (ends.link, Indication::Disconnected(DisconnectReason::Unreachable)));
    assert_eq!(ends.server_told(), (taken, Indication::Disconnected(DisconnectReason::Unreachable)));
}

/// Interrupts the wire until the outage is detected, while a message is in flight. The connection
/// must use [`LONG`].
pub fn interrupted(mut ends: Ends, wire: &Wire) {
    let taken = ends.connect();
    wire.set(Faults { loss: 1.0, ..Faults::default() });
    let _ = ends.client.carrier.send(ends.link, &data(1, 0, 5000));
    let out = Instant::now();
    while out.elapsed() < LONG.interval || ends.client.carrier.statistics(ends.link).healthy {
        assert!(out.elapsed() < PATIENCE, "an outage does not show");
        ends.wait();
    }
    wire.set(Faults::default());
    assert_eq!(ends.server_told(), (taken, Indication::Data(data(1, 0, 5000))));
}

/// A user that waits for room is woken when there is room, and seldom otherwise.
#[test]
fn nobody_spins() {
    let (mut ends, _wire) = over(Faults::default(), KeepAlive::default());
    let taken = ends.connect();
    ends.server.carrier.receive(taken, false);
    let (mut sent, mut open) = (0, true);
    let mut turns = [0; 2];
    for turns in &mut turns {
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(1) {
            while open {
                open = ends.client.carrier.send(ends.link, &data(1, sent, 50_000)) == Handed::Taken;
                sent += 1;
            }
            ends.wait();
            *turns += 1;
            open = ends.client.kept.drain(..).any(|(_, told)| told == Indication::On);
        }
    }
    assert!(!open && turns[1] < 200, "{turns:?} turns for {sent} messages");
    ends.server.carrier.receive(taken, true);
    for number in 0..sent {
        assert!(ends.server_told() == (taken, Indication::Data(data(1, number, 50_000))));
    }
}

/// Connecting fails if nobody is at the address, and if the text is not an address.
#[test]
fn nobody_there() {
    let (mut ends, _wire) = over(Faults { loss: 1.0, ..Faults::default() }, BRIEF);
    let unreachable = (ends.link, Indication::Disconnected(DisconnectReason::Unreachable));
    ends.client.carrier.connect(ends.link, b"nowhere");
    assert_eq!(ends.client_told(), unreachable);
    ends.client.carrier.connect(ends.link, &ends.address.clone());
    assert_eq!(ends.client_told(), unreachable);
}

/// A client that continues from another port is recognised, and answered there.
#[test]
fn change_of_address() {
    let (ours, theirs) = (key(), key());
    let mut server = Datagrams::udp_server(ANY_PORT.into(), &ours, Allowed::anybody(), KeepAlive::default())
        .expect("loopback");
    let address = server.address().expect("is bound");
    let mut client =
        Datagrams::udp_client(address, &theirs, ours.public(), KeepAlive::default()).expect("descriptors");
    let link = client.register(Service::Reliable, PROVIDER).expect("always");
    client.connect(link, address.to_string().as_bytes());
    let mut taken = None;
    let mut found = [Vec::new(), Vec::new()];
    let begin = Instant::now();
    while found.iter().any(|found: &Vec<_>| found.len() < 50) {
        assert!(begin.elapsed() < PATIENCE, "does not come");
        let mut happened = Vec::new();
        client.poll(&mut happened);
        for (_, told) in happened {
            match told {
                Indication::Connected => {
                    for number in 0..50 {
                        let _ = client.send(link, &data(1, number, 3000));
                    }
                }
                Indication::Data(message) => {
                    found[0].push(message);
                    // Between two of its messages, repeatedly.
                    client.move_to_another_port().expect("descriptors");
                }
                told => assert_eq!(told, Indication::On),
            }
        }
        let mut happened = Vec::new();
        server.poll(&mut happened);
        for (connection, told) in happened {
            match told {
                Indication::Connect { .. } => {
                    taken = Some(connection);
                    server.accept(connection);
                }
                Indication::Data(message) => {
                    let _ = server.send(connection, &message);
                    found[1].push(message);
                }
                told => assert_eq!(told, Indication::On),
            }
        }
    }
    assert!(taken.is_some());
    let expected: Vec<_> = (0..50).map(|number| data(1, number, 3000)).collect();
    assert!(found[0] == expected && found[1] == expected);
}

/// An endless stream of first messages from addresses that do not answer keeps no client out. The
/// server keeps state for a limited number of them.
#[test]
fn first_messages_of_nobody() {
    let (ours, theirs) = (key(), key());
    let keep_alive = KeepAlive::default();
    let server =
        Datagrams::udp_server(ANY_PORT.into(), &ours, Allowed::anybody(), keep_alive).expect("loopback");
    let to = server.address().expect("is bound");
    let client = Datagrams::udp_client(to, &theirs, ours.public(), keep_alive).expect("descriptors");
    let identity = Identity(theirs.public().0.to_vec());
    let mut ends = Ends::of(Box::new(server), Box::new(client), to.to_string().into_bytes(), identity);
    let flood = UdpSocket::bind(ANY_PORT).expect("loopback");
    flood.set_read_timeout(Some(Duration::from_millis(200))).expect("it is a time");
    // Valid first messages, of clients that say nothing else.
    let catcher = UdpSocket::bind(ANY_PORT).expect("loopback");
    let at = catcher.local_addr().expect("is bound");
    let caught: Vec<_> = (0..SUSPICIOUS * 4)
        .map(|_| {
            let mut client =
                Datagrams::udp_client(at, &key(), ours.public(), keep_alive).expect("descriptors");
            let link = client.register(Service::Reliable, PROVIDER).expect("always");
            client.connect(link, at.to_string().as_bytes());
            let mut buffer = [0; 2048];
            let (length, _) = catcher.recv_from(&mut buffer).expect("the first message");
            buffer[..length].to_vec()
        })
        .collect();
    // Times before and after each message that was answered without a cookie.
    let mut answered: Vec<(Instant, Instant)> = Vec::new();
    let mut cookies = 0;
    // When the server last looked for strangers whose time is over.
    let mut looked = Instant::now();
    for first in &caught {
        let before = Instant::now();
        flood.send_to(first, to).expect("loopback");
        ends.turn();
        let mut buffer = [0; 2048];
        let (length, _) = flood.recv_from(&mut buffer).expect("an answer");
        assert!(length < first.len(), "more comes back than was sent");
        // Below the limit there is an answer, above it a cookie. On a busy machine, the time of the
        // first strangers is over before the last ones arrive.
        let after = Instant::now();
        let surely = answered.iter().filter(|(earlier, _)| after - *earlier < INTRODUCTION).count();
        let perhaps = answered
            .iter()
            .filter(|(_, earlier)| looked.saturating_duration_since(*earlier) < INTRODUCTION)
            .count();
        looked = before;
        match buffer[0] {
            2 => {
                assert!(surely < SUSPICIOUS, "answered with {surely} strangers");
                answered.push((before, after));
            }
            3 => {
                assert!(perhaps >= SUSPICIOUS, "a cookie with {perhaps} strangers");
                cookies += 1;
            }
            other => panic!("{other}"),
        }
    }
    assert!(answered.len() >= SUSPICIOUS && answered.len() + cookies == caught.len());
    // A repetition gets the same answer, and no state is kept for it.
    flood.send_to(&caught[0], to).expect("loopback");
    ends.turn();
    let mut buffer = [0; 2048];
    flood.recv_from(&mut buffer).expect("an answer");
    assert!(buffer[0] == 2 || answered[0].0.elapsed() >= INTRODUCTION);
    // A real client brings the cookie back.
    ends.connect();
    assert_eq!(ends.server.kept, []);
}

/// Datagrams that are replayed, truncated or changed have no effect, and do not divert the answers.
#[test]
fn what_is_sent_again() {
    let (ours, theirs) = (key(), key());
    let keep_alive = KeepAlive::default();
    let server =
        Datagrams::udp_server(ANY_PORT.into(), &ours, Allowed::anybody(), keep_alive).expect("loopback");
    let to = server.address().expect("is bound");
    // An attacker who sees everything.
    let seer = UdpSocket::bind(ANY_PORT).expect("loopback");
    let at = seer.local_addr().expect("is bound");
    let client = Datagrams::udp_client(at, &theirs, ours.public(), keep_alive).expect("descriptors");
    let client_at: SocketAddr = (Ipv4Addr::LOCALHOST, client.address().expect("is bound").port()).into();
    let identity = Identity(theirs.public().0.to_vec());
    let address = at.to_string().into_bytes();
    let mut ends = Ends::of(Box::new(server), Box::new(client), address, identity);
    seer.set_nonblocking(true).expect("it is ours");
    let mut recorded = Vec::new();
    let relay = |recorded: &mut Vec<Vec<u8>>| {
        let mut buffer = [0; 2048];
        while let Ok((length, from)) = seer.recv_from(&mut buffer) {
            let datagram = buffer[..length].to_vec();
            seer.send_to(&datagram, if from == client_at { to } else { client_at }).expect("loopback");
            if from == client_at {
                recorded.push(datagram);
            }
        }
    };
    ends.client.carrier.connect(ends.link, &ends.address);
    let begin = Instant::now();
    let mut taken = None;
    let mut got = 0;
    let thief = UdpSocket::bind(ANY_PORT).expect("loopback");
    while got < 20 {
        assert!(begin.elapsed() < PATIENCE, "does not come");
        relay(&mut recorded);
        ends.turn();
        for (connection, told) in std::mem::take(&mut ends.server.kept) {
            match told {
                Indication::Connect { .. } => {
                    assert_eq!(taken.replace(connection), None, "once is enough");
                    ends.server.carrier.accept(connection);
                }
                Indication::Data(message) => {
                    assert_eq!(message, data(1, got, 100));
                    got += 1;
                    let _ = ends.server.carrier.send(connection, &message);
                }
                told => panic!("{told:?}"),
            }
        }
        for (_, told) in std::mem::take(&mut ends.client.kept) {
            let number = match told {
                Indication::Connected => 0,
                Indication::Data(message) => {
                    message[7..11].iter().fold(0, |number, octet| number << 8 | u32::from(*octet)) + 1
                }
                told => panic!("{told:?}"),
            };
            for datagram in &mut recorded {
                thief.send_to(datagram, to).expect("loopback");
                let last = datagram.len() - 1;
                datagram[last] ^= 1;
                thief.send_to(datagram, to).expect("loopback");
                thief.send_to(&datagram[..last], to).expect("loopback");
                datagram[last] ^= 1;
            }
            let _ = ends.client.carrier.send(ends.link, &data(1, number, 100));
        }
    }
}
