//! Hidden subcommands with which lasthop starts itself again.

use crate::arguments::Arguments;
use crate::commands::link;
use crate::left;
use crate::status::Asked;
use clap::Parser as _;
use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

/// Runs its part if the command line names it; otherwise returns `None`.
type Entry = fn() -> Option<ExitCode>;

/// All entries, in the order in which they are tried.
const ENTRIES: [Entry; 8] = [
    // The first process of a guest of the virtual clock.
    virtual_time::guest::entry,
    // The process that becomes the kernel of a guest.
    virtual_time::boot::entry,
    // The keeper, which cleans up after a killed process.
    netlab::keeper::entry,
    // The first process in a run's own namespaces.
    netlab::isolation::entry,
    // One run of a campaign.
    run,
    // An end of a workload whose sockets are remote.
    end,
    // `lasthop link` in a guest.
    link_in_guest,
    // A command line of a page, which the tests of the pages parse and do not run.
    parse,
];

/// Runs the hidden subcommand of the command line; `None` if it has none.
pub fn entry() -> Option<ExitCode> {
    ENTRIES.iter().find_map(|entry| entry())
}

/// Returns the argument of the hidden subcommand `name`, if the command line has that subcommand.
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

fn end() -> Option<ExitCode> {
    argument(experiment::workload::end::SUBCOMMAND)?;
    Some(match experiment::workload::end::execute() {
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

/// Parses the rest of the command line as the arguments of `lasthop`. Prints the kind of clap's
/// error on standard output, and the error itself on standard error.
fn parse() -> Option<ExitCode> {
    argument("__parse")?;
    // The subcommand stands for the program's name.
    let Err(error) = Arguments::try_parse_from(std::env::args_os().skip(1)) else {
        return Some(ExitCode::SUCCESS);
    };
    if !error.use_stderr() {
        return Some(ExitCode::SUCCESS);
    }
    anstream::println!("{:?}", error.kind());
    let _ = error.print();
    Some(ExitCode::FAILURE)
}
