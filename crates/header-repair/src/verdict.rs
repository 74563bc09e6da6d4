//! Verdicts on packets, and the reasons for discarding them.

/// Result of [`crate::Receiver::packet`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SegmentVerdict {
    /// Left alone: not a whole TCP segment over IP, too long to sum, between addresses without a
    /// Lite connection, or merged and of an unknown connection.
    NotOurs,
    /// Left alone: its connection is not Lite.
    NotLite,
    /// Left alone: the checksum is right, or the kernel has verified it.
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
    /// The received checksum matches the repaired header, so only the header was damaged.
    pub confirmed: bool,
    /// The ports were damaged.
    pub approximate: bool,
    /// Unconfirmed, and the repair changed a field whose value matters.
    pub guess: bool,
    /// The segment lies behind a hole.
    pub out_of_order: bool,
    /// Bytes of payload that may be damaged: all of them, or 0 if confirmed.
    pub bytes: u32,
}

/// Why a damaged segment was discarded. The numbers are those of the kernel's counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// No payload: all damage is in the header, and there is nothing to gain.
    Empty = 1,
    /// Data cannot be at this sequence number.
    Position,
    /// The socket's policy forbids it.
    Policy,
    /// The segment is not entirely inside the byte window.
    Window,
    /// The limit on the rate of guesses.
    Rate,
    /// There is nothing to repair with: no right segment was seen yet.
    Template,
    /// The connection uses options that cannot be restored.
    Options,
    /// The header may be longer than the template's, and its end cannot be told from payload.
    HeaderLength,
    /// The segment can belong to no Lite connection.
    NoConnection,
    /// The segment can belong to several connections, or places, equally well.
    Ambiguous,
    /// Shorter than a TCP header.
    Short,
    /// The IPv4 header is damaged.
    Ip,
}

impl Reason {
    /// All reasons, in the order of their numbers.
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

    /// Returns the reason's name in results.
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

    /// Returns the reason's number, from 1.
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
