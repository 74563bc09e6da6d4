//! The report: the received media, their quality, and a page that shows both.

pub mod chart;
mod collection;
pub mod page;
mod plan;
mod statistics;
pub mod table;

pub use collection::{Collection, Outcome, Run};
pub use plan::{Loss, Plan};

use serde::{Deserialize, Serialize};

/// The media that are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sent {
    /// The test picture.
    Picture,
    /// The test sound.
    Sound,
}

impl Sent {
    /// Both media.
    pub const ALL: [Self; 2] = [Self::Picture, Self::Sound];

    /// Returns the name, as in folder names.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Picture => "picture",
            Self::Sound => "sound",
        }
    }

    /// Returns the measure of its quality, with the unit.
    #[must_use]
    pub fn measure(self) -> &'static str {
        match self {
            Self::Picture => "PSNR (dB)",
            Self::Sound => "SNR (dB)",
        }
    }
}
