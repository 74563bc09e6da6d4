//! `lasthop resoa run`: runs a command with remote sockets. If its calls cannot be intercepted, it
//! is not started.

mod program;

use super::{agent, agent_status};
use crate::failure::Failure;
use crate::library;
use crate::status::NotStarted;
use clap::Args;
use program::{Interposer, Program};
use resoa_calls::{Agent, Connected, Status};
use resoa_notify::{LaunchError, RunError};
use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Environment variable with the libraries that the loader loads before all others.
const PRELOAD: &str = "LD_PRELOAD";

/// Arguments of `lasthop resoa run`.
#[derive(Debug, Args)]
#[command(after_help = "\
The command and its child processes create their TCP and UDP sockets at the server with which the
agent is registered. They need no network of their own and use none: if the agent does not answer,
their calls fail.

A library that is loaded before the C library intercepts their calls. It does not reach programs
that are statically linked or compiled by Go: if COMMAND is one, it runs as with --seccomp. If
COMMAND starts one later, that program gets no sockets (ENETDOWN).

With --seccomp the kernel intercepts the calls of any program, at a cost of 2 us to 20 us per call.
The command then ends when the last of its processes ends. With --seccomp no program gains
privileges (sudo); for an ordinary user this also holds without it.

The exit status is the command's. It is 125 if lasthop itself fails, 126 if the command cannot be
executed and 127 if it is not found.

Examples:
  lasthop resoa run -- curl http://192.0.2.1/
  lasthop resoa run --agent /run/resoa-agent --count -- git clone http://192.0.2.1/project.git
  lasthop resoa run --seccomp -- sh -c './program-in-go | grep ready'")]
pub struct RunArguments {
    /// Socket of the agent [default: LASTHOP_RESOA, or the default of `lasthop resoa agent`]
    #[arg(long, value_name = "PATH")]
    pub agent: Option<PathBuf>,
    /// Library to preload before the C library [default: LASTHOP_PRELOAD, or libresoa_preload.so
    /// beside this command or in lib/lasthop]
    #[arg(long, value_name = "FILE")]
    pub library: Option<PathBuf>,
    /// Intercept calls in the kernel instead of in a library, to reach programs that make system
    /// calls directly
    #[arg(long, conflicts_with = "library")]
    pub seccomp: bool,
    /// With --seccomp: make `close` wait as SO_LINGER requires. The kernel then intercepts every
    /// `close`, including those of files
    #[arg(long, requires = "seccomp")]
    pub linger: bool,
    /// Print how many sockets were created and carried, including those of other programs at the
    /// same agent
    #[arg(long)]
    pub count: bool,
    /// Command and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// Runs the command and returns its exit status.
pub fn run(arguments: &RunArguments) -> Result<i32, Failure> {
    let (name, rest) = arguments.command.split_first().ok_or("no command")?;
    // Absolute, because the command may change its directory.
    let agent = Agent::at(std::path::absolute(place(arguments.agent.as_deref()))?);
    let before = agent_status::of(&agent)?;
    if let Connected::No(why) = &before.connected {
        return Err(format!(
            "the agent at {} has no server: {why}\nwait until it prints `registered`, or start it with another --server",
            agent.path().display()
        )
        .into());
    }
    let path = program::find(name)?;
    let mut command = Command::new(&path);
    command.arg0(name).args(rest).env(resoa_calls::AGENT, agent.path());
    if arguments.seccomp {
        return notified(&agent, &before, &mut command, arguments);
    }
    let interposer = program::interposer(&Program::read(&path)?, &path)?;
    if let Interposer::Seccomp(why) = interposer {
        if arguments.library.is_some() {
            return Err(format!(
                "{why}, so --library intercepts nothing\nwithout --library its calls are intercepted by seccomp"
            )
            .into());
        }
        anstream::eprintln!("lasthop: {why}: intercepting its calls by seccomp");
        return notified(&agent, &before, &mut command, arguments);
    }
    let library = preload_library(arguments.library.as_deref())?;
    command.env(PRELOAD, preload(&library));
    resoa_notify::guard().map_err(|error| {
        format!("cannot deny the network to programs that the library does not reach: {error}; the kernel needs CONFIG_SECCOMP_FILTER")
    })?;
    if arguments.count {
        counted(&agent, &before, &mut command)
    } else {
        let error = command.exec();
        Err(NotStarted::new(&path.to_string_lossy(), &error).into())
    }
}

/// Returns the given library, or the one that belongs to this command.
fn preload_library(said: Option<&Path>) -> Result<PathBuf, Failure> {
    let path = said.map_or_else(|| library::PRELOAD.find(), |path| library::exists(path, "--library"))?;
    // A colon or a space would end the path in LD_PRELOAD.
    if path.to_string_lossy().contains([':', ' ']) {
        let by = if said.is_some() { "--library" } else { library::PRELOAD.variable };
        let path = path.display();
        return Err(
            format!("{by}: the loader accepts no path with a colon or a space, such as {path}").into()
        );
    }
    Ok(path)
}

/// Answers the calls of the command and its child processes while they run.
fn notified(
    agent: &Agent,
    before: &Status,
    command: &mut Command,
    arguments: &RunArguments,
) -> Result<i32, Failure> {
    let closing =
        if arguments.linger { resoa_notify::Closing::Lingers } else { resoa_notify::Closing::Passes };
    let status = resoa_notify::run(agent.clone(), command, closing).map_err(not_started)?;
    if arguments.count {
        say_counts(agent, before)?;
    }
    resoa_notify::end_as(status)
}

/// Converts the error; a command that could not be started has an exit status of its own.
fn not_started(error: RunError) -> Failure {
    match error {
        RunError::Launch(LaunchError::Program { program, error }) => NotStarted::new(&program, &error).into(),
        other => other.into(),
    }
}

/// Returns the path of the agent's socket.
pub fn place(said: Option<&Path>) -> PathBuf {
    said.map(PathBuf::from)
        .or_else(|| env::var_os(resoa_calls::AGENT).map(PathBuf::from))
        .unwrap_or_else(agent::place)
}

/// Returns the value of [`PRELOAD`]: the library first, followed by the previous value.
fn preload(library: &Path) -> OsString {
    let mut list = library.as_os_str().to_owned();
    if let Some(others) = env::var_os(PRELOAD).filter(|others| !others.is_empty()) {
        list.push(OsStr::new(":"));
        list.push(others);
    }
    list
}

/// Runs the command and waits for it. The command has the terminal and its signals to itself.
fn counted(agent: &Agent, before: &Status, command: &mut Command) -> Result<i32, Failure> {
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGQUIT] {
        // A handler instead of SIG_IGN, because the command would inherit SIG_IGN.
        signal_hook::flag::register(signal, std::sync::Arc::default())?;
    }
    let program = command.get_program().to_owned();
    let status = command.status().map_err(|error| NotStarted::new(&program.to_string_lossy(), &error))?;
    say_counts(agent, before)?;
    Ok(status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1))
}

/// Prints the increase of the counters since `before`.
fn say_counts(agent: &Agent, before: &Status) -> Result<(), Failure> {
    let after = agent_status::of(agent)?;
    let made = after.made.saturating_sub(before.made);
    let carried = after.carried.saturating_sub(before.carried);
    let local = after.local.saturating_sub(before.local);
    let accepted = after.accepted.saturating_sub(before.accepted);
    let local = if local > 0 { format!(", {local} local") } else { String::new() };
    anstream::eprintln!(
        "lasthop: {made} sockets made, {carried} of them carried{local}, {accepted} connections accepted"
    );
    Ok(())
}
