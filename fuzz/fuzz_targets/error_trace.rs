//! Any text at all can be read as times at which a channel is bad.

use link::stage::errors::ErrorTrace;

/// One input.
pub fn run(octets: &[u8]) {
    let Ok(text) = std::str::from_utf8(octets) else { return };
    let _ = ErrorTrace::parse("fuzz", text).is_ok();
}
