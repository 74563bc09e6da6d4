//! Unnecessary retransmissions as text, JSON or CSV, and how often each kind of evidence is right.

mod csv;
mod json;
mod scores;
mod text;

use super::arguments::AnalyzeArguments;
use super::progress::Progress;
use crate::failure::Failure;
use capture_analysis::TraceError;
use capture_analysis::spurious::collect::{Collector, Interface};
use capture_analysis::spurious::response::{Episode, episodes};
use capture_analysis::spurious::truth::{Carried, Fates};
use capture_analysis::spurious::utilization::Period;
use capture_analysis::spurious::{Examined, SpuriousVerdict, examine, pair, states};
use scores::Scores;
use std::io::{BufWriter, StdoutLock, Write};

/// One direction of a connection.
struct Direction<'a> {
    examined: Examined,
    episodes: Vec<Episode>,
    /// True verdict of each retransmission, if known.
    truth: Option<Vec<SpuriousVerdict>>,
    /// Links with a constant rate on the path, with their utilization.
    periods: Vec<(&'a Carried, Period)>,
}

/// Prints the retransmissions of all connections in the captures.
pub fn print(
    arguments: &AnalyzeArguments,
    output: &mut BufWriter<StdoutLock<'static>>,
) -> Result<(), Failure> {
    let mut interfaces: Vec<Interface> = Vec::new();
    for path in &arguments.files {
        let mut collector = Collector::new(Progress::new(path));
        let trace = super::read(arguments, path, &mut collector)?;
        interfaces.extend(collector.finish(&path.display().to_string(), &trace));
    }
    let fates = arguments.truth.as_deref().map(Fates::read).transpose()?;
    let states = arguments.states.as_deref().map(states::read).transpose()?;
    let mut scores = Scores::default();
    let mut directions = Vec::new();
    for sides in pair(&interfaces) {
        if arguments.connection.is_some_and(|number| number as usize != sides.sender.1.connection) {
            continue;
        }
        let states = states.as_ref().and_then(|all| all.get(&sides.sender.1.ends)).map(Vec::as_slice);
        let examined = examine(&sides, states);
        let episodes = episodes(&examined, states);
        let truth = fates.as_ref().map(|fates| fates.verdicts(&sides, &examined));
        if let Some(truth) = &truth {
            scores.add(&examined, truth);
        }
        let spurious = examined.count(|again| again.verdict == SpuriousVerdict::Spurious).1;
        let periods = fates.as_ref().map(|fates| fates.periods(examined.ends, spurious)).unwrap_or_default();
        directions.push(Direction { examined, episodes, truth, periods });
    }
    if directions.is_empty()
        && let (Some(number), Some(path)) = (arguments.connection, arguments.files.first())
    {
        let there =
            interfaces.iter().flat_map(|interface| &interface.flows).map(|flow| flow.connection).max();
        let (path, there) = (path.clone(), there.unwrap_or(0));
        return Err(TraceError::NoConnection { path, wanted: number as usize, there }.into());
    }
    if arguments.csv {
        return csv::print(output, &directions);
    }
    for direction in &directions {
        if arguments.json {
            json::print(output, direction)?;
        } else {
            text::print(output, direction)?;
        }
    }
    if fates.is_some() && !arguments.json {
        write!(output, "{scores}")?;
    }
    Ok(())
}
