//! Linux cooked capture, version 1: 14 bytes about the device, then the EtherType
//! (LINKTYPE_LINUX_SLL).

const ABOUT_THE_DEVICE: usize = 14;

#[inline]
pub(super) fn ip(bytes: &[u8]) -> Option<&[u8]> {
    super::ethernet::typed(bytes.get(ABOUT_THE_DEVICE..)?)
}
