//! The gate of the server of remote sockets, under any requests of clients in any order.

/// One input.
pub fn run(octets: &[u8]) {
    resoa_server::fuzz::gate(octets);
}
