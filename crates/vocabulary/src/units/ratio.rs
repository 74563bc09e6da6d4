//! Probabilities and bit error ratios.

use super::{UnitError, number_and_unit, serde_as_text, trimmed};
use borsh::{BorshDeserialize, BorshSerialize};
use std::fmt;
use std::str::FromStr;

/// A probability, from 0 to 1 inclusive. Parses `1.5%` and `0.015`; prints per cent.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, BorshSerialize, BorshDeserialize)]
pub struct Probability(f64);

/// The probability that a bit is wrong, from 0 to 1. Parses and prints `1e-5`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, BorshSerialize, BorshDeserialize)]
pub struct BitErrorRatio(f64);

impl Probability {
    /// The probability of an impossible event.
    pub const ZERO: Self = Self(0.0);
    /// The probability of a certain event.
    pub const ONE: Self = Self(1.0);

    /// Creates a probability; `None` if `value` is not from 0 to 1.
    #[must_use]
    pub fn new(value: f64) -> Option<Self> {
        (0.0..=1.0).contains(&value).then_some(Self(value))
    }

    /// Returns the number, 0 to 1.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }

    /// Decides whether an event of this probability happens. `uniform` is drawn uniformly from [0,
    /// 1).
    #[must_use]
    pub fn happens(self, uniform: f64) -> bool {
        uniform < self.0
    }
}

impl BitErrorRatio {
    /// No bit is ever wrong.
    pub const ZERO: Self = Self(0.0);

    /// Creates a bit error ratio; `None` if `value` is not from 0 to 1.
    #[must_use]
    pub fn new(value: f64) -> Option<Self> {
        (0.0..=1.0).contains(&value).then_some(Self(value))
    }

    /// Returns the number, 0 to 1.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }

    /// Returns the probability that at least one of `bits` bits is wrong: `1 − (1 − p)^bits` (ReSoA
    /// evaluation, D.1).
    #[must_use]
    pub fn hits(self, bits: u64) -> Probability {
        // ln_1p and exp_m1 keep the digits that 1 − (1 − 1e-12) would lose.
        Probability(-((bits as f64) * (-self.0).ln_1p()).exp_m1())
    }
}

impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = self.0 * 100.0;
        if percent != 0.0 && percent.abs() < 1e-4 {
            return f.pad(&format!("{percent:e}%"));
        }
        f.pad(&format!("{}%", trimmed(percent, 6)))
    }
}

impl FromStr for Probability {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let wrong = || UnitError::Wrong {
            given: text.to_owned(),
            what: "probability",
            example: "1.5% or 0.015 (0 to 1)",
        };
        let (number, unit) = number_and_unit(text).ok_or_else(wrong)?;
        let value = match unit {
            "%" => number / 100.0,
            "" => number,
            _ => return Err(wrong()),
        };
        Self::new(value).ok_or_else(wrong)
    }
}

impl fmt::Display for BitErrorRatio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0.0 { f.pad("0") } else { f.pad(&format!("{:e}", self.0)) }
    }
}

impl FromStr for BitErrorRatio {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let wrong =
            || UnitError::Wrong { given: text.to_owned(), what: "bit error ratio", example: "1e-5 (0 to 1)" };
        match number_and_unit(text) {
            Some((number, "")) => Self::new(number).ok_or_else(wrong),
            _ => Err(wrong()),
        }
    }
}

serde_as_text!(Probability);
serde_as_text!(BitErrorRatio);
