//! The entropy-coded data of a scan and its markers (ITU-T T.81, B.1.1.5): FF occurs only before
//! 00, where it is data, and at the start of a marker.

use crate::medium::jpeg::EOI;
use std::borrow::Cow;

/// A restart marker in the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RestartMarker {
    /// Offset of its first byte.
    pub at: usize,
    /// Its number, 0 to 7.
    pub number: u8,
}

/// Returns the data without the end marker. Only FF D9 at the very end counts: further up it is
/// damage.
#[must_use]
pub fn entropy_coded(bytes: &[u8]) -> &[u8] {
    bytes.strip_suffix(&[0xff, EOI]).unwrap_or(bytes)
}

/// Returns all restart markers, in order.
#[must_use]
pub fn restart_markers(data: &[u8]) -> Vec<RestartMarker> {
    let pairs = data.windows(2).enumerate();
    let markers = pairs.filter(|(_, pair)| pair[0] == 0xff && matches!(pair[1], 0xd0..=0xd7));
    markers.map(|(at, pair)| RestartMarker { at, number: pair[1] - 0xd0 }).collect()
}

/// Returns the data with every marker in it turned into data. In a stretch without markers, each
/// one is damage: a 00 with wrong bits, or a false FF.
#[must_use]
pub fn without_markers(data: &[u8]) -> Cow<'_, [u8]> {
    let wrong = |pair: &[u8]| pair[0] == 0xff && pair[1] != 0;
    if !data.windows(2).any(wrong) && data.last() != Some(&0xff) {
        return Cow::Borrowed(data);
    }
    let mut clean = Vec::with_capacity(data.len() + 1);
    let mut bytes = data.iter().peekable();
    while let Some(&byte) = bytes.next() {
        clean.push(byte);
        if byte == 0xff {
            clean.push(0);
            // Another FF may start a pair of its own.
            bytes.next_if(|next| **next != 0xff);
        }
    }
    Cow::Owned(clean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_where_they_are() {
        let data = [1, 0xff, 0, 0xff, 0xd0, 2, 0xff, 0xd7, 0xff, 0xd9, 3];
        let found = restart_markers(&data);
        assert_eq!(found, [RestartMarker { at: 3, number: 0 }, RestartMarker { at: 6, number: 7 }]);
        assert_eq!(entropy_coded(&data), data, "a picture goes on after a false end");
        assert_eq!(entropy_coded(&[1, 2, 0xff, EOI]), [1, 2]);
        assert!(entropy_coded(&[]).is_empty());
    }

    #[test]
    fn a_stretch_has_no_markers() {
        assert_eq!(*without_markers(&[1, 0xff, 0, 2]), [1, 0xff, 0, 2]);
        assert_eq!(*without_markers(&[1, 0xff, 0x40, 2]), [1, 0xff, 0, 2], "a 00 with a wrong bit");
        assert_eq!(*without_markers(&[0xff, 0xff, 0xd3, 2]), [0xff, 0, 0xff, 0, 2]);
        assert_eq!(*without_markers(&[1, 0xff]), [1, 0xff, 0]);
        assert!(without_markers(&[]).is_empty());
    }
}
