//! Counters of TCP Lite in a run: damaged segments, and what became of them.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Sums of the counters of all nodes of a run that accept damage.
///
/// Every damaged segment for one of their connections was either accepted, or discarded for one
/// reason. The four counters after `accepted` are kinds of acceptance; a segment can be of several
/// kinds.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LiteTotals {
    /// Segments with a wrong checksum.
    pub damaged: u64,
    /// Damaged segments that were handed to TCP.
    pub accepted: u64,
    /// Accepted segments whose checksum is right with the repaired header, so that only the header
    /// was damaged.
    #[serde(default)]
    pub confirmed: u64,
    /// Accepted segments in which fields were replaced that determine the connection, or the
    /// position in the stream.
    #[serde(default)]
    pub guessed: u64,
    /// Accepted segments beyond a gap in the stream.
    #[serde(default)]
    pub out_of_order: u64,
    /// Accepted segments whose ports were not those of the connection.
    #[serde(default)]
    pub approximate: u64,
    /// Bytes of application data in accepted segments, which may be wrong.
    #[serde(default)]
    pub bytes: u64,
    /// Segments that could not be judged, because their checksum was left to a device.
    #[serde(default)]
    pub unverifiable: u64,
    /// Connections that were not tracked for lack of room.
    #[serde(default)]
    pub untracked: u64,
    /// Discarded segments by reason ([`REASONS`]); reasons that did not occur are left out.
    #[serde(default)]
    pub discarded: BTreeMap<String, u64>,
}

/// Reasons for which damaged segments are discarded.
pub const REASONS: [&str; 12] = [
    "empty",
    "position",
    "policy",
    "window",
    "rate",
    "template",
    "options",
    "header-length",
    "no-connection",
    "ambiguous",
    "short",
    "ip",
];

impl LiteTotals {
    /// Returns the accepted segments in percent of the damaged ones; `None` without damaged ones.
    #[must_use]
    pub fn salvaged(&self) -> Option<f64> {
        (self.damaged > 0).then(|| 100.0 * self.accepted as f64 / self.damaged as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn salvaged_is_a_share_of_the_damaged_ones() {
        let totals = LiteTotals { damaged: 8, accepted: 6, ..LiteTotals::default() };
        assert_eq!(totals.salvaged(), Some(75.0));
        assert_eq!(LiteTotals::default().salvaged(), None);
    }

    #[test]
    fn what_a_writer_does_not_know_is_nothing() {
        let totals: LiteTotals = serde_json::from_str(r#"{"damaged": 3, "accepted": 2}"#).unwrap();
        assert_eq!(totals, LiteTotals { damaged: 3, accepted: 2, ..LiteTotals::default() });
    }
}
