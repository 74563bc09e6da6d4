//! The TOML format of profiles.

use super::errant::ErrantSpec;
use super::{Claim, Content, LinkProfile, LossProfile, Profile};
use crate::spec::{DirectionSpec, StageSpec};
use crate::stage::bottleneck::{BottleneckSpec, Counted, QueueSpec, RateSpec};
use crate::stage::cellreplay::CellReplaySpec;
use crate::stage::delay::DelaySpec;
use crate::stage::duplicate::DuplicateSpec;
use crate::stage::errors::ErrorSpec;
use crate::stage::hiccup::HiccupSpec;
use crate::stage::outage::OutageSpec;
use arq::ArqSpec;
use serde::Deserialize;
use vocabulary::Direction;

/// The field that distinguishes the two kinds of file. It is read first, so that errors in the
/// other fields carry their line.
#[derive(Deserialize)]
struct Kind {
    kind: KindName,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "kebab-case")]
enum KindName {
    Link,
    Loss,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LinkFile {
    #[serde(rename = "kind")]
    _kind: KindName,
    title: String,
    source: String,
    note: Option<String>,
    mtu: Option<u16>,
    arq: Option<ArqSpec>,
    errant: Option<ErrantSpec>,
    #[serde(default)]
    up: DirectionFile,
    #[serde(default)]
    down: DirectionFile,
    #[serde(default)]
    claims: Vec<Claim>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LossFile {
    #[serde(rename = "kind")]
    _kind: KindName,
    title: String,
    source: String,
    note: Option<String>,
    /// Towards the wireless host if absent.
    directions: Option<Vec<DirectionName>>,
    errors: ErrorSpec,
    #[serde(default)]
    claims: Vec<Claim>,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "kebab-case")]
enum DirectionName {
    Up,
    Down,
}

/// A direction: the usual stages in their usual order, or `stages` in an order of its own.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct DirectionFile {
    rate: Option<RateSpec>,
    queue: Option<QueueSpec>,
    counted: Option<Counted>,
    cellreplay: Option<CellReplaySpec>,
    errors: Option<ErrorSpec>,
    outage: Option<OutageSpec>,
    duplicate: Option<DuplicateSpec>,
    delay: Option<DelaySpec>,
    hiccup: Option<HiccupSpec>,
    #[serde(default)]
    stages: Vec<StageFile>,
}

/// An entry of `stages`: a table with one kind of stage, and a name if there are two of that kind.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StageFile {
    name: Option<String>,
    bottleneck: Option<BottleneckSpec>,
    cellreplay: Option<CellReplaySpec>,
    errors: Option<ErrorSpec>,
    outage: Option<OutageSpec>,
    duplicate: Option<DuplicateSpec>,
    delay: Option<DelaySpec>,
    hiccup: Option<HiccupSpec>,
}

/// Parses a profile, and the table `[errant]` if it has one, which still is to be applied. The
/// error states the cause.
pub(super) fn parse(name: &str, text: &str) -> Result<(Profile, Option<ErrantSpec>), String> {
    let name = name.to_owned();
    let said = |field: &str, text: String| match text.trim() {
        "" => Err(format!("`{field}` is empty: a profile needs a title and a source")),
        _ => Ok(text),
    };
    match read::<Kind>(text)?.kind {
        KindName::Link => {
            let LinkFile { title, source, note, mtu, arq, errant, up, down, claims, .. } = read(text)?;
            let (title, source) = (said("title", title)?, said("source", source)?);
            let link = LinkProfile { mtu, arq, up: up.into_spec("up")?, down: down.into_spec("down")? };
            let taken =
                |kind: &str| [&link.up, &link.down].iter().any(|direction| direction.find(kind).is_some());
            if errant.is_some() && ["bottleneck", "cellreplay", "delay"].into_iter().any(taken) {
                return Err(
                    "[errant] gives rate, queue and delay of both directions: remove them from [up] and \
                            [down]"
                        .to_owned(),
                );
            }
            let content = Content::Link(link);
            Ok((Profile { name, title, source, note, claims, content }, errant))
        }
        KindName::Loss => {
            let LossFile { title, source, note, directions, errors, claims, .. } = read(text)?;
            let (title, source) = (said("title", title)?, said("source", source)?);
            let directions = directions.map_or(vec![Direction::Down], |names| {
                let direction = |name: &DirectionName| match name {
                    DirectionName::Up => Direction::Up,
                    DirectionName::Down => Direction::Down,
                };
                names.iter().map(direction).collect()
            });
            let content = Content::Loss(LossProfile { directions, errors });
            Ok((Profile { name, title, source, note, claims, content }, None))
        }
    }
}

