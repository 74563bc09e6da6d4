//! `manifest.json`: what was run, on what, and how each run ended.

use crate::points::Point;
use crate::series::{self, Step};
use crate::{FactorialDesign, LinkCounters, LiteTotals, RunControl, Series, Shard, Stop};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

/// Version of the schema of a run directory; incremented when older readers could misread a new
/// directory.
pub const SCHEMA: u32 = 1;

/// Everything known about a campaign except its measurements.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`SCHEMA`] of the lasthop that wrote it.
    pub schema: u32,
    /// Version of lasthop.
    pub lasthop: String,
    /// The plan.
    pub plan: PlanText,
    /// Start of the campaign, in nanoseconds since 1970.
    pub started_unix_ns: u64,
    /// End of the campaign; `None` while it runs, and if it was interrupted.
    pub ended_unix_ns: Option<u64>,
    /// Clock of the runs; `None` if not known (a single link whose summary does not say), or if
    /// there are two (two campaigns).
    pub clock: Option<Clock>,
    /// Release of the kernel whose TCP was measured (`uname -r`).
    pub kernel: String,
    /// Kernel of the virtual clock; `None` with the real one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest: Option<Guest>,
    /// Machine that it ran on.
    pub machine: Machine,
    /// Seed of the campaign; the runs' are derived from it (`link::Seed`).
    pub seed: u64,
    /// Name of the workload that figures are about; empty in directories from before this was
    /// recorded.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub measure: String,
    /// Workloads of the cells, in the order of the plan; empty in directories from before this was
    /// recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workloads: Vec<PlannedWorkload>,
    /// Factors of the experiment, in the order of the plan.
    pub factors: Vec<Factor>,
    /// Combinations of levels that were run.
    pub cells: Vec<Cell>,
    /// Repetitions requested for each cell; for a gate, and with [`Self::precision`], those of the
    /// cells that needed most.
    pub repetitions: u32,
    /// The part of the campaign in this directory (`--shard`); `None` if it is all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// The shards that were merged into this directory, in order; empty if it was not merged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub merged: Vec<Part>,
    /// The numbers of repetitions at which a gate, or run control by precision, looks at the
    /// results; empty for other campaigns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub looks: Vec<u32>,
    /// Until when the cells are repeated, and where each one stopped; `None` if all have
    /// [`Self::repetitions`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<RunControl>,
    /// How the runs follow each other; `None` if as many as possible run at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<Series>,
    /// Runs that have ended, in the order of cell and repetition.
    ///
    /// They are for other programs: lasthop reads them from the journal, which is never behind.
    #[serde(deserialize_with = "no_runs")]
    pub runs: Vec<RunRecord>,
    /// Figures from the literature for comparison.
    pub expectations: Vec<Expectation>,
    /// Factorial analyses of the plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub factorial: Vec<FactorialDesign>,
    /// Units of the columns of `results.parquet` and of the fields of `--json`.
    pub units: BTreeMap<String, String>,
}

/// Skips the runs of a manifest, which [`Manifest::runs`] gets from the journal.
fn no_runs<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<RunRecord>, D::Error> {
    IgnoredAny::deserialize(input).map(|IgnoredAny| Vec::new())
}

impl Manifest {
    /// Returns whether `repetition` of `cell` is to be run in this directory.
    #[must_use]
    pub fn plans(&self, cell: &Cell, repetition: u32) -> bool {
        self.shard.is_none_or(|shard| shard.has(cell, repetition))
    }

    /// Returns all runs of the campaign with so many repetitions in their order, each with the gap
    /// before it.
    ///
    /// Runs go repetition by repetition through all cells.
    #[must_use]
    pub fn in_order(&self, repetitions: u32) -> Vec<(&Cell, u32, Duration)> {
        let Some(series) = &self.series else {
            let through = |repetition| self.cells.iter().map(move |cell| (cell, repetition, Duration::ZERO));
            return (0..repetitions).flat_map(through).collect();
        };
        let steps = series::steps(series, &self.cells, repetitions, self.seed);
        let cells: HashMap<u32, &Cell> = self.cells.iter().map(|cell| (cell.number, cell)).collect();
        let with_cell =
            |step: Step| Some((*cells.get(&step.cell)?, step.repetition, Duration::from_nanos(step.gap_ns)));
        steps.into_iter().filter_map(with_cell).collect()
    }

