//! Any text at all can be read as times at which a channel is bad.
#![no_main]

use libfuzzer_sys::fuzz_target;
use link::stage::errors::ErrorTrace;

fuzz_target!(|text: &str| {
    let _ = ErrorTrace::parse("fuzz", text).is_ok();
});
