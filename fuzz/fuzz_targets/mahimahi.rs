//! Any text at all can be read as a mahimahi trace, which has an opportunity at least.

use link::stage::bottleneck::mahimahi::MahimahiTrace;

/// One input.
pub fn run(octets: &[u8]) {
    let Ok(text) = std::str::from_utf8(octets) else { return };
    if let Ok(trace) = MahimahiTrace::parse("fuzz", text) {
        assert!(trace.opportunities() > 0);
    }
}
