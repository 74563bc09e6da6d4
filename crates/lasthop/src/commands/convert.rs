//! `lasthop convert`: converts the log of a killed run to Parquet.

use crate::arguments::ConvertArguments;
use crate::failure::Failure;
use capture::link_layer::Row;
use capture::senders::SenderState;
use capture::table::recover;
use capture::{Contents, Converted, Fate, LogError, TableError};

/// Converts the log and prints a summary.
pub fn run(arguments: &ConvertArguments) -> Result<i32, Failure> {
    let log = &arguments.log;
    let (converted, rows) = match recover::<Fate>(log) {
        Err(TableError::Log(LogError::Other { found: Contents::Senders, .. })) => {
            (recover::<SenderState>(log), "states of TCP senders")
        }
        Err(TableError::Log(LogError::Other { found: Contents::LinkLayer, .. })) => {
            (recover::<Row>(log), "records of link layers")
        }
        fates => (fates, "fates"),
    };
    let Converted { path, rows: count, tail, .. } = converted?;
    anstream::println!("{}: {count} {rows} ({tail})", path.display());
    Ok(0)
}
