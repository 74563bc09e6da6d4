//! `lasthop recover`: the Parquet file of a run that was killed, from the log that it left.

use crate::arguments::RecoverArguments;
use crate::link_command::Failure;
use capture::log::LogError;
use capture::table::{Converted, TableError, recover};
use capture::{link_layer, senders};

/// Converts the log.
pub fn run(arguments: &RecoverArguments) -> Result<i32, Failure> {
    match recover(&arguments.log) {
        Ok(Converted { path, fates, tail }) => {
            anstream::println!("{}: {fates} fates ({tail})", path.display());
        }
        Err(TableError::Log(LogError::OfSenders)) => {
            let senders::Converted { path, states, tail, .. } = senders::recover(&arguments.log)?;
            anstream::println!("{}: {states} states of TCP senders ({tail})", path.display());
        }
        Err(TableError::Log(LogError::OfLinkLayer)) => {
            let link_layer::Converted { path, rows, tail } = link_layer::recover(&arguments.log)?;
            anstream::println!("{}: {rows} records of link layers ({tail})", path.display());
        }
        Err(error) => return Err(error.into()),
    }
    Ok(0)
}
