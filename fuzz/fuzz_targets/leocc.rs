//! Any text at all can be read as a delay trace of LeoCC.

use link::stage::delay::LeoccDelays;

/// One input.
pub fn run(octets: &[u8]) {
    let Ok(text) = std::str::from_utf8(octets) else { return };
    let _ = LeoccDelays::parse("fuzz", text).is_ok();
}
