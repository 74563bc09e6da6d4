//! How a client detects that its server has lost the connection: its process was killed, and
//! another one has its port and its key.
//!
//! This is a stateless reset (RFC 9000, 10.3), preceded by a question:
//!
//! 1. The welcome, which is sealed, gives the client a *ticket*: a random name of the connection,
//!    and a token. The token is a keyed hash of the name and of the server's number for the
//!    connection. The key of the hash is derived from the server's secret key alone, so that the
//!    next process has it too.
//! 2. A client whose probes are not answered sends the name in the clear, with both numbers
//!    (KNOWN).
//! 3. A server without a connection of that number answers with the token (UNKNOWN), and keeps no
//!    state. The client ends the connection if the token is right, and ignores any other answer.
//!
//! Only a server with this key can make a token, and no server makes that of a connection that it
//! has. Tokens cannot be collected in advance: nobody else knows a name before its client asks, and
//! a name under another number has another token. For this reason the question contains a name, and
//! not just the number of 32 bits that is in each packet. An answer is shorter than its question,
//! and a server sends at most [`MOST`] in a second.

use crate::keys::SecretKey;
use std::io;
use std::time::Duration;

/// Bytes of a name, and of a token.
pub(super) const HALF: usize = 16;
/// Bytes of a ticket.
pub(crate) const TICKET: usize = 2 * HALF;
/// Answers per second: enough for one to each client of a very large server.
const MOST: u32 = 1 << 10;
const SECOND: Duration = Duration::from_secs(1);
/// Context string of the key (BLAKE3's key derivation).
const CONTEXT: &str = "lasthop resoa 2026-11-23 tokens of connections that a server has forgotten";

/// Makes a server's tickets and answers.
pub(super) struct Tokens {
    key: [u8; 32],
    /// When the current second began, and how many answers it has had.
    since: Duration,
    given: u32,
}

impl Tokens {
    /// Creates the tokens of a server with this key, which are the same in every process.
    pub(super) fn of(key: &SecretKey) -> Self {
        Self { key: blake3::derive_key(CONTEXT, key.octets()), since: Duration::ZERO, given: 0 }
    }

    /// Returns a ticket for the connection with this number of the server.
    ///
    /// # Errors
    /// If the kernel provides no random bytes.
    pub(super) fn ticket(&self, number: u32) -> io::Result<[u8; TICKET]> {
        let mut ticket = [0; TICKET];
        let (name, token) = ticket.split_at_mut(HALF);
        if rustix::rand::getrandom(&mut *name, rustix::rand::GetRandomFlags::empty())? != HALF {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        token.copy_from_slice(&self.token(number, name));
        Ok(ticket)
    }

    /// Returns the answer about a connection that does not exist; `None` if there were too many
    /// questions in this second.
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

/// Returns the name in a ticket.
pub(super) fn name(ticket: &[u8; TICKET]) -> &[u8; HALF] {
    ticket.first_chunk().expect("it is the first half")
}

/// Returns whether this is the token of the ticket.
pub(super) fn is_token(ticket: &[u8; TICKET], found: &[u8; HALF]) -> bool {
    // In constant time, so that the duration reveals nothing about the token.
    let differ = ticket[HALF..].iter().zip(found).fold(0, |differ, (one, other)| differ | (one ^ other));
    std::hint::black_box(differ) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> SecretKey {
        SecretKey::generate().expect("random octets")
    }

    /// Another process with the same key answers with the token of the ticket. Another key, number
    /// or name gives another token.
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

    /// A server gives `MOST` answers a second, and no more.
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
