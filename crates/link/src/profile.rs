//! Profiles: links and losses as data, each with the source it comes from.
//!
//! A *link profile* gives rate, queue and delay of both directions; a *loss profile* gives an error
//! process that is put into a link. Both are TOML; `profiles/README.md` describes the format. The
//! profiles in `profiles/` are built in and known by name; any other is known by its path.

mod builtin;
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
use serde::Deserialize;
use vocabulary::Direction;

/// A profile, as it stands in its file.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// The name it is known by: that of its file without the ending.
    pub name: String,
    /// What it is, in a line.
    pub title: String,
    /// Where it comes from: author, title, year, table. No source, no profile.
    pub source: String,
    /// What is not from the source.
    pub note: Option<String>,
    /// What the source states and the profile reproduces.
    pub claims: Vec<Claim>,
    /// Link or loss.
    pub content: Content,
}

/// What a profile describes.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// A link.
    Link(LinkProfile),
    /// Losses.
    Loss(LossProfile),
}

/// Both directions of a link.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LinkProfile {
    /// Maximum transmission unit in bytes, where the source has one.
    pub mtu: Option<u16>,
    /// A link layer with retransmissions over both directions, their errors beneath it.
    pub arq: Option<ArqSpec>,
    /// From the wireless host to the network.
    pub up: DirectionSpec,
    /// From the network to the wireless host.
    pub down: DirectionSpec,
}

/// An error process and where it belongs.
#[derive(Debug, Clone, PartialEq)]
pub struct LossProfile {
    /// The directions that it is put into, unless a direction asks for it by name.
    pub directions: Vec<Direction>,
    /// The process.
    pub errors: ErrorSpec,
}

/// Something a source states in numbers.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// What was measured: `delay`, `rate`, `loss`, `burst`, …
    pub quantity: String,
    /// In which direction; both if absent.
    pub direction: Option<String>,
    /// Which percentile (0 to 100), where it is a distribution; the mean or the constant if absent.
    pub percentile: Option<f64>,
    /// Length of the packet, for the time that one takes on the limiter; the receive window, for
    /// goodput.
    pub bytes: Option<u64>,
    /// The number, with its unit.
    pub value: String,
    /// How far off the profile may be, as a share of the value; a test has its own idea where it is
    /// absent.
    pub tolerance: Option<Probability>,
    /// Where the source says so.
    pub source: String,
}

/// A profile that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// It is not written as a profile is.
    #[error("{file}: {message}")]
    Malformed {
        /// Its file.
        file: String,
        /// What is wrong, with line and column.
        message: String,
    },
    /// A file that it names cannot be used.
    #[error("{file}: {reason}")]
    Trace {
        /// The profile's file.
        file: String,
        /// What is wrong.
        reason: SpecError,
    },
}

impl Profile {
    /// Reads a profile from the text of `file`; `read` gives the text of the trace files that it
    /// names.
    pub fn parse(file: &str, text: &str, read: &mut Read<'_>) -> Result<Self, ProfileError> {
        let name = file.rsplit('/').next().unwrap_or(file).trim_end_matches(".toml");
        let mut profile = file::parse(name, text)
            .map_err(|message| ProfileError::Malformed { file: file.to_owned(), message })?;
        let loaded = match &mut profile.content {
            Content::Link(link) => link.up.load(read).and_then(|()| link.down.load(read)),
            Content::Loss(loss) => loss.errors.load(read),
        };
        loaded.map_err(|reason| ProfileError::Trace { file: file.to_owned(), reason })?;
        Ok(profile)
    }
}

impl LinkProfile {
    /// One of the directions.
    #[must_use]
    pub fn direction(&self, direction: Direction) -> &DirectionSpec {
        match direction {
            Direction::Up => &self.up,
            Direction::Down => &self.down,
        }
    }

    /// One of the directions, to change it.
    pub fn direction_mut(&mut self, direction: Direction) -> &mut DirectionSpec {
        match direction {
            Direction::Up => &mut self.up,
            Direction::Down => &mut self.down,
        }
    }

    /// Bytes that are on their way when the link is full: the larger rate of both directions, times
    /// the mean delay there and back. A direction without a constant rate counts as 10 Gbit/s,
    /// which is more than a machine can emulate: socket buffers made for it do not limit anything.
    #[must_use]
    pub fn bandwidth_delay_product(&self) -> ByteCount {
        let unlimited = BitRate::from_bits_per_second(10_000_000_000);
        let rates = Direction::BOTH.map(|direction| self.rate(direction).or(unlimited));
        let delay = self.one_way(Direction::Up) + self.one_way(Direction::Down);
        rates.into_iter().flatten().max().map_or(ByteCount::default(), |fastest| fastest.bytes_in(delay))
    }

    /// Puts a link layer over both directions, as `lasthop link --arq` takes it; `none` takes away
    /// that of a profile.
    ///
    /// # Errors
    /// If there is none such.
    pub fn set_arq(&mut self, text: &str) -> Result<(), ArqError> {
        self.arq = if text.trim() == "none" { None } else { Some(text.parse()?) };
        Ok(())
    }

    /// The link as it runs: its link layer, and the stages on both sides of that.
    ///
    /// # Errors
    /// If the link layer cannot run over this link.
    pub fn spec(&self) -> Result<LinkSpec, BuildError> {
        match &self.arq {
            None => Ok(LinkSpec::new(self.up.clone(), self.down.clone())),
            Some(arq) => LinkSpec::over_arq(arq, &self.up, &self.down),
        }
    }

    /// The same for people: the stages as they are written where that cannot be built.
    fn shown(&self) -> LinkSpec {
        self.spec().unwrap_or_else(|_| LinkSpec::new(self.up.clone(), self.down.clone()))
    }

    /// The rate of a direction as it runs, where it is constant.
    #[must_use]
    pub fn rate(&self, direction: Direction) -> Option<BitRate> {
        self.shown().rate(direction)
    }

    /// A direction for people: its stages and its link layer, and what is on the air beneath that.
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

    /// The mean time that a small packet takes in one direction behind the queue, as far as the
    /// parameters say it.
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

    /// Changes one direction of a running link from what `self` says to what `next` says. `seed` is
    /// that of the direction.
    ///
    /// # Errors
    /// As [`LinkSpec::change_into`].
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

    /// Puts a loss profile into the directions that it names.
    pub fn add_losses(&mut self, loss: &LossProfile) {
        for &direction in &loss.directions {
            self.direction_mut(direction).put(StageSpec::Errors(loss.errors.clone()));
        }
    }
}

#[cfg(test)]
mod tests;
