//! Limits of queues as written in a profile.

use crate::stage::spec::SpecError;
use crate::units::{ByteCount, Span, UnitError};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// Limit of a queue. The packet being sent does not count, nor do packets in flight behind the
/// limiter (M16). The text form is `50p`, `64kB`, `200ms` or `inf`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, borsh::BorshSerialize, borsh::BorshDeserialize)]
pub enum Limit {
    /// No limit.
    #[default]
    Unlimited,
    /// A number of packets.
    Packets(u64),
    /// A number of bytes, as the limiter counts them.
    Bytes(ByteCount),
    /// The amount that is sent within this time.
    Time(Span),
}

impl Limit {
    /// Refuses a limit in time, for a queue of several flows: the waiting time of a packet depends
    /// on the flows that come later.
    pub(super) fn refuse_time(self) -> Result<(), SpecError> {
        match self {
            Self::Time(_) => {
                Err(SpecError::value("limit", self, "must be packets, like 1000p, or bytes, like 64kB"))
            }
            Self::Unlimited | Self::Packets(_) | Self::Bytes(_) => Ok(()),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unlimited => f.pad("inf"),
            Self::Packets(count) => f.pad(&format!("{count}p")),
            Self::Bytes(count) => count.fmt(f),
            Self::Time(span) => span.fmt(f),
        }
    }
}

impl FromStr for Limit {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let wrong = || UnitError::Wrong {
            given: text.to_owned(),
            what: "limit of a queue",
            example: "50p, 64kB, 200ms or inf",
        };
        let trimmed = text.trim();
        if matches!(trimmed, "inf" | "infinite" | "unlimited") {
            Ok(Self::Unlimited)
        } else if let Some(count) = trimmed.strip_suffix("packets").or_else(|| trimmed.strip_suffix('p')) {
            count.trim().parse().map(Self::Packets).map_err(|_| wrong())
        } else if trimmed.ends_with(|unit: char| unit.is_alphabetic()) {
            match trimmed.parse() {
                Ok(size) => Ok(Self::Bytes(size)),
                Err(error @ UnitError::TwoMeanings { .. }) => Err(error),
                Err(UnitError::Wrong { .. }) => trimmed.parse().map(Self::Time).map_err(|_| wrong()),
            }
        } else {
            Err(wrong())
        }
    }
}

impl Serialize for Limit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}
