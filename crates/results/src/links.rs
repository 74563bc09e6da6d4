//! Counters of one direction of a link in a run, and of its link layer if that retransmits.

use capture::Loss;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::iter::Sum;

/// Counters of one direction of one link in one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkCounters {
    /// Name of the link in the plan.
    pub link: String,
    /// `up` or `down`.
    pub direction: String,
    /// Description of its profile for people.
    pub profile: String,
    /// Packets that reached the link.
    pub packets: u64,
    /// Packets that were lost, by reason: `queue-full`, `error`, …
    pub lost: BTreeMap<String, u64>,
    /// Packets that were delivered damaged.
    pub damaged: u64,
    /// Copies that the link made.
    pub duplicated: u64,
    /// Packets that overtook others.
    pub reordered: u64,
    /// Bytes that reached the link, at IP level.
    pub bytes: u64,
    /// Bytes that were delivered.
    pub delivered_bytes: u64,
    /// Mean time from arrival to departure of delivered packets, in nanoseconds.
    pub delay_mean_ns: Option<u64>,
    /// Mean time in the queue, in nanoseconds.
    pub waiting_mean_ns: Option<u64>,
    /// Counters of its link layer, if it has one that retransmits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_layer: Option<LinkLayerCounters>,
}

/// Counters of the end that sends in this direction, of a link layer with retransmissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LinkLayerCounters {
    /// Numbered frames that were sent for the first time.
    pub frames: u64,
    /// Numbered frames that were retransmitted.
    pub again: u64,
    /// Blocks or frames of any kind that the other end could not decode.
    pub erased: u64,
    /// Requests of this end for retransmissions.
    pub rejects: u64,
    /// Resets that this end started.
    pub resets: u64,
    /// Blocks without new data because the window was full; 0 for LLP, where they are not counted.
    #[serde(default)]
    pub stalls: u64,
}

impl LinkCounters {
    /// Returns whether its link layer disconnected.
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
