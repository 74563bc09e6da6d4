//! Two campaigns as one: a factor [`FACTOR`] distinguishes their runs, so all figures of a campaign
//! can be made for the two together.

use crate::about;
use results::manifest::Levels;
use results::{
    Cell, Clock, Directory, Expectation, Factor, FactorialDesign, Level, Manifest, PlannedWorkload,
};
use std::path::Path;

/// Name of the factor.
pub const FACTOR: &str = "run";

/// Returns the names of the two campaigns: the last parts of their paths that differ, or `A` and
/// `B` for the same path.
#[must_use]
pub fn names(first: &Path, second: &Path) -> [String; 2] {
    let parts = |path: &Path| -> Vec<String> {
        path.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect()
    };
    let (one, other) = (parts(first), parts(second));
    let differ = one.iter().rev().zip(other.iter().rev()).find(|(one, other)| one != other);
    differ.map_or_else(|| ["A".into(), "B".into()], |(one, other)| [one.clone(), other.clone()])
}

/// Merges two campaigns. The files of their runs then have their whole paths.
#[must_use]
pub fn merge(first: &Directory, second: &Directory, names: &[String; 2]) -> Directory {
    let offset = first.manifest.cells.iter().map(|cell| cell.number + 1).max().unwrap_or(0);
    let (mut one, mut other) = (first.clone(), second.clone());
    label(&mut one, &names[0], 0);
    label(&mut other, &names[1], offset);
    let mut manifest = Manifest {
        plan: plan(&first.manifest, &second.manifest, names),
        lasthop: both(&first.manifest.lasthop, &second.manifest.lasthop, names),
        clock: first.manifest.clock.filter(|clock| second.manifest.clock == Some(*clock)),
        kernel: both(&about::kernel(&first.manifest), &about::kernel(&second.manifest), names),
        // `kernel` describes the guest: only one campaign has one, or the two differ.
        guest: None,
        measure: first.measured().to_owned(),
        workloads: workloads(&first.manifest, &second.manifest),
        factors: factors(&first.manifest, &second.manifest, names),
        // Two campaigns have no common start and end; the description has the other data of each.
        started_unix_ns: 0,
        ended_unix_ns: None,
        repetitions: first.manifest.repetitions.max(second.manifest.repetitions),
        looks: Vec::new(),
        precision: None,
        series: None,
        ..one.manifest
    };
    manifest.machine.processor =
        both(&first.manifest.machine.processor, &second.manifest.machine.processor, names);
    manifest.cells.append(&mut other.manifest.cells);
    manifest.runs.append(&mut other.manifest.runs);
    manifest.expectations.append(&mut other.manifest.expectations);
    manifest.factorial.append(&mut other.manifest.factorial);
    one.connections.append(&mut other.connections);
    Directory { path: one.path, manifest, connections: one.connections }
}

/// Gives all cells of a campaign a level of [`FACTOR`] and numbers from `offset` on, and its files
/// their whole paths.
fn label(directory: &mut Directory, name: &str, offset: u32) {
    let level = Level { factor: FACTOR.into(), level: name.to_owned() };
    for cell in &mut directory.manifest.cells {
        cell.number += offset;
        cell.levels.push(level.clone());
    }
    for run in &mut directory.manifest.runs {
        run.cell += offset;
        let events = run.events.iter_mut().chain(&mut run.senders).chain(&mut run.link_layers);
        for file in run.captures.iter_mut().chain(events).chain(&mut run.logs) {
            *file = directory.path.join(&*file).to_string_lossy().into_owned();
        }
    }
    let measured = directory.measured().to_owned();
    for Expectation { title, of, workload, .. } in &mut directory.manifest.expectations {
        *title = format!("{title} ({name})");
        workload.get_or_insert_with(|| measured.clone());
        of.insert(FACTOR.into(), Levels::One(name.to_owned()));
    }
    for FactorialDesign { title, fixed, workload, .. } in &mut directory.manifest.factorial {
        *title = format!("{title} ({name})");
        workload.get_or_insert_with(|| measured.clone());
        fixed.push(level.clone());
    }
}

