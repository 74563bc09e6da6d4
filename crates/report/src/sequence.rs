//! Time-sequence plots: which connections of which runs are drawn.
//!
//! A capture has hundreds of thousands of packets and the page is one file, so that of each cell
//! one run is drawn, and all plots share a budget of points. Of its captures that one is taken, and
//! of its interfaces that one, where the most data of one connection was seen: with both ends of a
//! link captured this is the sender's, which lost segments have passed. Where none was lost the
//! sender's is the one where acknowledgements take longer.

mod events;
mod pack;
mod windows;

use crate::page::known_runs;
use pack::Sequence;
use results::{Connection, Directory, LossEvent, Protocol, RunRecord, Verdict};
use serde::Serialize;
use std::path::{Path, PathBuf};
use trace::analysis::{self, Options, Unwatched};
use trace::row::ConnectionRow;
use trace::sequence::Series;
use trace::{TraceError, sequence};

/// Most points of each sort (segments, acknowledgements, …) in a plot, however few plots there are.
const MOST: usize = 20_000;

/// The time-sequence plots of a page.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Sequences {
    plots: Vec<Sequence>,
    /// What was left out and what could not be read, in sentences.
    notes: Vec<String>,
}

/// A connection in a capture.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Found {
    pub(crate) capture: PathBuf,
    /// The interface where the most of it was seen.
    pub(crate) row: ConnectionRow,
    /// Which of its directions has the data.
    pub(crate) direction: usize,
}

/// A run that is drawn: its place, what is known of it, its connections.
type Chosen<'a> = (usize, &'a RunRecord, &'a [Connection]);

/// The plots of a campaign, with about `points` points in all.
pub(crate) fn all(directory: &Directory, points: usize) -> Sequences {
    let chosen = chosen(directory);
    let mut sequences = Sequences::default();
    if chosen.is_empty() {
        return sequences;
    }
    // Segments and acknowledgements are about as many, and all else is little.
    let limit = (points / chosen.len() / 2).clamp(sequence::thin::LEAST, MOST);
    for &(run, record, connections) in &chosen {
        match plot(directory, (run, record, connections), limit) {
            Ok(Some(plot)) => sequences.plots.push(plot),
            Ok(None) => sequences.notes.push(format!("{}: no TCP connection", record.captures.join(", "))),
            // The page may go to others: where the campaign lies is nobody's business.
            Err(error) => {
                sequences
                    .notes
                    .push(error.to_string().replace(&format!("{}/", directory.path.display()), ""));
            }
        }
    }
    let captured = known_runs(directory).filter(|(_, run, _)| !run.captures.is_empty()).count();
    if captured > chosen.len() {
        sequences.notes.insert(
            0,
            format!("Of {captured} runs with captures {} are here, one of each cell.", chosen.len()),
        );
    }
    sequences
}

/// Of each cell the first good run with a capture, or the first with a capture; with the places of
/// the runs.
fn chosen(directory: &Directory) -> Vec<Chosen<'_>> {
    let runs = known_runs(directory).enumerate();
    let runs = runs.map(|(place, (cell, run, connections))| (cell, (place, run, connections)));
    let captured: Vec<_> = runs.filter(|(_, (_, run, _))| !run.captures.is_empty()).collect();
    let cells = 0..directory.manifest.cells.len();
    let of = |cell| {
        let all = || captured.iter().filter(move |(of, _)| *of == cell);
        let good = all().find(|(_, (_, run, _))| run.verdict == Verdict::Good);
        good.or_else(|| all().next()).map(|&(_, chosen)| chosen)
    };
    cells.filter_map(of).collect()
}

/// The plot of a run; `None` if its captures have no TCP connection.
fn plot(
    directory: &Directory,
    (run, record, connections): Chosen<'_>,
    limit: usize,
) -> Result<Option<Sequence>, TraceError> {
    let Some(found) = largest(&directory.path, &record.captures)? else { return Ok(None) };
    let interface = found.row.interface.to_string();
    let mut read = sequence::read(&found.capture, Some(&interface), found.row.connection, limit)?;
    for events in &record.events {
        let events = directory.path.join(events);
        if events.extension().is_some_and(|kind| kind == "parquet") {
            read.mark_losses(&events)?;
        }
    }
    let series = &read.series[found.direction];
    let mut plot = Sequence::of(run, series);
    for senders in &record.senders {
        let losses = losses(connections, series);
        plot.windows = windows::read(&directory.path.join(senders), &read, series, losses, limit)?;
    }
    Ok(Some(plot))
}

/// Loss events of the sender of a series; `None` if they were not looked for, and where several
/// connections of the run have its ports, since results name nodes and captures addresses.
fn losses<'a>(connections: &'a [Connection], series: &Series) -> Option<&'a [LossEvent]> {
    let is_it = |row: &&Connection| (row.from_port, row.to_port) == (series.from.port(), series.to.port());
    let mut rows = connections.iter().filter(|row| row.protocol == Protocol::Tcp).filter(is_it);
    let row = rows.next().filter(|_| rows.next().is_none())?;
    row.losses.as_deref()
}

/// The connection with the most segments of data in one direction, in any of the captures.
pub(crate) fn largest(folder: &Path, captures: &[String]) -> Result<Option<Found>, TraceError> {
    let mut best: Option<((u64, u64), Found)> = None;
    for capture in captures {
        let capture = folder.join(capture);
        for row in rows(&capture)? {
            for direction in [0, 1] {
                let way = &row.directions[direction];
                let size = (way.counts.data_packets, way.round_trips.median_ns);
                if best.as_ref().is_none_or(|(largest, _)| size > *largest) {
                    best = Some((size, Found { capture: capture.clone(), row: row.clone(), direction }));
                }
            }
        }
    }
    Ok(best.map(|(_, found)| found))
}

/// Every connection of every interface.
pub(crate) fn rows(capture: &Path) -> Result<Vec<ConnectionRow>, TraceError> {
    let trace = analysis::read(capture, &Options::default(), &mut Unwatched)?;
    let name = capture.file_name().unwrap_or_default().to_string_lossy();
    let mut rows = Vec::new();
    for interface in &trace.interfaces {
        let connections = 0..interface.connections.all().len();
        rows.extend(connections.map(|index| ConnectionRow::new(&name, interface, index)));
    }
    Ok(rows)
}
