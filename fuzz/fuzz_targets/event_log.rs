//! Any bytes at all can be read as an event log, of fates, of the states of senders or of link
//! layers.

/// One input.
pub fn run(bytes: &[u8]) {
    capture::fuzz::log(bytes);
    capture::fuzz::senders(bytes);
    capture::fuzz::link_layer(bytes);
}
