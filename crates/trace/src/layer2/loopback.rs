//! The address family in four bytes (LINKTYPE_NULL and LINKTYPE_LOOP).

/// AF_INET everywhere; AF_INET6 of Linux, NetBSD and OpenBSD, FreeBSD, and macOS.
const IP: [u32; 5] = [2, 10, 24, 28, 30];

#[inline]
pub(super) fn ip(bytes: &[u8]) -> Option<&[u8]> {
    let (family, rest) = bytes.split_first_chunk()?;
    // Which order does not matter: the families are small numbers.
    let family = u32::from_be_bytes(*family).min(u32::from_le_bytes(*family));
    if IP.contains(&family) { super::raw::ip(rest) } else { None }
}
