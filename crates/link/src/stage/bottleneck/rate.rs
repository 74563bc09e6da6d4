//! Rate parameters of a limiter as written in a profile.

use super::mahimahi::MahimahiTrace;
use super::theaterq::{AtEnd, TheaterqTrace};
use crate::stage::spec::{FromFile, Read, SpecError, text_or_table};
use crate::units::{BitRate, UnitError};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// Rate of a limiter.
///
/// In a profile: `"11Mbit"`, `"inf"`, `{ mahimahi = "FILE", once = true }` or
/// `{ theaterq = "FILE", at_end = "hold" }`.
#[derive(Debug, Clone, PartialEq, Default, borsh::BorshSerialize, borsh::BorshDeserialize)]
pub enum RateSpec {
    /// Unlimited: packets pass at once and never wait.
    #[default]
    Unlimited,
    /// Constant.
    Constant(BitRate),
    /// Opportunities to send; see [`super::mahimahi`].
    Mahimahi(FromFile<MahimahiTrace>, Once),
    /// Rate, losses, copies and room in the queue change with time; see [`super::theaterq`].
    Theaterq(FromFile<TheaterqTrace>, AtEnd),
    /// A link layer below requests one packet after the other ([`crate::stage::Stage::release`]),
    /// at this effective rate. It cannot be written in a profile; [`crate::LinkSpec::over_arq`]
    /// sets it for the stages above a hop.
    LinkLayer(BitRate),
}

/// Whether a mahimahi trace is replayed once, after which no packet is sent (`mm-link --once`), or
/// in endless rounds.
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
#[serde(transparent)]
pub struct Once(pub bool);

impl RateSpec {
    /// Reads the file of the rate, if it has one.
    pub fn load(&mut self, read: &mut Read<'_>) -> Result<(), SpecError> {
        match self {
            Self::Unlimited | Self::Constant(_) | Self::LinkLayer(_) => Ok(()),
            Self::Mahimahi(file, _) => file.load(read, MahimahiTrace::parse),
            Self::Theaterq(file, _) => file.load(read, TheaterqTrace::parse),
        }
    }
}

impl fmt::Display for RateSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unlimited => f.write_str("unlimited"),
            Self::Constant(rate) | Self::LinkLayer(rate) => rate.fmt(f),
            Self::Mahimahi(file, _) => write!(f, "mahimahi trace {}", file.name()),
            Self::Theaterq(file, _) => write!(f, "TheaterQ trace {}", file.name()),
        }
    }
}

impl FromStr for RateSpec {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        if matches!(text.trim(), "inf" | "unlimited") {
            return Ok(Self::Unlimited);
        }
        text.parse().map(Self::Constant)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "`{ mahimahi = FILE, once = BOOL }` or `{ theaterq = FILE, at_end = loop, hold or clear }`"
)]
enum Table {
    Mahimahi(Mahimahi),
    Theaterq(Theaterq),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mahimahi {
    mahimahi: FromFile<MahimahiTrace>,
    #[serde(default)]
    once: Once,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Theaterq {
    theaterq: FromFile<TheaterqTrace>,
    #[serde(default)]
    at_end: AtEnd,
}

impl From<Table> for RateSpec {
    fn from(table: Table) -> Self {
        match table {
            Table::Mahimahi(Mahimahi { mahimahi, once }) => Self::Mahimahi(mahimahi, once),
            Table::Theaterq(Theaterq { theaterq, at_end }) => Self::Theaterq(theaterq, at_end),
        }
    }
}

impl<'de> Deserialize<'de> for RateSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        text_or_table::<D, Self, Table>(
            deserializer,
            "a rate like \"11Mbit\", \"inf\" or a table that names a trace",
        )
    }
}

impl Serialize for RateSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.clone() {
            Self::Unlimited => serializer.serialize_str("inf"),
            Self::Constant(rate) | Self::LinkLayer(rate) => rate.serialize(serializer),
            Self::Mahimahi(mahimahi, once) => Mahimahi { mahimahi, once }.serialize(serializer),
            Self::Theaterq(theaterq, at_end) => Theaterq { theaterq, at_end }.serialize(serializer),
        }
    }
}
