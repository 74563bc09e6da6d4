//! Messages in a stream of bytes, each behind its length in network order: 2 bytes, or 4 with the
//! first bit set if 15 bits do not suffice. Each message has one valid encoding.

use super::backlog::Backlog;
use resoa_protocol::message::MESSAGE_OCTETS;

/// The first length that takes 4 bytes, and the bit that marks such lengths.
const LONG: usize = 1 << 15;
const IS_LONG: u32 = 1 << 31;

/// A length that no message has, so that nothing behind it can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NoLength;

/// Appends a message to the stream.
pub(crate) fn write(message: &[u8], stream: &mut Backlog) {
    match message.len() {
        length @ ..LONG => stream.behind().extend((length as u16).to_be_bytes()),
        length => stream.behind().extend((length as u32 | IS_LONG).to_be_bytes()),
    }
    stream.behind().extend(message);
}

/// Takes the next message if it is complete.
pub(crate) fn next(stream: &mut Backlog) -> Result<Option<Vec<u8>>, NoLength> {
    let waiting = stream.waiting();
    let Some(octets) = waiting.first_chunk() else { return Ok(None) };
    let short = usize::from(u16::from_be_bytes(*octets));
    let (length, begin) = if short < LONG {
        (short, 2)
    } else {
        let Some(octets) = waiting.first_chunk() else { return Ok(None) };
        ((u32::from_be_bytes(*octets) ^ IS_LONG) as usize, 4)
    };
    if length > MESSAGE_OCTETS || begin == 4 && length < LONG {
        return Err(NoLength);
    }
    let Some(message) = waiting.get(begin..begin + length) else { return Ok(None) };
    let message = message.to_vec();
    stream.gone(begin + length);
    Ok(Some(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C107: a short message costs two bytes more. Every length is read as written, in one piece or
    /// cut, and no other encoding is accepted.
    #[test]
    fn lengths() {
        for (length, behind) in [(0, 2), (1, 2), (LONG - 1, 2), (LONG, 4), (MESSAGE_OCTETS, 4)] {
            let message = vec![7; length];
            let mut whole = Backlog::default();
            write(&message, &mut whole);
            assert_eq!(whole.len(), length + behind);
            for cut in [0, 1, 3, whole.len() - 1].into_iter().filter(|&cut| cut < whole.len()) {
                let mut part = Backlog::default();
                part.behind().extend(&whole.waiting()[..cut]);
                assert_eq!(next(&mut part), Ok(None), "{cut} of {length}");
            }
            assert_eq!(next(&mut whole), Ok(Some(message)));
            assert!(whole.is_empty());
        }
        for wrong in [0, LONG as u32 - 1, MESSAGE_OCTETS as u32 + 1, u32::MAX] {
            let mut stream = Backlog::default();
            stream.behind().extend((wrong | IS_LONG).to_be_bytes());
            assert_eq!(next(&mut stream), Err(NoLength), "{wrong}");
        }
    }
}
