//! Any text at all can be read as a mahimahi trace, which has an opportunity at least.
#![no_main]

use libfuzzer_sys::fuzz_target;
use link::stage::bottleneck::mahimahi::MahimahiTrace;

fuzz_target!(|text: &str| {
    if let Ok(trace) = MahimahiTrace::parse("fuzz", text) {
        assert!(trace.opportunities() > 0);
    }
});
