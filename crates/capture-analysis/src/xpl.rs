//! Time-sequence graphs as files for xplot, named and drawn like those of `tcptrace -S` (L34).
//!
//! `a2b_tsg.xpl` shows what a sent and what b acknowledged.

use crate::TraceError;
use crate::long::ends;
use crate::sequence::{Mark, PointKind, Series, TimeSequence};
use capture::output;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Writes both graphs of a connection into `folder`, which is created if necessary. Returns their
/// paths.
pub fn write(folder: &Path, sequence: &TimeSequence) -> Result<[PathBuf; 2], TraceError> {
    fs::create_dir_all(folder).map_err(TraceError::write(folder))?;
    let [a, b] = ends(sequence.connection);
    let paths = [format!("{a}2{b}_tsg.xpl"), format!("{b}2{a}_tsg.xpl")].map(|name| folder.join(name));
    for (path, series) in paths.iter().zip(&sequence.series) {
        let draw = || {
            let mut output = BufWriter::new(output::create(path)?);
            graph(&mut output, sequence.start_unix_ns, series)?;
            output.flush()
        };
        draw().map_err(TraceError::write(path))?;
    }
    Ok(paths)
}

/// Draws one graph.
fn graph(output: &mut impl Write, start: u64, series: &Series) -> io::Result<()> {
    let at = |time_ns: u64| {
        let time = start + time_ns;
        format!("{}.{:06}", time / 1_000_000_000, time / 1000 % 1_000_000)
    };
    writeln!(output, "timeval unsigned")?;
    writeln!(output, "title\n{}_==>_{} (time sequence graph)", series.from, series.to)?;
    writeln!(output, "xlabel\ntime\nylabel\nsequence number")?;
    for segment in &series.segments {
        let (time, first, last) = (at(segment.time_ns), segment.first, segment.last);
        let (colour, letter) = match segment.kind {
            PointKind::New => ("white", None),
            PointKind::Retransmission => ("red", Some("R")),
            PointKind::OutOfOrder => ("pink", Some("O")),
            PointKind::Probe => ("purple", Some("P")),
        };
        writeln!(output, "{colour}\ndarrow {time} {first}")?;
        writeln!(output, "{} {time} {last}", if segment.push { "diamond" } else { "uarrow" })?;
        writeln!(output, "line {time} {first} {time} {last}")?;
        if let Some(letter) = letter {
            writeln!(output, "atext {time} {last}\n{letter}")?;
        }
    }
    stairs(output, series, &at)?;
    for sack in &series.sacks {
        let (time, first, last) = (at(sack.time_ns), sack.first, sack.last);
        writeln!(output, "purple\nline {time} {first} {time} {last}")?;
        writeln!(output, "ctext {time} {last}\n{}", if sack.duplicate { "D" } else { "S" })?;
    }
    for mark in &series.marks {
        let text = match mark.mark {
            Mark::Syn => "SYN",
            Mark::Fin => "FIN",
            Mark::ResetOut => "RST_OUT",
            Mark::ResetIn => "RST_IN",
            Mark::ZeroWindow => "Z",
            Mark::Ce => "CE",
            Mark::Cwr => "CWR",
            Mark::Ece => "ECE",
            Mark::Urgent => "U",
        };
        writeln!(output, "orange\natext {} {}\n{text}", at(mark.time_ns), mark.sequence)?;
    }
    for loss in &series.losses {
        let (time, first, last) = (at(loss.time_ns), loss.first, loss.last);
        writeln!(output, "magenta\nline {time} {first} {time} {last}\nx {time} {last}")?;
        writeln!(output, "rtext {time} {last}\n{}", loss.reason)?;
    }
    writeln!(output, "go")
}

/// Draws the lines of the acknowledgments and of the window's edge, with ticks and numbers for
/// duplicates.
fn stairs(output: &mut impl Write, series: &Series, at: &impl Fn(u64) -> String) -> io::Result<()> {
    for pair in series.acks.windows(2) {
        let [before, now] = pair else { continue };
        let (from, to) = (at(before.time_ns), at(now.time_ns));
        for (colour, low, high) in [("green", before.ack, now.ack), ("yellow", before.edge, now.edge)] {
            writeln!(output, "{colour}\nline {from} {low} {to} {low}")?;
            if high == low {
                writeln!(output, "{} {to} {low}", if colour == "green" { "dtick" } else { "utick" })?;
            } else {
                writeln!(output, "line {to} {low} {to} {high}")?;
            }
        }
        if now.duplicates == 3 {
            writeln!(output, "green\natext {to} {}\n3", now.ack)?;
        }
    }
    Ok(())
}
