//! Rate parameters of a limiter as written in a profile.

use super::mahimahi::{MahimahiTrace, Playback};
use super::theaterq::{AtEnd, TheaterqTrace};
use crate::stage::spec::{FromFile, Read, SpecError, text_or_table};
use crate::units::{BitRate, ByteCount, UnitError};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// Rate of a limiter.
///
/// In a profile: `"11Mbit"`, `"inf"`, `{ mahimahi = "FILE", once = true, opportunity = "1504B"
/// }` or `{ theaterq = "FILE", at_end = "hold" }`.
#[derive(Debug, Clone, PartialEq, Default, borsh::BorshSerialize, borsh::BorshDeserialize)]
pub enum RateSpec {
    /// Unlimited: packets pass at once and never wait.
    #[default]
    Unlimited,
    /// Constant.
    Constant(BitRate),
    /// Opportunities to send; see [`super::mahimahi`].
    Mahimahi(FromFile<MahimahiTrace>, Playback),
    /// Rate, losses, copies and room in the queue change with time; see [`super::theaterq`].
    Theaterq(FromFile<TheaterqTrace>, AtEnd),
    /// A link layer below requests one packet after the other ([`crate::stage::Stage::release`]),
    /// at this effective rate. It cannot be written in a profile; [`crate::LinkSpec::over_arq`]
    /// sets it for the stages above a hop.
    LinkLayer(BitRate),
}

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
    expecting = "`{ mahimahi = FILE, once = BOOL, opportunity = BYTES }` or `{ theaterq = FILE, at_end = loop, hold or clear }`"
)]
enum Table {
    Mahimahi(Mahimahi),
    Theaterq(Theaterq),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mahimahi {
    #[serde(rename = "mahimahi")]
    trace: FromFile<MahimahiTrace>,
    #[serde(default)]
    once: bool,
    #[serde(default = "usual", skip_serializing_if = "is_usual")]
    opportunity: ByteCount,
}

fn usual() -> ByteCount {
    Playback::USUAL.opportunity
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_usual(opportunity: &ByteCount) -> bool {
    *opportunity == usual()
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
            Table::Mahimahi(Mahimahi { trace, once, opportunity }) => {
                Self::Mahimahi(trace, Playback { once, opportunity })
            }
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
            Self::Mahimahi(trace, Playback { once, opportunity }) => {
                Mahimahi { trace, once, opportunity }.serialize(serializer)
            }
            Self::Theaterq(theaterq, at_end) => Theaterq { theaterq, at_end }.serialize(serializer),
        }
    }
}
