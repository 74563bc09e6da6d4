//! Any text at all can be read as a trace of what was lost.
#![no_main]

use libfuzzer_sys::fuzz_target;
use link::fit::ErasureTrace;
use link::units::Span;

fuzz_target!(|text: &str| {
    let _ = ErasureTrace::parse_blocks("fuzz", text, Span::from_millis(10)).is_ok();
    let _ = ErasureTrace::parse_packets("fuzz", text).is_ok();
});
