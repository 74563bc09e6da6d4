//! RLP traces of one end of a link, from the records of link layers.

use super::arguments::{AnalyzeArguments, End};
use crate::failure::Failure;
use capture::Direction;
use capture::link_layer::{Reader, Row};
use experiment::rlp_trace::{link_of, rlp_trace};
use std::io::{BufWriter, StdoutLock, Write};

/// Prints the trace of the requested end.
pub fn print(
    arguments: &AnalyzeArguments,
    output: &mut BufWriter<StdoutLock<'static>>,
) -> Result<(), Failure> {
    let [path] = &arguments.files[..] else {
        return Err("--rlpdump takes exactly one file: an RLP trace belongs to one run".into());
    };
    let failed = |error| format!("{}: {error}", path.display());
    let reader = Reader::open(path).map_err(failed)?;
    let (header, tail) = (reader.header().clone(), reader.tail().to_owned());
    let rows: Vec<Row> = reader.collect::<Result<_, _>>().map_err(failed)?;
    let end = match arguments.end {
        End::Mobile => Direction::Up,
        End::Network => Direction::Down,
    };
    let link = link_of(&rows, &header, arguments.link.as_deref())?;
    write!(output, "{}", rlp_trace(&rows, &header, link, end)?)?;
    if tail != "complete" {
        anstream::eprintln!("lasthop: {}: {tail}", path.display());
    }
    Ok(())
}
