//! `lasthop rto`: compares retransmission timers.

pub mod arguments;
mod capture;
mod model;
mod overlay;

use crate::failure::Failure;
use crate::figure::Line;
use crate::pipe;
use arguments::{RtoArguments, RtoCommand};
use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use std::io;

/// Maximum number of points of a line in a figure; more cannot be told apart.
const POINTS: usize = 4000;

/// Runs the subcommand.
pub fn run(arguments: &RtoArguments) -> Result<i32, Failure> {
    let mut output = io::BufWriter::new(io::stdout().lock());
    let done = match &arguments.command {
        RtoCommand::Model(model) => model::run(model, &mut output),
        RtoCommand::Capture(capture) => capture::run(capture, &mut output),
    };
    pipe::status(done.and_then(|()| Ok(io::Write::flush(&mut output)?)))
}

/// Returns a line of a figure, thinned to at most [`POINTS`] points.
fn line(name: &str, joined: bool, points: impl ExactSizeIterator<Item = (f64, f64)>) -> Line {
    let step = points.len().div_ceil(POINTS).max(1);
    Line { name: name.to_owned(), points: points.step_by(step).collect(), joined }
}

/// Returns a table of numbers, with names in the first column.
fn table(header: Vec<String>, rows: Vec<Vec<String>>) -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING);
    let columns = header.len();
    table.set_header(header);
    for row in rows {
        table.add_row(row);
    }
    for column in 1..columns {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}
