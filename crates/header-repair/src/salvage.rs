//! Phase 4: builds the header to write (TL-30, TL-32; P II-C step 3, P Table II through
//! [`fields::TABLE`]).
//!
//! SYN, RST, URG and FIN never survive. A segment with data has none of the first three. A genuine
//! FIN is retransmitted, because it stays unacknowledged (spec 8).

use crate::detect::Arrival;
use crate::fields::{self, Repair};
use crate::{Track, Tuple, options};
use arrayvec::ArrayVec;
use packet::{Field, TcpHeader, checksum};

/// Most bytes of options in a header (RFC 9293).
const OPTIONS: usize = 40;

/// A whole header: a repair to try or to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// The fixed part, 20 bytes.
    pub fixed: TcpHeader,
    /// The options: everything between the fixed part and the payload.
    pub options: ArrayVec<u8, OPTIONS>,
}

impl Header {
    /// Reads the first `len` bytes of a segment. Returns `None` if `len` is not a possible header
    /// length, or the segment is shorter.
    #[must_use]
    pub fn read(segment: &[u8], len: usize) -> Option<Self> {
        let fixed = TcpHeader::read(segment)?;
        let options = ArrayVec::try_from(segment.get(TcpHeader::LEN..len)?).ok()?;
        Some(Self { fixed, options })
    }

    /// Returns the one's complement sum of all bytes of the header.
    #[must_use]
    pub fn sum(&self) -> u16 {
        checksum::add(self.fixed.sum(), checksum::sum(&self.options))
    }

    /// Returns this header with another value in one field.
    #[must_use]
    pub fn with(&self, field: Field, value: u32) -> Self {
        Self { fixed: self.fixed.with(field, value), options: self.options.clone() }
    }

    /// Returns this header with the options of the connection's data segments. SACK blocks behind
    /// them stay.
    #[must_use]
    pub fn with_template_options(&self, track: &Track) -> Self {
        let mut header = self.clone();
        for (byte, template) in header.options.iter_mut().zip(track.template()) {
            *byte = *template;
        }
        header
    }
}

/// Returns the received header with the connection's constant fields restored, and all other fields
/// as received.
#[must_use]
pub fn base(received: &Header, connection: &Tuple) -> Header {
    let len = TcpHeader::LEN + received.options.len();
    let fixed = fields::TABLE.iter().fold(received.fixed, |header, row| match (row.repair, row.field) {
        (Repair::Identity, Field::SourcePort) => header.with(row.field, u32::from(connection.remote_port)),
        (Repair::Identity, _) => header.with(row.field, u32::from(connection.local_port)),
        (Repair::HeaderLength, _) => header.with(row.field, len as u32 / 4),
        (Repair::Constant(value), _) => header.with(row.field, value),
        (Repair::Template | Repair::ReceivedOr(_) | Repair::Judged | Repair::Computed, _) => header,
    });
    Header { fixed, options: received.options.clone() }
}

/// Returns whether restoring the constant fields changed any that count as evidence of damage.
#[must_use]
pub fn is_guess(received: &Header, base: &Header) -> bool {
    fields::TABLE
        .iter()
        .any(|row| row.is_evidence && received.fixed.get(row.field) != base.fixed.get(row.field))
}

/// Returns the header to write if nothing confirms `base`. Fields whose value does not matter come
/// from the template, because the received ones may do harm. SACK blocks, which might acknowledge
/// data that were never sent, become padding.
#[must_use]
pub fn unconfirmed(base: &Header, track: &Track) -> Header {
    let fixed = fields::TABLE.iter().fold(base.fixed, |header, row| match (row.repair, row.field) {
        (Repair::Template, Field::Acknowledgment) => header.with(row.field, track.ack),
        (Repair::Template, _) => header.with(row.field, u32::from(track.window)),
        (Repair::ReceivedOr(value), _) => header.with(row.field, value),
        _ => header,
    });
    let mut header = Header { fixed, ..base.with_template_options(track) };
    for byte in header.options.iter_mut().skip(track.template().len()) {
        *byte = options::NOP;
    }
    header
}

/// Writes a repaired header over the damaged one. A checksum that confirmed the header stays as
/// received; any other is recomputed.
pub fn write(header: &Header, is_confirmed: bool, arrival: &Arrival, segment: &mut [u8]) {
    header.fixed.write(segment);
    segment[TcpHeader::LEN..TcpHeader::LEN + header.options.len()].copy_from_slice(&header.options);
    if !is_confirmed {
        arrival.complete(segment);
    }
}

#[cfg(test)]
mod tests;
