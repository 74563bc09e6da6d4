//! Any bytes at all can be read as a message of `lasthop record`.

/// One input.
pub fn run(octets: &[u8]) {
    let _ = link_probe::message::is_message(octets);
}
