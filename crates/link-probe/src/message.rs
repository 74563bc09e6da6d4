//! Messages between the two ends, and the key that both must have.
//!
//! Each datagram is an authentication code of 16 bytes (keyed BLAKE3 over the rest, with a byte for
//! the direction), then the message in borsh, then padding. A datagram with a wrong code is dropped
//! without an answer, so a host without the key learns nothing and causes no traffic.
//!
//! The handshake shows that the client receives packets at its address:
//!
//! 1. The client sends `Hello`, at least as long as any answer to it.
//! 2. The server answers with a cookie, which only its secret, the client's address and the time
//!    determine. It keeps no state.
//! 3. The client sends `Open` with the cookie and its [`Plan`], and the server opens a session with
//!    a random number. Everything later names that number.

use crate::plan::Plan;
use borsh::{BorshDeserialize, BorshSerialize};
use data_encoding::HEXLOWER_PERMISSIVE;
use std::fmt;

/// Bytes of the authentication code.
const CODE: usize = 16;

/// Least length of a `Hello` or `Open`: no answer to them is longer.
pub(crate) const LEAST_REQUEST: usize = 128;

/// Length of a data packet without padding. A test checks it.
pub const LEAST_DATA: u16 = 64;

/// Key that both ends share: 32 bytes, written as 64 hexadecimal digits.
#[derive(Clone, PartialEq, Eq)]
pub struct Key([u8; 32]);

/// Error of a text that is no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a key: expected 64 hexadecimal digits")]
pub struct KeyError;

impl Key {
    /// Creates a key from 32 random bytes.
    #[must_use]
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Reads a key from a text; white space around it is ignored.
    ///
    /// # Errors
    /// If the text is not 64 hexadecimal digits.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let bytes = HEXLOWER_PERMISSIVE.decode(text.trim().as_bytes()).map_err(|_| KeyError)?;
        bytes.try_into().map(Self).map_err(|_| KeyError)
    }

    /// Returns the key as text.
    #[must_use]
    pub fn to_text(&self) -> String {
        HEXLOWER_PERMISSIVE.encode(&self.0)
    }

    fn code(&self, from: End, rest: &[u8]) -> [u8; CODE] {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(&[from as u8]).update(rest);
        first(hasher.finalize().as_bytes())
    }

    /// Returns the first bytes of a keyed hash of `parts`.
    pub(crate) fn hash(&self, parts: &[&[u8]]) -> [u8; CODE] {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
        first(hasher.finalize().as_bytes())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

fn first(hash: &[u8; 32]) -> [u8; CODE] {
    let mut bytes = [0; CODE];
    bytes.copy_from_slice(&hash[..CODE]);
    bytes
}

/// The sender of a datagram. A datagram cannot be sent back as if it came from the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Client = 0,
    Server = 1,
}

/// A message with the number of its session, which is 0 before there is one.
#[derive(Debug, Clone, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(crate) struct Message {
    pub session: u64,
    pub body: Body,
}

#[derive(Debug, Clone, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(crate) enum Body {
    /// Asks for a cookie.
    Hello { nonce: [u8; 16] },
    /// Answers `Hello`.
    Cookie { nonce: [u8; 16], cookie: [u8; CODE] },
    /// Asks for a session.
    Open { nonce: [u8; 16], cookie: [u8; CODE], plan: Plan },
    /// Answers `Open`: the number of the session is that of the message.
    Opened { nonce: [u8; 16] },
    /// Answers `Open`, if there can be no session now.
    Refused { nonce: [u8; 16], refusal: Refusal },
    /// Asks to begin a phase; the server's first rate in it, in bit/s.
    Begin { phase: u8, rate: u64 },
    /// Answers `Begin`.
    Began { phase: u8 },
    /// A probe packet.
    Data(Data),
    /// Packets of a phase that a receiver has so far.
    Feedback(Feedback),
    /// Asks for a part of the list of packets that arrived at the server.
    Request { phase: u8, part: u32 },
    /// Answers `Request`.
    Report(Report),
    /// Ends the session.
    Close,
}

/// Reason why a server opens no session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum Refusal {
    /// Another client is measuring.
    Busy,
    /// The plan exceeds the server's limits.
    Plan,
}

/// Number of packets of a train that never ends: a heavy flow.
pub(crate) const HEAVY: u16 = 0;

/// A probe packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(crate) struct Data {
    pub phase: u8,
    /// Number of the packet in its direction and phase.
    pub sequence: u32,
    /// Time at the sender.
    pub sent: u64,
    /// Train, and the packet's place in it. A heavy phase is one train.
    pub train: u32,
    pub place: u16,
    pub count: u16,
    /// In an answer: the place of the packet that it answers, when that was sent, and how long the
    /// answer took.
    pub echo_place: u16,
    pub echo_sent: u64,
    pub held: u64,
}

