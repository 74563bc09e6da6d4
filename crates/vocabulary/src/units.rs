//! Quantities with their units.
//!
//! Each type reads the form that people write
//! (`384kbit`, `70ms`, `1.5%`, `64kB`, `1e-5`) and prints the shortest one that reads back to the
//! same value.

mod instant;
mod ratio;
mod size;

pub use instant::{Span, Time, WallTime, nanos};
pub use ratio::{BitErrorRatio, Probability};
pub use size::{BitRate, ByteCount};

/// A quantity that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// It is none.
    #[error("`{given}` is not a {what}: write it like {example}")]
    Wrong {
        /// The text that was given.
        given: String,
        /// The quantity that was wanted.
        what: &'static str,
        /// Texts that would be right.
        example: &'static str,
    },
    /// Programs read its unit in two ways.
    #[error("`{given}` has two meanings: write {first} for {first_words}, or {second} for {second_words}")]
    TwoMeanings {
        /// The text that was given.
        given: String,
        /// One meaning as it is written here.
        first: String,
        /// The same in words.
        first_words: &'static str,
        /// The other one.
        second: String,
        /// The same in words.
        second_words: &'static str,
    },
}

/// The whole number nearest to `value`, if it is one of 64 bits.
fn whole(value: f64) -> Option<u64> {
    // 2^64 is exact as a float.
    (0.0..18_446_744_073_709_551_616.0).contains(&value).then(|| value.round() as u64)
}

/// Splits `text` into its number and what follows (the unit, lower case left as it is).
fn number_and_unit(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let mut end = 0;
    let bytes = text.as_bytes();
    while end < bytes.len() {
        let c = bytes[end];
        let exponent = matches!(c, b'e' | b'E')
            && bytes.get(end + 1).is_some_and(|n| n.is_ascii_digit() || matches!(n, b'-' | b'+'));
        if c.is_ascii_digit() || matches!(c, b'.' | b'-' | b'+') || exponent {
            end += 1;
        } else {
            break;
        }
    }
    let number: f64 = text[..end].parse().ok()?;
    number.is_finite().then_some((number, text[end..].trim()))
}

/// Prints `value` with at most `digits` places after the point and no trailing zeros.
fn trimmed(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Implements serde through the text form for a type with `FromStr` and `Display`. The crate that
/// uses it depends on serde.
#[macro_export]
macro_rules! serde_as_text {
    ($name:ty) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <String as serde::Deserialize>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
use serde_as_text;

#[cfg(test)]
mod tests;
