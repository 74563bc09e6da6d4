//! The address family in four bytes (LINKTYPE_NULL and LINKTYPE_LOOP).

/// AF_INET on all systems; AF_INET6 on Linux, on NetBSD and OpenBSD, on FreeBSD, and on macOS.
const IP: [u32; 5] = [2, 10, 24, 28, 30];

#[inline]
pub(super) fn ip(bytes: &[u8]) -> Option<&[u8]> {
    let (family, rest) = bytes.split_first_chunk()?;
    // The byte order does not matter, because the families are small numbers.
    let family = u32::from_be_bytes(*family).min(u32::from_le_bytes(*family));
    if IP.contains(&family) { super::raw::ip(rest) } else { None }
}
