//! Layout of packets in a datagram or a frame. Numbers are in network order.
//!
//! | packet | octets |
//! |---|---|
//! | FIRST, of a client | 1; version 3; number of the client 4; cookie 16, or zeros; first message of the handshake 96 |
//! | ANSWER, of a server | 2; number of the client 4; number of the server 4; answer of the handshake 49 |
//! | COOKIE, of a server that does not know whether the client is where it says | 3; number of the client 4; cookie 16, for the next FIRST |
//! | SEALED | 4; number of the receiver 4; last 32 bits of the packet's number 4; frames, sealed |
//! | KNOWN, of a client that hears nothing | 5; number of the server 4; number of the client 4; name of the connection 16 |
//! | UNKNOWN, of a server that has no such connection | 6; number of the client 4; token 16 |

use super::forgotten::HALF;
use super::port::Address;
use crate::noise::{ANSWER, FIRST};
use std::io;
use std::time::Duration;

/// Version of the protocol.
const VERSION: u8 = 3;
/// Bytes of a sealed packet before its frames; the tag follows the frames.
pub(super) const HEADER: usize = 9;
/// Bytes of a cookie.
const COOKIE: usize = 16;
/// How long a secret is used for new cookies. These are valid for as long again.
const ROTATION: Duration = Duration::from_mins(1);

