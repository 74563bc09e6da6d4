//! Any text at all can be read as the course of a delay.
#![no_main]

use libfuzzer_sys::fuzz_target;
use link::stage::delay::Course;

fuzz_target!(|text: &str| {
    let _ = Course::parse("fuzz", text).is_ok();
});
