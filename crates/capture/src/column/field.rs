//! Types that a column can hold. Each converts to a cell of a fixed kind.

use super::{Cell, ColumnType};
use crate::senders::{Algorithm, CongestionState};
use crate::units::{Span, Time};
use std::borrow::Cow;
use std::net::IpAddr;
use vocabulary::link_layer::{Event, Way};
use vocabulary::{ChannelState, Direction, LinkId};

/// A field of a row that is a cell of its table.
pub trait Field: Sized {
    /// Kind of the column.
    const KIND: ColumnType;
    /// Whether cells of the column may be empty.
    const OPTIONAL: bool = false;

    /// Returns the cell.
    fn cell(&self) -> Cell<'_>;

    /// Returns the value of a cell that is not null; `None` if the cell is not valid for this type.
    fn read(cell: &Cell<'_>) -> Option<Self>;

    /// Sets the field from a cell that is not null. An invalid cell leaves the field as it is.
    fn set(&mut self, cell: &Cell<'_>) {
        if let Some(value) = Self::read(cell) {
            *self = value;
        }
    }
}

impl<F: Field> Field for Option<F> {
    const KIND: ColumnType = F::KIND;
    const OPTIONAL: bool = true;

    fn cell(&self) -> Cell<'_> {
        self.as_ref().map_or(Cell::Null, F::cell)
    }

    fn read(cell: &Cell<'_>) -> Option<Self> {
        Some(F::read(cell))
    }
}

impl Field for bool {
    const KIND: ColumnType = ColumnType::Bool;

    fn cell(&self) -> Cell<'_> {
        Cell::Bool(*self)
    }

    fn read(cell: &Cell<'_>) -> Option<Self> {
        Some(*cell == Cell::Bool(true))
    }
}

impl Field for String {
    const KIND: ColumnType = ColumnType::Text;

    fn cell(&self) -> Cell<'_> {
        Cell::Text(Cow::Borrowed(self))
    }

    fn read(cell: &Cell<'_>) -> Option<Self> {
        Some(cell.str().to_owned())
    }
}

impl Field for IpAddr {
    const KIND: ColumnType = ColumnType::Text;

    fn cell(&self) -> Cell<'_> {
        Cell::Text(Cow::Owned(self.to_string()))
    }

    fn read(cell: &Cell<'_>) -> Option<Self> {
        cell.parsed()
    }
}

/// Implements [`Field`] for numbers. Each line has the type, the unsigned type that represents it,
/// the kind, and the conversions to `u64` and back.
macro_rules! numbers {
    ($($type:ty as $number:ty, $kind:expr, $to:expr, $from:expr;)+) => {
        $(impl Field for $type {
            const KIND: ColumnType = $kind;

            fn cell(&self) -> Cell<'_> {
                let to: fn(Self) -> u64 = $to;
                Cell::Number(to(*self))
            }

            fn read(cell: &Cell<'_>) -> Option<Self> {
                Some($from(cell.int::<$number>()))
            }
        })+
    };
}

numbers! {
    u8 as u8, ColumnType::Bits(8), u64::from, u8::from;
    u16 as u16, ColumnType::Bits(16), u64::from, u16::from;
    u32 as u32, ColumnType::Bits(32), u64::from, u32::from;
    u64 as u64, ColumnType::Bits(64), u64::from, u64::from;
    LinkId as u16, ColumnType::Bits(16), |link| u64::from(link.0), LinkId;
    Span as u64, ColumnType::Bits(64), Self::as_nanos, Self::from_nanos;
    Time as u64, ColumnType::Rising, Self::as_nanos, Self::from_nanos;
}

/// Implements [`Field`] for types whose values have names. Each line has the type and its methods
/// from value to name and back.
macro_rules! names {
    ($($type:ty, $name:ident, $from:ident;)+) => {
        $(impl Field for $type {
            const KIND: ColumnType = ColumnType::Text;

            fn cell(&self) -> Cell<'_> {
                Cell::Text(Cow::Borrowed(self.$name()))
            }

            fn read(cell: &Cell<'_>) -> Option<Self> {
                Self::$from(cell.str())
            }
        })+
    };
}

names! {
    Algorithm, name, from_name;
    ChannelState, name, from_name;
    CongestionState, name, from_name;
    Direction, name, from_name;
    Event, word, from_word;
    Way, letter, from_letter;
    loss_differentiation::Reason, name, from_name;
    loss_differentiation::LossVerdict, name, from_name;
}

impl Field for crate::event::Reason {
    const KIND: ColumnType = ColumnType::Text;

    fn cell(&self) -> Cell<'_> {
        Cell::text(Some(self.name()))
    }

    fn read(cell: &Cell<'_>) -> Option<Self> {
        Some(Self::from_name(cell.str()))
    }
}
