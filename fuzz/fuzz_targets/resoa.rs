//! Any octets can be read as a message of the Export Protocol or are refused; what can be read is
//! written again as the same octets.

use resoa_protocol::Message;

/// One input.
pub fn run(octets: &[u8]) {
    if let Ok(message) = Message::decode(octets) {
        assert_eq!(message.encode(), octets);
    }
}