    /// Returns the number of runs that are to be run in this directory.
    #[must_use]
    pub fn planned(&self) -> usize {
        match self.shard {
            None => self.cells.iter().map(|cell| self.repetitions_of(cell) as usize).sum(),
            Some(shard) => {
                let runs = |cell: &Cell| {
                    let label = cell.label();
                    let own = |repetition: &u32| Shard::of_run(&label, *repetition, shard.of) == shard;
                    (0..self.repetitions).filter(own).count()
                };
                self.cells.iter().map(runs).sum()
            }
        }
    }

    /// Returns the number of repetitions of a cell; with run control by precision, that at which it
    /// stopped.
    fn repetitions_of(&self, cell: &Cell) -> u32 {
        match &self.precision {
            Some(control) if !control.stops.is_empty() => {
                let stops = control.stops.iter().filter(|stop| stop.cells().any(|own| own == cell.number));
                let least = self.looks.first().copied().unwrap_or(self.repetitions);
                stops.map(|stop: &Stop| stop.repetitions).max().unwrap_or(least)
            }
            _ => self.repetitions,
        }
    }

    /// Returns the start of the campaign in nanoseconds since 1970, by the clock of its runs.
    ///
    /// Files that depend only on plan, seed and kernel contain this time: by the virtual clock it
    /// is when each guest starts.
    #[must_use]
    pub fn start_by_run_clock(&self) -> u64 {
        self.guest.as_ref().map_or(self.started_unix_ns, |guest| guest.start_unix_ns)
    }
}

/// A shard that was merged into a campaign: where and when it ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The shard.
    pub shard: Shard,
    /// Number of its runs.
    pub runs: u64,
    /// Machine that it ran on.
    pub machine: Machine,
    /// Its start, in nanoseconds since 1970 by the host's clock.
    pub started_unix_ns: u64,
    /// Its end; `None` if its process was killed after its last run.
    pub ended_unix_ns: Option<u64>,
}

/// The plan as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanText {
    /// Its name.
    pub name: String,
    /// One line about it.
    pub title: String,
    /// Longer description.
    pub description: String,
    /// File that it was read from, as named by the user.
    pub file: String,
    /// The file's text.
    pub text: String,
}

/// Clock of the runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Clock {
    /// The host's.
    Real,
    /// A clock that jumps over idle time, in a kernel of its own.
    Virtual,
}

/// Kernel of the virtual clock, and how it was run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guest {
    /// Its source: package and version.
    pub source: String,
    /// Hash of all its inputs: source, configuration, patches, compiler.
    pub key: String,
    /// Whether it is another version than requested, because that one is no longer in the archive.
    pub fallback: bool,
    /// Clock ticks per second (`CONFIG_HZ`).
    pub hz: u32,
    /// Its wall clock at boot, in nanoseconds since 1970.
    pub start_unix_ns: u64,
    /// Maximum memory of each instance in MiB.
    pub memory_mib: u32,
    /// Whether each run was repeated and compared.
    pub verified: bool,
    /// C library of the workloads: `gnu`, or `musl` in the static binary. They make other system
    /// calls with each, so times may differ by microseconds.
    #[serde(default = "gnu")]
    pub c_library: String,
    /// SHA-256 of the library with the links, which the kernel opens. Builds on two machines give
    /// different files of one behaviour, so runs with another one remain comparable.
    #[serde(default)]
    pub link_library: String,
}

/// The only one before it was recorded.
fn gnu() -> String {
    "gnu".to_owned()
}

