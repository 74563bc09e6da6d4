//! Figures that programs report: numbers with names, such as the time until a page was loaded.
//!
//! A program of a `command` workload prints a line for each figure:
//!
//! ```text
//! lasthop: load_s=1.284
//! ```
//!
//! The name has lower-case letters, digits and `_`. Its last word is the unit, as in the columns of
//! `results.parquet`: `_s`, `_ms`, `_bytes`, `_bps` or `_percent`. Any other figure is a plain
//! number. A later line with the same name replaces an earlier one. The metric `figure.load_s` has
//! the values of this figure.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead};
use std::sync::{Mutex, PoisonError};

/// Begin of the line of a figure.
const LINE: &str = "lasthop: ";
/// Begin of the names of metrics and columns.
const METRIC: &str = "figure.";

/// Name of a figure.
///
/// Names are kept until the process ends, so that a [`Metric`](crate::Metric) can be copied. There
/// are as many as programs of campaigns have figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FigureName(&'static str);

/// A line that looks like a figure, whose value is no number.
#[derive(Debug, thiserror::Error)]
pub enum FigureError {
    /// The value is no finite number.
    #[error("figure `{name}`: `{value}` is not a finite number")]
    Value {
        /// Name of the figure.
        name: String,
        /// What stands behind `=`.
        value: String,
    },
    /// The output cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl FigureName {
    /// Returns the name of a figure, without `figure.`; `None` if it cannot be one.
    #[must_use]
    pub fn new(name: &str) -> Option<Self> {
        static KNOWN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
        is_name(name).then(|| {
            let metric = format!("{METRIC}{name}");
            let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
            Self(known.get(metric.as_str()).copied().unwrap_or_else(|| {
                let kept: &'static str = Box::leak(metric.into_boxed_str());
                known.insert(kept);
                kept
            }))
        })
    }

    /// Returns the name in the metric with this name, such as `load_s` in `figure.load_s`; `None`
    /// if the metric is no figure.
    #[must_use]
    pub fn in_metric(metric: &str) -> Option<Self> {
        Self::new(metric.strip_prefix(METRIC)?)
    }

    /// Returns the name of the metric and of the column, such as `figure.load_s`.
    #[must_use]
    pub fn metric(self) -> &'static str {
        self.0
    }

    /// Returns the name in the program's line, such as `load_s`.
    #[must_use]
    pub fn name(self) -> &'static str {
        &self.0[METRIC.len()..]
    }

    /// Returns the unit; empty for a plain number.
    #[must_use]
    pub fn unit(self) -> &'static str {
        match self.name().rsplit_once('_').map(|(_, last)| last) {
            Some("s") => "s",
            Some("ms") => "ms",
            Some("bytes") => "bytes",
            Some("bps") => "bit/s",
            Some("percent") => "%",
            _ => "",
        }
    }
}

/// Returns the figures in the output of a program.
///
/// # Errors
/// If the value of a figure is no finite number, or the output cannot be read.
pub fn of_output(output: impl BufRead) -> Result<BTreeMap<String, f64>, FigureError> {
    let mut figures = BTreeMap::new();
    for line in output.split(b'\n') {
        let line = line?;
        let Ok(line) = std::str::from_utf8(&line) else { continue };
        let Some((name, value)) = line.strip_prefix(LINE).and_then(|rest| rest.split_once('=')) else {
            continue;
        };
        // Messages of lasthop itself begin in the same way.
        if !is_name(name) {
            continue;
        }
        let number = value.trim().parse().ok().filter(|number: &f64| number.is_finite());
        let wrong = || FigureError::Value { name: name.to_owned(), value: value.trim().to_owned() };
        figures.insert(name.to_owned(), number.ok_or_else(wrong)?);
    }
    Ok(figures)
}

fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_lowercase())
        && text.chars().all(|each| each.is_ascii_lowercase() || each.is_ascii_digit() || each == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_among_other_lines() {
        let output = b"Cloning into 'copy'...\nlasthop: warning: a = b\nlasthop: load_s=1.5\n\xff\xfe\n\
                       lasthop: stalls=2\r\nlasthop: load_s= 1.25 \nnot lasthop: x=1\nlasthop: Load=1\n";
        let figures = of_output(&output[..]).expect("numbers");
        assert_eq!(figures, BTreeMap::from([("load_s".to_owned(), 1.25), ("stalls".to_owned(), 2.0)]));
    }

    #[test]
    fn a_value_that_is_no_number_is_named() {
        for value in ["soon", "NaN", "inf", ""] {
            let error = of_output(format!("lasthop: load_s={value}\n").as_bytes()).expect_err("no number");
            assert_eq!(error.to_string(), format!("figure `load_s`: `{value}` is not a finite number"));
        }
    }

    #[test]
    fn a_name_ends_with_its_unit() {
        let unit = |name| FigureName::new(name).expect("a name").unit();
        let names = ["load_s", "echo_p95_ms", "sent_bytes", "rate_bps", "idle_percent", "stalls", "s"];
        assert_eq!(names.map(unit), ["s", "ms", "bytes", "bit/s", "%", "", ""]);
        let name = FigureName::in_metric("figure.load_s").expect("a figure");
        assert_eq!((name.name(), name.metric()), ("load_s", "figure.load_s"));
        assert_eq!(Some(name), FigureName::new("load_s"));
        assert_eq!(FigureName::in_metric("goodput"), None);
        assert!(["", "Load", "load s", "1st", "_s"].iter().all(|name| FigureName::new(name).is_none()));
    }
}
