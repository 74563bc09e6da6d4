//! `lasthop recover`: the Parquet file of a run that was killed, from the log that it left.

use crate::arguments::RecoverArguments;
use crate::link_command::Failure;
use capture::table::{Converted, recover};

/// Converts the log.
pub fn run(arguments: &RecoverArguments) -> Result<i32, Failure> {
    let Converted { path, fates, tail } = recover(&arguments.log)?;
    anstream::println!("{}: {fates} fates ({tail})", path.display());
    Ok(0)
}
