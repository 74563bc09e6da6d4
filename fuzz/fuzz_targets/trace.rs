//! Any bytes at all can be analysed as a capture, and the figures of its connections agree with
//! each other; those of its retransmissions too.

/// One input.
pub fn run(bytes: &[u8]) {
    trace::fuzz::trace(bytes);
    trace::fuzz::directions(bytes);
}
