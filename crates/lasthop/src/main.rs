//! The `lasthop` command.
#![forbid(unsafe_code)]

mod arguments;
mod cc_command;
mod clock;
mod compare_command;
mod doctor_command;
mod figure;
mod fit_command;
mod kernel_command;
mod link_command;
mod lite_command;
mod notice;
mod outputs;
mod pipe;
mod profiles_command;
mod recover_command;
mod remote;
mod report_command;
mod resoa_command;
mod retrace_command;
mod rto_command;
mod run_command;
mod self_check_command;
mod signals;
mod status;
mod trace_command;

use arguments::{Arguments, Command, RunningLinks};
use clap::Parser;
use link_command::Failure;
use status::Asked;
use std::process::ExitCode;

fn main() -> ExitCode {
    // This binary is the first process of a guest of the virtual clock, and what becomes its
    // kernel.
    if let Some(code) = virtual_time::guest::entry() {
        return code;
    }
    if let Some(code) = virtual_time::boot::entry() {
        return code;
    }
    // This binary is its own keeper and checker; see `netlab::keeper`. Before anything else, and
    // before any thread.
    if let Some(code) = netlab::keeper::entry() {
        return code;
    }
    if let Some(code) = netlab::isolation::entry() {
        return code;
    }
    if let Some(code) = run_entry() {
        return code;
    }
    let asked = Asked::of(std::env::args_os().skip(1));
    let ended = match link_in_guest() {
        Some(ended) => Ok(ended),
        None => Arguments::try_parse().map(run),
    };
    match ended {
        Err(usage) => {
            // Nobody is left to be told that this cannot be printed.
            let _ = usage.print();
            ExitCode::from(asked.not_run(&usage))
        }
        Ok(ended) => left(ended, asked),
    }
}

/// What to leave with.
fn left(ended: Result<i32, Failure>, asked: Asked) -> ExitCode {
    match ended {
        Ok(status) => ExitCode::from(u8::try_from(status).unwrap_or(u8::MAX)),
        Err(error) => {
            anstream::eprintln!("lasthop: {error}");
            ExitCode::from(asked.failed(error.as_ref()))
        }
    }
}

/// If this process was started in a guest to be a `lasthop link`, it is one.
fn link_in_guest() -> Option<Result<i32, Failure>> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next()? != link_command::SUBCOMMAND {
        return None;
    }
    let file = arguments.next().unwrap_or_default();
    Some(link_command::read_arguments(file.as_ref()).and_then(|arguments| link_command::run(&arguments)))
}

/// If this process was started by a campaign to do one run, it does that.
fn run_entry() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next()? != experiment::campaign::SUBCOMMAND {
        return None;
    }
    let order = arguments.next().unwrap_or_default();
    Some(match experiment::campaign::execute(order.as_ref()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            anstream::eprintln!("lasthop: {error}");
            ExitCode::FAILURE
        }
    })
}

/// Does what is asked and returns the exit status.
fn run(arguments: Arguments) -> Result<i32, Failure> {
    match arguments.command {
        Command::Link(mut link) => match link.running.take() {
            Some(RunningLinks::List { json }) => link_command::list(json),
            Some(RunningLinks::Set { id, direction, parameters }) => {
                link_command::set(&id, &direction, &parameters)
            }
            None => link_command::run(&link),
        },
        Command::Run(arguments) => run_command::run(&arguments),
        Command::Profiles(profiles) => profiles_command::run(&profiles),
        Command::Fit(arguments) => fit_command::run(&arguments),
        Command::Rto(arguments) => rto_command::run(&arguments),
        Command::Retrace(arguments) => retrace_command::run(&arguments),
        Command::Trace(arguments) => trace_command::run(&arguments),
        Command::Lite(arguments) => lite_command::run(&arguments),
        Command::Cc(arguments) => cc_command::run(&arguments),
        Command::Resoa(arguments) => resoa_command::run(&arguments),
        Command::Kernel(arguments) => kernel_command::run(&arguments),
        Command::Clean => clean(),
        Command::Recover(arguments) => recover_command::run(&arguments),
        Command::Doctor => Ok(doctor_command::run()),
        Command::Report(arguments) => report_command::run(&arguments),
        Command::Compare(arguments) => compare_command::run(&arguments),
        Command::SelfCheck(arguments) => self_check_command::run(&arguments),
    }
}

/// `lasthop clean`.
fn clean() -> Result<i32, Failure> {
    let netlab::Swept { undone, left } = netlab::Registry::open()?.sweep()?;
    if undone.is_empty() {
        anstream::eprintln!("nothing was left behind");
    }
    for what in undone {
        anstream::println!("{what}");
    }
    for what in left {
        anstream::eprintln!("lasthop: not ours, and not removed: {what}");
    }
    Ok(0)
}