fn read<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, String> {
    toml::from_str(text).map_err(|error| {
        let message = error.to_string();
        let message = message.trim_end();
        match nearest(error.message()) {
            Some(word) => format!("{message}\ndid you mean `{word}`?"),
            None => message.to_owned(),
        }
    })
}

/// Returns the correct word nearest to the wrong one in serde's message "unknown field `a`,
/// expected one of `b`, `c`".
fn nearest(message: &str) -> Option<&str> {
    let (_, message) = message.split_once("unknown ")?;
    let mut words = message.split('`').skip(1).step_by(2);
    let wrong = words.next()?;
    crate::nearest::nearest(wrong, words)
}

impl DirectionFile {
    /// Converts the table into stages. `direction` is the name of the table, for errors.
    fn into_spec(self, direction: &str) -> Result<DirectionSpec, String> {
        let mut spec = DirectionSpec::default();
        let usual = [
            self.bottleneck().map(StageSpec::Bottleneck),
            self.cellreplay.map(StageSpec::CellReplay),
            self.errors.map(StageSpec::Errors),
            self.outage.map(StageSpec::Outage),
            self.duplicate.map(StageSpec::Duplicate),
            self.delay.map(StageSpec::Delay),
            self.hiccup.map(StageSpec::Hiccup),
        ];
        for stage in usual.into_iter().flatten() {
            spec.put(stage);
        }
        if !self.stages.is_empty() && !spec.stages.is_empty() {
            return Err(format!(
                "[{direction}] has both `stages` and `{}`: with `stages`, list all stages there, in their order",
                spec.stages[0].0
            ));
        }
        for (place, stage) in self.stages.into_iter().enumerate() {
            let (name, stage) = stage
                .into_spec()
                .map_err(|why| format!("[[{direction}.stages]] number {}: {why}", place + 1))?;
            let name = name.unwrap_or_else(|| spec.free_name(stage.kind()));
            if spec.stages.iter().any(|(other, _)| *other == name) {
                return Err(format!("[[{direction}.stages]]: two stages are called `{name}`"));
            }
            spec.stages.push((name, stage));
        }
        Ok(spec)
    }

    fn bottleneck(&self) -> Option<BottleneckSpec> {
        if self.rate.is_none() && self.queue.is_none() && self.counted.is_none() {
            return None;
        }
        Some(BottleneckSpec {
            rate: self.rate.clone().unwrap_or_default(),
            queue: self.queue.clone().unwrap_or_default(),
            counted: self.counted.unwrap_or_default(),
        })
    }
}

impl StageFile {
    fn into_spec(self) -> Result<(Option<String>, StageSpec), String> {
        let kinds = [
            self.bottleneck.map(StageSpec::Bottleneck),
            self.cellreplay.map(StageSpec::CellReplay),
            self.errors.map(StageSpec::Errors),
            self.outage.map(StageSpec::Outage),
            self.duplicate.map(StageSpec::Duplicate),
            self.delay.map(StageSpec::Delay),
            self.hiccup.map(StageSpec::Hiccup),
        ];
        let mut given = kinds.into_iter().flatten();
        match (given.next(), given.next()) {
            (Some(stage), None) => Ok((self.name, stage)),
            (None, _) => {
                Err("no stage: give one of bottleneck, cellreplay, errors, outage, duplicate, delay, hiccup"
                    .into())
            }
            (Some(first), Some(second)) => Err(format!(
                "has both `{}` and `{}`: give each stage a table of its own",
                first.kind(),
                second.kind()
            )),
        }
    }
}
