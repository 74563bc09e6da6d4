//! Values in a policy file, with errors that name the place and a correct form.

use super::network::{Network, Ports, Unreadable};
use serde_spanned::Spanned;
use std::fmt;
use std::net::IpAddr;
use std::ops::Range;

/// Error in a policy, with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyError {
    pub(super) file: String,
    /// Line and column, both from 1, and the text of the line, if the error has a place in the
    /// file.
    pub(super) at: Option<(usize, usize, String)>,
    pub(super) message: String,
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, at, message } = self;
        match at {
            None => write!(f, "{file}: {message}"),
            Some((number, column, line)) => {
                writeln!(f, "{file}:{number}:{column}: {message}")?;
                let width = number.to_string().len();
                write!(f, "  {number} | {line}\n  {:width$} | {:>column$}", "", "^")
            }
        }
    }
}

impl std::error::Error for PolicyError {}

/// Text of the file, from which errors take their place.
pub(super) struct Source<'a> {
    pub(super) file: &'a str,
    pub(super) text: &'a str,
}

impl Source<'_> {
    pub(super) fn error(&self, place: &Range<usize>, message: impl Into<String>) -> PolicyError {
        let start = place.start.min(self.text.len());
        let number = self.text.as_bytes()[..start].split(|&byte| byte == b'\n').count();
        let begin =
            self.text.as_bytes()[..start].iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        let line = self.text[begin..].lines().next().unwrap_or_default().to_owned();
        let column = self.text.get(begin..start).map_or(1, |before| before.chars().count() + 1);
        PolicyError { file: self.file.to_owned(), at: Some((number, column, line)), message: message.into() }
    }

    pub(super) fn toml(&self, error: &toml::de::Error) -> PolicyError {
        match error.span() {
            Some(place) => self.error(&place, error.message()),
            None => PolicyError { file: self.file.to_owned(), at: None, message: error.message().to_owned() },
        }
    }

    pub(super) fn read<T>(&self, field: &str, text: &Spanned<String>) -> Result<T, PolicyError>
    where
        T: std::str::FromStr,
        T::Err: fmt::Display,
    {
        let read = text.get_ref().parse::<T>();
        read.map_err(|error| self.error(&text.span(), format!("{field}: {error}")))
    }

    pub(super) fn read_all<T>(&self, field: &str, texts: &[Spanned<String>]) -> Result<Vec<T>, PolicyError>
    where
        T: std::str::FromStr,
        T::Err: fmt::Display,
    {
        texts.iter().map(|text| self.read(field, text)).collect()
    }
}

/// An IP address, with an error that shows valid ones.
pub(super) struct Address(pub(super) IpAddr);

impl std::str::FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.parse()
            .map(Self)
            .map_err(|_| format!("`{text}` is not an IP address such as 192.0.2.1 or 2001:db8::1"))
    }
}

/// A number of bytes, such as `4096`, `64KiB`, `4MiB` or `1GiB`.
pub(super) struct Octets(pub(super) u64);

impl std::str::FromStr for Octets {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
        let shift = match &text[digits.len()..] {
            "" | "B" => Some(0),
            "KiB" => Some(10),
            "MiB" => Some(20),
            "GiB" => Some(30),
            _ => None,
        };
        let octets = digits
            .trim()
            .parse::<u64>()
            .ok()
            .zip(shift)
            .and_then(|(count, shift)| count.checked_mul(1 << shift));
        octets
            .map(Self)
            .ok_or_else(|| format!("`{text}` is not a number of bytes such as 65536, 64KiB, 4MiB or 1GiB"))
    }
}

/// Ports, or `none`.
pub(super) struct Bind(pub(super) Ports);

impl std::str::FromStr for Bind {
    type Err = Unreadable;

    fn from_str(text: &str) -> Result<Self, Unreadable> {
        if text == "none" { Ok(Self(Ports::none())) } else { text.parse().map(Self) }
    }
}

/// A network without ports, or `any`.
pub(super) struct Origin(pub(super) Option<Network>);

impl std::str::FromStr for Origin {
    type Err = Unreadable;

    fn from_str(text: &str) -> Result<Self, Unreadable> {
        if text == "any" { Ok(Self(None)) } else { text.parse().map(Some).map(Self) }
    }
}
