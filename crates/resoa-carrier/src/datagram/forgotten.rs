//! How a client finds out that its server knows nothing of the connection any more: its process was
//! killed, and another one has its port and its key.
//!
//! It is a stateless reset (RFC 9000, 10.3), with a question in front of it:
//!
//! 1. With its welcome, under the keys of both, a client gets a *ticket*: a random name of the
//!    connection, and a token, which is a keyed hash of the name and of the server's number for the
//!    connection. The key of the hash comes of the server's secret key alone, so that the next
//!    process has it too.
//! 2. A client whose questions are not answered says the name in the clear, with both numbers
//!    (KNOWN).
//! 3. A server that has no connection of that number answers by the token (UNKNOWN), and keeps
//!    nothing. The client ends the connection by it, and by nothing else.
//!
//! Nobody but a server with this key can make a token, and none makes that of a connection it has.
//! Tokens cannot be collected beforehand: nobody else knows a name before its client asks, and a
//! name under another number has another token. That is why it is a name that is asked for, and not
//! the number of 32 bits that each packet has. An answer is shorter than the question, and there
//! are at most [`MOST`] in a second.

use crate::keys::SecretKey;
use std::io;
use std::time::Duration;

/// Octets of a name and of a token.
pub(super) const HALF: usize = 16;
/// Octets of both.
pub(crate) const TICKET: usize = 2 * HALF;
/// Answers in a second: each client of a server as large as they get has one.
const MOST: u32 = 1 << 10;
const SECOND: Duration = Duration::from_secs(1);
/// What the key is for (BLAKE3's derivation of keys).
const CONTEXT: &str = "lasthop resoa 2026-11-23 tokens of connections that a server has forgotten";

/// What a server answers by.
pub(super) struct Tokens {
    key: [u8; 32],
    /// When the current second began, and how many it has had.
    since: Duration,
    given: u32,
}

impl Tokens {
    /// Those of a server with this key, whichever process it is.
    pub(super) fn of(key: &SecretKey) -> Self {
        Self { key: blake3::derive_key(CONTEXT, key.octets()), since: Duration::ZERO, given: 0 }
    }

    /// A ticket for a connection that a server knows by this number.
    ///
    /// # Errors
    /// If the kernel has no random octets.
    pub(super) fn ticket(&self, number: u32) -> io::Result<[u8; TICKET]> {
        let mut ticket = [0; TICKET];
        let (name, token) = ticket.split_at_mut(HALF);
        if rustix::rand::getrandom(&mut *name, rustix::rand::GetRandomFlags::empty())? != HALF {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        token.copy_from_slice(&self.token(number, name));
        Ok(ticket)
    }

    /// What is answered about a connection that is not there; nothing if there were too many
    /// questions.
    pub(super) fn answer(&mut self, number: u32, name: &[u8; HALF], now: Duration) -> Option<[u8; HALF]> {
        if self.since + SECOND <= now {
            (self.since, self.given) = (now, 0);
        }
        self.given += 1;
        (self.given <= MOST).then(|| self.token(number, name))
    }

    fn token(&self, number: u32, name: &[u8]) -> [u8; HALF] {
        let hash = blake3::keyed_hash(&self.key, &[&number.to_be_bytes(), name].concat());
        *hash.as_bytes().first_chunk().expect("a hash is longer")
    }
}

/// The name in a ticket.
pub(super) fn name(ticket: &[u8; TICKET]) -> &[u8; HALF] {
    ticket.first_chunk().expect("it is the first half")
}

/// Whether this is the token in it.
pub(super) fn is_token(ticket: &[u8; TICKET], found: &[u8; HALF]) -> bool {
    // In constant time, whatever was guessed of it.
    let differ = ticket[HALF..].iter().zip(found).fold(0, |differ, (one, other)| differ | (one ^ other));
    std::hint::black_box(differ) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> SecretKey {
        SecretKey::generate().expect("random octets")
    }

    /// Another process of the same key answers by the token of the ticket; with another key, about
    /// another number or name, it is another.
    #[test]
    fn tokens_are_of_a_key_a_number_and_a_name() {
        let server = key();
        let ticket = Tokens::of(&server).ticket(7).expect("random octets");
        assert_ne!(ticket, Tokens::of(&server).ticket(7).expect("random octets"), "names are random");
        let mut other = *name(&ticket);
        other[0] ^= 1;
        for (key, number, name, expected) in [
            (&server, 7, name(&ticket), true),
            (&server, 8, name(&ticket), false),
            (&server, 7, &other, false),
            (&key(), 7, name(&ticket), false),
        ] {
            let answer = Tokens::of(key).answer(number, name, Duration::ZERO).expect("the first");
            assert_eq!(is_token(&ticket, &answer), expected);
        }
        assert!(!is_token(&ticket, name(&ticket)) && !is_token(&ticket, &[0; HALF]));
    }

    /// So many a second, and no more.
    #[test]
    fn answers_are_bounded() {
        let mut tokens = Tokens::of(&key());
        let mut answers = |at: Duration| {
            let questions = (0..2 * MOST).filter(|&number| tokens.answer(number, &[0; HALF], at).is_some());
            questions.count() as u32
        };
        assert_eq!(answers(Duration::ZERO), MOST);
        assert_eq!(answers(Duration::from_millis(999)), 0);
        assert_eq!(answers(SECOND), MOST);
        assert_eq!(answers(SECOND * 100), MOST);
    }
}
