//! `manifest.json`: what was run, on what, and how each run ended.

use crate::{LinkCounters, LiteTotals};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the schema of a run directory; it grows when a reader of the former could misread the
/// new one.
pub const SCHEMA: u32 = 1;

/// All that is known about a campaign besides its measurements.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`SCHEMA`] of the writer.
    pub schema: u32,
    /// Version of lasthop.
    pub lasthop: String,
    /// What was to be run.
    pub plan: PlanText,
    /// Start of the campaign, in nanoseconds since 1970.
    pub started_unix_ns: u64,
    /// Its end; `None` while it goes on, and for one that was interrupted.
    pub ended_unix_ns: Option<u64>,
    /// Which clock the runs went by; `None` where it is not known (a single link whose summary does
    /// not say) or not one (two campaigns).
    pub clock: Option<Clock>,
    /// Release of the kernel whose TCP was measured (`uname -r`).
    pub kernel: String,
    /// What the kernel of the virtual clock was made of; `None` with the real one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest: Option<Guest>,
    /// Where it ran.
    pub machine: Machine,
    /// Seed of the campaign; the runs' are derived from it (`link::Seed`).
    pub seed: u64,
    /// Name of the workload that figures are about; empty in directories of before this was written
    /// down.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub measure: String,
    /// Workloads of the cells, in the order of the plan; none in directories of before this was
    /// written down.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workloads: Vec<PlannedWorkload>,
    /// What the experiment varied, in the order of the plan.
    pub factors: Vec<Factor>,
    /// The combinations of levels that were run.
    pub cells: Vec<Cell>,
    /// Repetitions that were asked for of each cell.
    pub repetitions: u32,
    /// Runs that have ended, in the order of cell and repetition.
    pub runs: Vec<RunRecord>,
    /// What the literature gives for comparison.
    pub expectations: Vec<Expectation>,
    /// Units of the columns of `results.parquet` and of the fields of `--json`.
    pub units: BTreeMap<String, String>,
}

/// The plan as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanText {
    /// Its name.
    pub name: String,
    /// In a line.
    pub title: String,
    /// In some more.
    pub description: String,
    /// File that it was read from, as given.
    pub file: String,
    /// The file's text.
    pub text: String,
}

/// What the runs' time was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Clock {
    /// The host's.
    Real,
    /// A clock that jumps over idle time, in a kernel of its own.
    Virtual,
}

/// A kernel of the virtual clock, and how it was run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guest {
    /// Its source: package and version.
    pub source: String,
    /// Hash of all that it was made of: source, configuration, patches, compiler.
    pub key: String,
    /// Whether it is another version than the one asked for, since that has gone from the archive.
    pub fallback: bool,
    /// Ticks of its clock a second (`CONFIG_HZ`).
    pub hz: u32,
    /// Its wall clock at boot, in nanoseconds since 1970.
    pub start_unix_ns: u64,
    /// Memory of each instance in MiB, at most.
    pub memory_mib: u32,
    /// Whether each run was done twice and compared.
    pub verified: bool,
}

/// The machine.
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
    /// Whether runs end without waiting for it: a server, or cross traffic. No figure is about it
    /// unless it is named.
    pub background: bool,
}

/// Something that the experiment varies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Factor {
    /// Its name.
    pub name: String,
    /// What it is for people; the name, if the plan says nothing.
    pub title: String,
    /// The levels that were run, in the order of the plan.
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
    /// Its number in the plan, from 0. With `--only` numbers are left out, not given anew.
    pub number: u32,
    /// One level of each factor, in the order of the factors; none if the plan has no factors.
    pub levels: Vec<Level>,
}

impl Cell {
    /// Level of a factor.
    #[must_use]
    pub fn level(&self, factor: &str) -> Option<&str> {
        self.levels.iter().find(|level| level.factor == factor).map(|level| level.level.as_str())
    }

    /// All levels in one line, `loss=lite-1, cc=reno`; `all` if there are no factors.
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
    pub verdict: Verdict,
    /// Why it failed, why it counts as overloaded, or what is missing of it; one reason each.
    pub reasons: Vec<String>,
    /// Start, in nanoseconds since 1970 by the host's clock.
    pub started_unix_ns: u64,
    /// How long it took by its own clock, in seconds.
    pub seconds: f64,
    /// How long it took by the host's clock, in seconds.
    pub wall_seconds: f64,
    /// Whether it was the same, byte by byte, when it was done again (`--verify`); `None` if it was
    /// not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified: Option<bool>,
    /// How late the emulator let packets go; `None` in runs of before this was written down, and if
    /// it came to nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lateness: Option<Lateness>,
    /// What each link did.
    pub links: Vec<LinkCounters>,
    /// What TCP Lite did; `None` if no node of the run accepts damage.
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
}

