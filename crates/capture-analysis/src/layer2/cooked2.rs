//! Linux cooked capture, version 2: the EtherType, then 18 bytes about the device
//! (LINKTYPE_LINUX_SLL2).

const ABOUT_THE_DEVICE: usize = 18;

#[inline]
pub(super) fn ip(bytes: &[u8]) -> Option<&[u8]> {
    let (kind, rest) = bytes.split_first_chunk()?;
    let rest = rest.get(ABOUT_THE_DEVICE..)?;
    match u16::from_be_bytes(*kind) {
        0x0800 | 0x86dd => Some(rest),
        // A tag: two bytes of priority and number, then the next type.
        0x8100 | 0x88a8 | 0x9100 => super::ethernet::typed(rest.get(2..)?),
        _ => None,
    }
}
