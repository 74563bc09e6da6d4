//! What cannot be replayed.

/// Why there is no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RetraceError {
    /// A trace without a block.
    #[error("the trace has no blocks: there is nothing to replay")]
    NoBlocks,
    /// More blocks than are counted here.
    #[error("the trace has {0} blocks: at most 2^32 - 1 can be replayed, so cut it")]
    TooLong(usize),
    /// The place of the first block lies behind the last one.
    #[error("start block {block}: the trace has {blocks} blocks, counted from 0")]
    NoSuchBlock {
        /// Where it should start.
        block: usize,
        /// Blocks of the trace.
        blocks: usize,
    },
    /// A frame has no room for data.
    #[error(
        "a frame of {octets} octets ({blocks} x the block) with an overhead of {overhead}: nothing is left for data, so the overhead must be smaller"
    )]
    NoRoom {
        /// Blocks of a frame.
        blocks: u32,
        /// Octets of a frame.
        octets: u64,
        /// Octets of it that are overhead.
        overhead: u64,
    },
    /// A packet has no room for data.
    #[error("packets of {mtu} octets with {headers} octets of headers carry nothing: the MTU must be larger")]
    NoPayload {
        /// Octets of a packet.
        mtu: u64,
        /// Octets of headers.
        headers: u64,
    },
    /// A size of 0 blocks, or no size at all.
    #[error("there is no frame size to try: frames have 1 block or more, such as 1-30")]
    NoFrames,
    /// Nothing is to be sent.
    #[error("a transfer of 0 octets has no throughput: give 1 or more")]
    NoData,
}
