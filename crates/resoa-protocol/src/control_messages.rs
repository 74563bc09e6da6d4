//! Conversion of control messages between [`Ancillary`] and Linux's layout for `sendmsg` and
//! `recvmsg` (`cmsg(3)`, `struct cmsghdr` of a 64-bit system).

use crate::message::Ancillary;

/// Bytes of a `struct cmsghdr`: length, level and type.
pub const HEADER: usize = 16;
/// Alignment of each control message.
const ALIGNMENT: usize = 8;

/// A control message as a program passed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Given<'a> {
    /// `cmsg_level`.
    pub level: i32,
    /// `cmsg_type`.
    pub kind: i32,
    /// `CMSG_DATA`.
    pub value: &'a [u8],
}

/// Returns the control messages in a buffer, in order, as `for_each_cmsghdr` finds them. One with
/// an invalid length yields `None` (EINVAL) and is the last.
pub fn given(control: &[u8]) -> impl Iterator<Item = Option<Given<'_>>> {
    let mut rest = control;
    std::iter::from_fn(move || {
        let (header, behind) = rest.split_first_chunk::<HEADER>()?;
        let length = u64::from_ne_bytes(*header.first_chunk()?);
        let int = |at: usize| header[at..].first_chunk().map(|octets| i32::from_ne_bytes(*octets));
        let (level, kind) = (int(8)?, int(12)?);
        let value = usize::try_from(length).ok().and_then(|length| length.checked_sub(HEADER));
        let Some(value) = value.and_then(|length| behind.get(..length)) else {
            rest = &[];
            return Some(None);
        };
        rest = rest.get((HEADER + value.len()).next_multiple_of(ALIGNMENT)..).unwrap_or_default();
        Some(Some(Given { level, kind, value }))
    })
}

/// Returns a control buffer of at most `room` bytes with these records, filled as `put_cmsg` does,
/// and whether the room was too small (MSG_CTRUNC).
#[must_use]
pub fn laid_out(ancillary: &Ancillary, room: usize) -> (Vec<u8>, bool) {
    let (mut control, mut is_cut) = (Vec::new(), false);
    for record in ancillary.records() {
        let left = room - control.len();
        if left < HEADER {
            return (control, true);
        }
        let length = HEADER + record.value.len();
        is_cut |= left < length;
        let kept = length.min(left);
        control.extend((kept as u64).to_ne_bytes());
        control.extend(i32::from(record.level).to_ne_bytes());
        control.extend(i32::from(record.kind).to_ne_bytes());
        control.extend(&record.value[..kept - HEADER]);
        let padded = control.len().next_multiple_of(ALIGNMENT).min(room);
        control.resize(padded, 0);
    }
    (control, is_cut)
}

/// Returns the records of a control buffer that a kernel has filled. Control messages that do not
/// fit a record are left out.
#[must_use]
pub fn read(control: &[u8]) -> Ancillary {
    let mut ancillary = Ancillary::none();
    for Given { level, kind, value } in given(control).map_while(|given| given) {
        if let (Ok(level), Ok(kind)) = (u8::try_from(level), u8::try_from(kind)) {
            let _ = ancillary.push(level, kind, value);
        }
    }
    ancillary
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two() -> Ancillary {
        let mut ancillary = Ancillary::none();
        assert!(ancillary.push(0, 1, &[9]) && ancillary.push(0, 2, &64_i32.to_ne_bytes()));
        ancillary
    }

    /// C91: what is laid out is read again, and each control message is aligned to eight bytes.
    #[test]
    fn layouts_lead_back() {
        let (control, is_cut) = laid_out(&two(), 100);
        assert_eq!((control.len(), is_cut), (48, false));
        assert_eq!(read(&control), two());
        let found: Vec<_> = given(&control).collect();
        assert_eq!(found[1], Some(Given { level: 0, kind: 2, value: &64_i32.to_ne_bytes() }));
        assert_eq!(laid_out(&Ancillary::none(), 0), (Vec::new(), false));
    }

    /// C91: as much as fits, and MSG_CTRUNC if that is not everything (`put_cmsg`).
    #[test]
    fn buffers_that_are_too_small() {
        let lengths = [0, 15, 16, 17, 20, 24, 39, 40, 43, 44, 48].map(|room| {
            let (control, is_cut) = laid_out(&two(), room);
            (control.len(), is_cut)
        });
        let cut =
            [(0, true), (0, true), (16, true), (17, true), (20, true), (24, true), (24, true), (40, true)];
        assert_eq!(lengths[..8], cut);
        assert_eq!(lengths[8..], [(43, true), (44, false), (48, false)]);
        let (control, _) = laid_out(&two(), 43);
        assert_eq!(control[24..32], 19_u64.to_ne_bytes());
    }

    /// C91: an invalid length ends the list, and a rest that is too short for a header is ignored.
    #[test]
    fn lengths_that_are_none() {
        let with_length = |length: u64, behind: usize| {
            let mut control = length.to_ne_bytes().to_vec();
            control.resize(HEADER + behind, 0);
            control
        };
        for length in [0, 15, 21, u64::MAX] {
            assert_eq!(given(&with_length(length, 4)).collect::<Vec<_>>(), [None], "{length}");
        }
        assert_eq!(given(&with_length(20, 4)).count(), 1);
        assert_eq!(given(&with_length(20, 20)).count(), 1);
        assert_eq!(given(&[0; HEADER - 1]).count(), 0);
    }
}
