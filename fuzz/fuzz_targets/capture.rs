//! Any bytes are parsed as a capture or refused.

/// One input.
pub fn run(bytes: &[u8]) {
    capture::fuzz::capture(bytes);
}
