//! JSON with an object for each connection, each on its own line.

use super::Run;
use capture_analysis::loss_events::Ends;
use capture_analysis::loss_events::receiver::{self, Hole};
use experiment::run::losses;
use results::confusion::OfCause;
use results::{Confusion, LossEvent};
use serde::Serialize;
use std::io::{self, Write};
use std::net::SocketAddr;

#[derive(Serialize)]
struct Line<'a> {
    run: &'a str,
    from: SocketAddr,
    to: SocketAddr,
    /// `None` for a flow whose sender was not recorded.
    events: Option<Vec<LossEvent>>,
    /// Number of lost packets without a loss event.
    without_event: Option<u64>,
    /// The sender's classification of its losses.
    verdicts: Vec<OfCause>,
    /// The classifications of detectors at the receiver; empty if not requested.
    receiver: Vec<Replayed>,
}

#[derive(Serialize)]
struct Replayed {
    detector: &'static str,
    holes: usize,
    verdicts: Vec<OfCause>,
}

/// Prints the connections of a run, followed by the flows whose senders were not recorded.
pub fn print(output: &mut impl Write, run: &Run) -> io::Result<()> {
    for connection in &run.connections {
        let events: Vec<LossEvent> = connection.events.iter().map(losses::of).collect();
        let mut verdicts = Confusion::default();
        verdicts.extend(&events);
        let holes = run.holes.iter().find(|(ends, _)| *ends == connection.ends);
        let Ends { from, to } = connection.ends;
        line(
            output,
            &Line {
                run: &run.name,
                from,
                to,
                events: Some(events),
                without_event: Some(connection.without_event),
                verdicts: verdicts.rows(),
                receiver: holes.map(|(_, holes)| replayed(holes)).unwrap_or_default(),
            },
        )?;
    }
    for (ends, holes) in &run.holes {
        if run.connections.iter().any(|connection| connection.ends == *ends) {
            continue;
        }
        let Ends { from, to } = *ends;
        let (verdicts, receiver) = (Vec::new(), replayed(holes));
        line(
            output,
            &Line { run: &run.name, from, to, events: None, without_event: None, verdicts, receiver },
        )?;
    }
    Ok(())
}

fn line(output: &mut impl Write, line: &Line<'_>) -> io::Result<()> {
    serde_json::to_writer(&mut *output, line).map_err(io::Error::from)?;
    output.write_all(b"\n")
}

/// Returns the verdicts of each published detector on the holes of a flow.
fn replayed(holes: &[Hole]) -> Vec<Replayed> {
    let of = |(place, detector): (usize, receiver::Detector)| {
        let verdicts = super::of_holes(holes, place).rows();
        Replayed { detector: detector.algorithm().name(), holes: holes.len(), verdicts }
    };
    receiver::published().into_iter().enumerate().map(of).collect()
}
