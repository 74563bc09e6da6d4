//! What TCP Lite did in a run: damaged segments, and what became of each.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Counters of the nodes of a run that accept damage, all of them together.
///
/// Every damaged segment for one of their connections was either accepted or discarded, for one
/// reason. The four counters that follow `accepted` are kinds of acceptance; a segment may be of
/// several.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LiteTotals {
    /// Segments with a wrong checksum.
    pub damaged: u64,
    /// Of these, those that were handed to TCP.
    pub accepted: u64,
    /// Accepted, and the checksum that came with it is right for the repaired header: the damage
    /// was in the header alone.
    #[serde(default)]
    pub confirmed: u64,
    /// Accepted though fields were replaced on which it depends whose segment it is, or where it
    /// belongs.
    #[serde(default)]
    pub guessed: u64,
    /// Accepted beyond a gap in the stream.
    #[serde(default)]
    pub out_of_order: u64,
    /// Accepted for a connection that does not have the ports which the segment came with.
    #[serde(default)]
    pub approximate: u64,
    /// Bytes of application data that were accepted, and may be wrong.
    #[serde(default)]
    pub bytes: u64,
    /// Segments that nobody could judge, since their checksum was left to a device.
    #[serde(default)]
    pub unverifiable: u64,
    /// Connections that there was no room to know of.
    #[serde(default)]
    pub untracked: u64,
    /// Segments that were discarded, by reason: [`REASONS`]. Reasons that did not occur are left
    /// out.
    #[serde(default)]
    pub discarded: BTreeMap<String, u64>,
}

/// Why a damaged segment is discarded.
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
    /// Accepted segments in percent of the damaged ones; `None` where there were none.
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
