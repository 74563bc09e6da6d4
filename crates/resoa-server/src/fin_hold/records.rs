//! Records that the programs write, read by the offsets of their fields: held FINs and counters.

use super::attach::types;
use std::mem::offset_of;

/// Counters of FINs and of the kernel's answers to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// FINs that were held.
    pub held: u64,
    /// Segments that would have acknowledged a held FIN.
    pub clamped: u64,
    /// SACK blocks that covered a held FIN.
    pub blanked: u64,
    /// FINs that were *not* held because the map was full. The far host considers them delivered.
    pub full: u64,
    /// RSTs that the kernel would have sent because a connection with a held FIN had ended.
    pub silenced: u64,
    /// Acknowledgements that the kernel sent for a connection after the server had reset it. They
    /// left as RSTs.
    pub turned: u64,
}

/// State of a FIN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// It has arrived, and the kernel has not acknowledged it.
    Seen,
    Held,
    Aborted,
}

/// Entry of a FIN in the map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hold {
    /// Time when it arrived last, in nanoseconds of the monotonic clock.
    pub(super) seen_ns: u64,
    /// Its sequence number.
    pub(super) fin: u32,
    pub(super) state: State,
    /// The server's next sequence number: the one behind all data that was sent.
    pub(super) next: u32,
    /// First word of the IP header of the last held segment, as on the wire: with the type of
    /// service or traffic class, and the flow label.
    pub(super) first_word: [u8; 4],
    /// Time to live or hop limit of that segment.
    pub(super) hops: u8,
    /// TCP header of that segment, padded with zeros to 60 bytes.
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

    /// Whether a segment that acknowledges the FIN has been recorded. If none was, `hops` is 0,
    /// which no packet is sent with.
    pub(super) fn was_held(&self) -> bool {
        self.hops > 0
    }

    /// Changes the state of an entry to `Aborted`, in its bytes.
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
