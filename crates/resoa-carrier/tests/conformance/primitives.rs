//! Tests of each primitive of appendix C.

use crate::ends::{Ends, Kind, PROVIDER, strangers};
use resoa_protocol::lhp::{DisconnectReason, Handed, Indication, LastHop, Lost, Service};
use resoa_protocol::message::MESSAGE_OCTETS;
use std::time::Duration;

/// Header of a data message. Data messages of one socket stay in order.
const HEADER: [u8; 7] = [0x13, 3, 0, 0, 0, 0, 1];

/// Returns a data message. Its length and contents depend on its number.
fn message(number: usize) -> Vec<u8> {
    let octets = number * 7919 % (MESSAGE_OCTETS + 1 - HEADER.len());
    HEADER.into_iter().chain(std::iter::repeat_n(number as u8, octets)).collect()
}

/// C85 to C88: the client's identity; messages of any length up to the longest, in order, and more
/// than are taken at once; then the end.
pub fn messages_and_their_end(kind: Kind) {
    let (mut ends, taken) = Ends::connected(kind);
    let longest: Vec<_> = HEADER.into_iter().chain(std::iter::repeat(9)).take(MESSAGE_OCTETS).collect();
    let _ = ends.client.carrier.send(ends.link, &longest);
    let mut sent = 0;
    while ends.client.carrier.send(ends.link, &message(sent)) == Handed::Taken {
        sent += 1;
    }
    assert!(sent > 1, "hardly anything is taken");
    ends.client.carrier.close(ends.link);
    let found = ends.server_told();
    assert!(found == (taken, Indication::Data(longest)), "the longest");
    for number in 0..=sent {
        let (_, found) = ends.server_told();
        assert!(found == Indication::Data(message(number)), "message {number}");
    }
    assert_eq!(ends.server_told(), (taken, Indication::Disconnected(DisconnectReason::Closed)));
    for _ in 0..100 {
        ends.turn();
    }
    assert!(ends.server.kept.is_empty(), "{:?}", ends.server.kept);
    assert!(ends.client.kept.iter().all(|(_, told)| *told == Indication::On), "{:?}", ends.client.kept);
}

/// Returns a datagram.
pub fn datagram(number: u32, octets: usize) -> Vec<u8> {
    let address = [4, 0, 53, 192, 0, 2, 1];
    let header = [0x13, 4, 0, 0, 0, 0, 2].into_iter().chain(address).chain(number.to_be_bytes());
    header.chain(std::iter::repeat_n(number as u8, octets)).collect()
}

/// C91: each message that may be lost is reported once, as itself or as lost. None of the other
/// messages between them is lost. Then the end.
pub fn what_may_be_lost(kind: Kind) {
    const COUNT: u32 = 60;
    let (mut ends, taken) = Ends::connected(kind);
    let octets = |number: u32| number as usize * 97 % 3000;
    for number in 0..COUNT {
        let waited = Duration::from_secs(u64::from(number) % 20);
        let _ = ends.client.carrier.send_or_lose(ends.link, &datagram(number, octets(number)), waited);
        let _ = ends.client.carrier.send(ends.link, &message(number as usize % 3));
        ends.turn();
    }
    ends.client.carrier.close(ends.link);
    let (mut told, mut next) = ([0; COUNT as usize], 0);
    for _ in 0..2 * COUNT {
        let (head, whole) = match ends.server_told() {
            (_, Indication::Data(message)) if message[1] == 4 => (Lost::of(&message), Some(message)),
            (_, Indication::Lost(lost)) => (lost, None),
            (_, other) => {
                assert!(other == Indication::Data(message(next % 3)), "message {next}");
                next += 1;
                continue;
            }
        };
        let number = u32::from_be_bytes(head.head[14..18].try_into().expect("4 octets"));
        let sent = datagram(number, octets(number));
        assert!(head == Lost::of(&sent) && whole.is_none_or(|whole| whole == sent), "datagram {number}");
        told[number as usize] += 1;
    }
    assert_eq!((told, next), ([1; COUNT as usize], COUNT as usize));
    assert_eq!(ends.server_told(), (taken, Indication::Disconnected(DisconnectReason::Closed)));
}

/// C26: the carrier says stop when much waits, and `On` when that has gone.
pub fn stop_and_go(kind: Kind) {
    let (mut ends, taken) = Ends::connected(kind);
    let long = vec![7; MESSAGE_OCTETS];
    let mut sent = 1;
    while ends.client.carrier.send(ends.link, &long) == Handed::Taken {
        sent += 1;
    }
    assert_eq!(ends.client_told(), (ends.link, Indication::On));
    assert_eq!(ends.client.carrier.send(ends.link, b"more"), Handed::Taken);
    for _ in 0..sent {
        assert!(ends.server_told() == (taken, Indication::Data(long.clone())));
    }
    assert_eq!(ends.server_told(), (taken, Indication::Data(b"more".to_vec())));
}

