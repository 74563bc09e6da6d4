//! One end of the Link Layer Protocol with an arbitrary peer. It respects the packet length,
//! finishes its work at each instant, and ends when no more input arrives.

/// One input.
pub fn run(octets: &[u8]) {
    resoa_carrier::fuzz::link_layer(octets);
}
