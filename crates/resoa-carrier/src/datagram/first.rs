//! A server's answer to a client's first message: its cost for the server and for the sender.
//!
//! Anybody who has seen a first message can send it again, from any address. So:
//!
//! * With [`SUSPICIOUS`] strangers or more, a first message is answered with a cookie, which costs
//!   one hash. The handshake begins when the sender brings the cookie back. Handshakes of the last
//!   [`INTRODUCTION`] that failed count as strangers here.
//! * A repeated first message gets the same answer without any computation, [`FREE`] times in all
//!   and at the address that it first came from. After that, and for any other address, its sender
//!   must bring a cookie.
//! * If the connection of a first message is up or has gone, the server does not answer, because no
//!   client sends the message any more.
//! * An answer is always shorter than its question.
//!
//! The server remembers the last [`REMEMBERED`] first messages of clients that it accepts, by their
//! ephemeral keys. Strangers that have neither the key nor a message of such a client leave no
//! trace here.

use super::forgotten::Tokens;
use super::packet::{Cookies, Packet};
use super::peer::Peer;
use super::port::Address;
use super::{Datagrams, Role};
use crate::Allowed;
use crate::keys::SecretKey;
use crate::noise::{self, Answered, Carried};
use crate::strangers::{INTRODUCTION, Source, draw};
use resoa_protocol::lhp::Connection;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::time::Duration;

/// Number of strangers from which on a server asks for cookies.
pub const SUSPICIOUS: usize = 16;
/// Answers to one first message whose sender brings no cookie. The first two may have been lost.
const FREE: u32 = 3;
/// First messages that are remembered.
const REMEMBERED: usize = 1 << 14;

/// A client's ephemeral key; no two first messages share one.
pub(super) type Ephemeral = [u8; 32];

/// A server's state for first messages.
pub(super) struct Desk {
    pub(super) allowed: Allowed,
    cookies: Cookies,
    futile: Futile,
    firsts: Firsts,
    /// For clients whose connections an earlier process with this key had.
    pub(super) tokens: Tokens,
}

impl Desk {
    pub(super) fn new(allowed: Allowed, key: &SecretKey) -> io::Result<Self> {
        let (futile, firsts) = (Futile::default(), Firsts::default());
        Ok(Self { allowed, cookies: Cookies::new()?, futile, firsts, tokens: Tokens::of(key) })
    }
}

/// Times of failed handshakes: clients that are not allowed, or that meant another server. No
/// connection is kept for them, but each has cost as much as any other handshake.
#[derive(Debug, Default)]
struct Futile(VecDeque<Duration>);

impl Futile {
    /// Notes a failed handshake.
    fn add(&mut self, now: Duration) {
        if self.0.len() == SUSPICIOUS {
            self.0.pop_front();
        }
        self.0.push_back(now);
    }

    /// Returns how many there were in the last [`INTRODUCTION`], up to [`SUSPICIOUS`].
    fn count(&mut self, now: Duration) -> usize {
        while self.0.front().is_some_and(|then| *then + INTRODUCTION <= now) {
            self.0.pop_front();
        }
        self.0.len()
    }
}

/// First messages that led to a handshake.
#[derive(Debug, Default)]
struct Firsts {
    known: HashMap<Ephemeral, First>,
    /// The oldest first.
    order: VecDeque<Ephemeral>,
}

#[derive(Debug)]
struct First {
    connection: Connection,
    from: Address,
    /// Answers that were sent without a cookie.
    answers: u32,
    /// The connection made room for a stranger, so its client may begin anew.
    made_room: bool,
}

impl Firsts {
    /// Remembers a first message that is answered for the first time.
    fn answered(&mut self, first: Ephemeral, connection: Connection, from: Address) {
        let known = First { connection, from, answers: 1, made_room: false };
        if self.known.insert(first, known).is_none() {
            self.order.push_back(first);
        }
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }
}

impl First {
    /// Returns whether the answer may go to this address without a cookie. If so, it is counted.
    fn is_free(&mut self, to: Address) -> bool {
        let is_free = self.from == to && self.answers < FREE;
        self.answers += u32::from(is_free);
        is_free
    }
}

impl Datagrams {
    /// Returns the cookie of an address.
    #[cfg(test)]
    pub(super) fn cookie(&mut self, of: Address, now: Duration) -> [u8; 16] {
        let Role::Server(desk) = &mut self.role else { panic!("a client has none") };
        desk.cookies.of(of, now)
    }

