//! Contents of the streams.
//!
//! A lane carries messages, each preceded by its head:
//!
//! ```text
//! number, how many it stays behind, each as a distance (0: all before it), octets of the message, 0; the message
//!                                                                                                 1; its first octets: it was given up
//! ```
//!
//! The control stream carries the introduction and then frames: a type (1 byte) and its numbers.
//! All numbers are QUIC's variable-length integers (RFC 9000, 16) of 1 to 8 bytes.

use bytes::Buf;
use quinn_proto::VarInt;
use quinn_proto::coding::Codec;
use resoa_protocol::lhp::HEAD_OCTETS;
use resoa_protocol::message::MESSAGE_OCTETS;

/// What a message uses of the limit beside its bytes, because keeping it takes memory even if it is
/// empty.
pub(super) const COST: u64 = 64;
/// More messages than any message has to follow.
const MOST: u64 = 16;

/// The bytes violate the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Malformed;

/// Head of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    /// Number of the message, counted from 0 over all lanes.
    pub(super) number: u64,
    /// Distances back to the messages that it follows; 0 means all earlier ones.
    pub(super) behind: Vec<u64>,
    /// Length of the whole message in bytes.
    pub(super) octets: usize,
    /// The message was given up, and only its first bytes follow.
    pub(super) is_given_up: bool,
}

/// Frame on the control stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Frame {
    /// The server's user accepts the client.
    Taken,
    /// All messages before `done` were passed on, and there is room up to `limit` in total.
    Report { done: u64, limit: u64 },
    /// This is the number of messages, and there will be no more.
    End { messages: u64 },
    /// All messages of the other side have been passed on.
    Through,
}

const TAKEN: u8 = 1;
const REPORT: u8 = 2;
const END: u8 = 3;
const THROUGH: u8 = 4;

fn put(number: u64, out: &mut Vec<u8>) {
    // No connection reaches 2^62 messages.
    VarInt::from_u64(number).unwrap_or(VarInt::MAX).encode(out);
}

/// Reads a number; `None` if it is incomplete.
fn get(octets: &mut &[u8]) -> Option<u64> {
    VarInt::decode(octets).ok().map(VarInt::into_inner)
}

impl Head {
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        put(self.number, out);
        put(self.behind.len() as u64, out);
        for &distance in &self.behind {
            put(distance, out);
        }
        put(self.octets as u64, out);
        put(self.is_given_up.into(), out);
    }

    /// Returns how many bytes follow the head.
    pub(super) fn follow(&self) -> usize {
        if self.is_given_up { self.octets.min(HEAD_OCTETS) } else { self.octets }
    }

    /// Reads a head, and returns it with its length; `None` if it is incomplete.
    pub(super) fn read(octets: &[u8]) -> Result<Option<(Self, usize)>, Malformed> {
        let mut rest = octets;
        let mut read = || -> Option<Result<Self, Malformed>> {
            let number = get(&mut rest)?;
            let count = get(&mut rest)?;
            if count > MOST {
                return Some(Err(Malformed));
            }
            let mut behind = Vec::with_capacity(count as usize);
            for _ in 0..count {
                behind.push(get(&mut rest)?);
            }
            let (octets, how) = (get(&mut rest)?, get(&mut rest)?);
            let is_sound = octets <= MESSAGE_OCTETS as u64
                && how <= 1
                && behind.iter().all(|&distance| distance <= number);
            let head = Self { number, behind, octets: octets as usize, is_given_up: how == 1 };
            Some(if is_sound { Ok(head) } else { Err(Malformed) })
        };
        let head = read().transpose()?;
        Ok(head.map(|head| (head, octets.len() - rest.remaining())))
    }
}

impl Frame {
    pub(super) fn write(self, out: &mut Vec<u8>) {
        match self {
            Self::Taken => out.push(TAKEN),
            Self::Report { done, limit } => {
                out.push(REPORT);
                put(done, out);
                put(limit, out);
            }
            Self::End { messages } => {
                out.push(END);
                put(messages, out);
            }
            Self::Through => out.push(THROUGH),
        }
    }

    /// Reads a frame, in the same way as [`Head::read`].
    pub(super) fn read(octets: &[u8]) -> Result<Option<(Self, usize)>, Malformed> {
        let Some((&kind, mut rest)) = octets.split_first() else { return Ok(None) };
        let mut number = || get(&mut rest);
        let frame = match kind {
            TAKEN => Some(Self::Taken),
            REPORT => match (number(), number()) {
                (Some(done), Some(limit)) => Some(Self::Report { done, limit }),
                _ => None,
            },
            END => number().map(|messages| Self::End { messages }),
            THROUGH => Some(Self::Through),
            _ => return Err(Malformed),
        };
        Ok(frame.map(|frame| (frame, octets.len() - rest.remaining())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NUMBERS: std::ops::Range<u64> = 0..1 << 62;

    fn head() -> impl Strategy<Value = Head> {
        let behind = proptest::collection::vec(NUMBERS, 0..=MOST as usize);
        (NUMBERS, behind, 0..=MESSAGE_OCTETS, any::<bool>()).prop_map(
            |(number, mut behind, octets, is_given_up)| {
                for distance in &mut behind {
                    *distance = (*distance).min(number);
                }
                Head { number, behind, octets, is_given_up }
            },
        )
    }

    fn frame() -> impl Strategy<Value = Frame> {
        prop_oneof![
            Just(Frame::Taken),
            (NUMBERS, NUMBERS).prop_map(|(done, limit)| Frame::Report { done, limit }),
            NUMBERS.prop_map(|messages| Frame::End { messages }),
            Just(Frame::Through),
        ]
    }

    proptest! {
        /// Heads and frames are read as written, with other bytes behind them, and not if they are
        /// incomplete.
        #[test]
        fn read_as_written(head in head(), frame in frame()) {
            let (mut out, mut frames) = (Vec::new(), Vec::new());
            head.write(&mut out);
            frame.write(&mut frames);
            for length in 0..out.len() {
                prop_assert_eq!(Head::read(&out[..length]), Ok(None));
            }
            for length in 0..frames.len() {
                prop_assert_eq!(Frame::read(&frames[..length]), Ok(None));
            }
            let (octets, long) = (out.len(), frames.len());
            out.push(7);
            frames.push(1);
            prop_assert_eq!(Head::read(&out), Ok(Some((head, octets))));
            prop_assert_eq!(Frame::read(&frames), Ok(Some((frame, long))));
        }

        /// Any bytes are read or refused.
        #[test]
        fn anything_is_read_or_refused(octets: Vec<u8>) {
            let _ = (Head::read(&octets), Frame::read(&octets));
        }
    }

    /// Refused: a message that follows too many others or later ones, one that is too long, and an
    /// unknown kind.
    #[test]
    fn what_nobody_says() {
        for (number, behind, octets) in
            [(3, vec![4], 0), (3, vec![], MESSAGE_OCTETS + 1), (40, vec![1; 17], 0)]
        {
            let mut out = Vec::new();
            Head { number, behind, octets, is_given_up: false }.write(&mut out);
            assert_eq!(Head::read(&out), Err(Malformed));
        }
        let mut out = Vec::new();
        Head { number: 3, behind: vec![], octets: 5, is_given_up: true }.write(&mut out);
        *out.last_mut().unwrap() = 2;
        assert_eq!(Head::read(&out), Err(Malformed));
        assert_eq!(Frame::read(&[9]), Err(Malformed));
    }
}
