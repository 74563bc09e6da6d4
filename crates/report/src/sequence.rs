//! Time-sequence plots: selection of the connections and runs to draw.
//!
//! A capture has hundreds of thousands of packets, and the page is one file. So one run of each
//! cell is drawn, and all plots share a budget of points. Of the run's captures and their
//! interfaces, the one that has seen most data of one connection is used. If both ends of a link
//! were captured, this is the sender's end, which lost segments have passed. If none was lost, the
//! sender's end is the one with the longer round-trip times.

mod events;
mod pack;
mod windows;

use crate::page::known_runs;
use capture_analysis::analysis::{self, AnalysisOptions, Unwatched};
use capture_analysis::row::ConnectionRow;
use capture_analysis::sequence::Series;
use capture_analysis::{TraceError, sequence};
use pack::Sequence;
use results::{Connection, Directory, LossEvent, Protocol, RunRecord, RunVerdict};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Maximum number of points of each sort (segments, acknowledgements, …) in a plot, however few
/// plots there are.
const MOST: usize = 20_000;

/// The time-sequence plots of a page.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Sequences {
    plots: Vec<Sequence>,
    /// What was left out, and what could not be read, in sentences.
    notes: Vec<String>,
}

/// A connection in a capture.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Found {
    pub(crate) capture: PathBuf,
    /// Its results at the interface that saw most of it.
    pub(crate) row: ConnectionRow,
    /// Index of the direction with the data.
    pub(crate) direction: usize,
}

/// A run that is drawn: its index, its record, and its connections.
type Chosen<'a> = (usize, &'a RunRecord, &'a [Connection]);

/// Returns the plots of a campaign, with about `points` points in total.
pub(crate) fn all(directory: &Directory, points: usize) -> Sequences {
    let chosen = chosen(directory);
    let mut sequences = Sequences::default();
    if chosen.is_empty() {
        return sequences;
    }
    // Segments and acknowledgements are about equally many; there is little of everything else.
    let limit = (points / chosen.len() / 2).clamp(sequence::thin::LEAST, MOST);
    for &(run, record, connections) in &chosen {
        match plot(directory, (run, record, connections), limit) {
            Ok(Some(plot)) => sequences.plots.push(plot),
            Ok(None) => sequences.notes.push(format!("{}: no TCP connection", record.captures.join(", "))),
            // The page may go to other people, so it does not contain the path of the campaign.
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
            format!("Shown are {} of the {captured} runs with captures, one of each cell.", chosen.len()),
        );
    }
    sequences
}

/// Returns for each cell the first good run with a capture, or else the first one with a capture,
/// with their indices.
fn chosen(directory: &Directory) -> Vec<Chosen<'_>> {
    let runs = known_runs(directory).enumerate();
    let runs = runs.map(|(place, (cell, run, connections))| (cell, (place, run, connections)));
    let captured: Vec<_> = runs.filter(|(_, (_, run, _))| !run.captures.is_empty()).collect();
    let cells = 0..directory.manifest.cells.len();
    let of = |cell| {
        let all = || captured.iter().filter(move |(of, _)| *of == cell);
        let good = all().find(|(_, (_, run, _))| run.verdict == RunVerdict::Good);
        good.or_else(|| all().next()).map(|&(_, chosen)| chosen)
    };
    cells.filter_map(of).collect()
}

/// Returns the plot of a run; `None` if its captures have no TCP connection.
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

/// Returns the loss events of the sender of a series.
///
/// `None` if they were not recorded, or if several connections of the run have its ports: results
/// name nodes, but captures have addresses.
fn losses<'a>(connections: &'a [Connection], series: &Series) -> Option<&'a [LossEvent]> {
    let is_it = |row: &&Connection| (row.from_port, row.to_port) == (series.from.port(), series.to.port());
    let mut rows = connections.iter().filter(|row| row.protocol == Protocol::Tcp).filter(is_it);
    let row = rows.next().filter(|_| rows.next().is_none())?;
    row.losses.as_deref()
}

/// Finds the connection with the most data segments in one direction, in any of the captures.
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

/// Reads every connection of every interface.
pub(crate) fn rows(capture: &Path) -> Result<Vec<ConnectionRow>, TraceError> {
    let trace = analysis::read(capture, &AnalysisOptions::default(), &mut Unwatched)?;
    let name = capture.file_name().unwrap_or_default().to_string_lossy();
    let mut rows = Vec::new();
    for interface in &trace.interfaces {
        let connections = 0..interface.connections.all().len();
        rows.extend(connections.map(|index| ConnectionRow::new(&name, interface, index)));
    }
    Ok(rows)
}
