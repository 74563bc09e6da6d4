//! What a campaign will take, before it starts.
//!
//! The plan tells the number of runs, and bounds on the time of its links. How much of a processor
//! virtual time takes is measured: a pilot runs the first repetition of a few cells, spread over
//! the range of the lower bounds, and each stands for the cells near it. By the real clock a run
//! takes as long as its links, so there is nothing to measure but the campaign itself.

use crate::failure::Failure;
use crate::library::PRELOAD;
use experiment::campaign::{Asked, Campaign, Capacity, RunEnvironment};
use experiment::plan::Plan;
use results::{Cell, RunVerdict, Shard};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

/// Largest number of cells that a pilot measures.
const PILOT: usize = 6;

/// The runs of a campaign, and bounds on the time of their links.
#[derive(Debug)]
pub struct Estimate {
    cells: Vec<Cell>,
    /// Number of repetitions of each cell.
    repetitions: u32,
    /// The part of the campaign; all of it if `None`.
    shard: Option<Shard>,
    /// Lower bound on the duration of a run of each cell, in seconds.
    least: Vec<f64>,
    /// Upper bound likewise.
    most: Vec<f64>,
}

/// Time of a processor for the runs of a campaign, measured.
#[derive(Debug)]
pub struct Pilot {
    /// Seconds for a run of each cell, by the cell's number.
    by_cell: BTreeMap<u32, f64>,
    /// Seconds that each run of the pilot took.
    measured: Vec<f64>,
    /// Virtual seconds of all runs of the pilot.
    passed: f64,
}

impl Estimate {
    /// Computes the bounds for these cells of a plan.
    pub fn of(
        plan: &Plan,
        cells: Vec<Cell>,
        repetitions: u32,
        shard: Option<Shard>,
    ) -> Result<Self, Failure> {
        let bounds = cells.iter().map(|cell| Ok(plan.experiment(cell, 0, 0)?.duration()));
        let bounds = bounds.collect::<Result<Vec<_>, Failure>>()?;
        let (least, most) =
            bounds.iter().map(|bound| (bound.least.as_secs_f64(), bound.most.as_secs_f64())).unzip();
        Ok(Self { cells, repetitions, shard, least, most })
    }

    /// Returns the number of runs of each cell.
    fn counts(&self) -> impl Iterator<Item = usize> {
        self.cells.iter().map(|cell| match self.shard {
            None => self.repetitions as usize,
            Some(shard) => (0..self.repetitions).filter(|&repetition| shard.has(cell, repetition)).count(),
        })
    }

    /// Returns the number of cells.
    pub fn cells(&self) -> usize {
        self.cells.len()
    }

    /// Returns the number of runs.
    pub fn runs(&self) -> usize {
        self.counts().sum()
    }

    /// Returns a sum over all runs, of a number for each cell.
    fn total(&self, of: impl IntoIterator<Item = f64>) -> f64 {
        self.counts().zip(of).map(|(count, each)| count as f64 * each).sum()
    }

    /// Returns the bounds on the links' time of all runs together, in seconds.
    pub fn bounds(&self) -> (f64, f64) {
        (self.total(self.least.iter().copied()), self.total(self.most.iter().copied()))
    }

    /// Describes the bounds.
    pub fn words(&self) -> String {
        let (least, most) = self.bounds();
        let least =
            if least > 0.0 { format!("at least {}", human(least)) } else { "no lower bound".to_owned() };
        format!(
            "time of the links, by the plan: {least}, at most {} (every run at its time limit)",
            human(most)
        )
    }

    /// Runs the first repetition of some cells in `place`, and measures how long each takes.
    ///
    /// Returns `None` if the user interrupted it.
    pub fn measure(
        &self,
        plan: &Plan,
        asked: &Asked,
        (place, capacity): (&RunEnvironment, Capacity),
        interrupted: &AtomicBool,
    ) -> Result<Option<Pilot>, Failure> {
        let folder = tempfile::tempdir()?;
        let strata = self.strata();
        let cells = strata.iter().map(|stratum| self.cells[stratum[stratum.len() / 2]].clone()).collect();
        let seed = Some(asked.seed.or(plan.seed).unwrap_or_default());
        let out = Some(folder.path().join("pilot"));
        let asked = Asked { repetitions: Some(1), seed, out, shard: None, ..asked.clone() };
        let mut campaign =
            Campaign::create_of(plan.clone(), cells, &asked)?.with_preload(PRELOAD.find().ok());
        if !campaign.run(place, capacity, interrupted, &mut |_| ())? {
            return Ok(None);
        }
        let ran = &campaign.manifest().runs;
        if let Some(failed) = ran.iter().find(|run| run.verdict == RunVerdict::Failed) {
            let cell = self.cells.iter().find(|cell| cell.number == failed.cell).map(Cell::label);
            let reasons = failed.reasons.join("; ");
            return Err(format!("a run to measure failed ({}): {reasons}", cell.unwrap_or_default()).into());
        }
        let mut by_cell = BTreeMap::new();
        for stratum in &strata {
            let middle = self.cells[stratum[stratum.len() / 2]].number;
            if let Some(run) = ran.iter().find(|run| run.cell == middle) {
                by_cell.extend(stratum.iter().map(|&index| (self.cells[index].number, run.wall_seconds)));
            }
        }
        Ok(Some(Pilot {
            by_cell,
            measured: ran.iter().map(|run| run.wall_seconds).collect(),
            passed: ran.iter().map(|run| run.seconds).sum(),
        }))
    }

