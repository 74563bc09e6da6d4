//! One end of the Link Layer Protocol whose other side says anything: it keeps to its packets'
//! length, is done at each moment, and ends when nothing comes any more.

/// One input.
pub fn run(octets: &[u8]) {
    resoa_carrier::fuzz::link_layer(octets);
}
