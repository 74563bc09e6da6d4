//! Errors in a plan, with their place.

use link::nearest::nearest;
use std::fmt;
use std::ops::Range;
use std::path::{self, Path, PathBuf};

/// An error in a plan: file, line, field, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanError {
    /// The plan's file, as given.
    pub file: String,
    /// Line and column, from 1, if the error is at a place in the file.
    pub at: Option<(usize, usize)>,
    /// The line itself.
    pub line: String,
    /// What is wrong and what would be right.
    pub message: String,
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, at, line, message } = self;
        match at {
            None => write!(f, "{file}: {message}"),
            Some((number, column)) => {
                writeln!(f, "{file}:{number}:{column}: {message}")?;
                let width = number.to_string().len();
                write!(f, "  {number} | {line}\n  {:width$} | {:>column$}", "", "^")
            }
        }
    }
}

impl std::error::Error for PlanError {}

/// Creates errors about one file.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// Its name.
    pub file: &'a str,
    /// Its text.
    pub text: &'a str,
}

impl Source<'_> {
    /// Returns the absolute path of the directory of the file.
    pub fn folder(self) -> PathBuf {
        let file = Path::new(self.file);
        let file = path::absolute(file).unwrap_or_else(|_| file.to_owned());
        file.parent().unwrap_or(&file).to_owned()
    }

    /// Returns an error about the byte range `place` of the file.
    pub fn error(self, place: &Range<usize>, message: impl Into<String>) -> PlanError {
        let start = place.start.min(self.text.len());
        let before = &self.text.as_bytes()[..start];
        let number = self.line(start);
        let begin = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
        let line = self.text[begin..].lines().next().unwrap_or_default();
        let column = self.text.get(begin..start).map_or(1, |before| before.chars().count() + 1);
        PlanError {
            file: self.file.to_owned(),
            at: Some((number, column)),
            line: line.to_owned(),
            message: message.into(),
        }
    }

    /// Returns the number of the line with this byte, from 1.
    pub fn line(self, place: usize) -> usize {
        let before = &self.text.as_bytes()[..place.min(self.text.len())];
        before.split(|&byte| byte == b'\n').count()
    }

    /// Returns an error about the file as a whole.
    pub fn error_somewhere(self, message: impl Into<String>) -> PlanError {
        PlanError { file: self.file.to_owned(), at: None, line: String::new(), message: message.into() }
    }

    /// Returns an error about invalid TOML or an unknown field.
    pub fn toml_error(self, error: &toml::de::Error) -> PlanError {
        let message = with_nearest(error.message());
        match error.span() {
            Some(place) => self.error(&place, message),
            None => self.error_somewhere(message),
        }
    }
}

/// Adds the nearest known word to a message such as "unknown field `rat`, expected one of `rate`,
/// …".
fn with_nearest(message: &str) -> String {
    let message = message.trim();
    if !message.starts_with("unknown ") {
        return message.to_owned();
    }
    let mut words = message.split('`').skip(1).step_by(2);
    let Some(given) = words.next() else { return message.to_owned() };
    let hint = nearest(given, words).map(|word| format!(": did you mean `{word}`?"));
    match (hint, message.split_once(", ")) {
        (Some(hint), Some((unknown, expected))) => format!("{unknown}{hint} ({expected})"),
        _ => message.to_owned(),
    }
}

/// Returns "there is no KIND `given`: did you mean `x`?", or a list of all.
pub fn unknown<'a>(kind: &str, given: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> String {
    if let Some(word) = nearest(given, known.clone()) {
        return format!("there is no {kind} `{given}`: did you mean `{word}`?");
    }
    let all: Vec<_> = known.into_iter().collect();
    match all.as_slice() {
        [] => format!("there is no {kind} `{given}`: the plan has none"),
        _ => format!("there is no {kind} `{given}`: there are {}", all.join(", ")),
    }
}
