//! `lasthop gate`: runs a plan until its requirements are decided, and says whether they hold.

mod against;
mod arguments;
mod line;
mod output;

pub use arguments::GateArguments;

use crate::clock::Clock;
use crate::commands::run::campaign::{INTERRUPTED, Prepared};
use crate::commands::run::conclusion;
use crate::failure::Failure;
use crate::outputs;
use against::Other;
use experiment::campaign::Asked;
use experiment::plan::Plan;
use line::Line;
use output::{Report, github, junit, markdown, write};
use results::requirement::{Judgement, Requirement, Verdict, cells_undecided, judge};
use results::statistics::Looks;
use results::{Besides, Cell, Directory};
use std::collections::BTreeSet;
use std::path::Path;

/// Exit status if something fails.
const FAILS: i32 = 1;
/// Exit status if nothing fails, but something is not decided.
const NOT_DECIDED: i32 = 3;

/// Runs the plan and judges it, or judges a campaign that has ended.
pub fn run(arguments: &GateArguments) -> Result<i32, Failure> {
    outputs::check([arguments.junit.as_ref(), arguments.markdown.as_ref()])?;
    let other = arguments.against.as_deref().map(Other::open).transpose()?;
    let besides = arguments.campaign.besides();
    let judged = arguments.campaign.plan.as_deref().filter(|path| path.is_dir());
    let (directory, complete) = match judged {
        Some(path) => (ended(path, arguments)?, true),
        None => ran(arguments, other.as_ref())?,
    };
    let gate = Gate::over(&directory, besides)?;
    let mut lines = vec![Line::runs(&directory)];
    for (requirement, judgements) in gate.judgements(&directory)? {
        lines.extend(judgements.iter().map(|judgement| Line::requirement(requirement, judgement)));
    }
    let mut notes = Vec::new();
    if let Some(other) = other.filter(|_| complete) {
        let metrics = against::metrics(&arguments.metric, &gate.plan.requirements);
        lines.extend(other.lines(&directory, &metrics, arguments, &mut notes)?);
    }
    let report = Report { directory: &directory, lines, notes };
    tell(&report, arguments)?;
    if !complete {
        let path = directory.path.display();
        anstream::eprintln!("lasthop: interrupted: resume with `lasthop gate --resume {path}`");
        return Ok(INTERRUPTED);
    }
    Ok(match report.verdict() {
        Verdict::Pass => 0,
        Verdict::Fail => FAILS,
        Verdict::NotDecided => NOT_DECIDED,
    })
}

/// Prints the verdicts, and writes the files that were asked for.
fn tell(report: &Report<'_>, arguments: &GateArguments) -> Result<(), Failure> {
    if let Some(path) = &arguments.junit {
        write(path, junit::document(report)?)?;
    }
    if let Some(path) = &arguments.markdown {
        write(path, markdown::table(report))?;
    }
    if arguments.json {
        anstream::println!("{}", report.json());
    } else {
        anstream::print!("{}", report.text());
    }
    if arguments.github {
        anstream::print!("{}", github::annotations(report));
    }
    for note in &report.notes {
        anstream::eprintln!("lasthop: {note}");
    }
    if !arguments.campaign.quiet {
        conclusion::say_files(report.directory);
        anstream::eprintln!("lasthop: {}: {}", report.directory.manifest.plan.name, report.in_words());
    }
    Ok(())
}

/// Runs the plan look by look, until nothing is open or the last look is reached. Returns whether
/// it was not interrupted.
fn ran(arguments: &GateArguments, other: Option<&Other>) -> Result<(Directory, bool), Failure> {
    let mut asked = arguments.campaign.clone();
    if let (Some(other), None) = (other, &asked.resume) {
        other.take_over(&mut asked)?;
    }
    let add = |plan: &Plan, clock: Clock, campaign: &mut Asked| {
        let first = asked.repetitions.unwrap_or(plan.repetitions);
        let last = match other {
            Some(_) => first,
            None => arguments.max_repetitions.unwrap_or(plan.max_repetitions.max(first)),
        };
        if last < first {
            return Err(format!(
                "--max-repetitions {last} is less than the {first} repetitions that the gate begins with"
            )
            .into());
        }
        let looks = Looks::new(first, last);
        let cells = plan.cells_of(&asked.only).map_err(|error| format!("--only {error}"))?;
        check(plan, &cells, &looks, clock, other.is_some())?;
        if let Some(other) = other {
            other.check(plan, &cells, clock, asked.seed)?;
        }
        campaign.looks = looks.repetitions().to_vec();
        Ok(())
    };
    let mut prepared = Prepared::new(&asked, &add)?;
    let path = prepared.campaign.directory().to_owned();
    let besides = asked.besides();
    let gate = Gate::over(&Directory::open(&path)?, besides)?;
    let open = |directory: &Directory| {
        let judgements = gate.judgements(directory)?;
        Ok(cells_undecided(judgements.iter().flat_map(|(_, judgements)| judgements)))
    };
    let complete = prepared.run_looks(&gate.looks, "decided", &open)?;
    let directory = Directory::open(&path)?;
    conclusion::write(&directory, besides)?;
    Ok((directory, complete))
}

