//! Errors of a replay.

/// Why a replay is impossible.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RetraceError {
    /// The trace has no blocks.
    #[error("the trace has no blocks: there is nothing to replay")]
    NoBlocks,
    /// The trace has too many blocks.
    #[error("the trace has {0} blocks: at most 2^32 - 1 can be replayed; shorten the trace")]
    TooLong(usize),
    /// The start block is behind the last block.
    #[error("start block {block} is out of range: the trace has {blocks} blocks, counted from 0")]
    NoSuchBlock {
        /// The start block.
        block: usize,
        /// Number of blocks of the trace.
        blocks: usize,
    },
    /// A frame has no room for data.
    #[error(
        "a frame of {octets} octets ({blocks} x the block) with an overhead of {overhead} has no room for data: choose a smaller overhead"
    )]
    NoRoom {
        /// Number of blocks of a frame.
        blocks: u32,
        /// Octets of a frame.
        octets: u64,
        /// Octets of overhead per frame.
        overhead: u64,
    },
    /// A packet has no room for data.
    #[error(
        "packets of {mtu} octets with {headers} octets of headers have no room for data: choose a larger MTU"
    )]
    NoPayload {
        /// Octets of a packet.
        mtu: u64,
        /// Octets of headers.
        headers: u64,
    },
    /// There are no frame sizes, or one of 0 blocks.
    #[error("no frame sizes: give sizes of 1 block or more, such as 1-30")]
    NoFrames,
    /// The transfer has no data.
    #[error("a transfer of 0 octets has no throughput: give 1 or more")]
    NoData,
}
