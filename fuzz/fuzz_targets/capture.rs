//! Any bytes at all can be read as a capture.

/// One input.
pub fn run(bytes: &[u8]) {
    capture::fuzz::capture(bytes);
}