impl RunRecord {
    /// A run that came to nothing.
    #[must_use]
    pub fn failed(cell: u32, repetition: u32, reason: String) -> Self {
        Self {
            cell,
            repetition,
            verdict: Verdict::Failed,
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
        }
    }

    /// Makes it a failed one.
    pub fn fail(&mut self, reason: String) {
        self.verdict = Verdict::Failed;
        self.reasons.insert(0, reason);
    }
}

/// What to make of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It was what the plan asks for.
    Good,
    /// The emulator fell behind: left out of figures unless asked for.
    Overloaded,
    /// A link layer ended its connection for good while the run went on, as a network drops a call:
    /// left out of figures unless asked for (LL-35).
    DroppedCall,
    /// A workload failed, or the time ran out.
    Failed,
}

/// How late packets left: after their logical time, never before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lateness {
    /// Packets that left a link.
    pub packets: u64,
    /// What half of them did not exceed, in nanoseconds, rounded up to a power of two.
    pub median_ns: u64,
    /// What 99 % of them did not exceed, likewise.
    pub p99_ns: u64,
    /// That of the latest.
    pub worst_ns: u64,
    /// How long the emulator did not run, in nanoseconds.
    #[serde(default)]
    pub paused_ns: u64,
    /// The mean; `None` in runs of before this was written down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_ns: Option<u64>,
    /// Mean of the times that the links themselves took for a packet, without waiting in queues;
    /// `None` likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_mean_ns: Option<u64>,
}

/// A figure from the literature that ours is printed beside.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// Row of the specification, such as `TL-19`.
    #[serde(default)]
    pub id: String,
    /// What is compared, in a line.
    pub title: String,
    /// What it is about: the name of a [`Metric`](crate::Metric), or `degradation`, the fall of
    /// goodput in percent against `against`.
    pub metric: String,
    /// Workload that it is about; the one that all figures are about ([`Manifest::measure`]) if
    /// none is named.
    #[serde(default)]
    pub workload: Option<String>,
    /// Of which cells. Where a factor is not named there are several, and ours is the range over
    /// them.
    #[serde(rename = "where", default)]
    pub of: Selection,
    /// The figure is the change in percent against these cells, instead of the metric itself. Each
    /// cell is compared with the one that has the same levels of all factors that are not named
    /// here.
    #[serde(default)]
    pub against: Option<Selection>,
    /// The figure is read off the straight line through the runs instead (TL-22): the change of the
    /// line from where this metric is 0 to this value of it. The runs of the cells of `against` are
    /// among those that the line goes through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<At>,
    /// Which statistic over the repetitions of a cell: `mean` (default; also `means`), `median`,
    /// `min`, `max`, `range`, all from the least value to the greatest, or `interval`, the 95 %
    /// interval of the mean; with `against`, of the changes. Not with `at`.
    #[serde(default)]
    pub statistic: Option<String>,
    /// Lower end of the published range, in `unit`.
    pub low: f64,
    /// Upper end; the same as `low` for a single number.
    pub high: f64,
    /// Unit of both: the metric's, another one of the same quantity (`kbit/s`), or `%` with
    /// `against`.
    pub unit: String,
    /// Where it is published.
    pub source: String,
}

/// A value of a metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct At {
    /// Name of a [`Metric`](crate::Metric).
    pub metric: String,
    /// Above 0, in `unit`.
    pub value: f64,
    /// The metric's, or another one of the same quantity.
    pub unit: String,
}

/// Levels by factor; a level may be a list.
pub type Selection = BTreeMap<String, Levels>;

/// One level or several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Levels {
    /// One.
    One(String),
    /// Any of these.
    Any(Vec<String>),
}

impl Levels {
    /// Whether `level` is one of them.
    #[must_use]
    pub fn contains(&self, level: &str) -> bool {
        match self {
            Self::One(one) => one == level,
            Self::Any(any) => any.iter().any(|one| one == level),
        }
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &String> {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Any(any) => any,
        }
        .iter()
    }
}

/// Whether `cell` is among the selected ones.
#[must_use]
pub fn selects(selection: &Selection, cell: &Cell) -> bool {
    selection.iter().all(|(factor, levels)| cell.level(factor).is_some_and(|level| levels.contains(level)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{cells, selection};

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
