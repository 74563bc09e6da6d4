//! `lasthop record`: measures a real link between two hosts, and writes it as profiles and traces.

pub mod arguments;
mod keys;
mod measuring;
mod serving;
mod socket;

use crate::failure::Failure;
use arguments::RecordArguments;

/// Runs the end that the arguments select.
pub fn run(arguments: &RecordArguments) -> Result<i32, Failure> {
    match (&arguments.serve, &arguments.host) {
        (Some(address), _) => serving::run(address, arguments),
        (None, Some(host)) => measuring::run(host, arguments),
        (None, None) => {
            Err("name the HOST that runs `lasthop record --serve`, or serve with --serve ADDRESS".into())
        }
    }
}
