//! Parameters of the error stage, as written in a profile.

use super::process::ProcessSpec;
use crate::filter::Filter;
use crate::stage::spec::{Read, SpecError};
use crate::units::BitErrorRatio;
use borsh::{BorshDeserialize, BorshSerialize};
use packet::Region;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Parameters of [`super::Errors`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorSpec {
    /// The process that selects packets.
    pub process: ProcessSpec,
    /// Effect on the selected packets.
    #[serde(default)]
    pub effect: EffectSpec,
    /// When a process in time judges a packet.
    #[serde(default)]
    pub sampled: Sampled,
    /// Packets that are spared even if the process hits them.
    #[serde(default, skip_serializing_if = "Exempt::is_none")]
    pub exempt: Exempt,
    /// If present, errors affect only packets that match this filter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<Filter>,
}

/// When a packet is judged by a trace or a process that evolves in time. Other processes judge a
/// packet as a whole.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, BorshSerialize, BorshDeserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Sampled {
    /// At the instant at which the packet arrives at the stage. Behind a limiter this is the end of
    /// its transmission. Only this choice gives the packet rates of TCP Lite's Table 5.1 (10.5,
    /// TL-11).
    #[default]
    Instant,
    /// Over its transmission interval. The packet is hit if any part of it meets the bad state.
    /// Each bit is wrong with the bit error ratio of the state in which its transmission began. A
    /// packet that no limiter sent has no such interval and is judged at its instant.
    Interval,
}

/// Effect on a packet that is hit.
#[derive(
    Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, BorshSerialize, BorshDeserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum EffectSpec {
    /// The packet is lost.
    #[default]
    Lose,
    /// The TCP or UDP checksum is made wrong, and no other bytes are changed (TL-13). A packet
    /// without such a checksum (ICMP, a later fragment, ARP) is lost: a receiver also discards a
    /// segment with a wrong checksum, unless it asked for damaged segments.
    SpoilChecksum,
    /// Bits of the packet are flipped (TL-14).
    Flip(Flip),
}

/// Choice of the bits to flip.
///
/// If the process has bit error ratios of its own, it determines the number of wrong bits. Each bit
/// of the region is then wrong independently, and a packet without a wrong bit is not hit. For any
/// other process, either `ber` or `bits` determines the number.
#[derive(
    Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, BorshSerialize, BorshDeserialize,
)]
#[serde(default, deny_unknown_fields)]
pub struct Flip {
    /// Region of the packet. A packet without such a region, or with an empty one, passes
    /// unchanged, because it has no bit to flip.
    #[serde(with = "text")]
    pub region: Region,
    /// Probability that a bit of the region is wrong, given at least one wrong bit. A packet in the
    /// bad state is therefore always damaged (TCP Lite, 5.2.2); apart from that condition, the
    /// number of wrong bits is binomial.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ber: Option<BitErrorRatio>,
    /// Number of bits to flip in the region: all of them if it has no more. Each set of bits is
    /// equally likely.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bits: Option<u32>,
}

/// Packets that errors spare. The process also evolves under these packets, so an exemption does
/// not change which of the other packets are hit.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Exempt {
    /// Spares TCP segments with SYN, so that handshakes succeed (the packet drop generator's
    /// `S_flag`, LTCP 1.8.4).
    pub syn: bool,
    /// Spares this many packets at the start of this direction of the link, by
    /// [`crate::Packet::number`].
    pub first: u64,
    /// Spares packets that match this filter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets: Option<Filter>,
}

impl ErrorSpec {
    /// Creates errors that lose the packets hit by `process`; no packet is exempt.
    #[must_use]
    pub fn new(process: ProcessSpec) -> Self {
        Self {
            process,
            effect: EffectSpec::Lose,
            sampled: Sampled::Instant,
            exempt: Exempt::default(),
            only: None,
        }
    }

    /// Reads the file of the specification, if it has one. [`super::Errors::new`] requires this for
    /// a specification that names a file.
    pub fn load(&mut self, read: &mut Read<'_>) -> Result<(), SpecError> {
        self.process.load(read)
    }

    pub(super) fn check(&self) -> Result<(), SpecError> {
        let EffectSpec::Flip(flip) = self.effect else { return Ok(()) };
        let own = self.process.has_bit_errors();
        match (flip.ber, flip.bits) {
            (Some(ber), Some(_)) => Err(SpecError::value("flip.ber", ber, "give ber or bits, not both")),
            (Some(ber), None) if own => Err(SpecError::value(
                "flip.ber",
                ber,
                "the process already has a bit error ratio: remove this one",
            )),
            (Some(BitErrorRatio::ZERO), None) => {
                Err(SpecError::value("flip.ber", 0, "must be above 0: a packet that is hit has a wrong bit"))
            }
            (None, Some(0)) => {
                Err(SpecError::value("flip.bits", 0, "must be above 0: a packet that is hit has a wrong bit"))
            }
            (None, None) if !own => Err(SpecError::value(
                "flip",
                "{}",
                "the process does not say how many bits are wrong: give ber or bits",
            )),
            _ => Ok(()),
        }
    }
}

impl Exempt {
    pub(crate) fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for ErrorSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.process, self.effect)?;
        if self.sampled == Sampled::Interval {
            f.write_str("; judged over the transmission interval")?;
        }
        if let Some(only) = &self.only {
            write!(f, "; only {only}")?;
        }
        if self.exempt.syn {
            f.write_str("; not SYN segments")?;
        }
        if self.exempt.first > 0 {
            write!(f, "; not the first {}", self.exempt.first)?;
        }
        if let Some(filter) = &self.exempt.packets {
            write!(f, "; not {filter}")?;
        }
        Ok(())
    }
}

impl fmt::Display for EffectSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lose => f.write_str("lost"),
            Self::SpoilChecksum => f.write_str("checksum spoiled"),
            Self::Flip(Flip { region, ber: None, bits: None }) => write!(f, "bits of the {region} flipped"),
            Self::Flip(Flip { region, ber: Some(ber), .. }) => {
                write!(f, "bits of the {region} flipped, bit error ratio {ber} and at least one")
            }
            Self::Flip(Flip { region, bits: Some(bits), .. }) => {
                write!(f, "{bits} bits of the {region} flipped")
            }
        }
    }
}

/// Serde by the text form.
mod text {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};
    use std::fmt::Display;
    use std::str::FromStr;

    pub fn serialize<T: Display, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    pub fn deserialize<'de, T: FromStr<Err: Display>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<T, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}
