//! Columns of a table: name, meaning, and the conversion between rows and cells.

mod field;

pub use field::Field;

use crate::schema::Schema;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::str::FromStr;

/// A column of a table of rows `S`. Cells may also depend on the table's header, for example names
/// of links.
pub struct Column<S: Schema> {
    /// Its name. A unit follows an underscore.
    pub name: &'static str,
    /// Meaning of its cells.
    pub meaning: &'static str,
    pub(crate) kind: ColumnType,
    /// Whether a row may have no value here.
    pub(crate) optional: bool,
    pub(crate) get: Get<S>,
    pub(crate) set: Set<S>,
}

/// Takes a cell out of a row.
type Get<S> = for<'a> fn(&'a S, &'a <S as Schema>::Header) -> Cell<'a>;

/// Puts a cell, which is not null, into a row.
type Set<S> = fn(&mut S, Cell<'_>);

/// Type of a column's cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnType {
    /// True or false.
    Bool,
    /// An unsigned number of this many bits.
    Bits(u8),
    /// Like `Bits(64)`, with values close to the previous row's.
    Rising,
    /// Text.
    Text,
}

/// A value in a table.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell<'a> {
    /// No value.
    Null,
    /// True or false.
    Bool(bool),
    /// A number.
    Number(u64),
    /// Text.
    Text(Cow<'a, str>),
}

impl<S: Schema> Column<S> {
    /// Returns the type of its cells in one word.
    #[must_use]
    pub const fn type_name(&self) -> &'static str {
        match self.kind {
            ColumnType::Bool => "boolean",
            ColumnType::Bits(_) | ColumnType::Rising => "number",
            ColumnType::Text => "text",
        }
    }

    /// Returns the row's cell.
    #[must_use]
    pub fn cell<'a>(&self, row: &'a S, header: &'a S::Header) -> Cell<'a> {
        (self.get)(row, header)
    }

    /// Creates a column for a field of the row. `at` returns the field and serves type inference
    /// only.
    pub(crate) const fn of_field<F: Field>(
        name: &'static str,
        meaning: &'static str,
        _at: for<'a> fn(&'a S) -> &'a F,
        get: Get<S>,
        set: Set<S>,
    ) -> Self {
        Self { name, meaning, kind: F::KIND, optional: F::OPTIONAL, get, set }
    }

    /// Creates a column for a field of a part of the row that may be missing. `part` returns the
    /// part, and `at` its field; both serve type inference only.
    pub(crate) const fn of_part<P, F: Field>(
        name: &'static str,
        meaning: &'static str,
        _part: for<'a> fn(&'a S) -> &'a Option<P>,
        _at: for<'a> fn(&'a P) -> &'a F,
        get: Get<S>,
        set: Set<S>,
    ) -> Self {
        Self { name, meaning, kind: F::KIND, optional: true, get, set }
    }
}

/// Creates a [`Column`], in one of three ways:
///
/// * `column!("copy", copy, "meaning")`: a field of the row.
/// * `column!("src", flow(Flow::UNKNOWN).source, "meaning")`: a field of a part that may be
///   missing. The expression in parentheses is the part before its first field was read.
/// * `column!("node", ColumnType::Text, true, "meaning", get, set)`: anything else. The flag says
///   whether cells may be empty; `get` takes a cell out of a row and its header; `set` puts a cell
///   into a row.
macro_rules! column {
    ($name:literal, $($field:ident).+, $meaning:expr) => {
        $crate::column::Column::of_field(
            $name,
            $meaning,
            |row| &row.$($field).+,
            |row, _| $crate::column::Field::cell(&row.$($field).+),
            |row, cell| $crate::column::Field::set(&mut row.$($field).+, &cell),
        )
    };
    ($name:literal, $part:ident ($blank:expr) . $($field:ident).+, $meaning:expr) => {
        $crate::column::Column::of_part(
            $name,
            $meaning,
            |row| &row.$part,
            |part| &part.$($field).+,
            |row, _| match &row.$part {
                Some(part) => $crate::column::Field::cell(&part.$($field).+),
                None => $crate::column::Cell::Null,
            },
            |row, cell| $crate::column::Field::set(&mut row.$part.get_or_insert($blank).$($field).+, &cell),
        )
    };
    ($name:literal, $kind:expr, $optional:literal, $meaning:expr, $get:expr, $set:expr) => {
        $crate::column::Column {
            name: $name, meaning: $meaning, kind: $kind, optional: $optional, get: $get, set: $set
        }
    };
}
pub(crate) use column;

