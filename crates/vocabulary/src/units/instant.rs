//! Points in time and time spans, in whole nanoseconds.

use super::{UnitError, number_and_unit, serde_as_text, trimmed, whole};
use borsh::{BorshDeserialize, BorshSerialize};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};
use std::str::FromStr;
use std::time::Duration;

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// A point in time: nanoseconds since the start of the run, on the run's clock. Serde uses this
/// number.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Serialize,
    Deserialize,
    BorshSerialize,
    BorshDeserialize,
)]
#[serde(transparent)]
pub struct Time(u64);

/// A wall-clock time: nanoseconds since 1970-01-01 00:00:00 UTC. Serde uses this number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WallTime(u64);

/// A time span in nanoseconds. Parses `70ms`, `1.5s`, `20us`, `200ns`, `5min`, `2h`; [`Span::MAX`]
/// is `inf`. Serde uses this text; [`nanos`] is for rows of tables.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, BorshSerialize, BorshDeserialize,
)]
pub struct Span(u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// Later than any event.
    pub const NEVER: Self = Self(u64::MAX);

    /// Creates the time `nanos` nanoseconds after the start of the run.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Returns the nanoseconds since the start of the run.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns the seconds since the start of the run.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOS_PER_SECOND as f64
    }

    /// Returns the span from `earlier` to this time; zero if `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// A span of zero.
    pub const ZERO: Self = Self(0);
    /// An infinite span.
    pub const MAX: Self = Self(u64::MAX);

    /// Creates a span of `nanos` nanoseconds.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Creates a span of `micros` microseconds.
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros * 1_000)
    }

    /// Creates a span of `millis` milliseconds.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }

    /// Creates a span of `secs` seconds.
    #[must_use]
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs * NANOS_PER_SECOND)
    }

    /// Creates a span of `secs` seconds, rounded to the nearest nanosecond. Negative numbers and
    /// NaN give zero; numbers that are too large give [`Span::MAX`].
    #[must_use]
    pub fn from_secs_f64(secs: f64) -> Self {
        // `as` saturates at both ends and maps NaN to 0.
        Self((secs * NANOS_PER_SECOND as f64).round() as u64)
    }

    /// Returns the span in nanoseconds.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns the span in seconds.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOS_PER_SECOND as f64
    }

    /// Tells whether this is [`Span::MAX`], written `inf`.
    #[must_use]
    pub const fn is_forever(self) -> bool {
        self.0 == u64::MAX
    }
}

impl WallTime {
    /// Creates the time `nanos` nanoseconds after the epoch.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Returns the nanoseconds since the epoch.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns the wall-clock time of `time` in a run that started at this time.
    #[must_use]
    pub const fn at(self, time: Time) -> Self {
        Self(self.0.saturating_add(time.0))
    }
}

impl Add<Span> for Time {
    type Output = Self;
    /// Saturates at [`Time::NEVER`], because a span of [`Span::MAX`] is infinite.
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Sub for Time {
    type Output = Span;
    fn sub(self, earlier: Self) -> Span {
        self.since(earlier)
    }
}

impl Add for Span {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Span {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Mul<u64> for Span {
    type Output = Self;
    fn mul(self, times: u64) -> Self {
        Self(self.0.saturating_mul(times))
    }
}

impl From<Duration> for Span {
    fn from(duration: Duration) -> Self {
        Self(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Span> for Duration {
    fn from(span: Span) -> Self {
        Self::from_nanos(span.0)
    }
}

impl fmt::Display for Time {
    /// Writes seconds with nine decimal places, like captures and `tcpdump -tt`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}.{:09}", self.0 / NANOS_PER_SECOND, self.0 % NANOS_PER_SECOND))
    }
}

/// Units, the largest first, with their length in nanoseconds.
const UNITS: [(&str, u64); 4] = [("s", NANOS_PER_SECOND), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_forever() {
            return f.pad("inf");
        }
        // Use the largest unit in which three decimal places are exact, or else nanoseconds. So the
        // text reads back as the same value.
        for (unit, nanos) in UNITS {
            let exact = nanos == 1 || self.0.is_multiple_of(nanos / 1000);
            if self.0 >= nanos && exact {
                return f.pad(&format!("{}{unit}", trimmed(self.0 as f64 / nanos as f64, 3)));
            }
        }
        f.pad(if self.0 == 0 { "0ms" } else { "0" })
    }
}

impl FromStr for Span {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let wrong = || UnitError::Wrong {
            given: text.to_owned(),
            what: "length of time",
            example: "70ms, 1.5s, 20us, 200ns, 5min or inf",
        };
        if matches!(text.trim(), "inf" | "infinite" | "never") {
            return Ok(Self::MAX);
        }
        let (number, unit) = number_and_unit(text).ok_or_else(wrong)?;
        let nanos = match unit {
            "s" | "sec" => 1e9,
            "ms" => 1e6,
            "us" | "µs" => 1e3,
            "ns" => 1.0,
            "min" | "m" => 60e9,
            "h" => 3600e9,
            "" if number == 0.0 => 0.0,
            _ => return Err(wrong()),
        };
        whole(number * nanos).map(Self).ok_or_else(wrong)
    }
}

serde_as_text!(Span);

/// Serde for a [`Span`] as a number of nanoseconds: `#[serde(with = "nanos")]`.
pub mod nanos {
    use super::Span;
    use serde::{Deserialize, Deserializer, Serializer};

    /// Serializes to the number.
    pub fn serialize<S: Serializer>(span: &Span, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(span.as_nanos())
    }

    /// Deserializes from the number.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Span, D::Error> {
        u64::deserialize(deserializer).map(Span::from_nanos)
    }
}
