//! Any text at all can be read as each of the three traces, and what was read is written so that it reads to the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use link::blocks::{BitTrace, BlockTrace, Format, RlpTrace};
use link::units::Span;

fuzz_target!(|text: &str| {
    let _ = Format::of(text);
    if let Ok(trace) = BlockTrace::parse("fuzz", text, Some(Span::from_millis(20))) {
        assert_eq!(BlockTrace::parse("fuzz", &trace.to_string(), None).as_ref(), Ok(&trace));
    }
    if let Ok(trace) = BitTrace::parse("fuzz", text) {
        assert_eq!(BitTrace::parse("fuzz", &trace.to_string()).as_ref(), Ok(&trace));
    }
    if let Ok(trace) = RlpTrace::parse("fuzz", text) {
        assert_eq!(RlpTrace::parse("fuzz", &trace.to_string()).as_ref(), Ok(&trace));
        let _ = trace.blocks().bursts();
    }
});
