//! One line of the verdict: a requirement in a cell, or a comparison, with its words for people.

use results::paired::Change;
use results::requirement::{Judgement, Requirement, Verdict};
use results::{Directory, RunVerdict};
use serde_json::{Value, json};

/// Kinds of verdicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// All runs: whether any failed.
    Runs,
    /// A requirement of the plan.
    Requirement,
    /// A comparison with another campaign.
    Comparison,
}

/// A verdict and what it is based on.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// The kind.
    pub subject: Subject,
    /// The title of the requirement, or the metric that is compared.
    pub title: String,
    /// Label of the cell; `None` for all cells.
    pub cell: Option<String>,
    /// The verdict.
    pub verdict: Verdict,
    /// The figure, with its statistic and interval.
    pub figure: String,
    /// The required bound, in words.
    pub bound: String,
    /// Number of repetitions, or of runs.
    pub runs: u32,
    /// Remarks for the reader.
    pub notes: Vec<String>,
    /// Line of the requirement in the plan.
    pub place: Option<usize>,
    /// The numbers, for other programs.
    pub numbers: Value,
}

impl Line {
    /// The line that every gate begins with: a failed run fails, whatever its cell.
    pub fn runs(directory: &Directory) -> Self {
        let runs = &directory.manifest.runs;
        let count = |verdict| runs.iter().filter(|run| run.verdict == verdict).count();
        let (failed, overloaded) = (count(RunVerdict::Failed), count(RunVerdict::Overloaded));
        let dropped = count(RunVerdict::DroppedCall);
        let mut notes: Vec<String> = Vec::new();
        if let Some(first) = runs.iter().find(|run| run.verdict == RunVerdict::Failed) {
            let cell = directory.manifest.cells.iter().find(|cell| cell.number == first.cell);
            let cell = cell.map_or_else(String::new, results::Cell::label);
            notes.push(format!("{cell}, repetition {}: {}", first.repetition, first.reasons.join("; ")));
        }
        let mut figure = format!("{failed} of {} failed", runs.len());
        for (count, word) in [(overloaded, "overloaded"), (dropped, "with a dropped call")] {
            if count > 0 {
                figure = format!("{figure}, {count} {word}");
            }
        }
        Self {
            subject: Subject::Runs,
            title: "no run fails".to_owned(),
            cell: None,
            verdict: if failed == 0 { Verdict::Pass } else { Verdict::Fail },
            figure,
            bound: String::new(),
            runs: runs.len() as u32,
            notes,
            place: None,
            numbers: json!({ "failed": failed, "overloaded": overloaded, "dropped_calls": dropped }),
        }
    }

    /// A requirement in one of its cells.
    pub fn requirement(requirement: &Requirement, judgement: &Judgement) -> Self {
        let Judgement { cell, reference, verdict, figure, ends, repetitions, notes } = judgement;
        let statistic = requirement.statistic;
        let what = match reference {
            Some(reference) => {
                let differs = reference.levels.iter().filter(|level| !cell.levels.contains(level));
                let differs: Vec<_> = differs.map(|level| level.level.as_str()).collect();
                format!("{statistic} {} ratio to {}", requirement.metric, differs.join(", "))
            }
            None => format!("{statistic} {}", requirement.metric),
        };
        let mut words = match figure {
            Some(value) => format!("{what} {}", requirement.figure(*value)),
            None => format!("{what}: no value"),
        };
        if let (Some(ends), Some(_)) = (ends, figure) {
            let interval = if ends.low.is_infinite() && ends.high.is_infinite() {
                "no interval yet".to_owned()
            } else {
                format!("{} … {}", requirement.figure(ends.low), requirement.figure(ends.high))
            };
            words = format!("{words} ({interval})");
        }
        // Infinity is not a number in JSON: an end that is not known is null there.
        let end = |end: f64| end.is_finite().then_some(end);
        Self {
            subject: Subject::Requirement,
            title: requirement.title.clone(),
            cell: Some(cell.label()),
            verdict: *verdict,
            figure: words,
            bound: requirement.bounds_in_words(),
            runs: *repetitions,
            notes: notes.clone(),
            place: Some(requirement.line),
            numbers: json!({
                "metric": requirement.metric,
                "statistic": statistic.to_string(),
                "unit": if requirement.against.is_some() { "ratio" } else { requirement.metric.unit() },
                "figure": figure,
                "low": ends.and_then(|ends| end(ends.low)),
                "high": ends.and_then(|ends| end(ends.high)),
                "at_least": requirement.at_least.as_ref().map(|bound| bound.value),
                "at_most": requirement.at_most.as_ref().map(|bound| bound.value),
                "confidence": requirement.confidence,
            }),
        }
    }

    /// A metric in a cell, compared with another campaign.
    pub fn change(change: &Change, tolerance: f64) -> Self {
        let unit = change.metric.unit();
        let value = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), four_digits);
        let figure = if change.identical {
            format!("identical: median {} {unit}", value(change.second))
        } else {
            let worse = change.change.map_or_else(|| "not known".to_owned(), in_words);
            let ends = if change.low.is_infinite() && change.high.is_infinite() {
                "no interval with so few pairs".to_owned()
            } else {
                format!("{} … {}", in_words(change.low), in_words(change.high))
            };
            format!("median {} → {} {unit}: {worse} ({ends})", value(change.first), value(change.second))
        };
        let end = |end: f64| end.is_finite().then_some(end);
        Self {
            subject: Subject::Comparison,
            title: format!("{} against the other run", change.metric),
            cell: Some(change.cell.label()),
            verdict: change.verdict,
            figure,
            bound: format!("at most {} % worse", four_digits(tolerance)),
            runs: change.pairs as u32,
            notes: change.notes.clone(),
            place: None,
            numbers: json!({
                "metric": change.metric,
                "unit": unit,
                "identical": change.identical,
                "first_median": change.first,
                "second_median": change.second,
                "worse_percent": change.change.and_then(end),
                "low": end(change.low),
                "high": end(change.high),
                "p_regressed": change.p_regressed,
                "p_within": change.p_within,
                "tolerance_percent": tolerance,
            }),
        }
    }

    /// The title with its cell.
    pub fn name(&self) -> String {
        match &self.cell {
            Some(cell) => format!("{}: {cell}", self.title),
            None => self.title.clone(),
        }
    }

    /// The figure, the bound and the number of runs, with all remarks.
    pub fn explanation(&self) -> String {
        let (unit, plural) = match self.subject {
            Subject::Runs => return [vec![self.figure.clone()], self.notes.clone()].concat().join("; "),
            Subject::Requirement => ("repetition", "repetitions"),
            Subject::Comparison => ("pair", "pairs"),
        };
        let counted = format!("{} {}", self.runs, if self.runs == 1 { unit } else { plural });
        let mut parts = vec![format!("{}, {}, {counted}", self.figure, self.bound)];
        parts.extend(self.notes.iter().cloned());
        parts.join("; ")
    }
}

/// A change for the worse, in words.
fn in_words(worse: f64) -> String {
    let direction = if worse > 0.0 { "worse" } else { "better" };
    match worse {
        0.0 => "equal".to_owned(),
        _ if worse.is_infinite() => format!("∞ {direction}"),
        _ => format!("{} % {direction}", four_digits(worse.abs())),
    }
}

/// Formats a number with up to four significant digits.
fn four_digits(value: f64) -> String {
    let digits = (3.0 - value.abs().max(1e-9).log10().floor()).clamp(0.0, 6.0) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}
