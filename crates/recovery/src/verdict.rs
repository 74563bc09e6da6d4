//! What becomes of a packet.

/// The end of a packet's way through [`crate::Receiver::packet`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Left alone: no whole TCP segment over IP, longer than can be summed up, or of addresses
    /// without a Lite connection.
    NotOurs,
    /// Left alone: its connection is not Lite.
    NotLite,
    /// Left alone: the checksum is right.
    Pass,
    /// Left alone: the checksum is partial, so nothing can be judged.
    Unverifiable,
    /// Damaged, and repaired in place.
    Accept(Acceptance),
    /// Damaged, and left for the kernel to drop.
    Discard(Reason),
}

/// How a damaged segment was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(clippy::struct_excessive_bools, reason = "independent facts, each counted by itself")]
pub struct Acceptance {
    /// The received checksum fits to the repaired header: the damage was in the header only.
    pub confirmed: bool,
    /// The ports were damaged.
    pub approximate: bool,
    /// More was replaced than fields that do not matter.
    pub guess: bool,
    /// The segment lies behind a hole.
    pub out_of_order: bool,
    /// Bytes of payload that may be damaged: all of them, or 0 if confirmed.
    pub bytes: u32,
}

/// Why a damaged segment was discarded. The numbers are those of the kernel's counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// No payload: all damage is in the header, nothing to gain.
    Empty = 1,
    /// The sequence number is no place where data can be.
    Position,
    /// The socket's policy forbids it.
    Policy,
    /// Outside the byte window.
    Window,
    /// Too many guesses.
    Rate,
    /// Nothing to repair with: no right segment was seen yet.
    Template,
    /// The connection uses options that cannot be restored.
    Options,
    /// The header may be longer than the template's, and cannot be told from payload.
    HeaderLength,
    /// No Lite connection that it can belong to.
    NoConnection,
    /// Several connections that it can belong to equally well.
    Ambiguous,
    /// Shorter than a TCP header.
    Short,
    /// The IPv4 header is damaged.
    Ip,
}

impl Reason {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 12] = [
        Self::Empty,
        Self::Position,
        Self::Policy,
        Self::Window,
        Self::Rate,
        Self::Template,
        Self::Options,
        Self::HeaderLength,
        Self::NoConnection,
        Self::Ambiguous,
        Self::Short,
        Self::Ip,
    ];

    /// Its name in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Position => "position",
            Self::Policy => "policy",
            Self::Window => "window",
            Self::Rate => "rate",
            Self::Template => "template",
            Self::Options => "options",
            Self::HeaderLength => "header-length",
            Self::NoConnection => "no-connection",
            Self::Ambiguous => "ambiguous",
            Self::Short => "short",
            Self::Ip => "ip",
        }
    }

    /// Its number, from 1.
    #[must_use]
    pub const fn number(self) -> u8 {
        self as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_kernel() {
        for (at, reason) in Reason::ALL.into_iter().enumerate() {
            assert_eq!(usize::from(reason.number()), at + 1);
        }
        assert_eq!((Reason::HeaderLength.number(), Reason::Ip.number()), (8, 12));
    }
}
