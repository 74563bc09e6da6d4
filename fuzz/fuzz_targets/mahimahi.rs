//! Any text is parsed as a mahimahi trace with at least one delivery opportunity, or refused.

use link::stage::bottleneck::mahimahi::MahimahiTrace;

/// One input.
pub fn run(octets: &[u8]) {
    let Ok(text) = std::str::from_utf8(octets) else { return };
    if let Ok(trace) = MahimahiTrace::parse("fuzz", text) {
        assert!(trace.opportunities() > 0);
    }
}
