//! The baseline carrier alone.

use resoa_carrier::Carrier;
use resoa_carrier::tcp::{KeepAlive, Tcp};
use resoa_protocol::lhp::{Connection, Ended, Handed, Identity, Indication, LastHop, Provider, Service};
use resoa_protocol::message::MESSAGE_OCTETS;
use std::io::Write;
use std::net::{Ipv4Addr, TcpStream};
use std::time::{Duration, Instant};

/// After so long something will never come.
const PATIENCE: Duration = Duration::from_mins(1);
const IDENTITY: Identity = Identity(Vec::new());

/// A server's and a client's end, the connection that will be, and where it leads.
fn pair() -> (Tcp, Tcp, Connection, Vec<u8>) {
    let server = Tcp::server((Ipv4Addr::LOCALHOST, 0).into(), KeepAlive::default()).expect("loopback");
    let mut client = Tcp::client(IDENTITY, KeepAlive::default()).expect("descriptors");
    let link = client.register(Service::Reliable, Provider { id: 2, protocol: 0 }).expect("always");
    let address = server.address().expect("listens").to_string();
    (server, client, link, address.into_bytes())
}

/// What an end is told next.
fn told(
    end: &mut Tcp,
    other: &mut Tcp,
    kept: &mut Vec<(Connection, Indication)>,
) -> (Connection, Indication) {
    let begin = Instant::now();
    while kept.is_empty() {
        assert!(begin.elapsed() < PATIENCE, "does not come");
        end.poll(kept);
        // It may have something to send.
        let mut nothing = Vec::new();
        other.poll(&mut nothing);
        assert!(nothing.iter().all(|(_, indication)| *indication == Indication::On), "{nothing:?}");
    }
    kept.remove(0)
}

/// C85 to C88: who it is; messages of any length up to the longest, in order, more than fit at once; and then the end.
#[test]
fn messages_and_their_end() {
    let (mut server, mut client, link, address) = pair();
    let mut kept = Vec::new();
    client.connect(link, &address);
    let (taken, offer) = told(&mut server, &mut client, &mut kept);
    assert_eq!(offer, Indication::Connect { identity: IDENTITY });
    server.accept(taken);
    assert_eq!(told(&mut client, &mut server, &mut kept), (link, Indication::Connected));
    let statistics = client.statistics(link);
    assert!(statistics.healthy && statistics.round_trip.is_some(), "{statistics:?}");

    let message = |number: usize| vec![number as u8; number * 7919 % (MESSAGE_OCTETS + 1)];
    let longest = vec![9; MESSAGE_OCTETS];
    let _ = client.send(link, &longest);
    let mut sent = 0;
    while client.send(link, &message(sent)) == Handed::Taken {
        sent += 1;
    }
    client.close(link);
    let found = told(&mut server, &mut client, &mut kept);
    assert!(found == (taken, Indication::Data(longest)), "the longest");
    for number in 0..=sent {
        let (_, found) = told(&mut server, &mut client, &mut kept);
        assert!(found == Indication::Data(message(number)), "message {number}");
    }
    assert_eq!(told(&mut server, &mut client, &mut kept), (taken, Indication::Disconnected(Ended::Closed)));
}

/// C26: it says stop when much waits, and go on when that has gone.
#[test]
fn stop_and_go() {
    let (mut server, mut client, link, address) = pair();
    let mut kept = Vec::new();
    client.connect(link, &address);
    let (taken, _) = told(&mut server, &mut client, &mut kept);
    server.accept(taken);
    assert_eq!(told(&mut client, &mut server, &mut kept), (link, Indication::Connected));
    let message = vec![7; MESSAGE_OCTETS];
    while client.send(link, &message) == Handed::Taken {}
    let begin = Instant::now();
    while kept.is_empty() {
        assert!(begin.elapsed() < PATIENCE, "does not come");
        server.poll(&mut Vec::new());
        client.poll(&mut kept);
    }
    assert_eq!(kept, [(link, Indication::On)]);
    assert_eq!(client.send(link, b"more"), Handed::Taken);
}

/// C88: a reset is told as such, and so is a server that is not there.
#[test]
fn reset_and_refused() {
    let (mut server, mut client, link, address) = pair();
    let mut kept = Vec::new();
    client.connect(link, &address);
    let (taken, _) = told(&mut server, &mut client, &mut kept);
    server.reject(taken);
    let refused = (link, Indication::Disconnected(Ended::Reset));
    assert_eq!(told(&mut client, &mut server, &mut kept), refused);
    drop(server);
    let (mut other, ..) = pair();
    client.connect(link, &address);
    assert_eq!(told(&mut client, &mut other, &mut kept), refused);
    client.connect(link, b"nowhere");
    let unreachable = (link, Indication::Disconnected(Ended::Unreachable));
    assert_eq!(told(&mut client, &mut other, &mut kept), unreachable);
}

/// C20: a length that no message has ends the connection, and the memory of it is never taken.
#[test]
fn a_length_that_no_message_has() {
    let mut server = Tcp::server(([127, 0, 0, 1], 0).into(), KeepAlive::default()).expect("loopback");
    let (mut other, ..) = pair();
    let mut stream = TcpStream::connect(server.address().expect("listens")).expect("listens");
    stream.write_all(&[0, 0, 0, 1, 7]).expect("is taken");
    let mut kept = Vec::new();
    let (taken, _) = told(&mut server, &mut other, &mut kept);
    server.accept(taken);
    stream.write_all(&u32::MAX.to_be_bytes()).expect("is taken");
    let end = (taken, Indication::Disconnected(Ended::Reset));
    assert_eq!(told(&mut server, &mut other, &mut kept), end);
}
