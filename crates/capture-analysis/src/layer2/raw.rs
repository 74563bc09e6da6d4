//! No header at all.

#[inline]
pub(super) fn ip(bytes: &[u8]) -> Option<&[u8]> {
    matches!(bytes.first()? >> 4, 4 | 6).then_some(bytes)
}
