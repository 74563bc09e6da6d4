//! Any bytes at all can be read as an event log, of fates, of the states of senders or of link layers.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    capture::fuzz::log(bytes);
    capture::fuzz::senders(bytes);
    capture::fuzz::link_layer(bytes);
});
