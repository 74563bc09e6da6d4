//! Counters of damaged segments.

use header_repair::Reason;
use serde::{Deserialize, Serialize};

/// Room for counters by reason (`TCP_LITE_REASONS`); number 0 is unused.
pub const REASONS: usize = 16;

/// Counters of damaged segments. Each segment is either accepted or discarded for one reason
/// (TL-27).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Totals {
    /// Segments with a wrong checksum.
    pub damaged: u64,
    /// Segments delivered with a repaired header.
    pub accepted: u64,
    /// Of these: the repaired header matches the checksum, so the data are intact.
    pub confirmed: u64,
    /// Of these: unconfirmed, with a repaired constant field or sequence number.
    pub guessed: u64,
    /// Of these: behind a hole in the stream.
    pub out_of_order: u64,
    /// Of these: ports repaired.
    pub approximate: u64,
    /// Data bytes that were accepted without being confirmed.
    pub bytes: u64,
    /// Segments with the partial checksum of an offload, in which damage does not show; not among
    /// the damaged. Only in the totals of an attachment.
    pub unverifiable: u64,
    /// Connections that did not fit into the map. Only in the totals of an attachment.
    pub untracked: u64,
    /// Discarded segments, by [`Reason`].
    pub discarded: [u64; REASONS],
}

impl Totals {
    /// Returns the number of segments discarded for this reason.
    #[must_use]
    pub fn discarded_for(&self, reason: Reason) -> u64 {
        self.discarded[reason as usize]
    }
}
