//! The report: what was received, what it cost, and a page that shows both.

pub mod chart;
mod collection;
pub mod page;
mod plan;
mod statistics;
pub mod table;

pub use collection::{Collection, Outcome, Run};
pub use plan::{Loss, Plan};

use serde::{Deserialize, Serialize};

/// What is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sent {
    /// The test picture.
    Picture,
    /// The test sound.
    Sound,
}

impl Sent {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Picture, Self::Sound];

    /// As folders are called.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Picture => "picture",
            Self::Sound => "sound",
        }
    }

    /// The measure of its quality, and that measure's unit.
    #[must_use]
    pub fn measure(self) -> &'static str {
        match self {
            Self::Picture => "PSNR (dB)",
            Self::Sound => "SNR (dB)",
        }
    }
}
