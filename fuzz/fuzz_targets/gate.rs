//! The gate of the server of remote sockets, of which clients ask anything in any order.

/// One input.
pub fn run(octets: &[u8]) {
    resoa_server::fuzz::gate(octets);
}