/// A packet; see the [module](self). `ours` is the number of its receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packet<'a> {
    First { theirs: u32, cookie: &'a [u8; COOKIE], first: &'a [u8] },
    Answer { ours: u32, theirs: u32, answer: &'a [u8] },
    Cookie { ours: u32, cookie: &'a [u8; COOKIE] },
    Sealed { ours: u32, number: u32, sealed: &'a [u8] },
    Known { ours: u32, theirs: u32, name: &'a [u8; HALF] },
    Unknown { ours: u32, token: &'a [u8; HALF] },
}

impl<'a> Packet<'a> {
    /// Parses a packet; `None` if the bytes are not one.
    pub(super) fn read(octets: &'a [u8]) -> Option<Self> {
        fn number(octets: &[u8]) -> Option<(u32, &[u8])> {
            octets.split_first_chunk().map(|(number, rest)| (u32::from_be_bytes(*number), rest))
        }
        fn numbers(octets: &[u8]) -> Option<(u32, u32, &[u8])> {
            let (ours, rest) = number(octets)?;
            let (other, rest) = number(rest)?;
            Some((ours, other, rest))
        }
        let (kind, rest) = octets.split_first()?;
        match kind {
            1 => {
                let (theirs, rest) = number(rest.strip_prefix(&[VERSION])?)?;
                let (cookie, first) = rest.split_first_chunk()?;
                (first.len() == FIRST).then_some(Self::First { theirs, cookie, first })
            }
            2 => {
                let (ours, theirs, answer) = numbers(rest)?;
                (answer.len() == ANSWER).then_some(Self::Answer { ours, theirs, answer })
            }
            3 => {
                let (ours, cookie) = number(rest)?;
                Some(Self::Cookie { ours, cookie: cookie.try_into().ok()? })
            }
            4 => {
                let (ours, number, sealed) = numbers(rest)?;
                Some(Self::Sealed { ours, number, sealed })
            }
            5 => {
                let (ours, theirs, rest) = numbers(rest)?;
                Some(Self::Known { ours, theirs, name: rest.try_into().ok()? })
            }
            6 => {
                let (ours, token) = number(rest)?;
                Some(Self::Unknown { ours, token: token.try_into().ok()? })
            }
            _ => None,
        }
    }

    /// Returns the bytes of the packet.
    pub(super) fn octets(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEADER + FIRST + COOKIE);
        match *self {
            Self::First { theirs, cookie, first } => {
                out.extend([1, VERSION]);
                out.extend(theirs.to_be_bytes());
                out.extend(cookie);
                out.extend(first);
            }
            Self::Answer { ours, theirs, answer } => {
                out.push(2);
                out.extend(ours.to_be_bytes());
                out.extend(theirs.to_be_bytes());
                out.extend(answer);
            }
            Self::Cookie { ours, cookie } => {
                out.push(3);
                out.extend(ours.to_be_bytes());
                out.extend(cookie);
            }
            Self::Sealed { ours, number, sealed } => {
                out.push(4);
                out.extend(ours.to_be_bytes());
                out.extend(number.to_be_bytes());
                out.extend(sealed);
            }
            Self::Known { ours, theirs, name } => {
                out.push(5);
                out.extend(ours.to_be_bytes());
                out.extend(theirs.to_be_bytes());
                out.extend(name);
            }
            Self::Unknown { ours, token } => {
                out.push(6);
                out.extend(ours.to_be_bytes());
                out.extend(token);
            }
        }
        out
    }
}

/// Returns the full number of a packet from its last 32 bits: the number nearest to the expected
/// one.
pub(super) fn whole_number(told: u32, expected: u64) -> u64 {
    let base = expected & !0xffff_ffff | u64::from(told);
    let half = 1 << 31;
    if base + half < expected {
        base + (1 << 32)
    } else if base > expected + half && base >= 1 << 32 {
        base - (1 << 32)
    } else {
        base
    }
}

/// Makes and checks cookies, which prove that a client receives at its address. A cookie is a keyed
/// hash of the address, so the server keeps no state for it.
#[derive(Debug)]
pub(super) struct Cookies {
    /// The current secret and the previous one.
    secrets: [[u8; 32]; 2],
    since: Duration,
}

impl Cookies {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { secrets: [secret()?, secret()?], since: Duration::ZERO })
    }

    fn rotate(&mut self, now: Duration) {
        let age = now.saturating_sub(self.since);
        if age >= ROTATION
            && let (Ok(next), Ok(other)) = (secret(), secret())
        {
            // A secret's minute ends on time, whenever the next request comes. After a long silence
            // both secrets are too old.
            let is_late = age >= 2 * ROTATION;
            self.secrets = [next, if is_late { other } else { self.secrets[0] }];
            self.since = if is_late { now } else { self.since + ROTATION };
        }
    }

    /// Returns the cookie of an address.
    pub(super) fn of(&mut self, address: Address, now: Duration) -> [u8; COOKIE] {
        self.rotate(now);
        cookie(&self.secrets[0], address)
    }

    /// Returns whether this is the cookie of the address.
    pub(super) fn is_of(&mut self, found: &[u8; COOKIE], address: Address, now: Duration) -> bool {
        self.rotate(now);
        // The comparison takes constant time.
        self.secrets.iter().any(|secret| full(secret, address, found))
    }
}

fn secret() -> io::Result<[u8; 32]> {
    let mut octets = [0; 32];
    let count = rustix::rand::getrandom(&mut octets, rustix::rand::GetRandomFlags::empty())?;
    if count == octets.len() { Ok(octets) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

fn cookie(secret: &[u8; 32], address: Address) -> [u8; COOKIE] {
    let hash = blake3::keyed_hash(secret, address.to_string().as_bytes());
    *hash.as_bytes().first_chunk().expect("a hash is longer")
}

fn full(secret: &[u8; 32], address: Address, found: &[u8; COOKIE]) -> bool {
    let expected = cookie(secret, address);
    // Comparing hashes of both, so that the duration reveals nothing about the cookie.
    blake3::keyed_hash(secret, &expected) == blake3::keyed_hash(secret, found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets are read as written, and not if one byte is missing, except sealed ones, which have
    /// any length.
    #[test]
    fn packets_are_read_as_written() {
        let packets = [
            Packet::First { theirs: 7, cookie: &[3; COOKIE], first: &[4; FIRST] },
            Packet::Answer { ours: 1, theirs: u32::MAX, answer: &[5; ANSWER] },
            Packet::Cookie { ours: 2, cookie: &[6; COOKIE] },
            Packet::Sealed { ours: 3, number: 9, sealed: &[7; 40] },
            Packet::Known { ours: 4, theirs: 5, name: &[8; HALF] },
            Packet::Unknown { ours: 5, token: &[9; HALF] },
        ];
        for packet in packets {
            let octets = packet.octets();
            assert_eq!(Packet::read(&octets), Some(packet));
            let cut = Packet::read(&octets[..octets.len() - 1]);
            assert!(cut.is_none() || matches!(packet, Packet::Sealed { .. }), "{cut:?}");
            assert_eq!(Packet::read(&octets[..5]), None);
        }
        assert_eq!(Packet::read(&[]), None);
        assert_eq!(Packet::read(&[9; 200]), None);
    }

    /// A server's answer to KNOWN is shorter than the question.
    #[test]
    fn an_answer_is_shorter() {
        let question = Packet::Known { ours: 1, theirs: 2, name: &[3; HALF] }.octets();
        assert!(Packet::Unknown { ours: 2, token: &[4; HALF] }.octets().len() < question.len());
    }

    /// A packet's number is the one nearest to the expected number, around multiples of 2^32.
    #[test]
    fn whole_numbers() {
        for expected in [0_u64, 5, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 32) + 3, (7 << 32) + (1 << 31)] {
            for real in [-1_000_000_i64, -3, -1, 0, 1, 2, 1_000_000] {
                let Some(real) = expected.checked_add_signed(real) else { continue };
                assert_eq!(whole_number(real as u32, expected), real, "{expected}");
            }
        }
    }

    /// A cookie is valid for one address, and for one to two minutes.
    #[test]
    fn cookies_are_of_an_address() {
        let mut cookies = Cookies::new().expect("random octets");
        let here = Address::Udp(([192, 0, 2, 1], 4000).into());
        let there = Address::Udp(([192, 0, 2, 1], 4001).into());
        let cookie = cookies.of(here, Duration::ZERO);
        assert!(cookies.is_of(&cookie, here, Duration::from_secs(1)));
        assert!(!cookies.is_of(&cookie, there, Duration::from_secs(1)));
        assert!(cookies.is_of(&cookie, here, Duration::from_secs(61)));
        assert!(!cookies.is_of(&cookie, here, Duration::from_secs(122)));
        assert!(!cookies.is_of(&[0; COOKIE], here, Duration::from_secs(122)));
    }

    /// A cookie is valid for no longer than that if no request came in between, or if one came
    /// late.
    #[test]
    fn cookies_after_a_silence() {
        let here = Address::Udp(([192, 0, 2, 1], 4000).into());
        for (asked, is_good) in [(vec![3600], false), (vec![119], true), (vec![119, 121], false)] {
            let mut cookies = Cookies::new().expect("random octets");
            let cookie = cookies.of(here, Duration::ZERO);
            let found: Vec<_> = asked
                .iter()
                .map(|&second| cookies.is_of(&cookie, here, Duration::from_secs(second)))
                .collect();
            assert_eq!(found.last(), Some(&is_good), "{asked:?}");
        }
    }
}
