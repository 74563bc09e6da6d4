//! Quantities with their units.
//!
//! Each type parses the forms that people write (`384kbit`, `70ms`, `1.5%`, `64kB`, `1e-5`). It
//! prints the shortest one that reads back as the same value.

mod instant;
mod ratio;
mod size;

pub use instant::{Span, Time, WallTime, nanos};
pub use ratio::{BitErrorRatio, Probability};
pub use size::{BitRate, ByteCount};

/// Why a quantity could not be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// The text is not such a quantity.
    #[error("`{given}` is not a {what}: write it like {example}")]
    Wrong {
        /// The given text.
        given: String,
        /// The expected quantity.
        what: &'static str,
        /// Examples of valid texts.
        example: &'static str,
    },
    /// The unit is ambiguous: programs read it in two ways.
    #[error("`{given}` has two meanings: write {first} for {first_words}, or {second} for {second_words}")]
    TwoMeanings {
        /// The given text.
        given: String,
        /// Unambiguous text for one meaning.
        first: String,
        /// That meaning in words.
        first_words: &'static str,
        /// Unambiguous text for the other meaning.
        second: String,
        /// That meaning in words.
        second_words: &'static str,
    },
}

/// Rounds `value` to a whole number; `None` if it does not fit into 64 bits.
fn whole(value: f64) -> Option<u64> {
    // 2^64 is exact as a float.
    (0.0..18_446_744_073_709_551_616.0).contains(&value).then(|| value.round() as u64)
}

/// Splits `text` into its number and its unit, whose case is kept.
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

/// Formats `value` with at most `digits` decimal places and no trailing zeros.
fn trimmed(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Implements serde through the text form, for a type with `FromStr` and `Display`. The crate that
/// uses the macro must depend on serde.
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
