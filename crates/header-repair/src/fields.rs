//! Classes of header fields (P Tables I and II), and how repair fills each field, as data (TL-26).
//!
//! The paper borrows the classes from header compression: how a field behaves over a connection
//! determines how it can be repaired. Table I describes TCP in general. Table II adds what may be
//! assumed of the segments that are repaired: non-empty data of an established connection, without
//! urgent mode, flowing mainly towards the receiver.
//!
//! The paper does not classify the reserved bits and the ECN bits; here they are 0 (spec 16,
//! ambiguity 17).

use packet::Field;

/// How a field behaves over a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Constant.
    NoChange,
    /// Previous value plus a difference.
    Delta,
    /// Unpredictable.
    Random,
    /// A wrong or old value does no harm.
    DontCare,
}

/// The value that repair puts into a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repair {
    /// From the connection's identity: its ports.
    Identity,
    /// The header length that was determined; see `crate::header_length`.
    HeaderLength,
    /// This number.
    Constant(u32),
    /// As received if the checksum confirms the segment, else the value of the newest right
    /// segment.
    Template,
    /// As received if the checksum confirms the segment, else this number.
    ReceivedOr(u32),
    /// As received, then judged; see [`crate::place`].
    Judged,
    /// Computed from all other fields.
    Computed,
}

/// A field, its classes and its repair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The field.
    pub field: Field,
    /// Its class in Table I.
    pub first: Option<Class>,
    /// Its class in Table II.
    pub assumed: Option<Class>,
    /// The value that repair puts into it.
    pub repair: Repair,
    /// Whether a repair that changed the field makes an unconfirmed segment a guess. If so, the
    /// received value was damage: no sender can have meant it.
    pub is_evidence: bool,
}

/// All fields of the fixed header.
#[rustfmt::skip]
pub const TABLE: [Row; 17] = {
    use Class::{Delta, DontCare, NoChange, Random};
    use Repair::{Computed, Constant, HeaderLength, Identity, Judged, ReceivedOr, Template};
    [
        row(Field::SourcePort,      Some(NoChange), Some(NoChange), Identity,      true),
        row(Field::DestinationPort, Some(NoChange), Some(NoChange), Identity,      true),
        row(Field::Sequence,        Some(Delta),    Some(Delta),    Judged,        false),
        row(Field::Acknowledgment,  Some(Delta),    Some(DontCare), Template,      false),
        row(Field::DataOffset,      Some(NoChange), Some(NoChange), HeaderLength,  true),
        row(Field::Reserved,        None,           None,           Constant(0),   true),
        row(Field::Cwr,             None,           None,           Constant(0),   true),
        row(Field::Ece,             None,           None,           Constant(0),   true),
        row(Field::Urg,             Some(Random),   Some(NoChange), Constant(0),   true),
        row(Field::Ack,             Some(Random),   Some(NoChange), Constant(1),   true),
        row(Field::Psh,             Some(Random),   Some(DontCare), ReceivedOr(0), false),
        row(Field::Rst,             Some(Random),   Some(NoChange), Constant(0),   true),
        row(Field::Syn,             Some(Random),   Some(NoChange), Constant(0),   true),
        // A sender may well have meant it, and sends it again.
        row(Field::Fin,             Some(Random),   Some(DontCare), Constant(0),   false),
        row(Field::Window,          Some(Delta),    Some(DontCare), Template,      false),
        row(Field::Checksum,        Some(Random),   Some(DontCare), Computed,      false),
        row(Field::UrgentPointer,   Some(Random),   Some(DontCare), Constant(0),   true),
    ]
};

const fn row(
    field: Field,
    first: Option<Class>,
    assumed: Option<Class>,
    repair: Repair,
    is_evidence: bool,
) -> Row {
    Row { field, first, assumed, repair, is_evidence }
}

#[cfg(test)]
mod tests;
