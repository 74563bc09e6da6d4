//! What the programs write down, read by its place: a FIN that is held, and counts.

use super::attach::types;
use std::mem::offset_of;

/// What became of FINs, and of what the kernel said about them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// FINs that were held.
    pub held: u64,
    /// Segments that would have acknowledged one.
    pub clamped: u64,
    /// SACK blocks that covered one.
    pub blanked: u64,
    /// FINs that were *not* held, since as many as can be were. The far host took them for
    /// delivered.
    pub full: u64,
    /// RSTs of the kernel, for which a connection had ended whose FIN was held.
    pub silenced: u64,
    /// Acknowledgements of the kernel for a connection that the server had reset: RSTs were sent
    /// instead.
    pub turned: u64,
}

/// What is done with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// The kernel has not acknowledged it.
    Seen,
    Held,
    Aborted,
}

/// A FIN.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hold {
    /// When it came last, on the monotonic clock.
    pub(super) seen_ns: u64,
    /// Its sequence number.
    pub(super) fin: u32,
    pub(super) state: State,
    /// Ours behind everything that was sent.
    pub(super) next: u32,
    /// Of the IP header of the segment that was held last, as on the wire: with the type of service
    /// or traffic class, and the flow label.
    pub(super) first_word: [u8; 4],
    /// Time to live, hop limit.
    pub(super) hops: u8,
    /// Its TCP header, with zeros to 60 octets.
    pub(super) tcp: [u8; 60],
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|word| u32::from_ne_bytes(*word))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|long| u64::from_ne_bytes(*long))
}

impl Hold {
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        Some(Self {
            seen_ns: long(bytes, offset_of!(types::hold, seen_ns))?,
            fin: word(bytes, offset_of!(types::hold, fin))?,
            state: match word(bytes, offset_of!(types::hold, state))? {
                0 => State::Seen,
                1 => State::Held,
                _ => State::Aborted,
            },
            next: word(bytes, offset_of!(types::hold, next))?,
            first_word: *bytes.get(offset_of!(types::hold, first_word)..)?.first_chunk()?,
            hops: *bytes.get(offset_of!(types::hold, hops))?,
            tcp: *bytes.get(offset_of!(types::hold, tcp)..)?.first_chunk()?,
        })
    }

    /// Whether there was a segment that acknowledged it: no packet is sent with this few hops.
    pub(super) fn was_held(&self) -> bool {
        self.hops > 0
    }

    /// The same octets, of a connection that is reset.
    pub(super) fn aborted(bytes: &mut [u8]) {
        let at = offset_of!(types::hold, state);
        bytes[at..at + 4].copy_from_slice(&2_u32.to_ne_bytes());
    }
}

impl Counts {
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        Some(Self {
            held: long(bytes, offset_of!(types::counts, held))?,
            clamped: long(bytes, offset_of!(types::counts, clamped))?,
            blanked: long(bytes, offset_of!(types::counts, blanked))?,
            full: long(bytes, offset_of!(types::counts, full))?,
            silenced: long(bytes, offset_of!(types::counts, silenced))?,
            turned: long(bytes, offset_of!(types::counts, turned))?,
        })
    }
}
