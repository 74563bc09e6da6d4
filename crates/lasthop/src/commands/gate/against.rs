//! `--against`: the comparison with another campaign of the same seeds.

use super::arguments::GateArguments;
use super::campaign_arguments::CampaignArguments;
use super::line::Line;
use crate::clock::Clock;
use crate::failure::Failure;
use experiment::plan::Plan;
use results::paired::{self, Comparison, METRICS, PairingError};
use results::requirement::Requirement;
use results::{Cell, Directory, Metric};
use std::path::Path;

/// The campaign to compare with.
pub struct Other {
    directory: Directory,
}

impl Other {
    /// Opens its run directory.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let directory = Directory::open(path)?;
        if directory.manifest.ended_unix_ns.is_none() {
            let path = path.display();
            return Err(format!("--against: {path} was interrupted: resume it first").into());
        }
        Ok(Self { directory })
    }

    /// Makes the new campaign one that can be paired: with the same seed, and as many repetitions.
    pub fn take_over(&self, asked: &mut CampaignArguments) -> Result<(), Failure> {
        let manifest = &self.directory.manifest;
        let ours = *asked.seed.get_or_insert(manifest.seed);
        if ours != manifest.seed {
            return Err(self.wrong(&PairingError::Seed { theirs: manifest.seed, ours }));
        }
        asked.repetitions.get_or_insert(manifest.repetitions);
        Ok(())
    }

    /// Refuses a plan whose runs could not be paired, before anything runs.
    pub fn check(&self, plan: &Plan, cells: &[Cell], clock: Clock, seed: Option<u64>) -> Result<(), Failure> {
        let clock = match clock {
            Clock::Real => results::Clock::Real,
            Clock::Virtual => results::Clock::Virtual,
        };
        let theirs = &self.directory.manifest;
        let seed = seed.unwrap_or(theirs.seed);
        paired::check(theirs, seed, Some(clock), cells).map_err(|error| self.wrong(&error))?;
        self.check_text(&plan.text.text)
    }

    /// Compares, and returns a line for each metric and cell.
    pub fn lines(
        &self,
        directory: &Directory,
        metrics: &[Metric],
        arguments: &GateArguments,
        notes: &mut Vec<String>,
    ) -> Result<Vec<Line>, Failure> {
        let ours = &directory.manifest;
        let theirs = &self.directory;
        let workload = arguments.workload.as_deref().unwrap_or(directory.measured());
        paired::check(&theirs.manifest, ours.seed, ours.clock, &ours.cells)
            .and_then(|()| paired::check_runs(theirs, directory, workload))
            .map_err(|error| self.wrong(&error))?;
        self.check_text(&ours.plan.text)?;
        notes.extend(paired::notes(&theirs.manifest, ours));
        let comparison = Comparison {
            first: theirs,
            second: directory,
            workload,
            tolerance: arguments.tolerance,
            confidence: arguments.confidence,
            besides: arguments.campaign.besides(),
        };
        let changes = paired::compare(&comparison, metrics);
        if changes.is_empty() {
            let names: Vec<_> = metrics.iter().map(|metric| metric.name()).collect();
            return Err(format!("--against: no run has a value of {}", names.join(", ")).into());
        }
        Ok(changes.iter().map(|change| Line::change(change, arguments.tolerance)).collect())
    }

    /// Refuses a plan with other links, nodes or traffic under the same names. Programs may differ:
    /// they are what is compared.
    fn check_text(&self, ours: &str) -> Result<(), Failure> {
        let theirs = &self.directory.manifest.plan.text;
        match difference(theirs, ours) {
            Some(key) => {
                let path = self.directory.path.display();
                Err(format!("cannot compare with {path}: its plan has another `{key}`").into())
            }
            None => Ok(()),
        }
    }

    fn wrong(&self, error: &PairingError) -> Failure {
        format!("cannot compare with {}: {error}", self.directory.path.display()).into()
    }
}

/// Returns the first part of the plans in which runs of the same cell would not be the same
/// experiment.
fn difference(theirs: &str, ours: &str) -> Option<&'static str> {
    let (theirs, ours) = (theirs.parse::<toml::Table>().ok()?, ours.parse::<toml::Table>().ok()?);
    let part = |plan: &toml::Table, key: &str| {
        let mut part = plan.get(key).cloned();
        if let (Some(toml::Value::Array(workloads)), "workloads") = (&mut part, key) {
            for workload in workloads.iter_mut().filter_map(toml::Value::as_table_mut) {
                workload.remove("command");
            }
        }
        part
    };
    ["scenario", "workloads", "stop"].into_iter().find(|key| part(&theirs, key) != part(&ours, key))
}

/// Returns the metrics to compare: the named ones, those of the requirements, or the usual ones.
pub fn metrics(named: &[Metric], requirements: &[Requirement]) -> Vec<Metric> {
    let mut metrics = named.to_vec();
    if metrics.is_empty() {
        metrics.extend(requirements.iter().map(|requirement| requirement.metric));
    }
    if metrics.iter().all(|metric| metric.better().is_none()) {
        metrics = METRICS.to_vec();
    }
    metrics.sort();
    metrics.dedup();
    metrics
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_differ_in_what_is_measured_not_in_what_is_required() {
        let plan =
            "seed = 1\n[scenario]\nlinks = [1]\n[[workloads]]\nkind = \"command\"\ncommand = \"./v1\"\n";
        let same = |from: &str, to: &str| difference(plan, &plan.replace(from, to));
        assert_eq!(same("seed = 1", "seed = 2\nrepetitions = 5"), None);
        assert_eq!(same("./v1", "./v2"), None);
        assert_eq!(same("[1]", "[2]"), Some("scenario"));
        assert_eq!(same("\"command\"\n", "\"bulk\"\n"), Some("workloads"));
    }

    #[test]
    fn named_metrics_come_before_those_of_the_plan() {
        assert_eq!(metrics(&[Metric::Timeouts, Metric::Rtt], &[]), [Metric::Timeouts, Metric::Rtt]);
        assert_eq!(metrics(&[], &[]), METRICS);
        assert_eq!(metrics(&[Metric::LossEvents], &[]), METRICS, "it has no direction");
    }
}
