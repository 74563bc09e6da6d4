//! The factorial analyses of the plan, as the page shows them.

use crate::page::has_overloaded;
use results::Directory;
use results::factorial::{Analysis, FactorialDesign, analyze};
use serde::Serialize;

/// An analysis over the runs that count.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Factorial {
    title: String,
    /// The factors, each with its first and its second level.
    factors: Vec<(String, [String; 2])>,
    /// The levels of other factors: `loss=lite-1, cc=reno`; empty if there are none.
    fixed: String,
    /// Whether the response is a logarithm.
    log: bool,
    good: Outcome,
    /// With overloaded runs; `None` if there are none.
    all: Option<Outcome>,
}

/// The analysis, or why there is none.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Outcome {
    analysis: Option<Analysis>,
    why: String,
}

pub(crate) fn all(directory: &Directory) -> Vec<Factorial> {
    directory.manifest.factorial.iter().map(|design| of(directory, design)).collect()
}

fn of(directory: &Directory, design: &FactorialDesign) -> Factorial {
    let factors = design.factors.iter().map(|two| (two.factor.clone(), two.levels.clone()));
    Factorial {
        title: design.title.clone(),
        factors: factors.collect(),
        fixed: design.fixed_words(),
        log: design.log,
        good: outcome(directory, design, false),
        all: has_overloaded(directory).then(|| outcome(directory, design, true)),
    }
}

fn outcome(directory: &Directory, design: &FactorialDesign, overloaded: bool) -> Outcome {
    match analyze(directory, design, overloaded) {
        Ok(analysis) => Outcome { analysis: Some(analysis), why: String::new() },
        Err(error) => Outcome { analysis: None, why: error.to_string() },
    }
}
