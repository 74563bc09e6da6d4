//! Schema of the event log, version 1.
//!
//! A log is a [`Header`] followed by records: one [`Fate`] for each packet that left a link or was
//! lost on it, and [`Note`]s. A version may gain columns and kinds of records; readers skip unknown
//! ones. A change of meaning requires a new version.
//!
//! The types here do not refer to a link model. Any program that moves packets can create them.

mod capacity;
mod fate;
mod flow;
mod header;

pub use capacity::{After, Capacity, Rate};
pub use fate::{EndedPacket, Fate, Outcome, Reason};
pub use flow::Flow;
pub use header::{Header, LinkInfo, WayInfo};

use crate::units::Time;
use serde::{Deserialize, Serialize};

/// Version of the schema that this crate writes.
pub const SCHEMA: u16 = 1;

/// An event of the run rather than of a packet, such as a changed parameter or an emulator that
/// fell behind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Time of the event.
    pub at: Time,
    /// Description, for readers.
    pub text: String,
}
