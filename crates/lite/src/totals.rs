//! What became of damaged segments.

use serde::{Deserialize, Serialize};

/// Why a damaged segment was discarded (`enum tcp_lite_reason`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// It carries no data.
    Empty = 1,
    /// Its sequence number is not one that is expected.
    Position,
    /// The policy is strict.
    Policy,
    /// Outside of the window of `TCP_LITE_WINDOW`.
    Window,
    /// Too many guesses.
    Rate,
    /// No undamaged segment was seen yet to repair it after.
    Template,
    /// The connection uses TCP options that cannot be repaired.
    Options,
    /// It cannot be told where its data begin.
    HeaderLength,
    /// No connection that it could belong to.
    NoConnection,
    /// Several connections, or several places in the stream, that it could belong to.
    Ambiguous,
    /// Too short for a TCP header.
    Short,
    /// The IP header is damaged as well.
    Ip,
}

/// Room for counters by reason (`TCP_LITE_REASONS`): number 0 is none.
pub const REASONS: usize = 16;

impl Reason {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Empty,
        Self::Position,
        Self::Policy,
        Self::Window,
        Self::Rate,
        Self::Template,
        Self::Options,
        Self::HeaderLength,
        Self::NoConnection,
        Self::Ambiguous,
        Self::Short,
        Self::Ip,
    ];

    /// Its name in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Position => "position",
            Self::Policy => "policy",
            Self::Window => "window",
            Self::Rate => "rate",
            Self::Template => "template",
            Self::Options => "options",
            Self::HeaderLength => "header-length",
            Self::NoConnection => "no-connection",
            Self::Ambiguous => "ambiguous",
            Self::Short => "short",
            Self::Ip => "ip",
        }
    }
}

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
    /// With the partial checksum of an offload, so that damage does not show: not among the damaged. Only in the totals of an attachment.
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
