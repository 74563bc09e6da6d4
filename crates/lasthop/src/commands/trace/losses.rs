//! The loss events of TCP senders, what they took them for, and what detectors at the receiver
//! would have: as text, JSON or CSV.
//!
//! A run is two tables: the states of its senders and its event log. `lasthop run` names them by
//! one stem.

mod csv;
mod files;
mod json;
mod matrix;

use super::arguments::TraceArguments;
use crate::failure::Failure;
use experiment::run::losses::of;
use matrix::Matrix;
use results::{Confusion, LossEvent, Taken};
use std::io::{self, BufWriter, StdoutLock, Write};
use trace::loss_events::receiver::{self, Hole};
use trace::loss_events::{self, Connection, Ends, print as text};

/// One run, read.
struct Run {
    /// What it is called.
    name: String,
    connections: Vec<Connection>,
    /// Holes in what arrived, of each flow that carried data; empty if they were not asked for.
    holes: Vec<(Ends, Vec<Hole>)>,
}

/// Prints the loss events of the runs, one behind the other.
pub fn print(arguments: &TraceArguments, output: &mut BufWriter<StdoutLock<'static>>) -> Result<(), Failure> {
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

/// Verdicts of each of the published detectors.
#[derive(Default)]
struct Receivers(Vec<(&'static str, Confusion)>);

impl Receivers {
    /// Counts the holes of a run.
    fn add(&mut self, holes: &[(Ends, Vec<Hole>)]) {
        if self.0.is_empty() {
            let name = |detector: &trace::loss_events::receiver::Detector| detector.algorithm().name();
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

/// Counts what the detector at this place says of holes; where it had no sample it did not judge.
fn count(holes: &[Hole], place: usize, verdicts: &mut Confusion) {
    for hole in holes {
        let judged = hole.judged.get(place);
        let taken = judged.map_or(Taken::Unjudged, |one| Taken::judged(Some(one.verdict), Some(one.reason)));
        verdicts.add(hole.truth.cause, taken);
    }
}

/// The same by themselves.
fn of_holes(holes: &[Hole], place: usize) -> Confusion {
    let mut verdicts = Confusion::default();
    count(holes, place, &mut verdicts);
    verdicts
}
