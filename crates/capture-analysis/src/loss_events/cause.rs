//! Joint cause of several lost packets.

use super::stream::Placed;
use capture::Cause;

/// Lost packets of one loss event, and their joint cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Truth {
    /// Packets that links lost or damaged; a retransmission that is lost again counts again.
    pub packets: u32,
    /// Different segments among them.
    pub segments: u32,
    /// Their joint cause.
    pub cause: Cause,
}

impl Truth {
    /// Combines these packets.
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
