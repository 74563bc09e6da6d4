//! The handshake of QUIC between a client and a server, of whose datagrams somebody on the way
//! changes, drops, repeats and adds some.

/// One input.
pub fn run(octets: &[u8]) {
    resoa_carrier::fuzz::handshake(octets);
}
