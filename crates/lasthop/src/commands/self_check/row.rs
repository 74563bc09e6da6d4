//! A measured quantity, its configured value, and the verdict.

use super::statistics::{Estimate, Interval};
use serde_json::{Value, json};

/// Unit of a quantity, which decides how it is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Bits per second.
    BitsPerSecond,
    /// A share, 0 to 1.
    Share,
    /// Wrong bits per bit.
    BitErrorRatio,
    /// A plain number.
    Count,
}

/// The accepted deviation of a measured value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Accepted {
    /// From `below` less than the configured value to `above` more.
    Within { below: f64, above: f64 },
    /// The configured value is in the interval of [`super::statistics::JUDGED`] confidence.
    ByInterval,
    /// The configured value is in that interval, or differs from the measured value by at most this
    /// share of itself. For quantities whose interval can be narrower than the accuracy of this
    /// machine's clocks.
    ByIntervalOrShare(f64),
}

/// A row of the table.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub quantity: String,
    pub unit: Unit,
    pub configured: f64,
    pub measured: f64,
    /// Intervals of the measured value, if it has any.
    pub intervals: Option<[Interval; 2]>,
    pub accepted: Accepted,
}

impl Row {
    /// Creates a row for an estimated quantity.
    pub fn estimated(
        quantity: impl Into<String>,
        unit: Unit,
        configured: f64,
        estimate: Estimate,
        accepted: Accepted,
    ) -> Self {
        let Estimate { value, shown, judged } = estimate;
        let intervals = Some([shown, judged]);
        Self { quantity: quantity.into(), unit, configured, measured: value, intervals, accepted }
    }

    /// Creates a row for a number that must be exact.
    pub fn exact(quantity: impl Into<String>, configured: u64, measured: u64) -> Self {
        Self {
            quantity: quantity.into(),
            unit: Unit::Count,
            configured: configured as f64,
            measured: measured as f64,
            intervals: None,
            accepted: Accepted::Within { below: 0.0, above: 0.0 },
        }
    }

    /// Creates a row for a time without interval, which must be between `configured` and `above`
    /// more, in seconds.
    pub fn at_most_above(quantity: impl Into<String>, configured: f64, measured: f64, above: f64) -> Self {
        Self {
            quantity: quantity.into(),
            unit: Unit::Seconds,
            configured,
            measured,
            intervals: None,
            accepted: Accepted::Within { below: 0.0, above },
        }
    }

    /// Returns whether the measured value is accepted.
    pub fn is_ok(&self) -> bool {
        let inside = self.intervals.is_some_and(|[_, judged]| judged.holds(self.configured));
        match self.accepted {
            Accepted::Within { below, above } => {
                (self.configured - below..=self.configured + above).contains(&self.measured)
            }
            // A missing measurement is not accepted, although an infinite interval contains every
            // value.
            _ if self.measured.is_nan() => false,
            Accepted::ByInterval => inside,
            Accepted::ByIntervalOrShare(share) => {
                inside || (self.measured - self.configured).abs() <= share * self.configured
            }
        }
    }

    /// Returns `ok` or `off`.
    pub fn verdict(&self) -> &'static str {
        if self.is_ok() { "ok" } else { "off" }
    }

    /// Returns the cells of the table, in the order of [`HEADINGS`].
    pub fn cells(&self) -> [String; 6] {
        let show = |value| shown(self.unit, value);
        let interval =
            self.intervals.map_or("-".to_owned(), |[Interval { low, high }, _]| range(self.unit, low, high));
        let accepted = match self.accepted {
            Accepted::Within { below, above } if below == 0.0 && above == 0.0 => "exactly".to_owned(),
            Accepted::Within { below: 0.0, above } if self.unit == Unit::Seconds => {
                format!("never early, +{}", show(above))
            }
            Accepted::Within { below, above } => format!("-{} +{}", show(below), show(above)),
            Accepted::ByInterval => "99.9 % interval".to_owned(),
            Accepted::ByIntervalOrShare(share) => {
                format!("99.9 % interval, ±{}", shown(Unit::Share, share))
            }
        };
        [
            self.quantity.clone(),
            show(self.configured),
            show(self.measured),
            interval,
            accepted,
            self.verdict().to_owned(),
        ]
    }

    /// Returns the row as JSON: numbers in the base unit, `null` for missing values and infinite
    /// ends.
    pub fn to_json(&self) -> Value {
        let unit = match self.unit {
            Unit::Seconds => "s",
            Unit::BitsPerSecond => "bit/s",
            Unit::Share => "share",
            Unit::BitErrorRatio => "wrong bits per bit",
            Unit::Count => "count",
        };
        let finite = |value: f64| if value.is_finite() { Value::from(value) } else { Value::Null };
        let ends = |place: usize| {
            self.intervals.map(|both| [finite(both[place].low), finite(both[place].high)]).map(Value::from)
        };
        let cells = self.cells();
        json!({
            "quantity": self.quantity,
            "unit": unit,
            "configured": finite(self.configured),
            "measured": finite(self.measured),
            "interval_95": ends(0),
            "interval_99_9": ends(1),
            "accepted": cells[4],
            "verdict": self.verdict(),
        })
    }
}

/// Headings of [`Row::cells`].
pub const HEADINGS: [&str; 6] =
    ["quantity", "configured", "measured", "95 % interval", "accepted", "verdict"];

