//! Ethernet II with VLAN tags (IEEE 802.1Q and 802.1ad).

/// Length of the two addresses in bytes.
const ADDRESSES: usize = 12;

#[inline]
pub(super) fn ip(bytes: &[u8]) -> Option<&[u8]> {
    typed(bytes.get(ADDRESSES..)?)
}

/// Returns the IP packet after an EtherType and any VLAN tags; `None` if it is not IP.
#[inline]
pub(super) fn typed(mut bytes: &[u8]) -> Option<&[u8]> {
    loop {
        let (kind, rest) = bytes.split_first_chunk()?;
        match u16::from_be_bytes(*kind) {
            0x0800 | 0x86dd => return Some(rest),
            // A tag: two bytes of priority and number, then the next type.
            0x8100 | 0x88a8 | 0x9100 => bytes = rest.get(2..)?,
            _ => return None,
        }
    }
}
