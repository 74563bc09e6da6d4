//! Phase 4: the header that is written (TL-30, TL-32; P II-C step 3, P Table II through
//! [`fields::TABLE`]).
//!
//! SYN, RST, URG and FIN never survive: a segment with data has none of the first three, and a FIN
//! that was meant comes again by itself, since it stays unacknowledged (spec 8).

use crate::detect::Arrival;
use crate::fields::{self, Repair};
use crate::{Track, Tuple, options};
use arrayvec::ArrayVec;
use packet::{Field, TcpHeader, checksum};

/// Most bytes of options in a header (RFC 9293).
const OPTIONS: usize = 40;

/// A whole header: a repair that is tried, or made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// The fixed part.
    pub fixed: TcpHeader,
    /// Everything up to the payload.
    pub options: ArrayVec<u8, OPTIONS>,
}

impl Header {
    /// The first `len` bytes of a segment; `None` if that is no length of a header, or the segment
    /// is shorter.
    #[must_use]
    pub fn read(segment: &[u8], len: usize) -> Option<Self> {
        let fixed = TcpHeader::read(segment)?;
        let options = ArrayVec::try_from(segment.get(TcpHeader::LEN..len)?).ok()?;
        Some(Self { fixed, options })
    }

    /// One's complement sum of all its bytes.
    #[must_use]
    pub fn sum(&self) -> u16 {
        checksum::add(self.fixed.sum(), checksum::sum(&self.options))
    }

    /// The same with another value in one field.
    #[must_use]
    pub fn with(&self, field: Field, value: u32) -> Self {
        Self { fixed: self.fixed.with(field, value), options: self.options.clone() }
    }

    /// The same with the options that the connection's data segments carry; SACK blocks behind them
    /// stay.
    #[must_use]
    pub fn with_template_options(&self, track: &Track) -> Self {
        let mut header = self.clone();
        for (byte, template) in header.options.iter_mut().zip(track.template()) {
            *byte = *template;
        }
        header
    }
}

/// The received header with the constants of its connection restored, everything else as it came.
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

/// Whether restoring the constants is evidence that they were damaged.
#[must_use]
pub fn is_guess(received: &Header, base: &Header) -> bool {
    fields::TABLE
        .iter()
        .any(|row| row.is_evidence && received.fixed.get(row.field) != base.fixed.get(row.field))
}

/// What becomes of `base` if nothing confirms it: fields that do not matter come from the template,
/// since the received ones may do harm. SACK blocks, which might acknowledge what was never sent,
/// become padding.
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

/// Writes a repaired header over the damaged one. A checksum that confirmed it stays as received,
/// any other is made right.
pub fn write(header: &Header, is_confirmed: bool, arrival: &Arrival, segment: &mut [u8]) {
    header.fixed.write(segment);
    segment[TcpHeader::LEN..TcpHeader::LEN + header.options.len()].copy_from_slice(&header.options);
    if !is_confirmed {
        arrival.complete(segment);
    }
}

#[cfg(test)]
mod tests;
