//! Bounds of requirements: a number with a unit.

use super::RequirementError;
use crate::{Metric, unit};
use std::fmt;

/// A bound on a statistic.
#[derive(Debug, Clone, PartialEq)]
pub struct Bound {
    /// In the metric's unit; a ratio with `against`.
    pub value: f64,
    /// The unit as it was written; empty for a plain number.
    pub unit: String,
    /// Size of that unit in the metric's unit.
    pub scale: f64,
}

impl Bound {
    /// Parses the value of `at-least` or `at-most`: a number and a unit of the metric's quantity,
    /// such as `4 Mbit/s`. A ratio is a plain number or a percentage. Counts and indices may be
    /// plain numbers, too.
    pub fn parse(
        field: &'static str,
        text: &str,
        metric: Metric,
        is_ratio: bool,
    ) -> Result<Self, RequirementError> {
        let text = text.trim();
        let end = text.find(|c: char| !(c.is_ascii_digit() || "+-.eE".contains(c))).unwrap_or(text.len());
        // In "5e3 segments" the number ends before the blank; in "5events" before the first e.
        let number = text[..end].trim_end_matches(['e', 'E']);
        let unit = text[number.len()..].trim();
        let value: f64 = number
            .parse()
            .ok()
            .filter(|value: &f64| value.is_finite())
            .ok_or_else(|| RequirementError::Number { field, text: text.to_owned() })?;
        let wrong = || RequirementError::Unit {
            field,
            text: text.to_owned(),
            expected: if is_ratio {
                "a ratio to `against`, such as `1.2` or `120 %`".to_owned()
            } else if metric.unit().is_empty() {
                "a plain number".to_owned()
            } else {
                let known = unit::of_quantity(metric.unit());
                format!("one of {metric} ({}), such as `{number} {}`", known.join(", "), known[0])
            },
        };
        let scale = match (is_ratio, unit) {
            (true, "") => Some(1.0),
            (true, "%") => Some(0.01),
            (true, _) => None,
            (false, "") if metric.is_plain_number() => Some(1.0),
            (false, _) => unit::factor(unit, metric.unit()),
        };
        let scale = scale.ok_or_else(wrong)?;
        // 95 % is 0.95, but 95 times 0.01 is not.
        let value = if scale < 1.0 { value / (1.0 / scale) } else { value * scale };
        Ok(Self { value, unit: unit.to_owned(), scale })
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&with_unit(self.value / self.scale, &self.unit))
    }
}

/// Formats a number with up to four significant digits, and its unit.
pub(super) fn with_unit(value: f64, unit: &str) -> String {
    let number = if value.is_infinite() { "∞".to_owned() } else { four_digits(value) };
    let sign = if value == f64::NEG_INFINITY { "−" } else { "" };
    let blank = if unit.is_empty() { "" } else { " " };
    format!("{sign}{number}{blank}{unit}")
}

fn four_digits(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let digits = (3.0 - value.abs().log10().floor()).clamp(0.0, 9.0) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}
