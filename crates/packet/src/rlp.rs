//! Frames of the Radio Link Protocol of GSM data calls, versions 0 and 1 (GSM 04.22, section 5.2):
//! encoding and decoding.
//!
//! A frame always has 30 octets (240 bits, one in 20 ms on a full-rate channel) or 72 octets (576
//! bits):
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
//! Bit 0 is the least significant one. N(S) 63 marks an unnumbered frame, and 62 a supervisory
//! frame without information. Frame numbers are 0 to 61, so they count **modulo 62**, although the
//! field has 64 codes. [`xid`] and [`l2r`] describe the contents of the information field.

pub mod fcs;
pub mod l2r;
pub mod xid;

use thiserror::Error;

/// Modulus of frame numbers (GSM 04.22, 5.2.2.1).
pub const MODULUS: u16 = 62;

/// N(S) of an unnumbered frame.
const UNNUMBERED: u8 = 63;
/// N(S) of a supervisory frame without information.
const SUPERVISORY: u8 = 62;
const HEADER_LEN: usize = 2;
const FCS_LEN: usize = 3;

/// Length of frames; both ends of a connection use the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Size {
    /// 240 bits.
    #[default]
    Short,
    /// 576 bits.
    Long,
}

/// One RLP frame.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Frame {
    /// C/R: true for a command, false for a response.
    pub command: bool,
    /// P in a command (requests an immediate response), F in a response (answers such a command).
    pub poll_final: bool,
    /// The kind of frame and its contents.
    pub body: Body,
}

/// Kinds of frames with their contents.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Body {
    /// U: controls the connection. The information has a meaning only in XID, UI and TEST, and
    /// always fills the field.
    Unnumbered {
        /// Function of the frame.
        function: Function,
        /// The information field, as long as [`Size::information_len`].
        information: Vec<u8>,
    },
    /// S: supervision alone. The information field has no meaning and is sent as zeros.
    Supervisory {
        /// Meaning of N(R).
        supervision: Supervision,
        /// N(R), 0 to 61.
        nr: u8,
    },
    /// I+S: information and supervision.
    Information {
        /// Meaning of N(R).
        supervision: Supervision,
        /// N(S), 0 to 61.
        ns: u8,
        /// N(R), 0 to 61.
        nr: u8,
        /// The information field, as long as [`Size::information_len`].
        information: Vec<u8>,
    },
}

/// Meaning of N(R) in a frame (GSM 04.22, 5.2.2.4).
///
/// The standard prints the two bits in the order of transmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Supervision {
    /// RR: everything before N(R) has arrived.
    ReceiveReady,
    /// RNR: the same, and no new information may be sent for now.
    ReceiveNotReady,
    /// REJ: everything before N(R) has arrived; everything from N(R) on must be retransmitted.
    Reject,
    /// SREJ: frame N(R) must be retransmitted. Acknowledges nothing.
    SelectiveReject,
}

/// Function of an unnumbered frame (GSM 04.22, 5.2.2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Function {
    /// SABM: establish or re-establish the connection.
    SetMode,
    /// UA: SABM or DISC is accepted.
    Acknowledge,
    /// DISC: end the connection.
    Disconnect,
    /// DM: there is no connection.
    DisconnectedMode,
    /// NULL: sent when there is nothing else to send.
    Null,
    /// UI: information in an unnumbered frame.
    Information,
    /// XID: parameters; see [`xid`].
    Exchange,
    /// TEST: to be returned by the receiver.
    Test,
    /// REMAP: remaps frame numbers after a change of the channel.
    Remap,
}

/// An error of decoding a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Malformed {
    /// The length is neither 30 nor 72 octets.
    #[error("a frame has 30 or 72 octets, not {0}")]
    Length(usize),
    /// The frame check sequence is wrong: the block counts as erased.
    #[error("the frame check sequence is {found:#08x}, expected {wanted:#08x}")]
    Check {
        /// The sequence as received.
        found: u32,
        /// The sequence as computed.
        wanted: u32,
    },
    /// M1 to M5 of an unnumbered frame are not the code of a function.
    #[error("{0:#04x} is not the code of an unnumbered frame")]
    Function(u8),
    /// N(R) is above 61.
    #[error("N(R) is {0}, but the largest number is 61")]
    Number(u8),
}

impl Size {
    /// Returns the length of a frame in octets.
    #[must_use]
    pub const fn octets(self) -> usize {
        match self {
            Self::Short => 30,
            Self::Long => 72,
        }
    }

    /// Returns the length of the information field in octets.
    #[must_use]
    pub const fn information_len(self) -> usize {
        self.octets() - HEADER_LEN - FCS_LEN
    }

    /// Returns the size of frames with this number of octets.
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
    /// Decodes a frame.
    ///
    /// Checks the frame check sequence first: if it is wrong, nothing else in the frame can be
    /// trusted.
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

    /// Encodes the frame. Information that is shorter than its field is padded with zeros.
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
                assert!(u16::from(*ns) < MODULUS, "N(S) is {ns}, but the largest number is 61");
                (supervision.bits(), *ns, *nr, information)
            }
        };
        assert!(u16::from(nr) < MODULUS, "N(R) is {nr}, but the largest number is 61");
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
    /// All values, in the order of their two-bit codes.
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
    /// All functions.
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
