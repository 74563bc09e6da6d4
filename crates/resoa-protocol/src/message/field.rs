//! Reading and writing of fields: numbers in network order, addresses, and strings with a length.
//!
//! An address is its family (4 or 6), port, IP address, and for version 6 the scope: 7 or 23
//! octets.

use super::DecodeError;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

/// Reads fields one after another. The name of a field is for error messages.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
    is_lost: bool,
}

impl<'a> Reader<'a> {
    pub(super) fn new(octets: &'a [u8]) -> Self {
        Self { rest: octets, is_lost: false }
    }

    /// Creates a reader of a message that was given up, of which only the first bytes are known.
    pub(super) fn of_lost(octets: &'a [u8]) -> Self {
        Self { rest: octets, is_lost: true }
    }

    /// Returns whether everything behind the header's numbers and addresses is unknown.
    pub(super) fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Reads this many bytes.
    pub(super) fn take(&mut self, field: &'static str, count: usize) -> Result<&'a [u8], DecodeError> {
        let (head, rest) = self.rest.split_at_checked(count).ok_or(DecodeError::Truncated {
            field,
            needed: count,
            left: self.rest.len(),
        })?;
        self.rest = rest;
        Ok(head)
    }

    fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], DecodeError> {
        Ok(self.take(field, N)?.try_into().expect("so many were taken"))
    }

    pub(super) fn u8(&mut self, field: &'static str) -> Result<u8, DecodeError> {
        Ok(self.array::<1>(field)?[0])
    }

    pub(super) fn u16(&mut self, field: &'static str) -> Result<u16, DecodeError> {
        self.array(field).map(u16::from_be_bytes)
    }

    pub(super) fn u32(&mut self, field: &'static str) -> Result<u32, DecodeError> {
        self.array(field).map(u32::from_be_bytes)
    }

    pub(super) fn i32(&mut self, field: &'static str) -> Result<i32, DecodeError> {
        self.array(field).map(i32::from_be_bytes)
    }

    /// Reads 0 or 1.
    pub(super) fn bool(&mut self, field: &'static str) -> Result<bool, DecodeError> {
        match self.u8(field)? {
            0 => Ok(false),
            1 => Ok(true),
            value => Err(DecodeError::value(field, value)),
        }
    }

    /// Reads everything that is left, at least one byte.
    pub(super) fn payload(&mut self, field: &'static str) -> Result<Vec<u8>, DecodeError> {
        if self.rest.is_empty() {
            return Err(DecodeError::Truncated { field, needed: 1, left: 0 });
        }
        Ok(self.remainder())
    }

    /// Reads everything that is left.
    pub(super) fn remainder(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.rest).to_vec()
    }

    /// Reads a string: one byte of length, and that many bytes of UTF-8.
    pub(super) fn text(&mut self, field: &'static str) -> Result<String, DecodeError> {
        let length = self.u8(field)?;
        let octets = self.take(field, length.into())?;
        let text = std::str::from_utf8(octets);
        text.map(str::to_owned).map_err(|error| DecodeError::Text { field, at: error.valid_up_to() })
    }

    pub(super) fn ip(&mut self, field: &'static str) -> Result<IpAddr, DecodeError> {
        match self.u8(field)? {
            4 => Ok(Ipv4Addr::from(self.array(field)?).into()),
            6 => Ok(Ipv6Addr::from(self.array(field)?).into()),
            value => Err(DecodeError::value(field, value)),
        }
    }

    pub(super) fn address(&mut self, field: &'static str) -> Result<SocketAddr, DecodeError> {
        let family = self.u8(field)?;
        let port = self.u16(field)?;
        match family {
            4 => Ok(SocketAddr::new(Ipv4Addr::from(self.array(field)?).into(), port)),
            6 => {
                let ip = Ipv6Addr::from(self.array(field)?);
                Ok(SocketAddrV6::new(ip, port, 0, self.u32(field)?).into())
            }
            value => Err(DecodeError::value(field, value)),
        }
    }

    /// Fails if anything is left.
    pub(super) fn end(&self) -> Result<(), DecodeError> {
        if self.rest.is_empty() { Ok(()) } else { Err(DecodeError::Trailing { octets: self.rest.len() }) }
    }

    /// Returns the next byte without taking it.
    pub(super) fn peek(&self, field: &'static str) -> Result<u8, DecodeError> {
        self.rest.first().copied().ok_or(DecodeError::Truncated { field, needed: 1, left: 0 })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }
}

/// Writes address family, port, address and scope. The flow label of version 6 is not carried.
pub(super) fn put_address(address: &SocketAddr, out: &mut Vec<u8>) {
    out.push(if address.is_ipv4() { 4 } else { 6 });
    out.extend(address.port().to_be_bytes());
    match address {
        SocketAddr::V4(v4) => out.extend(v4.ip().octets()),
        SocketAddr::V6(v6) => {
            out.extend(v6.ip().octets());
            out.extend(v6.scope_id().to_be_bytes());
        }
    }
}

/// Writes address family and address.
pub(super) fn put_ip(ip: IpAddr, out: &mut Vec<u8>) {
    match ip {
        IpAddr::V4(v4) => {
            out.push(4);
            out.extend(v4.octets());
        }
        IpAddr::V6(v6) => {
            out.push(6);
            out.extend(v6.octets());
        }
    }
}

/// Writes a string with its length. It is truncated to 255 bytes, at a character boundary.
pub(super) fn put_text(text: &str, out: &mut Vec<u8>) {
    let length = text.floor_char_boundary(255);
    out.push(length as u8);
    out.extend(&text.as_bytes()[..length]);
}
