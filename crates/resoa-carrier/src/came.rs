//! What has come in the place of a message: itself, or the word that it was given up.

use resoa_protocol::lhp::{Indication, Lost};

/// See the [module](self).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Came {
    Whole(Vec<u8>),
    Lost(Lost),
}

impl Came {
    /// Octets that were sent, or would have been.
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
