//! Description of a campaign, and its runs that went wrong.

use crate::side_by_side::is_merged;
use results::{Clock, Manifest, RunVerdict};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// Description of a campaign.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct About {
    name: String,
    title: String,
    description: String,
    /// Name of the plan's file, and its text.
    plan_file: String,
    plan_text: String,
    lasthop: String,
    kernel: String,
    /// `None` if not known, or if there are two.
    clock: Option<Clock>,
    /// Description of the clock, for people.
    clock_words: &'static str,
    /// Description of the machine, as far as it is known and matters.
    machine: String,
    /// A string, because a page's numbers have 53 bits; empty for two campaigns.
    seed: String,
    /// Start and end in milliseconds since 1970, the unit of a page's times; 0 and `None` if they
    /// are not shown.
    started_ms: u64,
    ended_ms: Option<u64>,
    /// Number of planned runs.
    planned: usize,
    /// The part of the campaign, such as `3/8`; empty if it is all of it.
    shard: String,
    repetitions: u32,
    /// Profiles of the links, with the cells that had them if cells differ.
    links: Vec<Link>,
}

/// One direction of one link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Link {
    name: String,
    direction: String,
    profile: String,
    /// Numbers of the cells with this profile; empty if all cells have it.
    cells: Vec<u32>,
}

/// A run that did not go well.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Trouble {
    cell: u32,
    label: String,
    repetition: u32,
    verdict: RunVerdict,
    reasons: Vec<String>,
}

impl About {
    pub(crate) fn title(&self) -> &str {
        &self.title
    }
}

/// Describes a campaign.
///
/// By the virtual clock, a report depends only on plan, seed and kernel, as all other files do. So
/// the machine and the host's times are left out; the manifest has them.
pub(crate) fn of(manifest: &Manifest) -> About {
    let plan = &manifest.plan;
    let host = manifest.clock != Some(Clock::Virtual);
    // The page may go to other people, so it does not contain the path of the plan.
    let plan_file = Path::new(&plan.file).file_name().unwrap_or_default().to_string_lossy().into_owned();
    About {
        name: plan.name.clone(),
        title: if plan.title.is_empty() { plan.name.clone() } else { plan.title.clone() },
        description: plan.description.clone(),
        plan_file,
        plan_text: plan.text.clone(),
        lasthop: manifest.lasthop.clone(),
        kernel: kernel(manifest),
        clock: manifest.clock,
        clock_words: clock(manifest),
        machine: if host { machine(&manifest.machine) } else { String::new() },
        seed: if is_merged(manifest) { String::new() } else { manifest.seed.to_string() },
        started_ms: if host { manifest.started_unix_ns / 1_000_000 } else { 0 },
        ended_ms: manifest.ended_unix_ns.filter(|_| host).map(|end| end / 1_000_000),
        planned: manifest.planned(),
        shard: manifest.shard.map_or_else(String::new, |shard| shard.to_string()),
        repetitions: manifest.repetitions,
        links: links(manifest),
    }
}

fn clock(manifest: &Manifest) -> &'static str {
    match manifest.clock {
        Some(Clock::Real) => "real: the host's clock",
        Some(Clock::Virtual) => "virtual: idle time is skipped",
        None if is_merged(manifest) => "one real, one virtual: see above",
        None => "not recorded",
    }
}

/// Returns the kernel's release; for a guest's kernel also its inputs, which are needed to repeat
/// the campaign exactly.
pub(crate) fn kernel(manifest: &Manifest) -> String {
    let Some(guest) = &manifest.guest else { return manifest.kernel.clone() };
    let stand_in = if guest.fallback { " (in place of a source that is no longer available)" } else { "" };
    let verified = if guest.verified { ", each run done twice and compared" } else { "" };
    format!(
        "{}, of {}{stand_in}, key {:.12}, {} ticks a second, {} MiB{verified}",
        manifest.kernel, guest.source, guest.key, guest.hz, guest.memory_mib
    )
}

/// Describes the machine as far as it is known; a machine that was not recorded has 0 processors.
fn machine(machine: &results::Machine) -> String {
    let mut parts = Vec::new();
    if !machine.processor.is_empty() {
        parts.push(machine.processor.clone());
    }
    if machine.processors > 0 {
        parts.push(format!("{} processors", machine.processors));
    }
    if machine.memory_bytes > 0 {
        parts.push(format!("{:.1} GiB of memory", machine.memory_bytes as f64 / f64::from(1 << 30)));
    }
    if !machine.architecture.is_empty() {
        parts.push(machine.architecture.clone());
    }
    parts.join(", ")
}

/// Returns every profile of each link direction, in the order of first occurrence.
fn links(manifest: &Manifest) -> Vec<Link> {
    let mut links: Vec<Link> = Vec::new();
    let mut places: HashMap<(&str, &str, &str), usize> = HashMap::new();
    for run in &manifest.runs {
        for way in &run.links {
            let place = *places.entry((&way.link, &way.direction, &way.profile)).or_insert_with(|| {
                links.push(Link {
                    name: way.link.clone(),
                    direction: way.direction.clone(),
                    profile: way.profile.clone(),
                    cells: Vec::new(),
                });
                links.len() - 1
            });
            // Runs of a cell mostly follow each other.
            let cells = &mut links[place].cells;
            if cells.last() != Some(&run.cell) && !cells.contains(&run.cell) {
                cells.push(run.cell);
            }
        }
    }
    let mut profiles: BTreeMap<(String, String), usize> = BTreeMap::new();
    for link in &links {
        *profiles.entry((link.name.clone(), link.direction.clone())).or_default() += 1;
    }
    for link in &mut links {
        if profiles[&(link.name.clone(), link.direction.clone())] == 1 {
            link.cells.clear();
        }
    }
    links
}

pub(crate) fn troubles(manifest: &Manifest) -> Vec<Trouble> {
    let label = |number| {
        let cell = manifest.cells.iter().find(|cell| cell.number == number);
        cell.map_or_else(|| format!("cell {number} (not in the manifest)"), results::Cell::label)
    };
    let bad = manifest.runs.iter().filter(|run| run.verdict != RunVerdict::Good);
    bad.map(|run| Trouble {
        cell: run.cell,
        label: label(run.cell),
        repetition: run.repetition,
        verdict: run.verdict,
        reasons: run.reasons.clone(),
    })
    .collect()
}
