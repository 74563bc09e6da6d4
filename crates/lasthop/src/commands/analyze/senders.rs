//! States of TCP senders as CSV.

use super::arguments::AnalyzeArguments;
use crate::failure::Failure;
use capture::Schema;
use capture::senders::{Reader, SenderState};
use std::io::{BufWriter, StdoutLock};

/// Prints the tables one after the other. With several files, each row begins with the name of its
/// file.
pub fn print(
    arguments: &AnalyzeArguments,
    output: &mut BufWriter<StdoutLock<'static>>,
) -> Result<(), Failure> {
    let several = arguments.files.len() > 1;
    let mut output = csv::Writer::from_writer(output);
    let mut names = Some(SenderState::COLUMNS.iter().map(|column| column.name));
    for path in &arguments.files {
        let name = path.display().to_string();
        let failed = |error| format!("{name}: {error}");
        let mut reader = Reader::open(path).map_err(failed)?;
        // The heading is printed only when there is something below it.
        if let Some(names) = names.take() {
            output.write_record(several.then_some("file").into_iter().chain(names)).map_err(io)?;
        }
        let header = reader.header().clone();
        for state in reader.by_ref() {
            let state = state.map_err(failed)?;
            let file = several.then(|| name.clone());
            let cells = SenderState::COLUMNS
                .iter()
                .map(|column| column.cell(&state, &header).to_text().unwrap_or_default());
            output.write_record(file.into_iter().chain(cells)).map_err(io)?;
        }
        if reader.lost() > 0 {
            anstream::eprintln!("lasthop: {name}: {} more states were lost", reader.lost());
        }
        for note in reader.notes() {
            anstream::eprintln!("lasthop: {name}: at {} s: {}", note.at, note.text);
        }
        if reader.tail() != "complete" {
            anstream::eprintln!("lasthop: {name}: {}", reader.tail());
        }
    }
    output.flush()?;
    Ok(())
}

/// Converts the error so that a broken pipe can be recognized.
pub(super) fn io(error: csv::Error) -> Failure {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error.into(),
        kind => format!("{kind:?}").into(),
    }
}
