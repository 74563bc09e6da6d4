//! Any bytes at all can be read as a capture.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| capture::fuzz::capture(bytes));
