//! Counters of each flow at each interface, as a table or as JSON.

use super::arguments::AnalyzeArguments;
use crate::failure::Failure;
use capture_analysis::points::{self, Point, Protocol};
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use std::io::{self, BufWriter, StdoutLock, Write};

/// Prints the flows of each capture, by interface.
pub fn print(
    arguments: &AnalyzeArguments,
    output: &mut BufWriter<StdoutLock<'static>>,
) -> Result<(), Failure> {
    for path in &arguments.files {
        let all = points::read(path)?;
        if arguments.json {
            for point in &all {
                serde_json::to_writer(&mut *output, point).map_err(io::Error::from)?;
                output.write_all(b"\n")?;
            }
            continue;
        }
        if arguments.files.len() > 1 {
            writeln!(output, "{}:", path.display())?;
        }
        for line in table(&all).lines() {
            writeln!(output, "{}", line.trim_end())?;
        }
    }
    Ok(())
}

/// Returns the table; the interface is named in the first of its rows.
fn table(all: &[Point]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    let counts = ["packets", "bytes", "segments", "sent again", "spurious", "not known"];
    table.set_header(["interface", "flow"].into_iter().chain(counts));
    let mut before = None;
    for point in all {
        let name = if point.name.is_empty() { point.interface.to_string() } else { point.name.clone() };
        let name =
            if before.replace(point.interface) == Some(point.interface) { String::new() } else { name };
        let counts = &point.counts;
        let mut row = vec![
            name,
            format!("{} {} → {}", point.protocol.name(), point.from, point.to),
            counts.packets.to_string(),
            counts.bytes.to_string(),
        ];
        let of_tcp = [counts.data_packets, counts.retransmissions, counts.spurious, counts.undecided];
        let is_tcp = point.protocol == Protocol::Tcp;
        row.extend(of_tcp.map(|count| if is_tcp { count.to_string() } else { "-".to_owned() }));
        table.add_row(row);
    }
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}