/// Returns the meanings of all columns by name.
pub(crate) fn meanings<S: Schema>() -> BTreeMap<&'static str, &'static str> {
    S::COLUMNS.iter().map(|column| (column.name, column.meaning)).collect()
}

impl<'a> Cell<'a> {
    pub(crate) fn text(text: Option<&'a str>) -> Self {
        text.map_or(Self::Null, |text| Self::Text(Cow::Borrowed(text)))
    }

    pub(crate) fn number(number: impl Into<u64>) -> Self {
        Self::Number(number.into())
    }

    /// Returns the number, or the maximum of `N` if it is greater. The minimum if this is no
    /// number.
    pub(crate) fn int<N: TryFrom<u64> + Bounded>(&self) -> N {
        match *self {
            Self::Number(number) => N::try_from(number).unwrap_or(N::MAX),
            _ => N::MIN,
        }
    }

    pub(crate) fn str(&self) -> &str {
        match self {
            Self::Text(text) => text,
            _ => "",
        }
    }

    /// Parses the text; `None` if that fails.
    pub(crate) fn parsed<T: FromStr>(&self) -> Option<T> {
        self.str().parse().ok()
    }

    /// Converts the cell to text, for text tables. `None` for an empty cell.
    #[must_use]
    pub fn to_text(&self) -> Option<String> {
        match self {
            Self::Null => None,
            Self::Bool(value) => Some(value.to_string()),
            Self::Number(number) => Some(number.to_string()),
            Self::Text(text) => Some(text.to_string()),
        }
    }
}

/// Minimum and maximum of a type of number.
pub(crate) trait Bounded {
    const MIN: Self;
    const MAX: Self;
}

macro_rules! bounded {
    ($($number:ty)*) => {
        $(impl Bounded for $number {
            const MIN: Self = <$number>::MIN;
            const MAX: Self = <$number>::MAX;
        })*
    };
}

bounded!(u8 u16 u32 u64);

#[cfg(test)]
mod tests {
    use super::*;
    use vocabulary::{ChannelState, LinkId};

    #[test]
    fn numbers_without_room_are_the_greatest_and_other_cells_the_least() {
        let cell = Cell::Number(u64::from(u16::MAX) + 1);
        assert_eq!((cell.int::<u8>(), cell.int::<u16>(), cell.int::<u32>()), (u8::MAX, u16::MAX, 0x1_0000));
        assert_eq!(Cell::Number(u64::MAX).int::<u64>(), u64::MAX);
        assert_eq!((Cell::Null.int::<u16>(), Cell::Text("7".into()).int::<u16>()), (0, 0));
    }

    #[test]
    fn cells_as_text() {
        let texts = [Cell::Null, Cell::Bool(false), Cell::Number(7), Cell::Text("x".into())];
        let expected = [None, Some("false"), Some("7"), Some("x")];
        assert_eq!(texts.map(|cell| cell.to_text()), expected.map(|text| text.map(str::to_owned)));
    }

    /// A later program may know more names.
    #[test]
    fn a_value_without_a_meaning_leaves_the_field_as_it_is() {
        let mut state = ChannelState::Bad;
        state.set(&Cell::Text("awful".into()));
        assert_eq!(state, ChannelState::Bad);
        state.set(&Cell::Text("good".into()));
        assert_eq!(state, ChannelState::Good);
        let mut known = Some(ChannelState::Bad);
        known.set(&Cell::Text("awful".into()));
        assert_eq!(known, None, "of a field that may be empty nothing is known");
        let mut link = LinkId(3);
        link.set(&Cell::Number(4));
        assert_eq!((link, link.cell()), (LinkId(4), Cell::Number(4)));
    }
}
