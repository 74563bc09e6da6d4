//! Any bytes at all can be analysed as a capture, and the figures of its connections agree with
//! each other; those of its retransmissions too.

/// One input.
pub fn run(bytes: &[u8]) {
    capture_analysis::fuzz::trace(bytes);
    capture_analysis::fuzz::directions(bytes);
}
