//! The header of a WAV file (Microsoft and IBM, *Multimedia Programming Interface and Data
//! Specifications 1.0*, 1991): every chunk before the samples, and the first eight bytes of the
//! samples' chunk.

use super::{HeaderEnd, NotThis};
use std::ops::Range;

/// Returns where the header ends.
///
/// # Errors
/// If these are not the first bytes of a WAV file.
pub fn header_end(start: &[u8]) -> Result<HeaderEnd, NotThis> {
    Ok(data(start)?.map_or(HeaderEnd::Later, |data| HeaderEnd::At(data.start)))
}

/// Returns the position of the samples according to the header; `None` if the header is longer than
/// `start`.
///
/// # Errors
/// If these are not the first bytes of a WAV file.
pub fn data(start: &[u8]) -> Result<Option<Range<usize>>, NotThis> {
    let matches = |at: usize, name: &[u8]| {
        let there = start.get(at..).unwrap_or_default();
        name.starts_with(&there[..there.len().min(name.len())])
    };
    if !matches(0, b"RIFF") || !matches(8, b"WAVE") {
        return Err(NotThis {
            medium: "WAV file",
            reason: "it does not begin with RIFF, a length, and WAVE".to_owned(),
        });
    }
    let mut at = 12;
    while let Some(&[a, b, c, d, e, f, g, h]) = start.get(at..at + 8) {
        let len = u32::from_le_bytes([e, f, g, h]) as usize;
        let first = at + 8;
        if [a, b, c, d] == *b"data" {
            return Ok(Some(first..first.saturating_add(len)));
        }
        // Chunks are padded to an even length.
        at = first.saturating_add(len).saturating_add(len % 2);
        if at > start.len() {
            break;
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn file() -> Vec<u8> {
        let mut bytes = b"RIFF\x2c\0\0\0WAVEfmt \x10\0\0\0".to_vec();
        bytes.extend([0; 16]);
        bytes.extend(b"LIST\x03\0\0\0abc\0");
        bytes.extend(b"data\x04\0\0\0\x01\x02\x03\x04");
        bytes
    }

    #[test]
    fn ends_where_the_samples_begin() {
        let bytes = file();
        assert_eq!(data(&bytes), Ok(Some(56..60)));
        for len in 0..bytes.len() {
            let expected = if len < 56 { HeaderEnd::Later } else { HeaderEnd::At(56) };
            assert_eq!(header_end(&bytes[..len]), Ok(expected), "{len} bytes");
        }
    }

    #[test]
    fn what_is_no_sound_is_refused() {
        let refused = "not a WAV file: it does not begin with RIFF, a length, and WAVE";
        for bytes in [&b"\xff\xd8"[..], b"RIFF\0\0\0\0AVI "] {
            assert_eq!(header_end(bytes).expect_err("refused").to_string(), refused);
        }
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_strange(rest in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut bytes = b"RIFF\0\0\0\0WAVE".to_vec();
            bytes.extend(rest);
            let _ = header_end(&bytes);
        }
    }
}
