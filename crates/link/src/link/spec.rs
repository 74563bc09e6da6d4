//! A link as data.

use super::Link;
use super::arq_hop::{ArqHop, HopSpec};
use crate::pipeline::Pipeline;
use crate::seed::Seed;
use crate::spec::{BuildError, DirectionSpec};
use crate::units::{BitRate, Time};
use arq::ArqSpec;
use borsh::{BorshDeserialize, BorshSerialize};
use vocabulary::Direction;

/// Description of a [`Link`]. In arrays of directions, up is first.
///
/// The borsh form of a specification includes the contents of its trace files. Another process of
/// the same program can build the link from it.
#[derive(Debug, Clone, PartialEq, BorshSerialize, BorshDeserialize)]
pub struct LinkSpec {
    /// The stages before the medium: all stages if there is none.
    pub above: [DirectionSpec; 2],
    /// The medium.
    pub medium: MediumSpec,
    /// The stages behind the medium.
    pub below: [DirectionSpec; 2],
}

/// The connection between both directions of a link.
#[derive(Debug, Clone, PartialEq, BorshSerialize, BorshDeserialize)]
pub enum MediumSpec {
    /// None: the directions are independent.
    None,
    /// A link layer with retransmissions.
    Arq {
        /// The specification of the link layer, as the user wrote it.
        written: ArqSpec,
        /// The hop, with the processes on the air.
        hop: Box<HopSpec>,
    },
}

impl MediumSpec {
    /// Name of the medium in marks and in the event log.
    pub(super) const ARQ: &str = "arq";
}

impl LinkSpec {
    /// Describes a link without a medium.
    #[must_use]
    pub fn new(up: DirectionSpec, down: DirectionSpec) -> Self {
        Self { above: [up, down], medium: MediumSpec::None, below: Default::default() }
    }

    /// Returns the rate of a direction's limiter, if it is constant.
    #[must_use]
    pub fn rate(&self, direction: Direction) -> Option<BitRate> {
        self.above[direction as usize].rate()
    }

    /// Describes a direction for people: its stages, and the medium between them.
    #[must_use]
    pub fn described(&self, direction: Direction) -> String {
        let (above, below) = (&self.above[direction as usize], &self.below[direction as usize]);
        let MediumSpec::Arq { written, .. } = &self.medium else { return above.to_string() };
        let below = if below.stages.is_empty() { String::new() } else { format!("; {below}") };
        format!("{above}; {}: {written}{below}", MediumSpec::ARQ)
    }

    /// Builds the link with its own `seed`.
    ///
    /// # Errors
    /// If a stage or the medium cannot be built.
    pub fn build(&self, seed: &Seed) -> Result<Link, BuildError> {
        let [up, down] = &self.above;
        let MediumSpec::Arq { hop, .. } = &self.medium else {
            let (up, down) =
                (up.build(&seed.direction(Direction::Up))?, down.build(&seed.direction(Direction::Down))?);
            return Ok(Link::new(up, down));
        };
        let hop = ArqHop::new(hop, seed)
            .map_err(|error| BuildError { stage: MediumSpec::ARQ.to_owned(), why: error.to_string() })?;
        let way = |direction| self.parts(direction, &seed.direction(direction));
        let ([above_up, below_up], [above_down, below_down]) = (way(Direction::Up)?, way(Direction::Down)?);
        let ids = [up, down].map(|above| above.stages.len() as u8);
        Ok(Link::over(Box::new(hop), ids, [above_up, above_down], [below_up, below_down]))
    }

    /// Builds the stages of a direction above and below a medium. They are numbered as one row,
    /// with the medium between them.
    fn parts(&self, direction: Direction, seed: &Seed) -> Result<[Pipeline; 2], BuildError> {
        let (above, below) = (&self.above[direction as usize], &self.below[direction as usize]);
        let names = [above.names(), vec![MediumSpec::ARQ.to_owned()], below.names()].concat();
        let first_below = above.stages.len() + 1;
        Ok([above.build_part(names.clone(), 0, seed)?, below.build_part(names, first_below, seed)?])
    }

    /// Changes one direction of a running link from `self` to `next`. `seed` is that of the
    /// direction.
    ///
    /// # Errors
    /// As [`DirectionSpec::change_into`], and if the medium would change.
    pub fn change_into(
        &self,
        next: &Self,
        direction: Direction,
        link: &mut Link,
        seed: &Seed,
        now: Time,
    ) -> Result<(), String> {
        if self.medium != next.medium {
            let why = "rate, delay, errors and outages below a link layer cannot change while the link runs: start another link";
            return Err(why.to_owned());
        }
        let place = direction as usize;
        let (above, below) = (&mut link.above[place], &mut link.below[place]);
        // All checks that can fail come first, for both parts.
        let (row, further) = (&next.above[place], &next.below[place]);
        let built = self.above[place].check_change(row, above, seed)?;
        let built_below = self.below[place].check_change(further, below, seed)?;
        let names = [row.names(), further.names()].concat();
        above.reserve(names.clone());
        below.reserve(names);
        self.above[place].make_change(row, built, above, now)?;
        self.below[place].make_change(further, built_below, below, now)
    }
}
