//! Control messages of a datagram (RFC 3542, `cmsg(3)`), which `sendmsg` passes and `recvmsg`
//! returns in addition to the payload, such as the destination address, the hop limit and the
//! traffic class.
//!
//! Each is a *record*: level and type in Linux's numbers, one octet each; the length of the value
//! in one octet; and the value in Linux's layout, as for options. All records of a datagram
//! together are at most [`Ancillary::MOST`] octets long, so their length also fits one octet.

use super::DecodeError;
use super::field::Reader;

/// The records of a datagram, usually none; see the [module](self).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Ancillary {
    octets: Vec<u8>,
}

/// A control message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// `SOL_…`, `IPPROTO_…`.
    pub level: u8,
    /// `IP_…`, `IPV6_…`, `SO_…`.
    pub kind: u8,
    /// The value, as in `CMSG_DATA`.
    pub value: &'a [u8],
}

/// Bytes of a record before its value.
const HEAD: usize = 3;

impl Ancillary {
    /// Most bytes of all records together.
    pub const MOST: usize = u8::MAX as usize;

    /// Returns no records.
    #[must_use]
    pub const fn none() -> Self {
        Self { octets: Vec::new() }
    }

    /// Parses encoded records, as [`octets`](Self::octets) returns them; `None` if they are
    /// malformed or too long.
    #[must_use]
    pub fn read(octets: &[u8]) -> Option<Self> {
        let mut rest = octets;
        while !rest.is_empty() {
            let [_, _, length, values @ ..] = rest else { return None };
            rest = values.get(usize::from(*length)..)?;
        }
        (octets.len() <= Self::MOST).then(|| Self { octets: octets.to_vec() })
    }

    /// Appends a record, and returns whether there was room for it.
    #[must_use]
    pub fn push(&mut self, level: u8, kind: u8, value: &[u8]) -> bool {
        let has_room = self.octets.len() + HEAD + value.len() <= Self::MOST;
        if has_room {
            self.octets.extend([level, kind, value.len() as u8]);
            self.octets.extend(value);
        }
        has_room
    }

    /// Returns whether there are no records.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.octets.is_empty()
    }

    /// Returns the encoded records.
    #[must_use]
    pub fn octets(&self) -> &[u8] {
        &self.octets
    }

    /// Returns the records in order.
    pub fn records(&self) -> impl Iterator<Item = Record<'_>> {
        let mut rest = &self.octets[..];
        std::iter::from_fn(move || {
            let [level, kind, length, values @ ..] = rest else { return None };
            let (value, behind) = values.split_at_checked(usize::from(*length))?;
            rest = behind;
            Some(Record { level: *level, kind: *kind, value })
        })
    }

    /// Writes the length and the records into a message.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.push(self.octets.len() as u8);
        out.extend(&self.octets);
    }

    /// Reads the records of a message whose flag says that there are some.
    pub(super) fn take(reader: &mut Reader) -> Result<Self, DecodeError> {
        const FIELD: &str = "control messages";
        let length = reader.u8(FIELD)?;
        let octets = reader.take(FIELD, length.into())?;
        if reader.is_lost() {
            return Ok(Self::none());
        }
        let read = Self::read(octets).filter(|read| !read.is_empty());
        read.ok_or(DecodeError::value(FIELD, length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C91: records stay in order, and incomplete ones are refused.
    #[test]
    fn records_lead_back() {
        let mut ancillary = Ancillary::none();
        assert!(ancillary.push(0, 2, &64_i32.to_ne_bytes()) && ancillary.push(41, 50, b""));
        let read = Ancillary::read(ancillary.octets()).expect("as it was written");
        let found: Vec<_> = read.records().map(|record| (record.level, record.kind, record.value)).collect();
        assert_eq!(found, [(0, 2, &64_i32.to_ne_bytes()[..]), (41, 50, b"")]);
        assert_eq!(Ancillary::read(&ancillary.octets()[..5]), None);
        assert_eq!(Ancillary::read(&[0; 2]), None);
        assert_eq!(Ancillary::read(&[]), Some(Ancillary::none()));
    }

    /// C91: there is only as much room as one byte can count.
    #[test]
    fn records_are_bounded() {
        let mut ancillary = Ancillary::none();
        assert!(ancillary.push(1, 1, &[7; 200]) && !ancillary.push(1, 2, &[7; 50]));
        assert!(ancillary.push(1, 2, &[7; 49]) && !ancillary.push(1, 3, b""));
        assert_eq!((ancillary.octets().len(), ancillary.records().count()), (Ancillary::MOST, 2));
        assert_eq!(Ancillary::read(&[0; Ancillary::MOST + 3]), None);
    }
}
