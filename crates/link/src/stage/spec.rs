//! What a stage is told: what can be wrong with it, and files that it names.
//!
//! This crate opens no file. A spec that names one gets its text through a function that the caller
//! gives to `load`, parses it there and keeps what it found; a stage made from a spec that was not
//! loaded is refused.

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::str::FromStr;
use std::sync::Arc;

/// Gives the text of a file by the name that a spec has for it.
pub type Read<'a> = dyn FnMut(&str) -> io::Result<String> + 'a;

/// Why a stage cannot be made as it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    /// A parameter has a value that makes no sense there.
    #[error("{field} = {value}: {wanted}")]
    Value {
        /// The parameter, as it is written in a profile.
        field: &'static str,
        /// What it was set to.
        value: String,
        /// What would be right.
        wanted: &'static str,
    },
    /// A trace file says something it cannot say.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A file could not be read.
    #[error("cannot read {file}: {reason}")]
    Unreadable {
        /// The file's name in the spec.
        file: String,
        /// Why.
        reason: io::Error,
    },
    /// A stage was made before the files it names were read.
    #[error("{file} has not been read yet: load the spec before making a stage of it")]
    NotLoaded {
        /// The file's name in the spec.
        file: String,
    },
}

impl SpecError {
    pub(crate) fn value(field: &'static str, value: impl fmt::Display, wanted: &'static str) -> Self {
        Self::Value { field, value: value.to_string(), wanted }
    }
}

/// One thing in a trace file that cannot be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {field} `{value}`: {wanted}")]
pub struct TraceError {
    /// Name of the file.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Which field of the line.
    pub field: &'static str,
    /// What stands there.
    pub value: String,
    /// What would be right.
    pub wanted: &'static str,
}

/// A line of a trace file while it is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line<'a> {
    pub file: &'a str,
    /// From 1.
    pub number: usize,
    pub text: &'a str,
}

impl<'a> Line<'a> {
    /// The lines of `text`; a carriage return before the end of a line does not belong to it.
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

/// A file named in a spec and, once it was read, what it holds. In a profile it is the name.
#[derive(Debug, Clone, PartialEq)]
pub struct FromFile<T> {
    name: String,
    content: Option<Arc<T>>,
}

impl<T> FromFile<T> {
    /// The file of this name, still to be read.
    #[must_use]
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), content: None }
    }

    /// What the file of this name holds.
    #[must_use]
    pub fn with(name: impl Into<String>, content: T) -> Self {
        Self { name: name.into(), content: Some(Arc::new(content)) }
    }

    /// The file's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it holds, if it was read.
    pub fn content(&self) -> Result<&Arc<T>, SpecError> {
        self.content.as_ref().ok_or_else(|| SpecError::NotLoaded { file: self.name.clone() })
    }

    /// Reads and parses it; `parse` takes the file's name and its text.
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

/// Reads a value that is either a text in short form or a table with everything in it.
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
