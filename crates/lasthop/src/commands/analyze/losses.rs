//! Loss events of TCP senders, how the senders and detectors at the receiver classify them: as
//! text, JSON or CSV.
//!
//! A run has two tables: the states of its senders and its event log. `lasthop run` gives both the
//! same stem.

mod csv;
mod files;
mod json;
mod matrix;

use super::arguments::AnalyzeArguments;
use crate::failure::Failure;
use capture_analysis::loss_events::receiver::{self, Hole};
use capture_analysis::loss_events::{self, Connection, Ends, print as text};
use experiment::run::losses::of;
use matrix::Matrix;
use results::{Confusion, LossEvent, Taken};
use std::io::{self, BufWriter, StdoutLock, Write};

/// The contents of one run.
struct Run {
    /// Name of the run.
    name: String,
    connections: Vec<Connection>,
    /// Holes in the received data of each flow that carried data; empty if not requested.
    holes: Vec<(Ends, Vec<Hole>)>,
}

/// Prints the loss events of the runs, one after the other.
pub fn print(
    arguments: &AnalyzeArguments,
    output: &mut BufWriter<StdoutLock<'static>>,
) -> Result<(), Failure> {
    let runs = files::runs(&arguments.files)?;
    let several = runs.len() > 1;
    let read = |files: &files::Files| -> Result<Run, Failure> {
        let connections = loss_events::read(&files.senders, &files.events)?;
        let holes = if arguments.receiver {
            receiver::read(&files.events, &receiver::published())?
        } else {
            Vec::new()
        };
        Ok(Run { name: files.name.clone(), connections, holes })
    };
    if arguments.csv {
        return csv::print(output, several, runs.iter().map(read));
    }
    let (mut senders, mut receivers) = (Confusion::default(), Receivers::default());
    for files in &runs {
        let run = read(files)?;
        if arguments.json {
            json::print(output, &run)?;
            continue;
        }
        if several {
            writeln!(output, "{}:", run.name)?;
        }
        for connection in &run.connections {
            writeln!(output, "{}", text::events(connection.ends, &connection.events))?;
            senders.extend(&connection.events.iter().map(of).collect::<Vec<LossEvent>>());
        }
        receivers.add(&run.holes);
    }
    if !arguments.json {
        write!(output, "Losses as the senders classified them:\n{}", Matrix(&senders))?;
        receivers.print(arguments.receiver, output)?;
    }
    Ok(())
}

/// Verdicts of each published detector.
#[derive(Default)]
struct Receivers(Vec<(&'static str, Confusion)>);

impl Receivers {
    /// Counts the holes of a run.
    fn add(&mut self, holes: &[(Ends, Vec<Hole>)]) {
        if self.0.is_empty() {
            let name =
                |detector: &capture_analysis::loss_events::receiver::Detector| detector.algorithm().name();
            self.0 = receiver::published().iter().map(|one| (name(one), Confusion::default())).collect();
        }
        for (place, (_, verdicts)) in self.0.iter_mut().enumerate() {
            for (_, holes) in holes {
                count(holes, place, verdicts);
            }
        }
    }

    fn print(&self, wanted: bool, output: &mut impl Write) -> io::Result<()> {
        if !wanted {
            return Ok(());
        }
        for (name, verdicts) in &self.0 {
            writeln!(
                output,
                "\nHoles in the received data as {name} at the receiver classifies them, replayed over the event log:"
            )?;
            write!(output, "{}", Matrix(verdicts))?;
        }
        Ok(())
    }
}

/// Counts the verdicts of the detector at index `place` on holes. Without a sample it gave no
/// verdict.
fn count(holes: &[Hole], place: usize, verdicts: &mut Confusion) {
    for hole in holes {
        let judged = hole.judged.get(place);
        let taken = judged.map_or(Taken::Unjudged, |one| Taken::judged(Some(one.verdict), Some(one.reason)));
        verdicts.add(hole.truth.cause, taken);
    }
}

/// Returns the verdicts of the detector at index `place` on these holes alone.
fn of_holes(holes: &[Hole], place: usize) -> Confusion {
    let mut verdicts = Confusion::default();
    count(holes, place, &mut verdicts);
    verdicts
}
