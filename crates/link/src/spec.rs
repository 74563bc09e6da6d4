//! A direction of a link as data: its stages, their order and their parameters.

mod random;

use crate::pipeline::Pipeline;
use crate::seed::Seed;
use crate::stage::Stage;
use crate::stage::bottleneck::{Bottleneck, BottleneckSpec, RateSpec};
use crate::stage::cellreplay::{CellReplay, CellReplaySpec};
use crate::stage::delay::{Delay, DelaySpec};
use crate::stage::duplicate::{Duplicate, DuplicateSpec};
use crate::stage::errors::{ErrorSpec, Errors};
use crate::stage::hiccup::{Hiccup, HiccupSpec};
use crate::stage::outage::{Outage, OutageSpec};
use crate::stage::spec::{Read, SpecError};
use crate::units::{BitRate, Span, Time};
use borsh::{BorshDeserialize, BorshSerialize};
use std::fmt;

/// The parameters of one stage.
#[derive(Debug, Clone, PartialEq, BorshSerialize, BorshDeserialize)]
pub enum StageSpec {
    /// A limiter and the queue in front of it.
    Bottleneck(BottleneckSpec),
    /// The delays and the opportunities of a link that CellReplay recorded.
    CellReplay(CellReplaySpec),
    /// An error process and the effect of an error.
    Errors(ErrorSpec),
    /// Times at which no packet passes.
    Outage(OutageSpec),
    /// Packets that are delivered twice.
    Duplicate(DuplicateSpec),
    /// Propagation delay.
    Delay(DelaySpec),
    /// Transient holds and reordering.
    Hiccup(HiccupSpec),
}

/// All kinds of stages, in their usual order.
const KINDS: [&str; 7] = ["bottleneck", "cellreplay", "errors", "outage", "duplicate", "delay", "hiccup"];

/// Error of a stage that cannot be built from its parameters.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("stage `{stage}`: {why}")]
pub struct BuildError {
    /// Name of the stage.
    pub stage: String,
    /// The cause and the remedy.
    pub why: String,
}

/// One direction of a link: named stages in the order in which packets pass them.
#[derive(Debug, Clone, PartialEq, Default, BorshSerialize, BorshDeserialize)]
pub struct DirectionSpec {
    /// Name and parameters of each stage. The name also selects the stage's random stream (see
    /// [`crate::seed`]).
    pub stages: Vec<(String, StageSpec)>,
}

impl StageSpec {
    /// Returns the name of this kind of stage, in profiles and in the event log.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Bottleneck(_) => "bottleneck",
            Self::CellReplay(_) => "cellreplay",
            Self::Errors(_) => "errors",
            Self::Outage(_) => "outage",
            Self::Duplicate(_) => "duplicate",
            Self::Delay(_) => "delay",
            Self::Hiccup(_) => "hiccup",
        }
    }

    /// Returns the place of this kind of stage in the usual order, which holds unless a profile
    /// gives another one.
    ///
    /// Errors are behind the limiter, where a burst hits as many packets as it does on the air
    /// (TL-11). Stages that only change the times of packets are last.
    fn usual_place(&self) -> usize {
        KINDS.iter().position(|kind| *kind == self.kind()).unwrap_or(KINDS.len())
    }

    /// Builds the stage with its own `seed`.
    pub fn build(&self, seed: &Seed) -> Result<Box<dyn Stage>, String> {
        Ok(match self.clone() {
            Self::Bottleneck(spec) => Box::new(Bottleneck::new(spec, seed).map_err(said)?),
            Self::CellReplay(spec) => Box::new(CellReplay::new(&spec, seed).map_err(said)?),
            Self::Errors(spec) => Box::new(Errors::new(spec, seed).map_err(said)?),
            Self::Outage(spec) => Box::new(Outage::new(spec, seed).map_err(said)?),
            Self::Duplicate(spec) => Box::new(Duplicate::new(spec, seed.stream())),
            Self::Delay(spec) => Box::new(Delay::new(spec, seed).map_err(said)?),
            Self::Hiccup(spec) => Box::new(Hiccup::new(spec, seed).map_err(said)?),
        })
    }
}

