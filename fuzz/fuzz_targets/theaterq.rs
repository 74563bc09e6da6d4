//! Any text is parsed as a TheaterQ trace or refused.

use link::stage::bottleneck::theaterq::TheaterqTrace;

/// One input.
pub fn run(octets: &[u8]) {
    let Ok(text) = std::str::from_utf8(octets) else { return };
    let _ = TheaterqTrace::parse("fuzz", text).is_ok();
}
