//! Sealed records over TCP, of which somebody in between changes, drops or adds something: nothing
//! is taken but what was sent. A handshake each time makes it slow.

/// One input.
pub fn run(octets: &[u8]) {
    resoa_carrier::fuzz::records(octets);
}
