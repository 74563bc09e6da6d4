//! Any bytes are parsed as an event log of packets, sender states or link layers, or refused.

/// One input.
pub fn run(bytes: &[u8]) {
    capture::fuzz::log(bytes);
    capture::fuzz::senders(bytes);
    capture::fuzz::link_layer(bytes);
}
