//! What takes the place of a message at the receiver: the message itself, or the notice that it was
//! given up.

use resoa_protocol::lhp::{Indication, Lost};

/// A message, or the notice that it was given up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Came {
    Whole(Vec<u8>),
    Lost(Lost),
}

impl Came {
    /// Returns the length of the message in bytes, whether it arrived or was given up.
    pub(crate) fn octets(&self) -> u64 {
        match self {
            Self::Whole(octets) => octets.len() as u64,
            Self::Lost(lost) => lost.octets as u64,
        }
    }
}

impl From<Came> for Indication {
    fn from(came: Came) -> Self {
        match came {
            Came::Whole(octets) => Self::Data(octets),
            Came::Lost(lost) => Self::Lost(lost),
        }
    }
}
