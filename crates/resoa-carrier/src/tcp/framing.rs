//! Messages in a stream of octets, each behind its length (4 octets, network order).

use super::backlog::Backlog;
use resoa_protocol::message::MESSAGE_OCTETS;

/// Octets of the length in front of a message.
const LENGTH: usize = 4;

/// A length that no message has: nothing behind it can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooLong;

/// Puts a message behind what is there.
pub(crate) fn write(message: &[u8], stream: &mut Backlog) {
    stream.behind().extend((message.len() as u32).to_be_bytes());
    stream.behind().extend(message);
}

/// Takes the next message, if it is whole.
pub(crate) fn next(stream: &mut Backlog) -> Result<Option<Vec<u8>>, TooLong> {
    let Some(length) = stream.waiting().first_chunk::<LENGTH>() else { return Ok(None) };
    let length = u32::from_be_bytes(*length) as usize;
    if length > MESSAGE_OCTETS {
        return Err(TooLong);
    }
    let Some(message) = stream.waiting().get(LENGTH..LENGTH + length) else { return Ok(None) };
    let message = message.to_vec();
    stream.gone(LENGTH + length);
    Ok(Some(message))
}
