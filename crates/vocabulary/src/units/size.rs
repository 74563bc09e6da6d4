//! Amounts of data and data rates.

use super::{Span, UnitError, number_and_unit, serde_as_text, trimmed, whole};
use borsh::{BorshDeserialize, BorshSerialize};
use std::fmt;
use std::str::FromStr;

/// A rate in bits per second. Parses `384kbit`, `11Mbit`, `1.5Mbit/s`, `9600bit`, `125kB/s`, with
/// factors of 1000, as tc does. Rejects `kbps`, which is kilobytes for tc and kilobits for mahimahi
/// and iperf3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, BorshSerialize, BorshDeserialize)]
pub struct BitRate(u64);

/// A number of bytes. Parses `64kB`, `1.5MB`, `64KiB`, `1500B`, `1500`. Rejects `64k` and `64KB`,
/// which are 65536 bytes for tc and iperf3, and 64000 for others.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, BorshSerialize, BorshDeserialize,
)]
pub struct ByteCount(u64);

impl BitRate {
    /// Creates a rate of `bits` bits per second. `None` for 0, with which nothing would ever be
    /// sent; an outage expresses this better.
    #[must_use]
    pub const fn from_bits_per_second(bits: u64) -> Option<Self> {
        if bits == 0 { None } else { Some(Self(bits)) }
    }

    /// Returns the bits per second.
    #[must_use]
    pub const fn as_bits_per_second(self) -> u64 {
        self.0
    }

    /// Returns the time to send `bytes` bytes at this rate, rounded up to a nanosecond so that it
    /// is never too short.
    #[must_use]
    pub fn time_for(self, bytes: ByteCount) -> Span {
        let nanos = (u128::from(bytes.get()) * 8 * 1_000_000_000).div_ceil(u128::from(self.0));
        Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Returns the whole bytes that can be sent in `span` at this rate.
    #[must_use]
    pub fn bytes_in(self, span: Span) -> ByteCount {
        let bytes = u128::from(span.as_nanos()) * u128::from(self.0) / 8_000_000_000;
        ByteCount(u64::try_from(bytes).unwrap_or(u64::MAX))
    }
}

impl ByteCount {
    /// Creates a size of `bytes` bytes.
    #[must_use]
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// Returns the number of bytes.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the number of bits.
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.0.saturating_mul(8)
    }
}

/// Formats `value` in the largest of `steps` in which three decimal places are exact.
fn scaled(value: u64, steps: &[(&str, u64)]) -> String {
    for &(unit, factor) in steps {
        if value >= factor && (factor == 1 || value.is_multiple_of(factor / 1000)) {
            return format!("{}{unit}", trimmed(value as f64 / factor as f64, 3));
        }
    }
    format!("{value}{}", steps.last().map_or("", |step| step.0))
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steps = [("Gbit/s", 1_000_000_000), ("Mbit/s", 1_000_000), ("kbit/s", 1_000), ("bit/s", 1)];
        f.pad(&scaled(self.0, &steps))
    }
}

impl FromStr for BitRate {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let wrong = || UnitError::Wrong {
            given: text.to_owned(),
            what: "rate",
            example: "384kbit, 11Mbit/s or 125kB/s",
        };
        let (number, unit) = number_and_unit(text).ok_or_else(wrong)?;
        if let Some(scale) = unit.strip_suffix("bps") {
            let (bits, bytes) = (format!("{number}{scale}bit"), format!("{}{scale}bit", number * 8.0));
            // A text that is no rate in bits is no rate in bytes either.
            bits.parse::<Self>().map_err(|_| wrong())?;
            return Err(UnitError::TwoMeanings {
                given: text.to_owned(),
                first: bits,
                first_words: "bits a second",
                second: bytes,
                second_words: "the bytes a second that tc means by it",
            });
        }
        // Rates in bits have `bit` or a small b, rates in bytes a capital B.
        let unit = unit.strip_suffix("/s").or_else(|| unit.strip_suffix("ps")).unwrap_or(unit);
        let (scale, factor) = if let Some(scale) = unit.strip_suffix("bit") {
            (scale, 1.0)
        } else if let Some(scale) = unit.strip_suffix('b') {
            (scale, 1.0)
        } else if let Some(scale) = unit.strip_suffix('B') {
            (scale, 8.0)
        } else {
            return Err(wrong());
        };
        let scale = match scale {
            "" => 1.0,
            "k" | "K" => 1e3,
            "m" | "M" => 1e6,
            "g" | "G" => 1e9,
            _ => return Err(wrong()),
        };
        whole(number * scale * factor).and_then(Self::from_bits_per_second).ok_or_else(wrong)
    }
}

impl fmt::Display for ByteCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&scaled(self.0, &[("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000), ("B", 1)]))
    }
}

impl FromStr for ByteCount {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let wrong = || UnitError::Wrong {
            given: text.to_owned(),
            what: "number of bytes",
            example: "64kB, 64KiB or 1500B",
        };
        let (number, unit) = number_and_unit(text).ok_or_else(wrong)?;
        let factor = match unit {
            "" | "B" => 1.0,
            "kB" => 1e3,
            "MB" => 1e6,
            "GB" => 1e9,
            "k" | "K" | "kb" | "KB" => return Err(thousands_or_1024(text, number, ["kB", "KiB"])),
            "M" => return Err(thousands_or_1024(text, number, ["MB", "MiB"])),
            "G" => return Err(thousands_or_1024(text, number, ["GB", "GiB"])),
            "KiB" => 1024.0,
            "MiB" => 1024.0 * 1024.0,
            "GiB" => 1024.0 * 1024.0 * 1024.0,
            _ => return Err(wrong()),
        };
        whole(number * factor).map(Self).ok_or_else(wrong)
    }
}

/// Creates the error for a unit in steps of 1000 for some programs and of 1024 for others.
fn thousands_or_1024(given: &str, number: f64, [decimal, binary]: [&str; 2]) -> UnitError {
    UnitError::TwoMeanings {
        given: given.to_owned(),
        first: format!("{number}{decimal}"),
        first_words: "steps of 1000",
        second: format!("{number}{binary}"),
        second_words: "the steps of 1024 that tc and iperf3 mean by it",
    }
}

serde_as_text!(BitRate);
serde_as_text!(ByteCount);
