//! A server whose process was killed, and its successor at the same port, at times that the tests
//! choose.

use super::*;
use crate::datagram::forgotten::HALF;
use resoa_protocol::lhp::DisconnectReason;
use std::net::SocketAddr;

/// A server and a client that it has accepted, at time zero.
struct Pair {
    key: SecretKey,
    server: Datagrams,
    client: Datagrams,
    link: Connection,
}

fn server(key: &SecretKey) -> Datagrams {
    let keep_alive = KeepAlive { interval: SILENCE.ask, end: SILENCE.end };
    Datagrams::udp_server(ANY_PORT.into(), key, Allowed::anybody(), keep_alive).expect("loopback")
}

fn connected() -> Pair {
    let key = key();
    let mut server = server(&key);
    let address = server.address().expect("is bound");
    let keep_alive = KeepAlive { interval: SILENCE.ask, end: SILENCE.end };
    let mut client =
        Datagrams::udp_client(address, &super::key(), key.public(), keep_alive).expect("descriptors");
    let link = client.register(Service::Reliable, Provider { id: 4, protocol: 0 }).expect("always");
    client.connect_to(link, address.to_string().as_bytes(), Duration::ZERO).expect("an address");
    welcomed(&mut client, &mut server, || {});
    let mut told = [Vec::new(), Vec::new()];
    // Until the initial length probe is over.
    for now in (1..10).map(|tenth| Duration::from_millis(100) * tenth) {
        turn_at(&mut client, now, &mut told[0]);
        turn_at(&mut server, now, &mut told[1]);
    }
    Pair { key, server, client, link }
}

impl Pair {
    /// Replaces the server with one that has this key and the same port, without a message to the
    /// client.
    fn is_killed(&mut self, key: &SecretKey) {
        let next = server(key);
        let gone = std::mem::replace(&mut self.server, next);
        let mut gone = gone;
        gone.peers.clear();
        std::mem::swap(&mut self.server.port, &mut gone.port);
    }

    /// Returns when and why the client's user is told that the connection has ended. Steps by
    /// tenths of a second from this time on.
    fn end(&mut self, from: Duration) -> Option<(Duration, DisconnectReason)> {
        let times = (0..400).map(|tenth| from + Duration::from_millis(100) * tenth);
        for now in times {
            let mut told = Vec::new();
            turn_at(&mut self.client, now, &mut told);
            turn_at(&mut self.server, now, &mut Vec::new());
            for (_, indication) in told {
                if let Indication::Disconnected(why) = indication {
                    return Some((now, why));
                }
            }
        }
        None
    }

    fn says_something(&mut self) {
        let machine = self.client.peers.get_mut(&self.link).and_then(Peer::machine).expect("is there");
        machine.send(b"something of a socket");
    }
}

/// A client that sends something to the server's successor learns within moments that its
/// connection is gone; an idle client learns it with its next probe. The end is that of a reset. A
/// server with another key, and therefore anybody else, cannot cause it; then the silence ends the
/// connection.
#[test]
fn a_server_after_another() {
    let begin = Duration::from_secs(1);
    let mut pair = connected();
    let key = pair.key.clone();
    pair.is_killed(&key);
    pair.says_something();
    let (at, why) = pair.end(begin).expect("it ends");
    assert_eq!(why, DisconnectReason::Reset);
    assert!(at < begin + SILENCE.ask / 2, "{at:?}");

    let mut pair = connected();
    let key = pair.key.clone();
    pair.is_killed(&key);
    let (at, why) = pair.end(begin).expect("it ends");
    assert_eq!(why, DisconnectReason::Reset);
    assert!(at >= SILENCE.ask && at < SILENCE.ask * 3 / 2, "{at:?}");

    let mut pair = connected();
    pair.is_killed(&super::key());
    pair.says_something();
    let (at, why) = pair.end(begin).expect("it ends");
    assert_eq!(why, DisconnectReason::Unreachable);
    assert!(at >= SILENCE.end, "{at:?}");
}

