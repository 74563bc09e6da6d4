//! The `lasthop` command.
#![forbid(unsafe_code)]

mod arguments;
mod clock;
mod commands;
mod failure;
mod figure;
mod library;
mod notice;
mod outputs;
mod pipe;
mod reentry;
mod remote;
mod signals;
mod status;

use arguments::{Arguments, Command, RunningLinks};
use clap::Parser;
use failure::Failure;
use status::Asked;
use std::process::ExitCode;

fn main() -> ExitCode {
    // Re-entry comes first, before any thread starts.
    if let Some(code) = reentry::entry() {
        return code;
    }
    let asked = Asked::of(std::env::args_os().skip(1));
    match Arguments::try_parse() {
        Err(usage) => {
            // If this cannot be printed, there is no other way to report it.
            let _ = usage.print();
            ExitCode::from(asked.not_run(&usage))
        }
        Ok(arguments) => left(run(arguments), asked),
    }
}

/// Prints the error of a failed command, and returns the exit status.
fn left(ended: Result<i32, Failure>, asked: Asked) -> ExitCode {
    match ended {
        Ok(status) => ExitCode::from(u8::try_from(status).unwrap_or(u8::MAX)),
        Err(error) => {
            anstream::eprintln!("lasthop: {error}");
            ExitCode::from(asked.failed(error.as_ref()))
        }
    }
}

/// Runs the subcommand and returns the exit status.
fn run(arguments: Arguments) -> Result<i32, Failure> {
    match arguments.command {
        Command::Link(mut link) => match link.running.take() {
            Some(RunningLinks::List { json }) => commands::link::list(json),
            Some(RunningLinks::Set { id, direction, parameters }) => {
                commands::link::set(&id, &direction, &parameters)
            }
            Some(RunningLinks::Exec { id, command }) => commands::link::exec(&id, &command),
            None => commands::link::run(&link),
        },
        Command::Watch(arguments) => commands::watch::run(&arguments),
        Command::Serve(arguments) => commands::serve::run(&arguments),
        Command::Run(arguments) => commands::run::run(&arguments),
        Command::Merge(arguments) => commands::merge::run(&arguments),
        Command::Gate(arguments) => commands::gate::run(&arguments),
        Command::Profiles(profiles) => commands::profiles::run(&profiles),
        Command::Fit(arguments) => commands::fit::run(&arguments),
        Command::Record(arguments) => commands::record::run(&arguments),
        Command::Rto(arguments) => commands::rto::run(&arguments),
        Command::Retracer(arguments) => commands::retracer::run(&arguments),
        Command::Analyze(arguments) => commands::analyze::run(&arguments),
        Command::TcpLite(arguments) => commands::tcp_lite::run(&arguments),
        Command::Cc(arguments) => commands::cc::run(&arguments),
        Command::Resoa(arguments) => commands::resoa::run(&arguments),
        Command::Kernel(arguments) => commands::kernel::run(&arguments),
        Command::Clean => clean(),
        Command::Convert(arguments) => commands::convert::run(&arguments),
        Command::Doctor => Ok(commands::doctor::run()),
        Command::Report(arguments) => commands::report::run(&arguments),
        Command::Compare(arguments) => commands::compare::run(&arguments),
        Command::Generate(arguments) => commands::generate::run(&arguments),
        Command::SelfCheck(arguments) => commands::self_check::run(&arguments),
    }
}

/// Runs `lasthop clean`: removes what killed runs left behind.
fn clean() -> Result<i32, Failure> {
    let netlab::Swept { undone, left } = netlab::Registry::open()?.sweep()?;
    if undone.is_empty() {
        anstream::eprintln!("nothing was left behind");
    }
    for what in undone {
        anstream::println!("{what}");
    }
    for what in left {
        anstream::eprintln!("lasthop: not created by lasthop and not removed: {what}");
    }
    Ok(0)
}
