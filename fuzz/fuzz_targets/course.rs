//! Any text at all can be read as the course of a delay.

use link::stage::delay::Course;

/// One input.
pub fn run(octets: &[u8]) {
    let Ok(text) = std::str::from_utf8(octets) else { return };
    let _ = Course::parse("fuzz", text).is_ok();
}