/// Packets of a phase that a receiver has so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(crate) struct Feedback {
    pub phase: u8,
    /// Packets of the phase that have arrived.
    pub packets: u32,
    /// Time of the last arrival, by the receiver's clock.
    pub last: u64,
    /// The last train whose last packet arrived.
    pub train: u32,
}

/// A part of the list of packets that arrived.
#[derive(Debug, Clone, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(crate) struct Report {
    pub phase: u8,
    pub part: u32,
    /// Number of parts; at least one.
    pub parts: u32,
    /// Packets that the server has sent in the phase.
    pub sent: u32,
    /// Sequence number and time of arrival of each packet.
    pub arrivals: Vec<(u32, u64)>,
}

/// Most arrivals in a report, which then has less than 1200 bytes.
pub(crate) const REPORT: usize = 96;

impl Message {
    /// Returns the datagram with at least `least` bytes.
    pub fn seal(&self, key: &Key, from: End, least: usize) -> Vec<u8> {
        let mut datagram = vec![0; CODE];
        // Writing into memory cannot fail.
        if self.serialize(&mut datagram).is_err() {
            return Vec::new();
        }
        if datagram.len() < least {
            datagram.resize(least, 0);
        }
        let code = key.code(from, &datagram[CODE..]);
        datagram[..CODE].copy_from_slice(&code);
        datagram
    }

    /// Reads a datagram from the other end; `None` if its code is wrong or it has no message.
    pub fn open(datagram: &[u8], key: &Key, from: End) -> Option<Self> {
        let (code, rest) = datagram.split_at_checked(CODE)?;
        // The comparison of BLAKE3's hashes takes the same time for all codes; so does this one.
        let right = key.code(from, rest);
        let differs = code.iter().zip(right).fold(0, |differs, (one, two)| differs | (one ^ two));
        if differs != 0 {
            return None;
        }
        Self::read(rest)
    }

    /// Reads the message behind an authentication code.
    fn read(mut rest: &[u8]) -> Option<Self> {
        Self::deserialize(&mut rest).ok()
    }
}

/// Reads bytes behind the authentication code of a datagram as a message, for the fuzz target.
#[doc(hidden)]
#[must_use]
pub fn is_message(bytes: &[u8]) -> bool {
    Message::read(bytes).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> Key {
        Key::new([byte; 32])
    }

    #[test]
    fn a_key_is_64_hexadecimal_digits() {
        let text = key(0xab).to_text();
        assert_eq!(text, "ab".repeat(32));
        assert_eq!(Key::parse(&format!("  {}\n", text.to_uppercase())), Ok(key(0xab)));
        for wrong in ["", "ab", &text[1..], &format!("{text}00"), &text.replace("ab", "xy")] {
            assert_eq!(Key::parse(wrong), Err(KeyError), "{wrong}");
        }
        assert_eq!(format!("{:?}", key(1)), "Key(…)");
    }

    #[test]
    fn only_a_datagram_with_the_right_key_from_the_right_side_is_read() {
        let message = Message { session: 7, body: Body::Request { phase: 1, part: 2 } };
        let datagram = message.seal(&key(1), End::Client, 100);
        assert_eq!(datagram.len(), 100);
        assert_eq!(Message::open(&datagram, &key(1), End::Client), Some(message));
        assert_eq!(Message::open(&datagram, &key(2), End::Client), None);
        assert_eq!(Message::open(&datagram, &key(1), End::Server), None);
        for place in 0..datagram.len() {
            let mut wrong = datagram.clone();
            wrong[place] ^= 1;
            assert_eq!(Message::open(&wrong, &key(1), End::Client), None, "byte {place}");
        }
        for length in 0..=CODE {
            assert_eq!(Message::open(&datagram[..length], &key(1), End::Client), None);
        }
    }

    #[test]
    fn lengths_are_as_promised() {
        let data = Data {
            phase: 0,
            sequence: 0,
            sent: 0,
            train: 0,
            place: 0,
            count: 1,
            echo_place: 0,
            echo_sent: 0,
            held: 0,
        };
        let length = |body| Message { session: 1, body }.seal(&key(1), End::Server, 0).len();
        assert_eq!(length(Body::Data(data)), usize::from(LEAST_DATA));
        let arrivals = vec![(0, 0); REPORT];
        assert!(length(Body::Report(Report { phase: 0, part: 0, parts: 1, sent: 0, arrivals })) < 1200);
        // No answer to a stranger is longer than what the stranger sent.
        let (nonce, cookie) = ([0; 16], [0; 16]);
        for answer in [
            Body::Cookie { nonce, cookie },
            Body::Opened { nonce },
            Body::Refused { nonce, refusal: Refusal::Busy },
        ] {
            assert!(length(answer) <= LEAST_REQUEST);
        }
    }
}
