//! Any text is parsed as a trace of losses or refused.

use link::fit::ErasureTrace;
use link::units::Span;

/// One input.
pub fn run(octets: &[u8]) {
    let Ok(text) = std::str::from_utf8(octets) else { return };
    let _ = ErasureTrace::parse_blocks("fuzz", text, Span::from_millis(10)).is_ok();
    let _ = ErasureTrace::parse_packets("fuzz", text).is_ok();
}
