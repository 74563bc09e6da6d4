//! Classes of header fields (P Tables I and II) and what repair makes of each field, as data
//! (TL-26).
//!
//! The paper borrows the classes from header compression: how a field behaves over a connection
//! says how it can be repaired. Its first table takes TCP as it is; the second one adds what may be
//! assumed of the segments that are repaired: non-empty data of an established connection, without
//! urgent mode, flowing mainly towards the receiver.
//!
//! The paper does not class the reserved bits and those of ECN; here they are 0 (spec 16, ambiguity
//! 17).

use packet::Field;

/// How a field behaves over a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Constant.
    NoChange,
    /// The value before, plus a difference.
    Delta,
    /// Unpredictable.
    Random,
    /// A wrong or old value does no harm.
    DontCare,
}

/// What repair puts into a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repair {
    /// What the connection is named by.
    Identity,
    /// The template's header length.
    HeaderLength,
    /// This number.
    Constant(u32),
    /// As received if the checksum confirms it, else the value of the newest right segment.
    Template,
    /// As received if the checksum confirms it, else this number.
    ReceivedOr(u32),
    /// As received, and judged; see [`crate::place`].
    Judged,
    /// Computed when all others are there.
    Computed,
}

/// One field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Which.
    pub field: Field,
    /// Its class in Table I.
    pub first: Option<Class>,
    /// Its class in Table II.
    pub assumed: Option<Class>,
    /// What repair puts there.
    pub repair: Repair,
    /// Whether an unconfirmed segment in which repair changed the field is a guess: the field was
    /// damaged, though the sender cannot have meant that value.
    pub is_evidence: bool,
}

/// Every field of the fixed header.
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
        // A sender may well have meant it: it will send it again.
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
