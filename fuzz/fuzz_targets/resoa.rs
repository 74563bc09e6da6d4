//! Any bytes are parsed as a message of the Export Protocol or refused. A parsed message is written
//! as the same bytes.

use resoa_protocol::Message;

/// One input.
pub fn run(octets: &[u8]) {
    if let Ok(message) = Message::decode(octets) {
        assert_eq!(message.encode(), octets);
    }
}
