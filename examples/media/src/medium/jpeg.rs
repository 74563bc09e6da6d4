//! The header of a JPEG picture (ITU-T T.81, annex B): everything up to and including the start of
//! its first scan.
//!
//! In a sequential picture, entropy-coded data follow, in which damage reaches no further than the
//! next restart marker. A progressive picture has a header before each of its scans, so no part of
//! it may be damaged. A sequential picture with several scans has tables between them, which are
//! not protected; hardly any encoder writes such pictures.

use super::{HeaderEnd, NotThis};
use std::ops::Range;

pub(crate) const SOI: u8 = 0xd8;
pub(crate) const EOI: u8 = 0xd9;
pub(crate) const SOS: u8 = 0xda;
pub(crate) const DRI: u8 = 0xdd;

/// A marker segment of the header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Second byte of its marker.
    pub marker: u8,
    /// Position of its parameters, without marker and length.
    pub parameters: Range<usize>,
}

/// Returns the complete segments up to the first start of scan. If the last one is not a start of
/// scan, the bytes end earlier.
///
/// # Errors
/// If there is something other than segments.
pub(crate) fn segments(bytes: &[u8]) -> Result<Vec<Segment>, NotThis> {
    let not_this = |reason| Err(NotThis { medium: "JPEG picture", reason });
    let soi = [0xff, SOI];
    if !soi.starts_with(&bytes[..bytes.len().min(2)]) {
        return not_this("it does not begin with FF D8".to_owned());
    }
    let mut segments = Vec::new();
    let mut at = 2;
    while let Some(&first) = bytes.get(at) {
        if first != 0xff {
            return not_this(format!("byte {at} is {first:02X}, not FF, which begins a marker"));
        }
        let Some(&marker) = bytes.get(at + 1) else { break };
        // Any marker may be preceded by fill bytes (B.1.1.2).
        if marker == 0xff {
            at += 1;
            continue;
        }
        if matches!(marker, 0x00 | 0x01 | 0xd0..=0xd9) {
            return not_this(format!("marker FF {marker:02X} at byte {at} does not belong in the header"));
        }
        let Some(&[high, low]) = bytes.get(at + 2..at + 4) else { break };
        let len = usize::from(u16::from_be_bytes([high, low]));
        if len < 2 {
            return not_this(format!("the segment at byte {at} has length {len}, less than 2"));
        }
        let parameters = at + 4..at + 2 + len;
        if parameters.end > bytes.len() {
            break;
        }
        at = parameters.end;
        segments.push(Segment { marker, parameters });
        if marker == SOS {
            break;
        }
    }
    Ok(segments)
}

/// Returns whether the marker is a start of frame. DHT, JPG and DAC are in the same range but are
/// not.
pub(crate) fn is_frame(marker: u8) -> bool {
    matches!(marker, 0xc0..=0xcf) && !matches!(marker, 0xc4 | 0xc8 | 0xcc)
}

/// Returns where the header ends.
///
/// # Errors
/// If these are not the first bytes of a JPEG picture.
pub fn header_end(start: &[u8]) -> Result<HeaderEnd, NotThis> {
    let segments = segments(start)?;
    // SOF0 and SOF1 are sequential and Huffman-coded; only there do restart markers help.
    if segments.iter().any(|segment| is_frame(segment.marker) && segment.marker > 0xc1) {
        return Ok(HeaderEnd::Nowhere);
    }
    Ok(match segments.last() {
        Some(Segment { marker: SOS, parameters }) => HeaderEnd::At(parameters.end),
        _ => HeaderEnd::Later,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns SOI, a comment, a SOF of this kind, and a start of scan: 2 + 6 + 13 + 10 bytes.
    fn header(frame: u8) -> Vec<u8> {
        let mut bytes = vec![0xff, SOI, 0xff, 0xfe, 0, 4, 0xff, SOS];
        bytes.extend([0xff, frame, 0, 11, 8, 0, 16, 0, 16, 1, 1, 0x11, 0]);
        bytes.extend([0xff, SOS, 0, 8, 1, 1, 0, 0, 63, 0]);
        bytes
    }

    #[test]
    fn ends_with_the_start_of_scan() {
        let mut bytes = header(0xc0);
        let len = bytes.len();
        assert_eq!(len, 31);
        assert_eq!(header_end(&bytes), Ok(HeaderEnd::At(31)), "not at the SOS in the comment");
        bytes.extend([1, 2, 3, 0xff, 0xd0, 4]);
        assert_eq!(header_end(&bytes), Ok(HeaderEnd::At(31)));
        for len in 0..31 {
            assert_eq!(header_end(&bytes[..len]), Ok(HeaderEnd::Later), "{len} bytes");
        }
    }

    #[test]
    fn fill_bytes_belong_to_it() {
        let mut bytes = header(0xc0);
        bytes.splice(2..2, [0xff, 0xff]);
        assert_eq!(header_end(&bytes), Ok(HeaderEnd::At(33)));
    }

    #[test]
    fn a_progressive_picture_has_headers_up_to_its_end() {
        assert_eq!(header_end(&header(0xc2)), Ok(HeaderEnd::Nowhere));
    }

    #[test]
    fn what_is_no_picture_is_refused() {
        let reason = |bytes: &[u8]| header_end(bytes).expect_err("refused").to_string();
        assert_eq!(reason(b"RIFF"), "not a JPEG picture: it does not begin with FF D8");
        assert_eq!(
            reason(&[0xff, SOI, 0x20]),
            "not a JPEG picture: byte 2 is 20, not FF, which begins a marker"
        );
        assert_eq!(
            reason(&[0xff, SOI, 0xff, 0xe0, 0, 1]),
            "not a JPEG picture: the segment at byte 2 has length 1, less than 2"
        );
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_strange(mut bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = header_end(&bytes);
            bytes.splice(0..0, [0xff, SOI, 0xff]);
            let _ = header_end(&bytes);
        }
    }
}
