//! What ends and connections do at moments that the tests choose, with packets of nobody's carrier.

use super::packet::Packet;
use super::peer::Peer;
use super::port::{Address, Port};
use super::INTRODUCTION;
use crate::Allowed;
use crate::keys::SecretKey;
use crate::llp::Silence;
use crate::noise::{self, Answered, Carried, Initiator, Keys};
use std::net::Ipv4Addr;
use std::time::Duration;

const ANY_PORT: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);
const SILENCE: Silence = Silence { ask: Duration::from_secs(15), end: Duration::from_secs(30) };
/// Frames, as `llp::wire` has them.
const PING: &[u8] = &[1];
const DATA: &[u8] = &[3, 0, 0, 1, 1, 0, b'!'];
const HELLO: &[u8] = &[4];

fn key() -> SecretKey {
    SecretKey::generate().expect("random octets")
}

/// A server's connection that has just been answered, and its client's keys.
fn answered(port: &Port, from: Address) -> (Peer, Keys) {
    let (ours, theirs) = (key(), key());
    let (mut initiator, first) = Initiator::new(&theirs, ours.public(), Carried::Llp).expect("keys");
    let outcome = noise::answer(&ours, &Allowed::anybody(), Carried::Llp, &first).expect("a client");
    let Answered { answer, taken } = outcome;
    let taken = taken.expect("is allowed");
    let peer = Peer::answered(1, 2, from, &first, answer, taken, port.rooms(), SILENCE, Duration::ZERO);
    (peer, initiator.finish(&answer).expect("the server"))
}

/// A client that has the keys and does not say that it is there is bounded as one that says nothing: it stays a stranger, is answered nothing, and has its time.
#[test]
fn who_says_no_hello() {
    let mut port = Port::udp(ANY_PORT.into()).expect("loopback");
    let from = Address::Udp(([127, 0, 0, 1], 9).into());
    for (says, is_bounded) in [(&[PING, PING][..], true), (&[DATA], true), (&[PING, HELLO], false)] {
        let (mut peer, keys) = answered(&port, from);
        let mut told = Vec::new();
        for (number, frames) in (0_u32..).zip(says) {
            let mut sealed = Vec::new();
            keys.seal(number.into(), frames, &mut sealed);
            let packet = Packet::Sealed { ours: 1, number, sealed: &sealed };
            peer.packet(&packet, from, port.rooms(), SILENCE, Duration::ZERO);
            assert!(peer.poll(&mut port, Duration::ZERO, |indication| told.push(indication)));
        }
        assert_eq!(peer.is_stranger(), is_bounded, "{says:?}");
        assert_eq!(peer.answer().is_some(), is_bounded, "{says:?}");
        assert_eq!(told.is_empty(), is_bounded, "{told:?}");
        let late = INTRODUCTION.saturating_sub(Duration::from_millis(1));
        assert!(peer.poll(&mut port, late, |_| {}));
        assert_eq!(peer.deadline() == Some(INTRODUCTION), is_bounded);
        assert_ne!(peer.poll(&mut port, INTRODUCTION, |_| {}), is_bounded, "{says:?}");
    }
}

/// A client that takes it back before it was there is forgotten when its packets need no answer any more, as any other that has ended.
#[test]
fn a_stranger_that_resets() {
    const RESET: &[u8] = &[7];
    let mut port = Port::udp(ANY_PORT.into()).expect("loopback");
    let from = Address::Udp(([127, 0, 0, 1], 9).into());
    let (mut peer, keys) = answered(&port, from);
    let mut sealed = Vec::new();
    keys.seal(0, RESET, &mut sealed);
    let packet = Packet::Sealed { ours: 1, number: 0, sealed: &sealed };
    peer.packet(&packet, from, port.rooms(), SILENCE, Duration::ZERO);
    assert!(peer.poll(&mut port, Duration::ZERO, |told| panic!("{told:?}")));
    let gone = peer.deadline().expect("it has a time");
    assert!(gone < INTRODUCTION && !peer.poll(&mut port, gone, |told| panic!("{told:?}")));
}
