//! One end of the Link Layer Protocol whose other side says anything: it keeps to its packets' length, is done at each moment, and ends when nothing comes any more.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|octets: &[u8]| resoa_carrier::fuzz::link_layer(octets));