impl Guest {
    /// Returns the first difference that makes runs not comparable: its name, and both values.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Option<(&'static str, String, String)> {
        let parts = |guest: &Self| {
            [
                ("kernel", format!("{} ({:.12})", guest.source, guest.key)),
                ("C library of lasthop", guest.c_library.clone()),
                ("--guest-memory", format!("{} MiB", guest.memory_mib)),
                ("--verify", if guest.verified { "on" } else { "off" }.to_owned()),
            ]
        };
        let both = parts(self).into_iter().zip(parts(other));
        let mut both = both.map(|((what, one), (_, other))| (what, one, other));
        both.find(|(_, one, other)| one != other)
    }
}

/// Machine that a campaign ran on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// `uname -m`.
    pub architecture: String,
    /// Model name of the processor.
    pub processor: String,
    /// Processors that the campaign could use.
    pub processors: u32,
    /// Main memory in bytes.
    pub memory_bytes: u64,
}

/// A workload of the plan, by its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedWorkload {
    /// Its name.
    pub name: String,
    /// Whether runs end without waiting for it: a server, or cross traffic. Figures are about it
    /// only if it is named.
    pub background: bool,
}

/// A parameter that the experiment varies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Factor {
    /// Its name.
    pub name: String,
    /// Title for people; the name, if the plan has no title.
    pub title: String,
    /// Levels that were run, in the order of the plan.
    pub levels: Vec<String>,
}

/// One level of one factor.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Level {
    /// Name of the factor.
    pub factor: String,
    /// Its level.
    pub level: String,
}

/// One combination of levels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// Its number in the plan, from 0. With `--only` the numbers are those of the whole plan.
    pub number: u32,
    /// One level of each factor, in the order of the factors; none if the plan has no factors.
    pub levels: Vec<Level>,
}

impl Cell {
    /// Returns the level of a factor.
    #[must_use]
    pub fn level(&self, factor: &str) -> Option<&str> {
        self.levels.iter().find(|level| level.factor == factor).map(|level| level.level.as_str())
    }

    /// Returns all levels in one line, `loss=lite-1, cc=reno`; `all` if there are no factors.
    #[must_use]
    pub fn label(&self) -> String {
        if self.levels.is_empty() {
            return "all".into();
        }
        let levels: Vec<_> =
            self.levels.iter().map(|level| format!("{}={}", level.factor, level.level)).collect();
        levels.join(", ")
    }
}

/// One run: one repetition of one cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Number of its cell.
    pub cell: u32,
    /// Number of the repetition, from 0. Repetitions of the same number in different cells have the
    /// same seed.
    pub repetition: u32,
    /// How it ended.
    pub verdict: RunVerdict,
    /// Reasons, one each, why it failed, why it counts as overloaded, or what is missing.
    pub reasons: Vec<String>,
    /// Start, in nanoseconds since 1970 by the host's clock.
    pub started_unix_ns: u64,
    /// Duration by the run's clock, in seconds.
    pub seconds: f64,
    /// Duration by the host's clock, in seconds.
    pub wall_seconds: f64,
    /// Whether a repetition was the same, byte by byte (`--verify`); `None` if it was not repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified: Option<bool>,
    /// How late the emulator delivered packets; `None` in runs from before this was recorded, and
    /// if the run produced no result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lateness: Option<Lateness>,
    /// Counters of each link.
    pub links: Vec<LinkCounters>,
    /// Counters of TCP Lite; `None` if no node of the run accepts damage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lite: Option<LiteTotals>,
    /// Capture files that were kept, relative to the run directory.
    pub captures: Vec<String>,
    /// Event logs that were kept, relative to the run directory.
    pub events: Vec<String>,
    /// States of TCP senders that were kept, relative to the run directory.
    #[serde(default)]
    pub senders: Vec<String>,
    /// Records and blocks of link layers that were kept, relative to the run directory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub link_layers: Vec<String>,
    /// Outputs of commands that were kept, relative to the run directory.
    pub logs: Vec<String>,
    /// Counters of each flow at each end of a link; `None` if the plan does not ask for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub points: Option<Vec<Point>>,
}

