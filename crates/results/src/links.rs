//! What one direction of a link did in a run, and its link layer if that sends again.

use capture::Loss;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::iter::Sum;

/// One direction of one link in one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkCounters {
    /// Name of the link in the plan.
    pub link: String,
    /// `up` or `down`.
    pub direction: String,
    /// What it was made of, for people.
    pub profile: String,
    /// Packets that came.
    pub packets: u64,
    /// Packets that were lost, by reason: `queue-full`, `error`, …
    pub lost: BTreeMap<String, u64>,
    /// Packets that were delivered damaged.
    pub damaged: u64,
    /// Copies that it made.
    pub duplicated: u64,
    /// Packets that overtook others.
    pub reordered: u64,
    /// Bytes that came, at IP level.
    pub bytes: u64,
    /// Bytes that were delivered.
    pub delivered_bytes: u64,
    /// Mean time from coming to leaving, of those that were delivered, in nanoseconds.
    pub delay_mean_ns: Option<u64>,
    /// Mean time in the queue, in nanoseconds.
    pub waiting_mean_ns: Option<u64>,
    /// What its link layer did, if it has one that sends again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_layer: Option<LinkLayerCounters>,
}

/// Counters of that end of a link layer with retransmissions which sends in this direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LinkLayerCounters {
    /// Numbered frames that were sent for the first time.
    pub frames: u64,
    /// Numbered frames that were sent again.
    pub again: u64,
    /// Blocks or frames of any kind that the other end could not decode.
    pub erased: u64,
    /// How often this end asked for frames again.
    pub rejects: u64,
    /// Resets that this end began.
    pub resets: u64,
    /// Blocks that went without new data because the window was full; 0 of LLP, where they are not
    /// counted.
    #[serde(default)]
    pub stalls: u64,
}

impl LinkCounters {
    /// Whether its link layer ended the connection.
    #[must_use]
    pub fn was_disconnected(&self) -> bool {
        self.lost.get(Loss::Disconnected.name()).is_some_and(|&count| count > 0)
    }
}

impl Sum for LinkLayerCounters {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            frames: sum.frames + one.frames,
            again: sum.again + one.again,
            erased: sum.erased + one.erased,
            rejects: sum.rejects + one.rejects,
            resets: sum.resets + one.resets,
            stalls: sum.stalls + one.stalls,
        })
    }
}
