//! The command line of `lasthop gate`.

use super::campaign_arguments::CampaignArguments;
use clap::Args;
use results::Metric;
use std::path::PathBuf;

/// Arguments of `lasthop gate`.
#[derive(Debug, Args)]
#[command(after_help = "\
PLAN.toml has [[require]]: a metric, a statistic and a bound for some cells. The gate makes the
plan's repetitions and then more, until each requirement is decided or --max-repetitions is reached.
Of all verdicts on a requirement, at most 1 - confidence are wrong, however often the gate looked.
A failed run fails. Instead of a plan, the run directory of a campaign that has ended can be judged
as it is. experiments/README.md describes [[require]].

With --against, each metric is also compared with another campaign of the same seed and clock, such
as that of the last version of a program: repetition by repetition, since those of the same number
met the same errors at the same times. A metric regressed if it is worse by more than --tolerance.
A new campaign then takes the seed and the repetitions of OTHER_RUN.

Exit status: 0 if everything passes, 1 if something fails, 2 after an error, 3 if nothing fails but
something is not decided, 130 after Ctrl-C (continue with --resume).

Examples:
  lasthop gate experiments/quickstart.toml --clock virtual
  lasthop gate plan.toml --clock virtual --junit gate.xml --markdown gate.md --github
  lasthop gate plan.toml --max-repetitions 100 --only loss=lite-4
  lasthop gate runs/plan/20261121T140000-7 --against runs/plan/20261120T090000-7
  lasthop gate plan.toml --clock virtual --against runs/plan/20261120T090000-7 --tolerance 2")]
pub struct GateArguments {
    #[command(flatten)]
    pub campaign: CampaignArguments,
    /// Repetitions of each cell at most [default: the plan's max-repetitions, or 4 times its
    /// repetitions]
    #[arg(long, alias = "limit", value_name = "N", conflicts_with = "resume", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub max_repetitions: Option<u32>,
    /// Also compare with the campaign in this run directory
    #[arg(long, value_name = "OTHER_RUN")]
    pub against: Option<PathBuf>,
    /// With --against: metric to compare (repeatable) [default: those of the requirements, or else
    /// goodput, completion, retransmission-rate, timeouts, rtt-p95, loss]
    #[arg(short, long, value_name = "METRIC", requires = "against")]
    pub metric: Vec<Metric>,
    /// With --against: workload to compare [default: the one that figures are about]
    #[arg(short, long, value_name = "NAME", requires = "against")]
    pub workload: Option<String>,
    /// With --against: change for the worse that is tolerated, in percent
    #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = percent)]
    pub tolerance: f64,
    /// With --against: confidence of all comparisons together
    #[arg(long, value_name = "SHARE", default_value_t = 0.95, value_parser = confidence)]
    pub confidence: f64,
    /// Write the verdicts as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Write the verdicts as a Markdown table
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Also print what does not pass as annotations of GitHub Actions
    #[arg(long)]
    pub github: bool,
    /// Print the verdicts as one JSON object on one line
    #[arg(long, conflicts_with = "github")]
    pub json: bool,
}

/// Parses a percentage of at least 0, with or without its sign.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    let value = number.parse().ok().filter(|value: &f64| (0.0..=1000.0).contains(value));
    value.ok_or_else(|| "expected a number of percent from 0 to 1000, such as 5".to_owned())
}

/// Parses a confidence.
fn confidence(text: &str) -> Result<f64, String> {
    let value = text.parse().ok().filter(|value: &f64| (0.5..=0.9999).contains(value));
    value.ok_or_else(|| "expected a number from 0.5 to 0.9999, such as 0.95".to_owned())
}