/// Formats a value with its unit, with four digits after the decimal point at most.
fn shown(unit: Unit, value: f64) -> String {
    let (scale, name) = scale(unit, value);
    with_unit(&number(unit, value / scale), name)
}

/// Formats a range in the unit of its upper end, or of its lower end if the upper end is infinite.
fn range(unit: Unit, low: f64, high: f64) -> String {
    let (scale, name) = scale(unit, if high.is_finite() { high } else { low });
    let text = format!("{} … {}", number(unit, low / scale), number(unit, high / scale));
    with_unit(&text, name)
}

fn with_unit(text: &str, name: &str) -> String {
    if name.is_empty() { text.to_owned() } else { format!("{text} {name}") }
}

/// Returns the unit in which a value is easily read, in base units, and its name.
fn scale(unit: Unit, value: f64) -> (f64, &'static str) {
    let value = value.abs();
    match unit {
        Unit::Seconds if value >= 1.0 => (1.0, "s"),
        Unit::Seconds if value >= 1e-3 => (1e-3, "ms"),
        Unit::Seconds => (1e-6, "us"),
        Unit::BitsPerSecond if value >= 1e6 => (1e6, "Mbit/s"),
        Unit::BitsPerSecond => (1e3, "kbit/s"),
        Unit::Share => (1e-2, "%"),
        Unit::BitErrorRatio | Unit::Count => (1.0, ""),
    }
}

fn number(unit: Unit, value: f64) -> String {
    if value.is_infinite() {
        return if value > 0.0 { "inf".to_owned() } else { "-inf".to_owned() };
    }
    match unit {
        Unit::Count => format!("{value:.0}"),
        Unit::BitErrorRatio => format!("{value:.3e}"),
        Unit::Share | Unit::Seconds | Unit::BitsPerSecond => {
            let text = format!("{value:.4}");
            // Four digits after the decimal point for 1, fewer for larger values.
            let places = (4 - value.abs().max(1.0).log10() as usize).max(1);
            let cut = text.len() - (4 - places.min(4));
            let text = text[..cut].trim_end_matches('0').trim_end_matches('.');
            if text == "-0" { "0".to_owned() } else { text.to_owned() }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::self_check::statistics;

    fn delay(measured: f64) -> Row {
        Row::at_most_above("delay", 0.01, measured, 2e-4)
    }

    #[test]
    fn early_is_off_however_little() {
        assert!(delay(0.01).is_ok());
        assert!(delay(0.010_199).is_ok());
        assert!(!delay(0.010_201).is_ok());
        assert!(!delay(0.009_999_999).is_ok());
        assert!(!delay(f64::NAN).is_ok());
    }

    #[test]
    fn shares_are_judged_by_the_wider_interval() {
        let row = |configured| {
            let estimate = statistics::share(200, 10_000);
            Row::estimated("loss", Unit::Share, configured, estimate, Accepted::ByInterval)
        };
        // The 95 % interval is 1.75 % to 2.29 %, the 99.9 % interval 1.59 % to 2.51 %.
        assert!(row(0.02).is_ok() && row(0.0245).is_ok());
        assert!(!row(0.026).is_ok() && !row(0.015).is_ok());
    }

    #[test]
    fn a_narrow_interval_is_widened_by_the_share() {
        let row = |configured| {
            let interval = Interval { low: 9.99e6, high: 9.995e6 };
            let estimate = Estimate { value: 9.992e6, shown: interval, judged: interval };
            let accepted = Accepted::ByIntervalOrShare(0.001);
            Row::estimated("rate", Unit::BitsPerSecond, configured, estimate, accepted)
        };
        assert!(row(1e7).is_ok());
        assert!(!row(1.01e7).is_ok());
    }

    #[test]
    fn counts_must_be_equal() {
        assert!(Row::exact("packets", 51, 51).is_ok());
        assert!(!Row::exact("packets", 51, 50).is_ok() && !Row::exact("packets", 51, 52).is_ok());
    }

    #[test]
    fn numbers_as_people_read_them() {
        assert_eq!(shown(Unit::Seconds, 0.010_062_34), "10.062 ms");
        assert_eq!(shown(Unit::Seconds, 6.5e-5), "65 us");
        assert_eq!(shown(Unit::Seconds, 0.0), "0 us");
        assert_eq!(shown(Unit::BitsPerSecond, 384e3), "384 kbit/s");
        assert_eq!(shown(Unit::BitsPerSecond, 9_999_871.0), "9.9999 Mbit/s");
        assert_eq!(shown(Unit::Share, 0.02), "2 %");
        assert_eq!(shown(Unit::BitErrorRatio, 1e-4), "1.000e-4");
        assert_eq!(shown(Unit::Count, 51.0), "51");
        assert_eq!(range(Unit::Seconds, 0.000_9, 0.002), "0.9 … 2 ms");
        assert_eq!(range(Unit::Seconds, 0.02, f64::INFINITY), "20 … inf ms");
    }

    #[test]
    fn json_has_no_infinity() {
        let estimate = statistics::exponential_mean(3.0, 0);
        let row = Row::estimated("sojourn", Unit::Seconds, 0.2, estimate, Accepted::ByInterval);
        let json = row.to_json();
        assert!(json["measured"].is_null() && json["interval_95"][1].is_null());
        assert!(json["interval_95"][0].as_f64().is_some_and(|low| low > 0.5));
    }
}
