//! What several lost packets add up to.

use super::stream::Placed;
use capture::Cause;

/// What links lost of what a loss event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Truth {
    /// Packets that links lost or damaged; one that is sent again and lost again counts again.
    pub packets: u32,
    /// Different segments among them.
    pub segments: u32,
    /// Why.
    pub cause: Cause,
}

impl Truth {
    /// What these packets add up to.
    #[must_use]
    pub(super) fn of(lost: &[Placed]) -> Self {
        let mut firsts: Vec<u64> = lost.iter().map(|packet| packet.first).collect();
        firsts.sort_unstable();
        firsts.dedup();
        Self {
            packets: lost.len() as u32,
            segments: firsts.len() as u32,
            cause: lost.iter().fold(Cause::None, |cause, packet| cause.and(packet.cause)),
        }
    }
}