    /// Processes a client's first message, new or repeated.
    pub(super) fn first(
        &mut self,
        theirs: u32,
        cookie: &[u8; 16],
        first: &[u8],
        from: Address,
        now: Duration,
    ) {
        let Role::Server(desk) = &mut self.role else { return };
        let Some(&ephemeral) = first.first_chunk::<32>() else { return };
        let is_shown = *cookie != [0; 16] && desk.cookies.is_of(cookie, from, now);
        let has_to_show = match desk.firsts.known.get_mut(&ephemeral) {
            Some(known) if !known.made_room => {
                let Some(answer) = self.peers.get(&known.connection).and_then(Peer::answer) else { return };
                if is_shown || known.is_free(from) {
                    return self.port.send(from, &answer);
                }
                true
            }
            Some(_) => true,
            None => self.strangers.count() + desk.futile.count(now) >= SUSPICIOUS,
        };
        if has_to_show && !is_shown {
            let expected = desk.cookies.of(from, now);
            let packet = Packet::Cookie { ours: theirs, cookie: &expected };
            return self.port.send(from, &packet.octets());
        }
        let source = Source::from(from);
        if !self.strangers.may_begin(source, now) {
            // The client repeats it, as if it had been lost.
            return;
        }
        let outcome = noise::answer(&self.key, &desk.allowed, Carried::Llp, first);
        let Ok(Answered { answer, taken }) = outcome else { return desk.futile.add(now) };
        let Some((client, keys)) = taken else {
            desk.futile.add(now);
            let packet = Packet::Answer { ours: theirs, theirs: 0, answer: &answer };
            return self.port.send(from, &packet.octets());
        };
        let Ok(ours) = self.number() else { return };
        let connection = self.next();
        let rooms = self.port.rooms(from);
        let mut peer =
            Peer::answered(ours, theirs, from, first, answer, (client, keys), rooms, self.silence, now);
        if let (Role::Server(desk), Some(machine)) = (&self.role, peer.machine()) {
            let Ok(ticket) = desk.tokens.ticket(ours) else { return };
            machine.give(ticket);
        }
        if let Some(answer) = peer.answer() {
            self.port.send(from, &answer);
        }
        self.numbers.insert(ours, connection);
        self.peers.insert(connection, peer);
        self.due.insert(connection);
        let leaves = self.strangers.come(connection, source, draw);
        if let Role::Server(desk) = &mut self.role {
            desk.firsts.answered(ephemeral, connection, from);
            let evicted = leaves.and_then(|leaves| self.peers.get(&leaves)).and_then(Peer::ephemeral);
            if let Some(known) = evicted.and_then(|first| desk.firsts.known.get_mut(&first)) {
                known.made_room = true;
            }
        }
        if let Some(leaves) = leaves {
            self.remove(leaves);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(port: u16) -> Address {
        Address::Udp(([192, 0, 2, 1], port).into())
    }

    /// The number of remembered messages is bounded, and the oldest is forgotten first. A message
    /// that begins anew is remembered once.
    #[test]
    fn what_is_remembered() {
        let mut firsts = Firsts::default();
        let key = |number: usize| -> Ephemeral {
            let mut key = [0; 32];
            key[..8].copy_from_slice(&number.to_be_bytes());
            key
        };
        for number in 0..REMEMBERED {
            firsts.answered(key(number), Connection(number as u64), at(1));
        }
        firsts.answered(key(0), Connection(7), at(2));
        assert_eq!((firsts.known.len(), firsts.order.len()), (REMEMBERED, REMEMBERED));
        assert_eq!(firsts.known[&key(0)].connection, Connection(7));
        firsts.answered(key(REMEMBERED), Connection(8), at(1));
        assert_eq!((firsts.known.len(), firsts.order.len()), (REMEMBERED, REMEMBERED));
        assert!(!firsts.known.contains_key(&key(0)) && firsts.known.contains_key(&key(1)));
    }

    /// Only the original sender is answered without a cookie, a few times.
    #[test]
    fn what_is_free() {
        let mut firsts = Firsts::default();
        firsts.answered([1; 32], Connection(1), at(1));
        let known = firsts.known.get_mut(&[1; 32]).expect("is remembered");
        assert!(!known.is_free(at(2)));
        assert_eq!((0..10).filter(|_| known.is_free(at(1))).count(), FREE as usize - 1);
    }
}
