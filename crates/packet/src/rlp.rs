//! Frames of the Radio Link Protocol of GSM data calls, versions 0 and 1 (GSM 04.22, section 5.2):
//! octets to values and back.
//!
//! A frame has 30 octets (240 bits, one in 20 ms on a full-rate channel) or 72 octets (576 bits),
//! always all of them:
//!
//! | octets | bits | field |
//! |---|---|---|
//! | 0 | 0 | C/R: 1 for a command |
//! | 0 | 1-2 | S1 S2, the supervision |
//! | 0 | 3-7 | N(S), low five bits |
//! | 1 | 0 | N(S), high bit |
//! | 1 | 1 | P/F |
//! | 1 | 2-7 | N(R), or M1 to M5 |
//! | 2 and on | | information: 25 octets, or 67 |
//! | last 3 | | frame check sequence ([`fcs`]), low octet first |
//!
//! Bit 0 is the least significant one. N(S) 63 is an unnumbered frame, 62 a supervisory one without
//! information; numbers are 0 to 61, so that they count **modulo 62** though the field has 64
//! codes. What the information means is told in [`xid`] and [`l2r`].

pub mod fcs;
pub mod l2r;
pub mod xid;

use thiserror::Error;

/// Frames are numbered modulo this (GSM 04.22, 5.2.2.1).
pub const MODULUS: u16 = 62;

/// N(S) of an unnumbered frame.
const UNNUMBERED: u8 = 63;
/// N(S) of a supervisory frame without information.
const SUPERVISORY: u8 = 62;
const HEADER_LEN: usize = 2;
const FCS_LEN: usize = 3;

/// How long frames are; both ends of a connection use the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Size {
    /// 240 bits.
    #[default]
    Short,
    /// 576 bits.
    Long,
}

/// One frame.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Frame {
    /// C/R: a command, or a response to one.
    pub command: bool,
    /// P in a command (an answer is wanted at once), F in a response (this is that answer).
    pub poll_final: bool,
    /// What kind of frame, and what it carries.
    pub body: Body,
}

/// The kinds of frames.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Body {
    /// U: controls the connection. Information is meant by XID, UI and TEST alone, and is as long
    /// as the frame allows.
    Unnumbered {
        /// Which.
        function: Function,
        /// The information field, as long as [`Size::information_len`].
        information: Vec<u8>,
    },
    /// S: supervision alone. Its information field means nothing and is sent as zeros.
    Supervisory {
        /// What is said of N(R).
        supervision: Supervision,
        /// N(R), 0 to 61.
        nr: u8,
    },
    /// I+S: information and supervision.
    Information {
        /// What is said of N(R).
        supervision: Supervision,
        /// N(S), 0 to 61.
        ns: u8,
        /// N(R), 0 to 61.
        nr: u8,
        /// The information field, as long as [`Size::information_len`].
        information: Vec<u8>,
    },
}

/// What a frame says of N(R) (GSM 04.22, 5.2.2.4). The standard prints the two bits in the order of
/// their transmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Supervision {
    /// RR: everything before N(R) has arrived.
    ReceiveReady,
    /// RNR: the same, and no new information may be sent for now.
    ReceiveNotReady,
    /// REJ: everything before N(R) has arrived; all from N(R) on is to be sent again.
    Reject,
    /// SREJ: frame N(R) is to be sent again. Nothing is acknowledged.
    SelectiveReject,
}

/// What an unnumbered frame is for (GSM 04.22, 5.2.2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Function {
    /// SABM: begin, or begin again.
    SetMode,
    /// UA: SABM or DISC is done.
    Acknowledge,
    /// DISC: end.
    Disconnect,
    /// DM: there is no connection.
    DisconnectedMode,
    /// NULL: nothing to say.
    Null,
    /// UI: information without a number.
    Information,
    /// XID: parameters; see [`xid`].
    Exchange,
    /// TEST: to be sent back.
    Test,
    /// REMAP: numbers after a change of the channel.
    Remap,
}

/// Octets that are no frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Malformed {
    /// Neither of the two sizes.
    #[error("a frame has 30 or 72 octets, not {0}")]
    Length(usize),
    /// The frame check sequence is wrong: the block counts as erased.
    #[error("the frame check sequence is {found:#08x} and should be {wanted:#08x}")]
    Check {
        /// As received.
        found: u32,
        /// As computed.
        wanted: u32,
    },
    /// An M1 to M5 that has no meaning.
    #[error("{0:#04x} is not the code of an unnumbered frame")]
    Function(u8),
    /// N(R) above 61.
    #[error("N(R) is {0}, and numbers end at 61")]
    Number(u8),
}

