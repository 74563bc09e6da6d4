//! Any bytes can be analysed as a capture. The figures of its connections, and of their
//! retransmissions, are consistent.

/// One input.
pub fn run(bytes: &[u8]) {
    capture_analysis::fuzz::trace(bytes);
    capture_analysis::fuzz::directions(bytes);
}
