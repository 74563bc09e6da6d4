//! A value of a plan as it was written, with its place.
//!
//! Variables in it are filled in later, for each cell.

use serde::{Deserialize, Deserializer};
use serde_spanned::Spanned;
use std::borrow::Cow;
use std::ops::Range;

/// A text, number or switch as text, with its place in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// The text as written; a number as TOML prints it.
    pub value: String,
    /// Its byte range in the file.
    pub place: Range<usize>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Scalar {
    Text(String),
    Integer(i64),
    Float(f64),
    Switch(bool),
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Scalar>::deserialize(deserializer)?;
        let place = spanned.span();
        let value = match spanned.into_inner() {
            Scalar::Text(text) => text,
            Scalar::Integer(number) => number.to_string(),
            Scalar::Float(number) => number.to_string(),
            Scalar::Switch(switch) => switch.to_string(),
        };
        Ok(Self { value, place })
    }
}

impl schemars::JsonSchema for Text {
    fn schema_name() -> Cow<'static, str> {
        "text".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": ["string", "number", "boolean"] })
    }
}

/// Fills in `{name}` with what `value` returns for the name.
///
/// `{{` and `}}` are literal braces, and so is any brace around something that cannot be a name. If
/// `value` returns `None`, the error is the name.
pub fn fill(text: &str, value: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        filled.push_str(&rest[..at]);
        rest = &rest[at..];
        if rest.starts_with("{{") || rest.starts_with("}}") {
            filled.push_str(&rest[..1]);
            rest = &rest[2..];
            continue;
        }
        let name = rest.strip_prefix('{').and_then(|inside| inside.split_once('}')).map(|(name, _)| name);
        if let Some(name) = name.filter(|name| is_name(name)) {
            filled.push_str(&value(name).ok_or_else(|| name.to_owned())?);
            rest = &rest[name.len() + 2..];
        } else {
            filled.push_str(&rest[..1]);
            rest = &rest[1..];
        }
    }
    filled.push_str(rest);
    Ok(filled)
}

/// Returns whether `text` is letters, digits, `-`, `_` and `.`, starting with a letter.
pub fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.chars().all(|each| each.is_ascii_alphanumeric() || matches!(each, '-' | '_' | '.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str) -> Result<String, String> {
        fill(text, &|name| (name == "loss").then(|| "lite-1".to_owned()))
    }

    #[test]
    fn names_in_braces_are_filled_in() {
        assert_eq!(filled("--loss {loss}, twice: {loss}").unwrap(), "--loss lite-1, twice: lite-1");
        assert_eq!(filled("{other}"), Err("other".to_owned()));
    }

    #[test]
    fn other_braces_stay() {
        assert_eq!(filled("awk '{ print $1 }' {} {{loss}} }{").unwrap(), "awk '{ print $1 }' {} {loss} }{");
        assert_eq!(filled("{loss").unwrap(), "{loss");
    }
}
