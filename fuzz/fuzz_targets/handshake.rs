//! A QUIC handshake whose datagrams an attacker on the path changes, drops, repeats and adds to.

/// One input.
pub fn run(octets: &[u8]) {
    resoa_carrier::fuzz::handshake(octets);
}
