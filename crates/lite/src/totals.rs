//! What became of damaged segments.

use recovery::Reason;
use serde::{Deserialize, Serialize};

/// Room for counters by reason (`TCP_LITE_REASONS`): number 0 is none.
pub const REASONS: usize = 16;

/// Damaged segments: each is accepted, or discarded for one reason (TL-27).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Totals {
    /// With a wrong checksum.
    pub damaged: u64,
    /// Handed on with a repaired header.
    pub accepted: u64,
    /// Of these: the repaired header makes the checksum right, so that the data are intact.
    pub confirmed: u64,
    /// Of these: more was repaired than changes in a segment, and not confirmed.
    pub guessed: u64,
    /// Of these: behind a hole in the stream.
    pub out_of_order: u64,
    /// Of these: ports repaired.
    pub approximate: u64,
    /// Data bytes that were accepted without being confirmed.
    pub bytes: u64,
    /// With the partial checksum of an offload, so that damage does not show: not among the
    /// damaged. Only in the totals of an attachment.
    pub unverifiable: u64,
    /// Connections for which there was no room. Only in the totals of an attachment.
    pub untracked: u64,
    /// Discarded, by [`Reason`].
    pub discarded: [u64; REASONS],
}

impl Totals {
    /// Discarded for this reason.
    #[must_use]
    pub fn discarded_for(&self, reason: Reason) -> u64 {
        self.discarded[reason as usize]
    }
}
