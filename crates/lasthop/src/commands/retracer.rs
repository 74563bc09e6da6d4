//! `lasthop retracer`: computes the throughput that a recorded channel would have given frames of
//! other sizes, and makes traces for it.

pub mod arguments;
mod making;
pub mod reading;
mod replaying;
mod rows;
mod text;

use crate::failure::Failure;
use crate::figure::{Figure, Line};
use crate::outputs;
use crate::pipe;
use arguments::{Making, ReplayArguments, RetracerArguments};
use replaying::Replayed;
use std::io::{self, Write};

/// Runs the subcommand.
pub fn run(arguments: &RetracerArguments) -> Result<i32, Failure> {
    pipe::status(match &arguments.making {
        Some(Making::Make(make)) => making::make(make),
        Some(Making::Even(even)) => making::even(even),
        Some(Making::Blocks(blocks)) => making::blocks(blocks),
        None => replay(&arguments.replay),
    })
}

fn replay(arguments: &ReplayArguments) -> Result<(), Failure> {
    outputs::check([arguments.plot.as_ref()])?;
    let replayed = replaying::all(arguments)?;
    let mut output = io::stdout().lock();
    if arguments.csv {
        rows::csv(&mut output, &replayed)?;
    } else if arguments.json {
        rows::json(&mut output, &replayed)?;
    } else {
        text::print(&mut output, &replayed)?;
    }
    output.flush()?;
    match &arguments.plot {
        Some(path) => figure(&replayed).write(path),
        None => Ok(()),
    }
}

/// Returns the figure of throughput over frame size, with a line for each trace.
fn figure(replayed: &[Replayed]) -> Figure {
    let line = |replayed: &Replayed| {
        let points = replayed.sweep.frames.iter().filter_map(|(blocks, frame)| {
            Some((f64::from(*blocks), frame.as_ref()?.transfer.throughput(&replayed.link)))
        });
        Line { name: replayed.name.clone(), points: points.collect(), joined: true }
    };
    Figure {
        title: "Recovery by the link: throughput of a bulk transfer".to_owned(),
        horizontal: "frame size (blocks)".to_owned(),
        vertical: "throughput (bytes/s)".to_owned(),
        lines: replayed.iter().map(line).collect(),
    }
}