/// Returns the text of an error.
pub(crate) fn said(error: impl fmt::Display) -> String {
    error.to_string()
}

impl DirectionSpec {
    /// Returns the first stage of this kind.
    #[must_use]
    pub fn find(&self, kind: &str) -> Option<&StageSpec> {
        self.stages.iter().map(|(_, spec)| spec).find(|spec| spec.kind() == kind)
    }

    /// Replaces the first stage of the same kind by `spec`. If there is none, inserts it at its
    /// place in the usual order.
    pub fn put(&mut self, spec: StageSpec) {
        if let Some((_, old)) = self.stages.iter_mut().find(|(_, old)| old.kind() == spec.kind()) {
            *old = spec;
            return;
        }
        let place = spec.usual_place();
        let before = self.stages.iter().position(|(_, other)| other.usual_place() > place);
        self.stages.insert(before.unwrap_or(self.stages.len()), (spec.kind().to_owned(), spec));
    }

    /// Removes all stages of this kind.
    pub fn remove(&mut self, kind: &str) {
        self.stages.retain(|(_, spec)| spec.kind() != kind);
    }

    /// Returns an unused name for another stage of this kind: `errors`, `errors.2`, …
    #[must_use]
    pub fn free_name(&self, kind: &str) -> String {
        let mut number = self.stages.iter().filter(|(_, spec)| spec.kind() == kind).count() + 1;
        loop {
            let name = if number == 1 { kind.to_owned() } else { format!("{kind}.{number}") };
            if self.stages.iter().all(|(taken, _)| *taken != name) {
                return name;
            }
            number += 1;
        }
    }

    /// Reads the trace files of the stages with `read`.
    pub fn load(&mut self, read: &mut Read<'_>) -> Result<(), SpecError> {
        for (_, spec) in &mut self.stages {
            match spec {
                StageSpec::Bottleneck(spec) => spec.load(read)?,
                StageSpec::CellReplay(spec) => spec.load(read)?,
                StageSpec::Errors(spec) => spec.load(read)?,
                StageSpec::Delay(spec) => spec.load(read)?,
                StageSpec::Outage(_) | StageSpec::Duplicate(_) | StageSpec::Hiccup(_) => {}
            }
        }
        Ok(())
    }

    /// Returns the limiter's rate if it is constant.
    #[must_use]
    pub fn rate(&self) -> Option<BitRate> {
        match self.find("bottleneck") {
            Some(StageSpec::Bottleneck(BottleneckSpec {
                rate: RateSpec::Constant(rate) | RateSpec::LinkLayer(rate),
                ..
            })) => Some(*rate),
            _ => None,
        }
    }

    /// Returns the mean delay behind the limiter, or zero if the parameters do not determine it.
    #[must_use]
    pub fn delay(&self) -> Span {
        match self.find("delay") {
            Some(StageSpec::Delay(spec)) => spec.mean().unwrap_or_default(),
            _ => Span::ZERO,
        }
    }

    /// Changes a running pipeline from `self` to `next`. `seed` is that of the direction.
    ///
    /// # Errors
    /// If a stage of `next` cannot be built, a stage would change its kind or its place among the
    /// stages that stay, or a stage to be removed may have packets inside. Nothing has changed
    /// then.
    pub fn change_into(
        &self,
        next: &Self,
        pipeline: &mut Pipeline,
        seed: &Seed,
        now: Time,
    ) -> Result<(), String> {
        let built = self.check_change(next, pipeline, seed)?;
        self.make_change(next, built, pipeline, now)
    }

