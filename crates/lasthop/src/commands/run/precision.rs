//! Run control by precision: cells are repeated until the interval of a mean is narrow enough.

use super::arguments::RunArguments;
use super::campaign::Prepared;
use crate::failure::Failure;
use clap::Args;
use experiment::campaign::Asked;
use experiment::plan::Plan;
use results::precision::{cells_open, stops, within};
use results::statistics::Looks;
use results::{Besides, Cell, Directory, Metric, Precision};

/// Options of `lasthop run` that set or change `[precision]` of the plan.
#[derive(Debug, Clone, Args)]
pub struct PrecisionArguments {
    /// Repeat each cell until the 95 % interval of a mean is within PERCENT of the mean, or `off`
    /// [default: that of the plan]
    #[arg(long, value_name = "PERCENT|off", conflicts_with = "resume", value_parser = target)]
    pub precision: Option<Target>,
    /// With --precision: the metric [default: the plan's, or goodput]
    #[arg(long, value_name = "METRIC", requires = "precision")]
    pub precision_of: Option<Metric>,
    /// With --precision: the cells to divide by, repetition by repetition: the mean is that of the
    /// ratio, and both cells are repeated [default: the plan's]
    #[arg(long, value_name = "FACTOR=LEVEL", requires = "precision")]
    pub precision_against: Option<String>,
    /// Repetitions of each cell at most, until it is precise [default: the plan's max-repetitions,
    /// or 4 times its repetitions]
    #[arg(long, value_name = "N", conflicts_with = "resume", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub max_repetitions: Option<u32>,
}

/// Value of `--precision`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Target {
    /// The plan's repetitions.
    Off,
    /// The largest distance of the ends of the interval from the mean, as a share of the mean.
    Within(f64),
}

fn target(text: &str) -> Result<Target, String> {
    if text == "off" {
        return Ok(Target::Off);
    }
    let percent = if text.ends_with('%') { text.to_owned() } else { format!("{text}%") };
    let wrong = |_| "expected a number of percent above 0 and below 100, such as 2, or `off`".to_owned();
    within(&percent).map(Target::Within).map_err(wrong)
}

/// The rule of a new campaign, and the numbers of repetitions at which it looks.
pub struct Rule {
    /// Until when cells are repeated.
    pub precision: Precision,
    /// The looks.
    pub looks: Looks,
}

impl Rule {
    /// Returns the rule of these cells, by the plan and the command line; `None` if all cells have
    /// the same number of repetitions.
    pub fn of(arguments: &RunArguments, plan: &Plan, cells: &[Cell]) -> Result<Option<Self>, Failure> {
        let options = &arguments.precision;
        let mut precision = match options.precision {
            Some(Target::Off) => None,
            None => plan.precision.clone(),
            Some(Target::Within(within)) => {
                let new = || Precision::new(options.precision_of.unwrap_or(Metric::Goodput), within);
                Some(Precision { within, ..plan.precision.clone().unwrap_or_else(new) })
            }
        };
        let Some(rule) = &mut precision else {
            return match options.max_repetitions {
                Some(_) => Err("--max-repetitions is about run control by precision: use --precision PERCENT, or -n for a fixed number".into()),
                None => Ok(None),
            };
        };
        if let Some(metric) = options.precision_of {
            rule.metric = metric;
        }
        if let Some(selection) = &options.precision_against {
            let wrong = |error| format!("--precision-against `{selection}`: {error}");
            rule.against = Some(plan.selection(selection).map_err(wrong)?);
        }
        if arguments.shard.is_some() || arguments.slurm {
            return Err(SHARDED.into());
        }
        let first = arguments.campaign.repetitions.unwrap_or(plan.repetitions);
        let last = options.max_repetitions.unwrap_or(plan.max_repetitions.max(first));
        if last < first {
            return Err(format!(
                "--max-repetitions {last} is less than the {first} repetitions with which each cell begins"
            )
            .into());
        }
        let (_, workloads) = plan.workloads(cells)?;
        let workloads: Vec<_> = workloads.into_iter().map(|workload| workload.name).collect();
        let checked = rule.check(&plan.factors, &workloads, cells);
        let looks = checked.and_then(|()| rule.looks(first, last)).map_err(|error| {
            format!("until {}: {error} (--precision off makes the same number of all cells)", rule.in_words())
        })?;
        Ok(precision.map(|precision| Self { precision, looks }))
    }

    /// Adds the rule to the options of a new campaign.
    pub fn ask(self, asked: &mut Asked) {
        let repetitions = self.looks.repetitions();
        asked.repetitions = repetitions.first().copied();
        asked.looks = repetitions.to_vec();
        asked.precision = Some(self.precision);
    }
}

const SHARDED: &str = "a campaign with [precision] has no shards: how often a cell is repeated depends on the results of all its runs; use --precision off for the plan's repetitions";

/// Runs the campaign until all cells are precise, or have the largest number of repetitions, and
/// records where they stopped. Returns whether it was not interrupted.
///
/// A campaign without such a rule runs once.
pub fn run(prepared: &mut Prepared, besides: Besides) -> Result<bool, Failure> {
    let manifest = prepared.campaign.manifest();
    let Some((rule, looks)) = manifest.precision.clone().zip(Looks::at(&manifest.looks)) else {
        prepared.announce();
        return prepared.run();
    };
    let rule = rule.rule;
    let path = prepared.campaign.directory().to_owned();
    let stopped = |directory: &Directory| stops(directory, &rule, &looks, besides);
    let open = |directory: &Directory| Ok(cells_open(&stopped(directory)?));
    let complete = prepared.run_looks(&looks, "precise enough", &open)?;
    if complete {
        let stops = stopped(&Directory::open(&path)?)?;
        prepared.campaign.record_stops(stops)?;
    }
    Ok(complete)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_a_percentage_or_off() {
        assert_eq!(target("off"), Ok(Target::Off));
        assert_eq!(target("2"), Ok(Target::Within(0.02)));
        assert_eq!(target("0.5 %"), Ok(Target::Within(0.005)));
        assert!(["", "0", "100%", "on", "-2"].into_iter().all(|text| target(text).is_err()));
    }
}