impl RunRecord {
    /// Creates the record of a run without any result.
    #[must_use]
    pub fn failed(cell: u32, repetition: u32, reason: String) -> Self {
        Self {
            cell,
            repetition,
            verdict: RunVerdict::Failed,
            reasons: vec![reason],
            started_unix_ns: 0,
            seconds: 0.0,
            wall_seconds: 0.0,
            verified: None,
            lateness: None,
            links: Vec::new(),
            lite: None,
            captures: Vec::new(),
            events: Vec::new(),
            senders: Vec::new(),
            link_layers: Vec::new(),
            logs: Vec::new(),
            points: None,
        }
    }

    /// Marks the run as failed.
    pub fn fail(&mut self, reason: String) {
        self.verdict = RunVerdict::Failed;
        self.reasons.insert(0, reason);
    }
}

/// RunVerdict on a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunVerdict {
    /// It ran as planned.
    Good,
    /// The emulator fell behind; left out of figures by default.
    Overloaded,
    /// A link layer disconnected for good during the run, as a network drops a call; left out of
    /// figures by default (LL-35).
    DroppedCall,
    /// A workload failed, or the time limit was reached.
    Failed,
}

/// Lateness of packets: the time after their logical times; they never leave early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lateness {
    /// Packets that left a link.
    pub packets: u64,
    /// Median lateness in nanoseconds, rounded up to a power of two.
    pub median_ns: u64,
    /// 99th percentile of the lateness, likewise.
    pub p99_ns: u64,
    /// Largest lateness in nanoseconds.
    pub worst_ns: u64,
    /// Time for which the emulator did not run, in nanoseconds.
    #[serde(default)]
    pub paused_ns: u64,
    /// Mean lateness; `None` in runs from before this was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_ns: Option<u64>,
    /// Mean time that the links themselves took for a packet, without queues; `None` likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_mean_ns: Option<u64>,
}

/// A figure from the literature with which ours is compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// Row of the specification, such as `TL-19`.
    #[serde(default)]
    pub id: String,
    /// One line about the comparison.
    pub title: String,
    /// The compared metric: the name of a [`Metric`](crate::Metric), or `degradation`, the fall of
    /// goodput in percent compared with `against`.
    pub metric: String,
    /// Its workload; by default the one that all figures are about ([`Manifest::measure`]).
    #[serde(default)]
    pub workload: Option<String>,
    /// Selected cells. If a factor is not named, there are several, and our figure is the range
    /// over them.
    #[serde(rename = "where", default)]
    pub of: Selection,
    /// Cells to compare with: the figure is then the change in percent instead of the metric
    /// itself.
    ///
    /// Each cell is compared with the one that has the same levels of all factors not named here.
    #[serde(default)]
    pub against: Option<Selection>,
    /// Point at which the figure is read from the straight line through the runs (TL-22).
    ///
    /// The figure is the change of the line from where this metric is 0 to this value of it. The
    /// line also goes through the runs of the cells of `against`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<At>,
    /// Statistic over the repetitions of a cell; with `against`, over the changes. Not with `at`.
    ///
    /// One of `mean` (default; also `means`), `median`, `min`, `max`, `range` (from the smallest to
    /// the largest value) and `interval` (the 95 % interval of the mean).
    #[serde(default)]
    pub statistic: Option<String>,
    /// Lower end of the published range, in `unit`.
    pub low: f64,
    /// Upper end; equal to `low` for a single number.
    pub high: f64,
    /// Unit of both ends: the metric's, another one of the same quantity (`kbit/s`), or `%` with
    /// `against`.
    pub unit: String,
    /// Publication that it comes from.
    pub source: String,
}

/// A value of a metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct At {
    /// Name of a [`Metric`](crate::Metric).
    pub metric: String,
    /// Value in `unit`, above 0.
    pub value: f64,
    /// The metric's unit, or another one of the same quantity.
    pub unit: String,
}

/// Levels by factor; a level may be a list.
pub type Selection = BTreeMap<String, Levels>;

/// One level or several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Levels {
    /// A single level.
    One(String),
    /// Any of these levels.
    Any(Vec<String>),
}

