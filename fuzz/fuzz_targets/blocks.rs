//! Any text is parsed as each of the three traces or refused, and the written trace parses to the
//! same trace.

use link::blocks::{BitTrace, BlockTrace, Format, RlpTrace};
use link::units::Span;

/// One input.
pub fn run(octets: &[u8]) {
    let Ok(text) = std::str::from_utf8(octets) else { return };
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
}
