//! Scenarios of ERRANT's `trace_run`: groups, one after the other.

use super::speed_tests::{Group, fields, header};
use crate::stage::spec::{Line, TraceError};
use crate::units::Span;

/// Columns of a scenario, in their only order. `trace_run` reads them by their place.
const COLUMNS: [&str; 6] = ["operator", "country", "rat", "quality", "duration", "period"];

/// A scenario: `operator,country,rat,quality,duration,period` as CSV with this heading. Durations
/// and periods are whole seconds; a period of `-`, or none, draws once.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// The steps in their order; not empty.
    pub steps: Vec<Step>,
}

/// A step of a scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The speed tests to draw from.
    pub group: Group,
    /// Length of the step.
    pub duration: Span,
    /// Time after which new conditions are drawn; `None` for one draw.
    pub period: Option<Span>,
}

impl Scenario {
    /// Reads a scenario; `file` is its name in errors.
    pub fn parse(file: &str, text: &str) -> Result<Self, TraceError> {
        let mut lines = Line::of(file, text);
        header(file, lines.next(), &COLUMNS)?;
        let seconds = |line: &Line<'_>, field, text: &str| {
            let seconds = text.parse::<u32>().ok().filter(|&seconds| seconds > 0);
            seconds
                .map(|seconds| Span::from_secs(seconds.into()))
                .ok_or_else(|| line.wrong(field, text, "must be a whole number of seconds above 0"))
        };
        let mut steps = Vec::new();
        for line in lines {
            let fields = fields(&line, &COLUMNS)?;
            let period = match fields[5] {
                "" | "-" => None,
                text => Some(seconds(&line, "period", text)?),
            };
            let [operator, country, technology, quality] = [0, 1, 2, 3].map(|place| fields[place].to_owned());
            let group = Group { operator, country, technology, quality };
            steps.push(Step { group, duration: seconds(&line, "duration", fields[4])?, period });
        }
        if steps.is_empty() {
            let line = Line { file, number: 1, text: "" };
            return Err(line.wrong("line", "", "there must be at least one line behind the heading"));
        }
        Ok(Self { steps })
    }
}