    /// Divides the cells, by their lower bounds, into at most [`PILOT`] groups of about equal size.
    fn strata(&self) -> Vec<Vec<usize>> {
        let mut order: Vec<usize> = (0..self.cells.len()).collect();
        order.sort_by(|&one, &other| self.least[one].total_cmp(&self.least[other]).then(one.cmp(&other)));
        let count = PILOT.min(order.len());
        (0..count)
            .map(|group| order[group * order.len() / count..(group + 1) * order.len() / count].to_vec())
            .collect()
    }

    /// Returns the seconds of a processor for all runs, by a pilot.
    pub fn processor_seconds(&self, pilot: &Pilot) -> f64 {
        self.total(self.cells.iter().map(|cell| pilot.by_cell.get(&cell.number).copied().unwrap_or_default()))
    }

    /// Returns the seconds of a processor for the largest of `shards` shards, by a pilot.
    pub fn largest_shard(&self, pilot: &Pilot, shards: u32) -> f64 {
        let mut sums = vec![0.0; shards as usize];
        for cell in &self.cells {
            let (label, each) = (cell.label(), pilot.by_cell.get(&cell.number).copied().unwrap_or_default());
            for repetition in 0..self.repetitions {
                sums[Shard::of_run(&label, repetition, shards).number as usize - 1] += each;
            }
        }
        sums.into_iter().fold(0.0, f64::max)
    }

    /// Describes what a pilot measured.
    pub fn measured_words(&self, pilot: &Pilot, processors: usize) -> String {
        let total = self.processor_seconds(pilot);
        let (shortest, longest) = pilot.range();
        let each = if pilot.measured.len() < 2 {
            format!("{longest:.1} s")
        } else {
            format!("{shortest:.1} to {longest:.1} s")
        };
        let passed = human(pilot.passed);
        format!(
            "time of processors, measured on the first repetition of {} of {} cells ({each} for each, {passed} of virtual time): about {} on one, {} on {processors} here",
            pilot.measured.len(),
            self.cells.len(),
            human(total),
            human((total / processors as f64).max(longest)),
        )
    }
}

impl Pilot {
    /// Returns the shortest and the longest time that a run of the pilot took, in seconds.
    pub fn range(&self) -> (f64, f64) {
        let shortest = self.measured.iter().copied().fold(f64::INFINITY, f64::min);
        (shortest, self.measured.iter().copied().fold(0.0, f64::max))
    }
}

/// Formats seconds for people, with two or three significant digits.
pub fn human(seconds: f64) -> String {
    let minutes = (seconds / 60.0).round() as u64;
    match seconds {
        ..10.0 => format!("{seconds:.1} s"),
        ..120.0 => format!("{seconds:.0} s"),
        ..7200.0 => format!("{minutes} min"),
        ..259_200.0 => format!("{} h {} min", minutes / 60, minutes % 60),
        _ => format!("{:.0} days", seconds / 86_400.0),
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "sums of whole numbers")]
mod tests {
    use super::*;

    const PLAN: &str = r#"
        repetitions = 4
        [[factors]]
        name = "size"
        levels = ["1MB", "2MB", "3MB", "4MB", "5MB", "6MB", "7MB", "8MB"]
        [[scenario.links]]
        between = ["a", "b"]
        up = "rate=1mbit"
        [[workloads]]
        name = "w"
        kind = "bulk"
        from = "a"
        to = "b"
        bytes = "{size}"
        [stop]
        after = "10min"
    "#;

    fn estimate(shard: Option<Shard>) -> Estimate {
        let plan = Plan::parse("plan.toml", PLAN).unwrap_or_else(|error| panic!("{error}"));
        Estimate::of(&plan, plan.cells(), 4, shard).expect("bounds")
    }

    #[test]
    fn bounds_are_sums_over_all_runs() {
        let all = estimate(None);
        assert_eq!(all.runs(), 32);
        // 36 MB at 1 Mbit/s, four times; 32 runs of ten minutes.
        assert_eq!(all.bounds(), (1152.0, 19_200.0));
        assert_eq!(
            all.words(),
            "time of the links, by the plan: at least 19 min, at most 5 h 20 min (every run at its time limit)"
        );
        let parts = (1..=3).map(|number| estimate(Some(Shard { number, of: 3 })));
        let (runs, least): (Vec<_>, Vec<_>) = parts.map(|part| (part.runs(), part.bounds().0)).unzip();
        assert_eq!((runs.iter().sum::<usize>(), least.iter().sum::<f64>()), (32, 1152.0));
    }

    #[test]
    fn times_are_rounded() {
        let said = [0.04, 9.94, 10.4, 119.0, 121.0, 7199.0, 7201.0, 259_000.0, 1e7].map(human);
        let expected =
            ["0.0 s", "9.9 s", "10 s", "119 s", "2 min", "120 min", "2 h 0 min", "71 h 57 min", "116 days"];
        assert_eq!(said, expected);
    }

    /// Each run of the pilot stands for its neighbours.
    #[test]
    fn a_pilot_stands_for_all_cells() {
        let all = estimate(None);
        let strata = all.strata();
        assert_eq!(strata, [vec![0], vec![1], vec![2, 3], vec![4], vec![5], vec![6, 7]]);
        let by_cell: BTreeMap<u32, f64> = (0..8).map(|cell| (cell, f64::from(cell) + 1.0)).collect();
        let pilot = Pilot { by_cell, measured: vec![1.0, 8.0], passed: 100.0 };
        assert_eq!(all.processor_seconds(&pilot), 144.0);
        assert_eq!(all.largest_shard(&pilot, 1), 144.0);
        let largest = all.largest_shard(&pilot, 4);
        assert!((36.0..100.0).contains(&largest), "{largest}");
        assert!(all.largest_shard(&pilot, 1000) >= 8.0);
    }
}