/// Returns the workloads of both. A workload that both have is in the background only if it is
/// so in both.
fn workloads(first: &Manifest, second: &Manifest) -> Vec<PlannedWorkload> {
    let mut workloads = first.workloads.clone();
    for workload in &second.workloads {
        match workloads.iter_mut().find(|known| known.name == workload.name) {
            Some(known) => known.background &= workload.background,
            None => workloads.push(workload.clone()),
        }
    }
    workloads
}

/// Returns the factors of both with all their levels, then [`FACTOR`].
fn factors(first: &Manifest, second: &Manifest, names: &[String; 2]) -> Vec<Factor> {
    let mut factors = first.factors.clone();
    for factor in &second.factors {
        let Some(known) = factors.iter_mut().find(|known| known.name == factor.name) else {
            factors.push(factor.clone());
            continue;
        };
        let new = factor.levels.iter().filter(|level| !known.levels.contains(level));
        let new: Vec<_> = new.cloned().collect();
        known.levels.extend(new);
    }
    factors.push(Factor { name: FACTOR.into(), title: "Run".into(), levels: names.to_vec() });
    factors
}

fn plan(first: &Manifest, second: &Manifest, names: &[String; 2]) -> results::PlanText {
    let mut plan = first.plan.clone();
    plan.title = if title(first) == title(second) {
        format!("{}: {} against {}", title(first), names[0], names[1])
    } else {
        format!("{} ({}) against {} ({})", title(first), names[0], title(second), names[1])
    };
    let about = |manifest: &Manifest, name: &String| {
        format!(
            "{name}: {}; seed {}, {} runs, lasthop {}, kernel {}, {}.",
            title(manifest),
            manifest.seed,
            manifest.runs.len(),
            manifest.lasthop,
            manifest.kernel,
            match manifest.clock {
                Some(Clock::Real) => "real clock",
                Some(Clock::Virtual) => "virtual clock",
                None => "clock not recorded",
            },
        )
    };
    let descriptions = [&first.plan.description, &second.plan.description];
    let mut paragraphs = vec![about(first, &names[0]), about(second, &names[1])];
    paragraphs.extend(descriptions.into_iter().filter(|text| !text.is_empty()).cloned());
    paragraphs.dedup();
    plan.description = paragraphs.join("\n\n");
    if first.plan.text != second.plan.text {
        plan.file = both(&first.plan.file, &second.plan.file, names);
        plan.text = format!("# {}\n{}\n\n# {}\n{}", names[0], first.plan.text, names[1], second.plan.text);
    }
    plan
}

fn title(manifest: &Manifest) -> &str {
    let plan = &manifest.plan;
    if plan.title.is_empty() { &plan.name } else { &plan.title }
}

/// Returns the text if it is the same in both, else each text with its campaign's name.
fn both(first: &str, second: &str, names: &[String; 2]) -> String {
    if first == second {
        return first.to_owned();
    }
    format!("{first} ({}), {second} ({})", names[0], names[1])
}

/// Returns the cell of `other` with the levels of `cell`, in any order of the factors.
#[must_use]
pub fn counterpart<'a>(cell: &Cell, other: &'a Directory) -> Option<&'a Cell> {
    let sorted = |cell: &Cell| {
        let mut levels = cell.levels.clone();
        levels.sort();
        levels
    };
    let levels = sorted(cell);
    other.manifest.cells.iter().find(|candidate| sorted(candidate) == levels)
}

/// Returns whether `manifest` is that of two merged campaigns.
pub(crate) fn is_merged(manifest: &Manifest) -> bool {
    manifest.started_unix_ns == 0 && manifest.factors.last().is_some_and(|factor| factor.name == FACTOR)
}

#[cfg(test)]
mod tests;
