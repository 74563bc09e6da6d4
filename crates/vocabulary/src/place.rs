//! Where and when a packet is on a link.

use crate::units::Time;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Number of a link within a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LinkId(pub u16);

/// One of the two directions of a link, seen from the wireless host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From the wireless host (the program behind the link) to the network.
    Up,
    /// From the network to the wireless host.
    Down,
}

/// The transmission interval of a packet on the limiter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sending {
    /// First bit.
    pub start: Time,
    /// Last bit: the instant at which the packet leaves the limiter.
    pub end: Time,
}

impl Direction {
    /// Both, up first.
    pub const BOTH: [Self; 2] = [Self::Up, Self::Down];

    /// `up` or `down`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
        }
    }

    /// The direction with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::BOTH.into_iter().find(|direction| direction.name() == name)
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