/// A server that has the connection tells nobody that it has not. Its answers about another number
/// or another name end nothing.
#[test]
fn a_server_that_knows_it() {
    let mut pair = connected();
    let address = pair.server.address().expect("is bound");
    let stranger = UdpSocket::bind(ANY_PORT).expect("loopback");
    stranger.set_nonblocking(true).expect("is a socket");
    let from = Address::Udp(stranger.local_addr().expect("is bound"));
    let (ours, theirs) = (numbers(&pair.client)[0], numbers(&pair.server)[0]);
    let ticket = {
        let machine = pair.client.peers.get_mut(&pair.link).and_then(Peer::machine).expect("is there");
        *machine.ticket().expect("came with the welcome")
    };
    let name: [u8; HALF] = *ticket.first_chunk().expect("the first half");
    let mut asks = |number: u32, name: &[u8; HALF]| {
        let question = Packet::Known { ours: number, theirs: ours, name }.octets();
        pair.server.packet(&question, from, Duration::ZERO);
        let mut buffer = [0; 100];
        stranger.recv(&mut buffer).ok().map(|length| (buffer[..length].to_vec(), question.len()))
    };
    assert_eq!(asks(theirs, &name), None, "it is known");
    let answers = [(theirs ^ 1, name), (theirs.wrapping_add(1), [0; HALF])]
        .map(|(number, name)| asks(number, &name).expect("is not known"));
    let forged = Packet::Unknown { ours, token: &[0; HALF] }.octets();
    let echoed = Packet::Unknown { ours, token: &name }.octets();
    for (answer, asked) in &answers {
        assert!(answer.len() < *asked, "it would be an amplifier");
        assert!(matches!(Packet::read(answer), Some(Packet::Unknown { ours: found, .. }) if found == ours));
    }
    let from = Address::Udp(address);
    for answer in answers.iter().map(|(answer, _)| answer).chain([&forged, &echoed]) {
        pair.client.packet(answer, from, Duration::ZERO);
    }
    let mut told = Vec::new();
    turn(&mut pair.client, &mut told);
    assert_eq!(told, [], "nothing has ended");
    // The real token ends the connection, wherever it comes from.
    let token = ticket.last_chunk().expect("the second half");
    pair.client.packet(&Packet::Unknown { ours, token }.octets(), from, Duration::ZERO);
    turn(&mut pair.client, &mut told);
    assert_eq!(told, [(pair.link, Indication::Disconnected(DisconnectReason::Reset))]);
}

/// Returns the numbers by which the other side addresses an end.
fn numbers(end: &Datagrams) -> Vec<u32> {
    end.numbers.keys().copied().collect()
}

/// A client without answers asks once for each unanswered probe. If the server is still there, the
/// connection goes on.
#[test]
fn an_outage_is_no_end() {
    let mut pair = connected();
    let wire: SocketAddr = pair.server.address().expect("is bound");
    // Everything that arrives at the server is lost for a while.
    pair.says_something();
    let mut told = Vec::new();
    let mut questions = 0;
    let mut buffer = vec![0; crate::datagram::port::LOOK];
    for now in (10..100).map(|tenth| Duration::from_millis(100) * tenth) {
        turn_at(&mut pair.client, now, &mut told);
        let mut found = Vec::new();
        while pair.server.port.receive(&mut buffer, &mut found).unwrap_or(true) {}
        let known = |place: &std::ops::Range<usize>| {
            matches!(Packet::read(&buffer[place.clone()]), Some(Packet::Known { .. }))
        };
        questions += found.iter().filter(|(place, _)| known(place)).count();
    }
    assert!((1..=20).contains(&questions), "{questions} at {wire}");
    assert_eq!(told, []);
    // Then nothing is lost any more.
    for now in (100..140).map(|tenth| Duration::from_millis(100) * tenth) {
        turn_at(&mut pair.client, now, &mut told);
        turn_at(&mut pair.server, now, &mut told);
    }
    assert!(
        matches!(&told[..], [(_, Indication::Data(octets))] if octets == b"something of a socket"),
        "{told:?}"
    );
}
