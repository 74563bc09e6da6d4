//! Profiles: links and losses as data, each with its source.
//!
//! A *link profile* gives rate, queue and delay of both directions. A *loss profile* gives an error
//! process to put into a link. Both are TOML; `profiles/README.md` describes the format. The
//! profiles in `profiles/` are built in and selected by name; any other profile is selected by its
//! path.

mod builtin;
pub mod errant;
mod file;
mod losses;
mod parameters;

pub use builtin::builtin;
pub use parameters::{HELP as PARAMETERS, ParameterError, Parameters, Resolve};

use crate::link::{Link, LinkSpec};
use crate::seed::Seed;
use crate::spec::{BuildError, DirectionSpec, StageSpec, said};
use crate::stage::errors::ErrorSpec;
use crate::stage::outage::OutagePlace;
use crate::stage::spec::{Read, SpecError};
use crate::units::{BitRate, ByteCount, Probability, Span, Time};
use arq::{ArqError, ArqSpec};
use borsh::{BorshDeserialize, BorshSerialize};
use serde::Deserialize;
use vocabulary::Direction;

/// A profile, as its file describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// Name of the profile: that of its file without the extension.
    pub name: String,
    /// Description in one line.
    pub title: String,
    /// Source of the numbers: author, title, year, table. A profile without a source is refused.
    pub source: String,
    /// Remarks on values that are not from the source.
    pub note: Option<String>,
    /// Statements of the source that the profile reproduces.
    pub claims: Vec<Claim>,
    /// The link or the losses.
    pub content: Content,
}

/// Content of a profile.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// A link.
    Link(LinkProfile),
    /// Losses.
    Loss(LossProfile),
}

/// Both directions of a link.
#[derive(Debug, Clone, PartialEq, Default, BorshSerialize, BorshDeserialize)]
pub struct LinkProfile {
    /// Maximum transmission unit in bytes, if the source states one.
    pub mtu: Option<u16>,
    /// Link layer with retransmissions over both directions. Their errors are beneath it.
    pub arq: Option<ArqSpec>,
    /// From the wireless host to the network.
    pub up: DirectionSpec,
    /// From the network to the wireless host.
    pub down: DirectionSpec,
}

/// An error process and its directions.
#[derive(Debug, Clone, PartialEq)]
pub struct LossProfile {
    /// Directions into which the process is put, unless a direction selects the profile by name.
    pub directions: Vec<Direction>,
    /// The process.
    pub errors: ErrorSpec,
}

/// A statement of a source in numbers.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Measured quantity: `delay`, `rate`, `loss`, `burst`, …
    pub quantity: String,
    /// Direction of the measurement; both if absent.
    pub direction: Option<String>,
    /// Percentile of a distribution, 0 to 100; if absent, the value is the mean or a constant.
    pub percentile: Option<f64>,
    /// Length of the packet for a transmission time, receive window for goodput; in bytes.
    pub bytes: Option<u64>,
    /// The number, with its unit.
    pub value: String,
    /// Accepted deviation of the profile, as a share of the value; if absent, the test derives one.
    pub tolerance: Option<Probability>,
    /// Place of the statement in the source.
    pub source: String,
}

/// Error of a profile that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// The text is not a valid profile.
    #[error("{file}: {message}")]
    Malformed {
        /// The profile's file.
        file: String,
        /// The cause, with line and column.
        message: String,
    },
    /// A file named by the profile cannot be used.
    #[error("{file}: {reason}")]
    Trace {
        /// The profile's file.
        file: String,
        /// The cause.
        reason: SpecError,
    },
}

impl Profile {
    /// Reads a profile from `text`, the content of `file`. `read` returns the text of each trace
    /// file that the profile names.
    pub fn parse(file: &str, text: &str, read: &mut Read<'_>) -> Result<Self, ProfileError> {
        let name = file.rsplit('/').next().unwrap_or(file).trim_end_matches(".toml");
        let (mut profile, errant) = file::parse(name, text)
            .map_err(|message| ProfileError::Malformed { file: file.to_owned(), message })?;
        let loaded = match &mut profile.content {
            Content::Link(link) => link
                .up
                .load(read)
                .and_then(|()| link.down.load(read))
                .and_then(|()| errant.map_or(Ok(()), |errant| errant.apply(link, read))),
            Content::Loss(loss) => loss.errors.load(read),
        };
        loaded.map_err(|reason| ProfileError::Trace { file: file.to_owned(), reason })?;
        Ok(profile)
    }
}

impl LinkProfile {
    /// Returns one of the directions.
    #[must_use]
    pub fn direction(&self, direction: Direction) -> &DirectionSpec {
        match direction {
            Direction::Up => &self.up,
            Direction::Down => &self.down,
        }
    }