impl Size {
    /// Octets of a whole frame.
    #[must_use]
    pub const fn octets(self) -> usize {
        match self {
            Self::Short => 30,
            Self::Long => 72,
        }
    }

    /// Octets of the information field.
    #[must_use]
    pub const fn information_len(self) -> usize {
        self.octets() - HEADER_LEN - FCS_LEN
    }

    /// The size of a frame with so many octets.
    #[must_use]
    pub const fn of(octets: usize) -> Option<Self> {
        match octets {
            30 => Some(Self::Short),
            72 => Some(Self::Long),
            _ => None,
        }
    }
}

impl Frame {
    /// Reads a frame.
    ///
    /// The frame check sequence comes first: of a frame in which it is wrong, nothing else is
    /// believed.
    pub fn parse(octets: &[u8]) -> Result<Self, Malformed> {
        let size = Size::of(octets.len()).ok_or(Malformed::Length(octets.len()))?;
        let (content, check) = octets.split_at(size.octets() - FCS_LEN);
        let found = u32::from_le_bytes([check[0], check[1], check[2], 0]);
        let wanted = fcs::compute(content);
        if found != wanted {
            return Err(Malformed::Check { found, wanted });
        }
        let (first, second) = (content[0], content[1]);
        let ns = first >> 3 | (second & 1) << 5;
        let nr = second >> 2;
        let information = || content[HEADER_LEN..].to_vec();
        let supervision = Supervision::from_bits(first >> 1);
        let body = if ns == UNNUMBERED {
            let code = nr & 0b1_1111;
            let function = Function::from_code(code).ok_or(Malformed::Function(code))?;
            Body::Unnumbered { function, information: information() }
        } else if u16::from(nr) >= MODULUS {
            return Err(Malformed::Number(nr));
        } else if ns == SUPERVISORY {
            Body::Supervisory { supervision, nr }
        } else {
            Body::Information { supervision, ns, nr, information: information() }
        };
        Ok(Self { command: first & 1 == 1, poll_final: second & 0b10 != 0, body })
    }

    /// The octets of the frame. Information that is shorter than its field is filled with zeros.
    ///
    /// # Panics
    /// If the information is longer than its field, or a number is above 61.
    #[must_use]
    pub fn to_octets(&self, size: Size) -> Vec<u8> {
        let empty = &Vec::new();
        let (supervision, ns, nr, information) = match &self.body {
            Body::Unnumbered { function, information } => (0, UNNUMBERED, function.code(), information),
            Body::Supervisory { supervision, nr } => (supervision.bits(), SUPERVISORY, *nr, empty),
            Body::Information { supervision, ns, nr, information } => {
                assert!(u16::from(*ns) < MODULUS, "N(S) is {ns}, and numbers end at 61");
                (supervision.bits(), *ns, *nr, information)
            }
        };
        assert!(u16::from(nr) < MODULUS, "N(R) is {nr}, and numbers end at 61");
        assert!(information.len() <= size.information_len(), "{} octets are too many", information.len());
        let mut octets = Vec::with_capacity(size.octets());
        octets.push(u8::from(self.command) | supervision << 1 | ns << 3);
        octets.push(ns >> 5 | u8::from(self.poll_final) << 1 | nr << 2);
        octets.extend_from_slice(information);
        octets.resize(size.octets() - FCS_LEN, 0);
        let check = fcs::compute(&octets).to_le_bytes();
        octets.extend_from_slice(&check[..FCS_LEN]);
        octets
    }
}

impl Supervision {
    /// All of them, by the value of their two bits.
    pub const ALL: [Self; 4] =
        [Self::ReceiveReady, Self::ReceiveNotReady, Self::Reject, Self::SelectiveReject];

    const fn from_bits(bits: u8) -> Self {
        Self::ALL[(bits & 0b11) as usize]
    }

    const fn bits(self) -> u8 {
        self as u8
    }
}

impl Function {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::SetMode,
        Self::Acknowledge,
        Self::Disconnect,
        Self::DisconnectedMode,
        Self::Null,
        Self::Information,
        Self::Exchange,
        Self::Test,
        Self::Remap,
    ];

    const fn code(self) -> u8 {
        match self {
            Self::SetMode => 0x07,
            Self::Acknowledge => 0x0c,
            Self::Disconnect => 0x08,
            Self::DisconnectedMode => 0x03,
            Self::Null => 0x0f,
            Self::Information => 0x00,
            Self::Exchange => 0x17,
            Self::Test => 0x1c,
            Self::Remap => 0x11,
        }
    }

    fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|function| function.code() == code)
    }
}

#[cfg(test)]
mod tests;
