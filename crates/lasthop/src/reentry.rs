//! The hidden subcommands by which lasthop starts itself again.

use crate::commands::link;
use crate::left;
use crate::status::Asked;
use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

/// An entry looks at the command line and does its part if the line is for it.
type Entry = fn() -> Option<ExitCode>;

/// All of them.
const ENTRIES: [Entry; 6] = [
    // The first process of a guest of the virtual clock.
    virtual_time::guest::entry,
    // The process that becomes the kernel of a guest.
    virtual_time::boot::entry,
    // The keeper, which cleans up after a process that was killed.
    netlab::keeper::entry,
    // The first process of a run's own namespaces.
    netlab::isolation::entry,
    // One run of a campaign.
    run,
    // `lasthop link` in a guest.
    link_in_guest,
];

/// Does what a hidden subcommand asks for; `None` if the command line has none.
pub fn entry() -> Option<ExitCode> {
    ENTRIES.iter().find_map(|entry| entry())
}

/// The argument of the hidden subcommand `name`, if the command line has that.
fn argument(name: &str) -> Option<OsString> {
    let mut arguments = std::env::args_os().skip(1);
    (arguments.next()? == OsStr::new(name)).then(|| arguments.next().unwrap_or_default())
}

fn run() -> Option<ExitCode> {
    let job = argument(experiment::campaign::SUBCOMMAND)?;
    Some(match experiment::campaign::execute(job.as_ref()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            anstream::eprintln!("lasthop: {error}");
            ExitCode::FAILURE
        }
    })
}

fn link_in_guest() -> Option<ExitCode> {
    let file = argument(link::SUBCOMMAND)?;
    let ended = link::read_arguments(file.as_ref()).and_then(|arguments| link::run(&arguments));
    Some(left(ended, Asked::of(std::env::args_os().skip(1))))
}