    /// Returns one of the directions for modification.
    pub fn direction_mut(&mut self, direction: Direction) -> &mut DirectionSpec {
        match direction {
            Direction::Up => &mut self.up,
            Direction::Down => &mut self.down,
        }
    }

    /// Returns the number of bytes in flight when the link is full: the larger rate of both
    /// directions times the mean delay there and back.
    ///
    /// A direction without a constant rate counts as 10 Gbit/s. No machine can emulate that rate,
    /// so socket buffers of this size limit no connection.
    #[must_use]
    pub fn bandwidth_delay_product(&self) -> ByteCount {
        let unlimited = BitRate::from_bits_per_second(10_000_000_000);
        let rates = Direction::BOTH.map(|direction| self.rate(direction).or(unlimited));
        let delay = self.one_way(Direction::Up) + self.one_way(Direction::Down);
        rates.into_iter().flatten().max().map_or(ByteCount::default(), |fastest| fastest.bytes_in(delay))
    }

    /// Sets the link layer over both directions from the value of `lasthop link --arq`; `none`
    /// removes it.
    ///
    /// # Errors
    /// If `text` describes no link layer.
    pub fn set_arq(&mut self, text: &str) -> Result<(), ArqError> {
        self.arq = if text.trim() == "none" { None } else { Some(text.parse()?) };
        Ok(())
    }

    /// Returns the link as data: its link layer, and the stages on both sides of it.
    ///
    /// # Errors
    /// If the link layer cannot run over this link.
    pub fn spec(&self) -> Result<LinkSpec, BuildError> {
        match &self.arq {
            None => Ok(LinkSpec::new(self.up.clone(), self.down.clone())),
            Some(arq) => LinkSpec::over_arq(arq, &self.up, &self.down),
        }
    }

    /// Returns the link as data for display: without the link layer if it cannot run over this
    /// link.
    fn shown(&self) -> LinkSpec {
        self.spec().unwrap_or_else(|_| LinkSpec::new(self.up.clone(), self.down.clone()))
    }

    /// Returns the effective rate of a direction, if it is constant.
    #[must_use]
    pub fn rate(&self, direction: Direction) -> Option<BitRate> {
        self.shown().rate(direction)
    }

    /// Describes a direction for people: its stages and its link layer, then the processes on the
    /// air beneath the link layer.
    #[must_use]
    pub fn described(&self, direction: Direction) -> String {
        let row = self.shown().described(direction);
        let Some(arq) = self.arq else { return row };
        let own = self.direction(direction);
        let delay = if let ArqSpec::Llp(_) = arq { own.find("delay") } else { None };
        let outages = own.stages.iter().map(|(_, stage)| stage).filter(|stage| match stage {
            StageSpec::Outage(spec) => spec.place == OutagePlace::Air && !spec.is_on_command(),
            _ => false,
        });
        let air = [delay, own.find("errors")].into_iter().flatten().chain(outages);
        let air: Vec<_> = air.map(ToString::to_string).collect();
        if air.is_empty() { row } else { format!("{row}; on the air: {}", air.join(", ")) }
    }

    /// Returns the mean time of a small packet from the queue to the far end of a direction, as far
    /// as the parameters determine it.
    #[must_use]
    pub fn one_way(&self, direction: Direction) -> Span {
        let circuit = match self.arq {
            Some(ArqSpec::Rlp(rlp)) => rlp.least_way(),
            Some(ArqSpec::Llp(_)) | None => Span::ZERO,
        };
        self.direction(direction).delay() + circuit
    }

    /// Builds both directions. `seed` is that of the link.
    ///
    /// # Errors
    /// If a stage cannot be built, or the link layer cannot run over this link.
    pub fn build(&self, seed: &Seed) -> Result<Link, BuildError> {
        self.spec()?.build(seed)
    }

    /// Changes one direction of a running link from `self` to `next`. `seed` is that of the
    /// direction.
    pub fn change_into(
        &self,
        next: &Self,
        direction: Direction,
        link: &mut Link,
        seed: &Seed,
        now: Time,
    ) -> Result<(), String> {
        let spec = |link: &Self| link.spec().map_err(said);
        let (next, was) = (spec(next)?, spec(self)?);
        was.change_into(&next, direction, link, seed, now)
    }

    /// Puts a loss profile into its directions.
    pub fn add_losses(&mut self, loss: &LossProfile) {
        for &direction in &loss.directions {
            self.direction_mut(direction).put(StageSpec::Errors(loss.errors.clone()));
        }
    }
}

#[cfg(test)]
mod tests;
