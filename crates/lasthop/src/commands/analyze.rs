//! `lasthop analyze`: analyses the TCP connections of captures. It also prints states of TCP
//! senders, their loss events and unnecessary retransmissions, RLP traces, and both layers of a
//! link together.

pub mod arguments;
mod layers;
mod losses;
mod points;
pub mod progress;
mod rlpdump;
mod senders;
mod spurious;
mod text;

use crate::failure::Failure;
use crate::outputs;
use arguments::AnalyzeArguments;
use capture::Tail;
use capture_analysis::analysis::{self, AnalysisOptions, Watch};
use capture_analysis::row::ConnectionRow;
use capture_analysis::{Analysis, Trace, TraceError, sequence, table, xpl};
use progress::Progress;
use std::fs;
use std::io::{self, BufWriter, StdoutLock, Write};
use std::path::Path;

/// Maximum number of points of each kind in a graph for xplot.
const GRAPH: usize = 1_000_000;

/// Reads the captures and prints or writes the requested results.
pub fn run(arguments: &AnalyzeArguments) -> Result<i32, Failure> {
    outputs::check([&arguments.svg, &arguments.html, &arguments.parquet].map(Option::as_ref))?;
    if let Some(folder) = &arguments.xpl {
        fs::create_dir_all(folder).map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
    }
    let mut output = BufWriter::new(io::stdout().lock());
    let print = match arguments {
        AnalyzeArguments { senders: true, .. } => senders::print,
        AnalyzeArguments { layers: true, .. } => layers::print,
        AnalyzeArguments { rlpdump: true, .. } => rlpdump::print,
        AnalyzeArguments { losses: true, .. } => losses::print,
        AnalyzeArguments { spurious: true, .. } => spurious::print,
        AnalyzeArguments { points: true, .. } => points::print,
        _ => print,
    };
    match print(arguments, &mut output).and_then(|()| Ok(output.flush()?)) {
        // The reader of `lasthop analyze ... | head` has gone.
        Err(failure) if is_broken_pipe(&failure) => Ok(0),
        Err(failure) => Err(failure),
        Ok(()) => Ok(0),
    }
}

fn is_broken_pipe(failure: &Failure) -> bool {
    failure.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

fn print(arguments: &AnalyzeArguments, output: &mut BufWriter<StdoutLock<'static>>) -> Result<(), Failure> {
    let mut table = Vec::new();
    for path in &arguments.files {
        let trace = read(arguments, path, &mut Progress::new(path))?;
        let file = path.display().to_string();
        for analysis in &trace.interfaces {
            let chosen = chosen(arguments, path, analysis)?;
            if arguments.parquet.is_some() {
                table.extend(chosen.map(|index| ConnectionRow::new(&file, analysis, index)));
            } else if arguments.json {
                for index in chosen {
                    let row = ConnectionRow::new(&file, analysis, index);
                    serde_json::to_writer(&mut *output, &row).map_err(io::Error::from)?;
                    output.write_all(b"\n")?;
                }
            } else {
                let several = trace.interfaces.len() > 1 || arguments.files.len() > 1;
                text::print(output, &file, analysis, chosen, arguments.long, several)?;
            }
        }
        if let Some(folder) = &arguments.xpl {
            graphs(arguments, path, &trace, folder)?;
        }
    }
    if let Some(path) = &arguments.parquet {
        table::write(path, &table)?;
    }
    Ok(())
}

/// Reads a capture, and reports on standard error what could not be read.
fn read(arguments: &AnalyzeArguments, path: &Path, watch: &mut impl Watch) -> Result<Trace, TraceError> {
    let silence = (arguments.silence * 1e9) as u64;
    let options = AnalysisOptions { interface: arguments.interface.clone(), silence };
    let trace = analysis::read(path, &options, watch)?;
    let name = path.display();
    if trace.tail != Tail::Complete {
        anstream::eprintln!("lasthop: {name}: {}", trace.tail);
    }
    for analysis in &trace.interfaces {
        if !analysis.is_readable() {
            anstream::eprintln!(
                "lasthop: {name}: interface {} has link type {}, which cannot be read: its {} packets were skipped",
                analysis.title(),
                analysis.link_type,
                analysis.packets.seen
            );
        }
    }
    Ok(trace)
}

/// Returns the indices of the requested connections.
fn chosen(
    arguments: &AnalyzeArguments,
    path: &Path,
    analysis: &Analysis,
) -> Result<std::ops::Range<usize>, TraceError> {
    let there = analysis.connections.all().len();
    match arguments.connection {
        None => Ok(0..there),
        Some(number) if number as usize <= there => Ok(number as usize - 1..number as usize),
        Some(number) => {
            Err(TraceError::NoConnection { path: path.to_owned(), wanted: number as usize, there })
        }
    }
}

/// Writes the time-sequence graphs of the requested connections. With several interfaces, each has
/// a directory of its own.
fn graphs(arguments: &AnalyzeArguments, path: &Path, trace: &Trace, folder: &Path) -> Result<(), Failure> {
    if path == Path::new("-") {
        return Err("--xpl reads the capture twice: give it a file instead of `-`".into());
    }
    for analysis in &trace.interfaces {
        let number = analysis.number.to_string();
        let folder = if trace.interfaces.len() > 1 { folder.join(&number) } else { folder.to_owned() };
        let sequences = match arguments.connection {
            Some(connection) => vec![sequence::read(path, Some(&number), connection as usize, GRAPH)?],
            None => sequence::read_all(path, Some(&number), GRAPH)?,
        };
        for sequence in &sequences {
            for written in xpl::write(&folder, sequence)? {
                anstream::eprintln!("lasthop: {}", written.display());
            }
        }
    }
    Ok(())
}