impl Levels {
    /// Returns whether `level` is one of them.
    #[must_use]
    pub fn contains(&self, level: &str) -> bool {
        match self {
            Self::One(one) => one == level,
            Self::Any(any) => any.iter().any(|one| one == level),
        }
    }

    /// Returns all of them.
    pub fn iter(&self) -> impl Iterator<Item = &String> {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Any(any) => any,
        }
        .iter()
    }
}

/// Returns whether `cell` is among the selected ones.
#[must_use]
pub fn selects(selection: &Selection, cell: &Cell) -> bool {
    selection.iter().all(|(factor, levels)| cell.level(factor).is_some_and(|level| levels.contains(level)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{cells, guest, selection};

    #[test]
    fn another_kernel_or_another_way_of_running_it_is_told() {
        let guest = guest();
        assert_eq!(guest.difference(&guest.clone()), None);
        let other = Guest { key: "fedcba9876543210".into(), memory_mib: 64, ..guest.clone() };
        let (what, began, now) = guest.difference(&other).expect("a difference");
        assert_eq!(what, "kernel");
        assert_eq!(began, "linux-source-7.2 7.2.12-1 (0123456789ab)");
        assert_eq!(now, "linux-source-7.2 7.2.12-1 (fedcba987654)");
        let other = Guest { memory_mib: 64, ..guest.clone() };
        let told = Some(("--guest-memory", "512 MiB".into(), "64 MiB".into()));
        assert_eq!(guest.difference(&other), told);
        let other = Guest { verified: true, ..guest.clone() };
        assert_eq!(guest.difference(&other), Some(("--verify", "off".into(), "on".into())));
        let other = Guest { c_library: "musl".into(), ..guest.clone() };
        assert_eq!(guest.difference(&other), Some(("C library of lasthop", "gnu".into(), "musl".into())));
    }

    #[test]
    fn a_guest_of_a_manifest_without_its_c_library_had_the_only_one() {
        let mut old = serde_json::to_value(guest()).expect("JSON");
        old.as_object_mut().expect("an object").remove("c_library");
        assert_eq!(serde_json::from_value::<Guest>(old).expect("a guest"), guest());
    }

    #[test]
    fn a_selection_takes_the_cells_that_have_one_of_each_of_its_levels() {
        let chosen = |selection: &Selection| -> Vec<u32> {
            cells().iter().filter(|cell| selects(selection, cell)).map(|cell| cell.number).collect()
        };
        assert_eq!(chosen(&selection(&[])), [0, 1, 2, 3, 4, 5]);
        assert_eq!(chosen(&selection(&[("lite", &["on"])])), [3, 4, 5]);
        assert_eq!(chosen(&selection(&[("loss", &["one", "two"])])), [1, 2, 4, 5]);
        assert_eq!(chosen(&selection(&[("loss", &["none"]), ("lite", &["off"])])), [0]);
        assert!(chosen(&selection(&[("loss", &["three"])])).is_empty());
        assert!(chosen(&selection(&[("rate", &["one"])])).is_empty(), "not a factor");
        assert!(chosen(&selection(&[("loss", &[])])).is_empty(), "none of no levels");
    }

    #[test]
    fn an_expectation_may_name_one_level_or_several() {
        let text = r#"{"title": "t", "metric": "goodput", "where": {"loss": ["one", "two"], "lite": "on"},
            "low": 1, "high": 2, "unit": "s", "source": "T"}"#;
        let expectation: Expectation = serde_json::from_str(text).unwrap();
        assert_eq!(expectation.of, selection(&[("loss", &["one", "two"]), ("lite", &["on"])]));
        assert_eq!((expectation.against, expectation.workload), (None, None));
        assert!(serde_json::from_str::<Expectation>(&text.replace("metric", "metrik")).is_err());
    }

    #[test]
    fn cells_are_named_by_their_levels() {
        assert_eq!(cells()[4].label(), "lite=on, loss=one");
        assert_eq!(Cell { number: 0, levels: vec![] }.label(), "all");
    }
}
