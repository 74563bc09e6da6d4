//! Where and when a packet is on a link.

use crate::units::Time;
use borsh::{BorshDeserialize, BorshSerialize};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Number of a link within a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LinkId(pub u16);

/// One of the two directions of a link, seen from the wireless host.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    BorshSerialize,
    BorshDeserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From the wireless host (the program behind the link) to the network.
    Up,
    /// From the network to the wireless host.
    Down,
}

/// Time during which the limiter transmits a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
pub struct Sending {
    /// Time of the first bit.
    pub start: Time,
    /// Time of the last bit, when the packet leaves the limiter.
    pub end: Time,
}

impl Direction {
    /// Both directions, up first.
    pub const BOTH: [Self; 2] = [Self::Up, Self::Down];

    /// Returns `up` or `down`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
        }
    }

    /// Returns the direction with this name.
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
