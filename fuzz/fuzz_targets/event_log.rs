//! Any bytes at all can be read as an event log, of fates or of the states of senders.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    capture::fuzz::log(bytes);
    capture::fuzz::senders(bytes);
});
