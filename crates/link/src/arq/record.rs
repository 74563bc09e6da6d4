//! What happened on a link with retransmissions, as a protocol monitor notes it: the records of
//! rlpdump (Ludwig 3.1.1, LL-07).
//!
//! These are values. RLP traces (`link::blocks`) have them in a file.

use crate::units::Time;

/// One record of one end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Record {
    /// When.
    pub at: Time,
    /// Whether this end sent or received it.
    pub way: Way,
    /// What.
    pub kind: Kind,
    /// N(S), or the number that is asked for; 0 where there is none.
    pub ns: u16,
    /// N(R), or V(R) of the end that noted it where there is none.
    pub nr: u16,
    /// [`Kind::First`]: octets of packets in the frame. [`Kind::Again`]: how often it was sent
    /// before. [`Kind::Erased`] and [`Kind::Right`]: octets of the block or frame. Else 0.
    pub aux: u32,
}

/// Which way something went, seen from the end that noted it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Way {
    /// Sent.
    Sent,
    /// Received.
    Received,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A numbered frame for the first time.
    First,
    /// A numbered frame again.
    Again,
    /// One frame is asked for again (SREJ; a NAK of LLP names all that are missing, and this is one
    /// of them).
    SelectiveReject,
    /// All frames from a number on are asked for again (REJ).
    Reject,
    /// Characters may flow again (L2R).
    XOn,
    /// No characters for now (L2R).
    XOff,
    /// The link is reset: both ends begin again with number 0.
    Reset,
    /// A block that could not be decoded.
    Erased,
    /// A block that could.
    Right,
}

impl Way {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Sent, Self::Received];

    /// Its letter in RLP traces: S or R.
    #[must_use]
    pub const fn letter(self) -> &'static str {
        match self {
            Self::Sent => "S",
            Self::Received => "R",
        }
    }
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::First,
        Self::Again,
        Self::SelectiveReject,
        Self::Reject,
        Self::XOn,
        Self::XOff,
        Self::Reset,
        Self::Erased,
        Self::Right,
    ];

    /// Its word in RLP traces.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::First => "DATA",
            Self::Again => "XMIT",
            Self::SelectiveReject => "SREJ",
            Self::Reject => "REJ",
            Self::XOn => "XON",
            Self::XOff => "XOFF",
            Self::Reset => "RST",
            Self::Erased => "ERAS",
            Self::Right => "OK",
        }
    }
}
