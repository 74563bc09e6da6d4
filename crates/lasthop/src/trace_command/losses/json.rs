//! An object a connection and line.

use super::{Matrix, Run};
use capture::Cause;
use capture::senders::{INFINITE_SSTHRESH, Reason, Verdict};
use serde::Serialize;
use std::io::{self, Write};
use std::net::SocketAddr;
use trace::loss_events::receiver::{self, Hole};
use trace::loss_events::{Ends, Kind, LossEvent};

#[derive(Serialize)]
struct Line<'a> {
    run: &'a str,
    from: SocketAddr,
    to: SocketAddr,
    /// `None` of a flow whose sender was not recorded.
    events: Option<Vec<Event>>,
    /// Lost packets that no loss event is about.
    without_event: Option<u64>,
    /// What the sender took its losses for.
    verdicts: Vec<super::matrix::Row>,
    /// What detectors at the receiver would have; empty if that was not asked for.
    receiver: Vec<Replayed>,
}

/// A loss event; also a row of the CSV.
#[derive(Debug, Clone, Serialize)]
pub struct Event {
    at_ns: u64,
    kind: Kind,
    n: Option<u32>,
    lost: u32,
    cause: Cause,
    verdict: Option<Verdict>,
    reason: Option<Reason>,
    rtt_us: Option<u32>,
    mean_ns: Option<u64>,
    dev_ns: Option<u64>,
    cwnd: u32,
    ssthresh: Option<u32>,
}

#[derive(Serialize)]
struct Replayed {
    detector: &'static str,
    holes: usize,
    verdicts: Vec<super::matrix::Row>,
}

impl From<&LossEvent> for Event {
    fn from(event: &LossEvent) -> Self {
        let (change, judged) = (event.change, event.judged());
        let sampled = judged.filter(|judged| judged.rtt_us > 0);
        Self {
            at_ns: change.at.as_nanos(),
            kind: change.kind,
            n: judged.filter(|_| change.kind == Kind::Recovery).map(|judged| judged.n),
            lost: event.truth.segments,
            cause: event.truth.cause,
            verdict: judged.and_then(|judged| judged.verdict),
            reason: judged.and_then(|judged| judged.reason),
            rtt_us: sampled.map(|judged| judged.rtt_us),
            mean_ns: sampled.map(|judged| judged.mean_ns),
            dev_ns: sampled.map(|judged| judged.dev_ns),
            cwnd: change.cwnd[0],
            ssthresh: change.ssthresh[1].filter(|&segments| segments < INFINITE_SSTHRESH),
        }
    }
}

/// Prints the connections of a run, then the flows whose senders were not recorded.
pub fn print(output: &mut impl Write, run: &Run) -> io::Result<()> {
    for connection in &run.connections {
        let mut matrix = Matrix::default();
        matrix.add(&connection.events);
        let holes = run.holes.iter().find(|(ends, _)| *ends == connection.ends);
        let Ends { from, to } = connection.ends;
        line(
            output,
            &Line {
                run: &run.name,
                from,
                to,
                events: Some(connection.events.iter().map(Event::from).collect()),
                without_event: Some(connection.without_event),
                verdicts: matrix.rows(),
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

/// What each of the published detectors says of the holes of a flow.
fn replayed(holes: &[Hole]) -> Vec<Replayed> {
    let of = |(place, detector): (usize, receiver::Detector)| {
        let mut matrix = Matrix::default();
        matrix.add_holes(holes, place);
        Replayed { detector: detector.algorithm().name(), holes: holes.len(), verdicts: matrix.rows() }
    };
    receiver::published().into_iter().enumerate().map(of).collect()
}
