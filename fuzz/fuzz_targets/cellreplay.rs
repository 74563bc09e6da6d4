//! Any text at all can be read as a file of CellReplay.

use link::stage::cellreplay::{SizeOffsets, Trains};

/// One input.
pub fn run(octets: &[u8]) {
    let Ok(text) = std::str::from_utf8(octets) else { return };
    let _ = Trains::parse("fuzz", text).is_ok();
    let _ = SizeOffsets::parse("fuzz", text).is_ok();
}
