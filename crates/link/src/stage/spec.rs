//! Common parts of stage specifications: errors, and files named in a specification.
//!
//! This crate opens no file. The caller passes `load` a function that returns the text of a file.
//! The specification parses the text and keeps the content. A stage cannot be built from a
//! specification whose files are not loaded.

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::str::FromStr;
use std::sync::Arc;

/// Returns the text of a file by its name in a specification.
pub type Read<'a> = dyn FnMut(&str) -> io::Result<String> + 'a;

/// Error of a specification from which no stage can be built.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    /// A parameter has an invalid value.
    #[error("{field} = {value}: {wanted}")]
    Value {
        /// The parameter, as it is written in a profile.
        field: &'static str,
        /// Its value.
        value: String,
        /// The valid values.
        wanted: &'static str,
    },
    /// A trace file has an invalid field.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A file could not be read.
    #[error("cannot read {file}: {reason}")]
    Unreadable {
        /// The file's name in the specification.
        file: String,
        /// The cause.
        reason: io::Error,
    },
    /// A stage was to be built before its files were read.
    #[error("{file} has not been read yet: load the spec before making a stage of it")]
    NotLoaded {
        /// The file's name in the specification.
        file: String,
    },
}

impl SpecError {
    pub(crate) fn value(field: &'static str, value: impl fmt::Display, wanted: &'static str) -> Self {
        Self::Value { field, value: value.to_string(), wanted }
    }
}

/// Error of an invalid field in a trace file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {field} `{value}`: {wanted}")]
pub struct TraceError {
    /// Name of the file.
    pub file: String,
    /// Line number, from 1.
    pub line: usize,
    /// Name of the field.
    pub field: &'static str,
    /// Its value.
    pub value: String,
    /// The valid values.
    pub wanted: &'static str,
}

/// A line of a trace file that is being read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line<'a> {
    pub file: &'a str,
    /// Line number, from 1.
    pub number: usize,
    pub text: &'a str,
}

impl<'a> Line<'a> {
    /// Splits `text` into lines, without a carriage return at the end of a line.
    pub fn of(file: &'a str, text: &'a str) -> impl Iterator<Item = Line<'a>> {
        text.lines().zip(1..).map(move |(text, number)| Line { file, number, text })
    }

    pub fn wrong(&self, field: &'static str, value: &str, wanted: &'static str) -> TraceError {
        let mut value = value.to_owned();
        if let Some((end, _)) = value.char_indices().nth(60) {
            value.truncate(end);
            value.push('…');
        }
        TraceError { file: self.file.to_owned(), line: self.number, field, value, wanted }
    }
}

/// A file named in a specification, and its content once it was read. A profile contains only the
/// name, the borsh form also the content.
#[derive(Debug, Clone, PartialEq, borsh::BorshSerialize, borsh::BorshDeserialize)]
pub struct FromFile<T> {
    name: String,
    // For `Arc<T>`, borsh needs `T: Clone`, which its derive macro does not add.
    #[borsh(bound(deserialize = "T: borsh::BorshDeserialize + Clone"))]
    content: Option<Arc<T>>,
}

impl<T> FromFile<T> {
    /// Names a file that is still to be read.
    #[must_use]
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), content: None }
    }

    /// Creates a file with its content.
    #[must_use]
    pub fn with(name: impl Into<String>, content: T) -> Self {
        Self { name: name.into(), content: Some(Arc::new(content)) }
    }

    /// Returns the file's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the content.
    ///
    /// # Errors
    /// If the file was not read.
    pub fn content(&self) -> Result<&Arc<T>, SpecError> {
        self.content.as_ref().ok_or_else(|| SpecError::NotLoaded { file: self.name.clone() })
    }

    /// Reads and parses the file; `parse` takes its name and its text.
    pub(crate) fn load(
        &mut self,
        read: &mut Read<'_>,
        parse: impl FnOnce(&str, &str) -> Result<T, TraceError>,
    ) -> Result<(), SpecError> {
        let text =
            read(&self.name).map_err(|reason| SpecError::Unreadable { file: self.name.clone(), reason })?;
        self.content = Some(Arc::new(parse(&self.name, &text)?));
        Ok(())
    }
}

impl<T> Serialize for FromFile<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.name)
    }
}

impl<'de, T> Deserialize<'de> for FromFile<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::named)
    }
}

/// Deserializes a value from a text in short form or from a table with all fields.
pub(crate) fn text_or_table<'de, D, T, Table>(deserializer: D, expected: &'static str) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: fmt::Display> + From<Table>,
    Table: Deserialize<'de>,
{
    struct Either<T, Table>(&'static str, PhantomData<(T, Table)>);

    impl<'de, T: FromStr<Err: fmt::Display> + From<Table>, Table: Deserialize<'de>> Visitor<'de>
        for Either<T, Table>
    {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
            text.parse().map_err(E::custom)
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
            Table::deserialize(MapAccessDeserializer::new(map)).map(T::from)
        }
    }

    deserializer.deserialize_any(Either(expected, PhantomData))
}
