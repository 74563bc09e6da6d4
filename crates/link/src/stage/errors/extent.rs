//! Quantities in which a two-state channel can evolve.

use super::two_state::Sojourn;
use crate::units::{ByteCount, Span, UnitError};
use borsh::{BorshDeserialize, BorshSerialize};
use std::fmt;
use std::str::FromStr;

/// A quantity in which a channel can evolve: [`Span`] (time), [`ByteCount`], or [`Packets`].
pub trait Extent: Copy + PartialEq + fmt::Display + FromStr<Err: fmt::Display> {
    /// Steps of a timeline in one unit of [`Extent::units`]. Steps are nanoseconds, thousandths of
    /// a bit, or packets.
    const STEPS: f64;
    /// Default distribution of sojourns.
    const SOJOURN: Sojourn;
    /// Default tick in units.
    const TICK: f64;
    /// Whether sojourns and tick can be chosen. For packets they cannot: packets are whole, and
    /// each is a tick.
    const CHOICE: bool = true;
    /// Returns the number of nanoseconds, bytes or packets; infinite if there is no end.
    fn units(self) -> f64;
    /// Converts a number of units as precisely as the type allows.
    fn from_units(units: f64) -> Self;
    /// Formats `units` with four digits, for people.
    fn show(units: f64) -> String;
}

/// A mean number of packets, 0 or more. Its text form is `2.5` or `inf`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, BorshSerialize, BorshDeserialize)]
pub struct Packets(f64);

/// Formats a value with four significant digits.
pub(crate) fn digits(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { "0".to_owned() } else { "inf".to_owned() };
    }
    let magnitude = value.abs().log10().floor() as i32;
    if !(-6..9).contains(&magnitude) {
        return format!("{value:.3e}");
    }
    let text = format!("{value:.*}", usize::try_from(3 - magnitude).unwrap_or(0));
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Formats `value` in the largest of `units` that does not exceed it.
fn scaled(value: f64, units: &[(&str, f64)]) -> String {
    if value == 0.0 || value.is_infinite() {
        return digits(value);
    }
    let (unit, factor) =
        units.iter().find(|unit| value >= unit.1).or(units.last()).copied().unwrap_or(("", 1.0));
    format!("{}{unit}", digits(value / factor))
}

impl Extent for Span {
    const STEPS: f64 = 1.0;
    const SOJOURN: Sojourn = Sojourn::Geometric;
    /// 10 ms: the timer interrupt of the thesis's kernel (TL-09).
    const TICK: f64 = 10e6;

    fn units(self) -> f64 {
        if self.is_forever() { f64::INFINITY } else { self.as_nanos() as f64 }
    }

    fn from_units(units: f64) -> Self {
        Self::from_nanos(units.round() as u64)
    }

    fn show(units: f64) -> String {
        scaled(units, &[("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1.0)])
    }
}

impl Extent for ByteCount {
    /// Finer than a bit, so that a sojourn can end within one: the sojourns of Table D.1 are real
    /// numbers.
    const STEPS: f64 = 8000.0;
    const SOJOURN: Sojourn = Sojourn::Exponential;
    const TICK: f64 = 1.0;

    fn units(self) -> f64 {
        if self.get() == u64::MAX { f64::INFINITY } else { self.get() as f64 }
    }

    fn from_units(units: f64) -> Self {
        Self::new(units.round() as u64)
    }

    fn show(units: f64) -> String {
        scaled(units, &[("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1.0)])
    }
}

impl Extent for Packets {
    const STEPS: f64 = 1.0;
    const SOJOURN: Sojourn = Sojourn::Geometric;
    const TICK: f64 = 1.0;
    const CHOICE: bool = false;

    fn units(self) -> f64 {
        self.0
    }

    fn from_units(units: f64) -> Self {
        Self(units)
    }

    fn show(units: f64) -> String {
        format!("{} packets", digits(units))
    }
}

impl Packets {
    /// Creates a number of packets; `None` for a negative number or NaN.
    #[must_use]
    pub fn new(count: f64) -> Option<Self> {
        (count >= 0.0).then_some(Self(count))
    }

    /// Returns the number.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl fmt::Display for Packets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0.to_string())
    }
}

impl FromStr for Packets {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = text.trim().trim_end_matches("packets").trim_end().parse().ok();
        number.and_then(Self::new).ok_or_else(|| UnitError::Wrong {
            given: text.to_owned(),
            what: "number of packets",
            example: "2.5 or inf",
        })
    }
}
