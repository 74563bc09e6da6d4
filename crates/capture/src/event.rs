//! The schema of the event log, version 1.
//!
//! A log is a [`Header`] followed by records: one [`Fate`] for each packet that left a link or was
//! lost on it, and [`Note`]s. A version may gain columns and kinds of records, and readers skip
//! those that they do not know. A change of meaning is a new version.
//!
//! The types here are plain: they hold no reference to a link model and can be made by anything
//! that moves packets.

mod capacity;
mod fate;
mod flow;
mod header;

pub use capacity::{After, Capacity, Rate};
pub use fate::{Ended, Fate, Outcome, Reason};
pub use flow::Flow;
pub use header::{Header, LinkInfo, WayInfo};

use crate::units::Time;
use serde::{Deserialize, Serialize};

/// Version of the schema that this crate writes.
pub const SCHEMA: u16 = 1;

/// Something that happened to the run rather than to a packet: a parameter was changed, the
/// emulator fell behind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// When.
    pub at: Time,
    /// What, in words.
    pub text: String,
}
