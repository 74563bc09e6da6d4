//! Entry points of the fuzz targets (feature `fuzz`): the code that reads bytes from outside, under
//! public names. Each takes any bytes, and panics if a property does not hold.
#![expect(
    clippy::missing_panics_doc,
    reason = "to panic if something does not hold is what each of them is for"
)]

use crate::datagram::read_again;
use crate::llp::script;
use crate::order::{Lanes, Place};
use crate::quic;
use crate::tcp::backlog::Backlog;
use crate::tcp::cover::{Cover, Proof};
use crate::tcp::framing;
use crate::{Allowed, keys::SecretKey};
use std::sync::{Arc, OnceLock};

/// Checks the packets that anybody can send over datagrams: bytes that parse as a packet are
/// written as the same bytes again.
pub fn packet(octets: &[u8]) {
    if let Some(again) = read_again(octets) {
        assert_eq!(again, octets);
    }
}

/// Runs the Link Layer Protocol while its peer, which has the keys, sends anything, and we send,
/// take messages and wait.
pub fn link_layer(octets: &[u8]) {
    script::run(octets);
}

/// Runs the QUIC streams behind the introduction while the other side sends anything.
pub fn streams(octets: &[u8]) {
    quic::script(octets);
}

/// Runs the QUIC handshake between a client and a server while an attacker changes, drops, repeats
/// and adds datagrams.
///
/// The server reports only the real client. Before it knows the client's address, it sends no more
/// than it has received.
pub fn handshake(octets: &[u8]) {
    quic::handshake::run(octets);
}

/// Cuts messages out of a TCP stream: in one piece and in many, the messages are the same.
pub fn framing(octets: &[u8]) {
    let Some((&step, octets)) = octets.split_first() else { return };
    let cut = |step: usize| {
        let (mut stream, mut found) = (Backlog::default(), Vec::new());
        for piece in octets.chunks(step) {
            stream.behind().extend(piece);
            loop {
                match framing::next(&mut stream) {
                    Ok(Some(message)) => found.push(message),
                    Ok(None) => break,
                    Err(framing::NoLength) => return (found, true),
                }
            }
        }
        (found, false)
    };
    let (whole, pieces) = (cut(octets.len().max(1)), cut(1 + usize::from(step)));
    assert_eq!(whole, pieces);
    let mut again = Backlog::default();
    for message in &whole.0 {
        framing::write(message, &mut again);
    }
    assert!(octets.starts_with(again.waiting()));
}

/// Opens sealed TCP records of which an attacker has changed some bytes: what is accepted is what
/// was sent, up to the first change.
pub fn records(octets: &[u8]) {
    static KEYS: OnceLock<(Arc<SecretKey>, Arc<SecretKey>)> = OnceLock::new();
    let key = || Arc::new(SecretKey::generate().expect("random octets"));
    let (client, server) = KEYS.get_or_init(|| (key(), key()));
    let (mut up, mut down) = (Backlog::default(), Vec::new());
    let asking = Proof::Client { key: Arc::clone(client), server: server.public() };
    let mut asking = Cover::new(&asking, up.behind()).expect("keys");
    let listening = Proof::Server { key: Arc::clone(server), allowed: Allowed::anybody() };
    let mut listening = Cover::new(&listening, &mut Vec::new()).expect("keys");
    listening.open(&mut up, &mut Backlog::default(), &mut down).expect("a client");
    let mut answer = Backlog::default();
    answer.behind().extend(down);
    asking.open(&mut answer, &mut Backlog::default(), &mut Vec::new()).expect("the server");
    let (changes, said) = octets.split_at(octets.len().min(8));
    let (mut plain, mut wire) = (Backlog::default(), Backlog::default());
    for piece in said.chunks(100) {
        plain.behind().extend(piece);
        asking.seal(&mut plain, &mut wire);
    }
    asking.finish(&mut wire);
    let mut on_the_wire = wire.waiting().to_vec();
    for change in changes.chunks_exact(4) {
        let at = usize::from(u16::from_be_bytes([change[0], change[1]])) % on_the_wire.len();
        match change[2] % 3 {
            0 => on_the_wire[at] ^= change[3],
            1 => on_the_wire.insert(at, change[3]),
            _ if on_the_wire.len() > 1 => drop(on_the_wire.remove(at)),
            _ => {}
        }
    }
    let (mut came, mut found) = (Backlog::default(), Backlog::default());
    came.behind().extend(on_the_wire);
    let _ = listening.open(&mut came, &mut found, &mut Vec::new());
    assert!(said.starts_with(found.waiting()));
}

/// Checks that the messages that an Export Protocol message has to follow are earlier ones, and at
/// most eight.
pub fn order(octets: &[u8]) {
    let mut lanes = Lanes::default();
    for (number, message) in (0_u64..).zip(octets.chunks(19)) {
        let behind = lanes.behind(number, Place::of(message), number / 2);
        assert!(behind.len() <= 8 && behind.iter().all(|distance| *distance <= number), "{behind:?}");
    }
}