    /// Checks whether a change is possible; returns the stages of `next`, ready to be inserted.
    pub(crate) fn check_change(
        &self,
        next: &Self,
        pipeline: &Pipeline,
        seed: &Seed,
    ) -> Result<Vec<Box<dyn Stage>>, String> {
        let mut built = Vec::with_capacity(next.stages.len());
        for (name, spec) in &next.stages {
            if let Some(known) = self.named(name)
                && known.kind() != spec.kind()
            {
                return Err(format!(
                    "stage `{name}` is `{}` and cannot become `{}`",
                    known.kind(),
                    spec.kind()
                ));
            }
            built.push(spec.build(&seed.stage(name)).map_err(|why| format!("stage `{name}`: {why}"))?);
        }
        for name in self.without(next) {
            pipeline.removable(name)?;
        }
        let stay = |one: &Self, other: &Self| {
            let names = one.stages.iter().map(|(name, _)| name.clone());
            names.filter(|name| other.named(name).is_some()).collect::<Vec<_>>()
        };
        let (before, after) = (stay(self, next), stay(next, self));
        if let Some((name, other)) = before.iter().zip(&after).find(|(name, other)| name != other) {
            return Err(format!("stages `{name}` and `{other}` cannot change places while the link runs"));
        }
        Ok(built)
    }

    /// Makes a change that [`check_change`](Self::check_change) has accepted.
    pub(crate) fn make_change(
        &self,
        next: &Self,
        built: Vec<Box<dyn Stage>>,
        pipeline: &mut Pipeline,
        now: Time,
    ) -> Result<(), String> {
        for name in self.without(next) {
            pipeline.remove(name)?;
        }
        for (place, ((name, spec), stage)) in next.stages.iter().zip(built).enumerate() {
            match self.named(name) {
                Some(known) if known == spec => {}
                Some(_) => pipeline.set(name, spec, now)?,
                None => pipeline.insert(place, name, stage),
            }
        }
        Ok(())
    }

    /// Returns the names of the stages that `next` lacks.
    fn without<'a>(&'a self, next: &'a Self) -> impl Iterator<Item = &'a String> {
        self.stages.iter().map(|(name, _)| name).filter(|name| next.named(name).is_none())
    }

    /// Returns the stage of this name.
    fn named(&self, name: &str) -> Option<&StageSpec> {
        self.stages.iter().find(|(known, _)| known == name).map(|(_, spec)| spec)
    }

    /// Builds the pipeline. `seed` is that of the direction.
    pub fn build(&self, seed: &Seed) -> Result<Pipeline, BuildError> {
        self.build_part(self.names(), 0, seed)
    }

    /// Builds a part of a longer row with these `names`; its first stage has the name at place
    /// `first`.
    pub(crate) fn build_part(
        &self,
        names: Vec<String>,
        first: usize,
        seed: &Seed,
    ) -> Result<Pipeline, BuildError> {
        let build = |(name, spec): &(String, StageSpec)| {
            spec.build(&seed.stage(name)).map_err(|why| BuildError { stage: name.clone(), why })
        };
        let stages = self.stages.iter().map(build).collect::<Result<_, _>>()?;
        let mut pipeline = Pipeline::part_of(names, first, stages);
        pipeline.reserve(KINDS.map(str::to_owned));
        Ok(pipeline)
    }

    /// Returns the names of all stages.
    pub(crate) fn names(&self) -> Vec<String> {
        self.stages.iter().map(|(name, _)| name.clone()).collect()
    }
}

impl fmt::Display for DirectionSpec {
    /// Writes the stages in one line, separated by semicolons. The summary and
    /// `lasthop profiles NAME` print this form.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.stages.is_empty() {
            return f.write_str("perfect");
        }
        for (place, (name, spec)) in self.stages.iter().enumerate() {
            let separator = if place == 0 { "" } else { "; " };
            write!(f, "{separator}{name}: {spec}")?;
        }
        Ok(())
    }
}

impl fmt::Display for StageSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bottleneck(spec) => spec.fmt(f),
            Self::CellReplay(spec) => spec.fmt(f),
            Self::Errors(spec) => spec.fmt(f),
            Self::Outage(spec) => spec.fmt(f),
            Self::Duplicate(spec) => write!(f, "{}", spec.probability),
            Self::Delay(spec) => spec.fmt(f),
            Self::Hiccup(spec) => spec.fmt(f),
        }
    }
}
