//! Checks that directories are the shards of one campaign, each once.

use super::MergeError;
use crate::{Cell, Clock, Manifest, Shard};
use std::path::PathBuf;

/// Sorts the shards and checks that they are all of one campaign, without their runs.
pub(super) fn check(shards: &mut [(PathBuf, Manifest)]) -> Result<(), MergeError> {
    if let Some((path, _)) = shards.iter().find(|(_, manifest)| manifest.shard.is_none()) {
        return Err(MergeError::NotAShard(path.clone()));
    }
    let Some((first, others)) = shards.split_first() else { return Err(MergeError::Nothing) };
    for other in others {
        if let Some((what, one, another)) = difference(&first.1, &other.1) {
            let directories = Box::new([first.0.clone(), other.0.clone()]);
            return Err(MergeError::Different { what, values: Box::new([one, another]), directories });
        }
    }
    shards.sort_by_key(|(_, manifest)| manifest.shard);
    if let Some([(one, manifest), (other, _)]) =
        shards.array_windows().find(|[(_, one), (_, other)]| one.shard == other.shard)
        && let Some(shard) = manifest.shard
    {
        return Err(MergeError::Twice { shard, directories: Box::new([one.clone(), other.clone()]) });
    }
    let of = shards[0].1.shard.map_or(1, |shard| shard.of);
    let there = |shard| shards.binary_search_by_key(&Some(shard), |(_, manifest)| manifest.shard).is_ok();
    let missing: Vec<_> =
        (1..=of).map(|number| Shard { number, of }).filter(|&shard| !there(shard)).collect();
    match missing.first() {
        None => Ok(()),
        Some(&shard) => Err(MergeError::Missing { command: command(&shards[0].1, shard), missing }),
    }
}

/// Returns the first difference between two campaigns: its name, and both values.
fn difference(one: &Manifest, other: &Manifest) -> Option<(&'static str, String, String)> {
    if let Some((one, other)) = lines(&one.plan.text, &other.plan.text) {
        return Some(("plan", one, other));
    }
    let parts = |manifest: &Manifest| {
        let clock = match manifest.clock {
            Some(Clock::Real) => "real",
            Some(Clock::Virtual) => "virtual",
            None => "not known",
        };
        [
            ("version of lasthop", format!("{} (schema {})", manifest.lasthop, manifest.schema)),
            ("name of the plan", manifest.plan.name.clone()),
            ("seed", manifest.seed.to_string()),
            ("number of repetitions", manifest.repetitions.to_string()),
            ("number of shards", manifest.shard.map_or(0, |shard| shard.of).to_string()),
            ("clock", clock.to_owned()),
            ("release of the kernel", manifest.kernel.clone()),
            ("kernel", if manifest.guest.is_some() { "a guest's" } else { "the host's" }.to_owned()),
        ]
    };
    let both = parts(one).into_iter().zip(parts(other));
    let mut both = both.map(|((what, one), (_, other))| (what, one, other));
    let guests = || one.guest.as_ref().zip(other.guest.as_ref());
    both.find(|(_, one, other)| one != other)
        .or_else(|| guests().and_then(|(one, other)| one.difference(other)))
        .or_else(|| cells(&one.cells, &other.cells))
}

/// Returns how two selections of cells differ, as [`difference`] does.
fn cells(one: &[Cell], other: &[Cell]) -> Option<(&'static str, String, String)> {
    let beyond = |one: &[Cell], other: &[Cell]| one.iter().find(|cell| !other.contains(cell)).cloned();
    let words =
        |cells: &[Cell], with: &str, cell: &Cell| format!("{} cells {with} {}", cells.len(), cell.label());
    let (with, without) = ("with", "without");
    let said = match (beyond(one, other), beyond(other, one)) {
        (Some(cell), _) => (words(one, with, &cell), words(other, without, &cell)),
        (None, Some(cell)) => (words(one, without, &cell), words(other, with, &cell)),
        (None, None) => return None,
    };
    Some(("selection (--only)", said.0, said.1))
}

/// Returns the first line in which two texts differ, from each.
fn lines(one: &str, other: &str) -> Option<(String, String)> {
    if one == other {
        return None;
    }
    let mut pairs = (1..).zip(one.lines().map(Some).chain([None]).zip(other.lines().map(Some).chain([None])));
    let (number, (one, other)) = pairs.find(|(_, (one, other))| one != other)?;
    let said = |line: Option<&str>| match line {
        Some(line) => format!("`{}` in line {number}", line.trim()),
        None => format!("no line {number}"),
    };
    Some((said(one), said(other)))
}

/// Returns the command that runs a shard of this campaign.
fn command(manifest: &Manifest, shard: Shard) -> String {
    let clock = if manifest.clock == Some(Clock::Virtual) { " --clock virtual" } else { "" };
    format!(
        "lasthop run {} --shard {shard} --seed {} --repetitions {}{clock}",
        manifest.plan.file, manifest.seed, manifest.repetitions
    )
}