/// C85, C107: collected messages arrive in order after `flush`, however many there are. They arrive
/// before the end if the connection is closed, even without `flush`.
pub fn gathered(kind: Kind) {
    let (mut ends, taken) = Ends::connected(kind);
    ends.client.carrier.gather();
    let messages: Vec<_> = (0..20).map(message).collect();
    for message in &messages {
        let _ = ends.client.carrier.send(ends.link, message);
    }
    ends.client.carrier.flush();
    for (number, message) in messages.iter().enumerate() {
        assert!(ends.server_told() == (taken, Indication::Data(message.clone())), "message {number}");
    }
    let _ = ends.client.carrier.send(ends.link, b"not gathered");
    assert_eq!(ends.server_told(), (taken, Indication::Data(b"not gathered".to_vec())));
    ends.client.carrier.gather();
    let _ = ends.client.carrier.send(ends.link, b"last");
    ends.client.carrier.close(ends.link);
    assert_eq!(ends.server_told(), (taken, Indication::Data(b"last".to_vec())));
    assert_eq!(ends.server_told(), (taken, Indication::Disconnected(DisconnectReason::Closed)));
}

/// C26, C85: messages that are not wanted stay in the carrier, up to a limit, and arrive when they
/// are wanted. The other direction goes on.
pub fn not_wanted(kind: Kind) {
    let (mut ends, taken) = Ends::connected(kind);
    ends.server.carrier.receive(taken, false);
    let long = vec![7; MESSAGE_OCTETS];
    let mut sent = 0;
    let mut open = true;
    for round in 0..2000 {
        while open {
            sent += 1;
            open = ends.client.carrier.send(ends.link, &long) == Handed::Taken;
        }
        if round == 0 {
            let _ = ends.server.carrier.send(taken, b"back");
        }
        ends.turn();
        if let Some(place) = ends.client.kept.iter().position(|(_, told)| *told == Indication::On) {
            ends.client.kept.remove(place);
            open = true;
        }
        // As a program that looks now and then.
        std::thread::sleep(std::time::Duration::from_micros(100));
    }
    assert!(!open, "{sent} messages of {MESSAGE_OCTETS} octets were taken, and nobody wants them");
    assert_eq!(ends.client.kept, [(ends.link, Indication::Data(b"back".to_vec()))]);
    ends.client.kept.clear();
    assert_eq!(ends.server.kept, []);
    ends.server.carrier.receive(taken, true);
    for _ in 0..sent {
        assert!(ends.server_told() == (taken, Indication::Data(long.clone())));
    }
}

/// C88: the other side is told of a `reset` by either side. Messages to a peer that has gone are
/// taken and dropped.
pub fn three_ends(kind: Kind) {
    let (mut ends, taken) = Ends::connected(kind);
    let _ = ends.client.carrier.send(ends.link, b"lost or not");
    ends.client.carrier.reset(ends.link);
    let told = loop {
        match ends.server_told() {
            (_, Indication::Data(_)) => {}
            (_, told) => break told,
        }
    };
    assert_eq!(told, Indication::Disconnected(DisconnectReason::Reset));
    assert_eq!(ends.server.carrier.send(taken, b"late"), Handed::Taken);
    let (mut ends, taken) = Ends::connected(kind);
    ends.server.carrier.reset(taken);
    assert_eq!(ends.client_told(), (ends.link, Indication::Disconnected(DisconnectReason::Reset)));
    let (mut ends, taken) = Ends::connected(kind);
    ends.server.carrier.close(taken);
    assert_eq!(ends.client_told(), (ends.link, Indication::Disconnected(DisconnectReason::Closed)));
}

/// C85: unregistering a connection resets it for the other side, and nothing of it is kept. The
/// next one has another number.
pub fn given_up(kind: Kind) {
    let (mut ends, taken) = Ends::connected(kind);
    assert!(ends.server.carrier.passive(taken).is_ok(), "it is a server's");
    let old = ends.link;
    ends.client.carrier.unregister(old).expect("it is registered");
    assert!(!ends.client.carrier.statistics(old).healthy);
    assert_eq!(ends.server_told(), (taken, Indication::Disconnected(DisconnectReason::Reset)));
    ends.link = ends.client.carrier.register(Service::Reliable, PROVIDER).expect("always");
    assert_ne!(ends.link, old);
    ends.connect();
    assert_eq!(ends.client.kept, []);
}

/// C85: a client is told if the server's user rejects it, or if its key is not allowed. In the
/// latter case the server's user is not told. The client knows that the refusal comes from the
/// server, which distinguishes it from an unreachable server.
pub fn turned_away(kind: Kind) {
    let mut ends = Ends::new(kind);
    ends.client.carrier.connect(ends.link, &ends.address);
    let (taken, _) = ends.server_told();
    ends.server.carrier.reject(taken);
    let refused = (ends.link, Indication::Disconnected(DisconnectReason::Reset));
    assert_eq!(ends.client_told(), refused);
    if let Some(mut ends) = strangers(kind) {
        ends.client.carrier.connect(ends.link, &ends.address);
        assert_eq!(ends.client_told(), (ends.link, Indication::Disconnected(DisconnectReason::Reset)));
        assert_eq!(ends.server.kept, []);
    }
}
