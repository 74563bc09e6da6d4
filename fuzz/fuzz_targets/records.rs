//! Sealed records over TCP that an attacker on the path changes, drops or adds to: only sent data
//! is accepted. Each input needs a handshake, which makes this target slow.

/// One input.
pub fn run(octets: &[u8]) {
    resoa_carrier::fuzz::records(octets);
}