/// Opens a campaign that has ended, to judge it without running anything.
fn ended(path: &Path, arguments: &GateArguments) -> Result<Directory, Failure> {
    let asked = &arguments.campaign;
    let options = [
        ("--only", !asked.only.is_empty()),
        ("--repetitions", asked.repetitions.is_some()),
        ("--max-repetitions", arguments.max_repetitions.is_some()),
        ("--seed", asked.seed.is_some()),
        ("--out", asked.out.is_some()),
        ("--clock", asked.clock.is_some()),
        ("--verify", asked.verify),
    ];
    let shown = path.display();
    if let Some((option, _)) = options.iter().find(|(_, given)| *given) {
        return Err(format!(
            "{option} is about runs, but {shown} is a run directory, which is judged as it is"
        )
        .into());
    }
    let directory = Directory::open(path)?;
    if let Some(shard) = directory.manifest.shard {
        return Err(format!(
            "{shown} is shard {shard} of a campaign: merge all of them with `lasthop merge`"
        )
        .into());
    }
    if directory.manifest.ended_unix_ns.is_none() {
        return Err(format!("{shown} was interrupted: go on with `lasthop gate --resume {shown}`").into());
    }
    if arguments.against.is_none() {
        let manifest = &directory.manifest;
        let plan = Plan::parse(&manifest.plan.file, &manifest.plan.text)?;
        check(&plan, &manifest.cells, &looks_of(&directory), Clock::Real, false)?;
    }
    Ok(directory)
}

/// Refuses a plan that the gate could never pass. `compared` says whether there is something to
/// decide without any requirement.
fn check(plan: &Plan, cells: &[Cell], looks: &Looks, clock: Clock, compared: bool) -> Result<(), Failure> {
    let mut concerned = 0;
    for requirement in &plan.requirements {
        let wrong = |message: String| {
            format!("{}:{}: `{}`: {message}", plan.text.file, requirement.line, requirement.title)
        };
        let pairs = requirement.pairs(cells).map_err(|error| wrong(error.to_string()))?;
        concerned += pairs.len();
        let decided_at_once = |cell: &Cell| clock == Clock::Virtual && !is_random(plan, cell);
        if pairs.iter().all(|(cell, _)| decided_at_once(cell)) {
            continue;
        }
        if let Some(least) = requirement.needs_more_than(looks) {
            let (last, statistic) = (looks.last(), requirement.statistic);
            return Err(wrong(format!(
                "{statistic} with confidence {} cannot pass with {last} repetitions: it needs {least}; set `max-repetitions`, or choose another statistic",
                requirement.confidence
            ))
            .into());
        }
    }
    if concerned == 0 && !compared {
        let file = &plan.text.file;
        return Err(match plan.requirements.len() {
            0 => format!(
                "{file} has no [[require]], so there is nothing to decide: add one, such as\n\n{EXAMPLE}"
            ),
            _ => format!("no [[require]] of {file} is about the cells of --only"),
        }
        .into());
    }
    Ok(())
}

/// Shown to users whose plan has no requirement.
const EXAMPLE: &str = "\
  [[require]]
  title = \"fast enough\"
  metric = \"goodput\"
  at-least = \"2 Mbit/s\"
";

/// Returns whether runs of a cell with different seeds may differ.
fn is_random(plan: &Plan, cell: &Cell) -> bool {
    // A plan can make anything depend on `{seed}` and `{repetition}`.
    match (plan.experiment(cell, 0, 0), plan.experiment(cell, 1, 1)) {
        (Ok(one), Ok(other)) => one.is_random() || one != other,
        _ => true,
    }
}

/// Returns the looks of a campaign: those of a gate, or a single one over all its repetitions.
fn looks_of(directory: &Directory) -> Looks {
    let manifest = &directory.manifest;
    Looks::at(&manifest.looks).unwrap_or_else(|| Looks::new(manifest.repetitions, manifest.repetitions))
}

/// The requirements of a campaign, and what they are judged with.
struct Gate {
    plan: Plan,
    looks: Looks,
    /// Cells in which nothing is random.
    exact: BTreeSet<u32>,
    besides: Besides,
}

impl Gate {
    fn over(directory: &Directory, besides: Besides) -> Result<Self, Failure> {
        let manifest = &directory.manifest;
        let plan = Plan::parse(&manifest.plan.file, &manifest.plan.text)?;
        let exact = manifest.cells.iter().filter(|cell| manifest.guest.is_some() && !is_random(&plan, cell));
        let exact = exact.map(|cell| cell.number).collect();
        Ok(Self { looks: looks_of(directory), plan, exact, besides })
    }

    /// Judges all requirements with the runs that there are.
    fn judgements(&self, directory: &Directory) -> Result<Vec<(&Requirement, Vec<Judgement>)>, Failure> {
        let judged = self.plan.requirements.iter().map(|requirement| {
            let judgements = judge(directory, requirement, &self.looks, &self.exact, self.besides);
            let judgements = judgements
                .map_err(|error| format!("{}:{}: {error}", self.plan.text.file, requirement.line))?;
            Ok((requirement, judgements))
        });
        judged.collect()
    }
}
