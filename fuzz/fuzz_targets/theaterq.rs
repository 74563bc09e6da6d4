//! Any text at all can be read as a TheaterQ trace.
#![no_main]

use libfuzzer_sys::fuzz_target;
use link::stage::bottleneck::theaterq::TheaterqTrace;

fuzz_target!(|text: &str| {
    let _ = TheaterqTrace::parse("fuzz", text).is_ok();
});
