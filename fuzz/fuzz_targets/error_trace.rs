//! Any text is parsed as a trace of the times at which a channel is bad, or refused.

use link::stage::errors::ErrorTrace;

/// One input.
pub fn run(octets: &[u8]) {
    let Ok(text) = std::str::from_utf8(octets) else { return };
    let _ = ErrorTrace::parse("fuzz", text).is_ok();
}
