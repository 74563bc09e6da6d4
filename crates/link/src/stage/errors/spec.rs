//! The error stage: what a profile says about it.

use super::process::ProcessSpec;
use crate::filter::Filter;
use crate::stage::spec::{Read, SpecError};
use crate::units::BitErrorRatio;
use packet::Region;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Parameters of [`super::Errors`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorSpec {
    /// Which packets are hit.
    pub process: ProcessSpec,
    /// What becomes of them.
    #[serde(default)]
    pub effect: EffectSpec,
    /// When a packet is judged by a process in time.
    #[serde(default)]
    pub sampled: Sampled,
    /// Packets that nothing is done to though they are hit.
    #[serde(default, skip_serializing_if = "Exempt::is_none")]
    pub exempt: Exempt,
    /// Something is done only to packets that pass this filter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<Filter>,
}

/// When a packet is judged by a process that evolves in time, or a trace. The others judge a packet
/// as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sampled {
    /// By the state at the one instant at which it comes to the stage, which is when it leaves the
    /// limiter if the stage stands behind one. Only this gives the packet rates of TCP Lite's Table
    /// 5.1 (10.5, TL-11).
    #[default]
    Instant,
    /// Over its transmission interval: it is hit if any part of it meets the bad state, and each
    /// bit is wrong with the bit error ratio of the state in which its transmission began. A packet
    /// that no limiter sent has no such interval and is judged at the instant.
    Interval,
}

/// What becomes of a packet that is hit.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EffectSpec {
    /// It is lost.
    #[default]
    Lose,
    /// Its TCP or UDP checksum is made wrong and nothing else touched (TL-13). A packet that has
    /// none (ICMP, a later fragment, ARP) is lost: that is what a receiver does with the others
    /// unless it asked for damaged segments.
    SpoilChecksum,
    /// Bits of it are flipped (TL-14).
    Flip(Flip),
}

/// Which bits of a packet are flipped, and how many.
///
/// A process with bit error ratios of its own says how many: each bit of the region is wrong by
/// itself, and a packet of which none is wrong is not hit. For any other process one of `ber` and
/// `bits` does.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Flip {
    /// Where. A packet without such a region, or with an empty one, passes as it is: it has no bit
    /// to be hit.
    #[serde(with = "text")]
    pub region: Region,
    /// Each bit of the region of a packet that is hit is wrong with this probability, given that
    /// one is wrong at least: a packet in the bad state is always damaged (TCP Lite, 5.2.2), and
    /// the number of wrong bits is binomial otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ber: Option<BitErrorRatio>,
    /// So many bits of the region are flipped, all of them if it has no more, each set of bits
    /// equally likely.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bits: Option<u32>,
}

/// Packets that nothing is done to. The process goes on under them as under any other: to exempt a
/// packet does not change which of the others are hit.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Exempt {
    /// TCP segments with SYN (the packet drop generator's `S_flag`, LTCP 1.8.4): the handshake gets
    /// through.
    pub syn: bool,
    /// The first packets of this direction of the link, so many, by [`crate::Packet::number`].
    pub first: u64,
    /// Packets that pass this filter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets: Option<Filter>,
}

impl ErrorSpec {
    /// Packets hit by `process` are lost; nothing is exempt.
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

    /// Reads the file that the spec names, if it does; a spec that names one needs this before
    /// [`super::Errors::new`].
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

/// Serde through the text form.
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
