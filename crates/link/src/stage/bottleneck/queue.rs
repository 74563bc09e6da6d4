//! Queue parameters as written in a profile.

use super::codel::CoDelSpec;
use super::red::RedSpec;
use crate::stage::spec::text_or_table;
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

/// Queue discipline: the treatment of packets that arrive faster than they are sent.
///
/// In a profile, a [`Limit`] such as `"50p"` alone means drop-tail. `"codel"` and `"red"` select
/// these disciplines with their default parameters. All others are a table with a `kind`:
/// `drop-tail`, `drop-head` (both with `limit`), `codel`, `red`, `trace` (with
/// `limit_in = "packets"` or `"bytes"`).
#[derive(Debug, Clone, PartialEq, borsh::BorshSerialize, borsh::BorshDeserialize)]
pub enum QueueSpec {
    /// A packet that finds no room is lost. With a limit in time, this is a packet that would wait
    /// longer for the start of its transmission, at the rate at its arrival. The wait is exact for
    /// a constant rate and for a mahimahi trace.
    DropTail(Limit),
    /// The oldest packets make room for an arriving packet. With a limit in time, a packet is lost
    /// when the limit has passed since its arrival and its transmission has not begun.
    DropHead(Limit),
    /// Controlled delay; see [`super::codel`].
    CoDel(CoDelSpec),
    /// Random early detection; see [`super::red`].
    Red(RedSpec),
    /// Drop-tail with the room and the virtual queue of the rate's TheaterQ trace.
    Trace(TraceLimit),
}

/// Unit of the room in the queue in a TheaterQ trace, which does not state it (`pktqlen` and
/// `byteqlen` of its `tc`).
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    Serialize,
    Deserialize,
    borsh::BorshSerialize,
    borsh::BorshDeserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum TraceLimit {
    /// Packets.
    #[default]
    Packets,
    /// Bytes, as the limiter counts them.
    Bytes,
}

impl Default for QueueSpec {
    fn default() -> Self {
        Self::DropTail(Limit::Unlimited)
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

impl fmt::Display for QueueSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DropTail(limit) => write!(f, "drop-tail {limit}"),
            Self::DropHead(limit) => write!(f, "drop-head {limit}"),
            Self::CoDel(spec) => spec.fmt(f),
            Self::Red(spec) => spec.fmt(f),
            Self::Trace(TraceLimit::Packets) => f.write_str("drop-tail as the trace says, in packets"),
            Self::Trace(TraceLimit::Bytes) => f.write_str("drop-tail as the trace says, in bytes"),
        }
    }
}

impl FromStr for QueueSpec {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        match text.trim() {
            "codel" => Ok(Self::CoDel(CoDelSpec::default())),
            "red" => Ok(Self::Red(RedSpec::default())),
            limit => limit.parse().map(Self::DropTail),
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum Table {
    DropTail {
        limit: Limit,
    },
    DropHead {
        limit: Limit,
    },
    #[serde(rename = "codel")]
    CoDel(CoDelSpec),
    Red(RedSpec),
    Trace {
        #[serde(default)]
        limit_in: TraceLimit,
    },
}

impl From<Table> for QueueSpec {
    fn from(table: Table) -> Self {
        match table {
            Table::DropTail { limit } => Self::DropTail(limit),
            Table::DropHead { limit } => Self::DropHead(limit),
            Table::CoDel(spec) => Self::CoDel(spec),
            Table::Red(spec) => Self::Red(spec),
            Table::Trace { limit_in } => Self::Trace(limit_in),
        }
    }
}

impl<'de> Deserialize<'de> for QueueSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        text_or_table::<D, Self, Table>(deserializer, "a limit like \"50p\", or a table with a `kind`")
    }
}

impl Serialize for QueueSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.clone() {
            Self::DropTail(limit) => limit.serialize(serializer),
            Self::DropHead(limit) => Table::DropHead { limit }.serialize(serializer),
            Self::CoDel(spec) => Table::CoDel(spec).serialize(serializer),
            Self::Red(spec) => Table::Red(spec).serialize(serializer),
            Self::Trace(limit_in) => Table::Trace { limit_in }.serialize(serializer),
        }
    }
}
