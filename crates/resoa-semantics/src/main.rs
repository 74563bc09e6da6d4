//! Socket calls and their results, case by case, on the host's own sockets and on remote ones.
//!
//! `resoa-semantics run` runs the cases in the current environment. `compare` runs them in several
//! worlds and compares the results. `far` is the other host for both. See
//! `docs/resoa-semantics.md`.

mod cases;
mod compare;
mod control;
mod far;
mod names;
mod near;
mod outcome;
mod runner;
mod sys;
mod worlds;

use clap::{Parser, Subcommand};
use outcome::Outcome;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write as _;
use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::sync::Mutex;
use std::time::Duration;
use worlds::{Hosts, Serving, World};

/// Time limit for all cases together.
const LIMIT: Duration = Duration::from_mins(15);

#[derive(Parser)]
#[command(about = "What socket calls return, on the host's own sockets and on remote ones")]
struct Arguments {
    #[command(subcommand)]
    command: What,
}

#[derive(Subcommand)]
enum What {
    /// Names of the cases, and the rows of the specification that they are about
    List,
    /// Run cases where this program is
    Run {
        /// Where the far host's process takes commands
        #[arg(long)]
        far: PathBuf,
        /// Only cases whose names contain this; can be repeated
        #[arg(long)]
        case: Vec<String>,
        /// So many cases at a time
        #[arg(long, default_value = "4")]
        jobs: NonZeroUsize,
        /// Print the outcomes as JSON
        #[arg(long)]
        json: bool,
    },
    /// Run cases in several worlds, and compare them with the native one
    Compare {
        /// Worlds besides the native one
        #[arg(long, value_delimiter = ',')]
        worlds: Vec<World>,
        /// Only cases whose names contain this; can be repeated
        #[arg(long)]
        case: Vec<String>,
        /// So many cases at a time
        #[arg(long, default_value = "4")]
        jobs: NonZeroUsize,
        /// So many times natively, to see that nothing differs from itself
        #[arg(long, default_value = "1")]
        repeat: NonZeroUsize,
        #[command(flatten)]
        serving: Serving,
        /// Differences that are known, as TOML
        #[arg(long)]
        waivers: Option<PathBuf>,
        /// Write all outcomes here, as JSON
        #[arg(long)]
        json: Option<PathBuf>,
    },
    /// Run a command beside these hosts, a server and an agent; it finds them by the environment:
    /// FAR, NEAR and BARE are the namespaces of the far host, of the server and of programs with
    /// remote sockets (for `nsenter --net=`), LASTHOP_RESOA is the agent
    Hosts {
        #[command(flatten)]
        serving: Serving,
        /// The command and its arguments
        #[arg(required = true, last = true)]
        command: Vec<std::ffi::OsString>,
    },
    /// Be the far host
    #[command(hide = true)]
    Far { path: PathBuf, four: IpAddr, six: IpAddr },
    /// Run one case in this process
    #[command(hide = true)]
    Case {
        name: String,
        #[arg(long)]
        far: PathBuf,
    },
    /// Be what a socket is handed to
    #[command(hide = true)]
    Heir { word: String, descriptor: i32 },
}

/// Processes that a signal must not leave behind.
static PROCESSES: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// Kills the processes of the hosts when a signal ends this one.
fn end_with_a_signal() -> std::io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    std::thread::spawn(move || {
        if signals.forever().next().is_some() {
            for process in PROCESSES.lock().into_iter().flat_map(|list| list.clone()) {
                sys::call!(kill(process.cast_signed(), libc::SIGKILL));
            }
            std::process::exit(130);
        }
    });
    Ok(())
}

fn main() -> ExitCode {
    match carry_out(Arguments::parse().command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("resoa-semantics: {error}");
            ExitCode::FAILURE
        }
    }
}

fn carry_out(command: What) -> Result<ExitCode, Box<dyn Error>> {
    match command {
        What::List => {
            let mut out = std::io::stdout().lock();
            for case in cases::all() {
                writeln!(out, "{:44} {}", case.name, case.rows)?;
            }
        }
        What::Run { far, case, jobs, json } => {
            let outcomes = runner::run(&chosen(&case)?, &far, jobs.get())?;
            if json {
                println!("{}", serde_json::to_string(&outcomes)?);
            } else {
                print(&outcomes);
            }
        }
        What::Compare { worlds, case, jobs, repeat, serving, waivers, json } => {
            let waivers = match waivers {
                Some(path) => toml::from_str(&std::fs::read_to_string(path)?)?,
                None => compare::Waivers::default(),
            };
            return compare_worlds(&worlds, &case, jobs, repeat, &serving, &waivers, json.as_deref());
        }
        What::Hosts { serving, command } => {
            end_with_a_signal()?;
            let mut hosts = Hosts::new()?;
            hosts.serve(&serving)?;
            let status = std::process::Command::new(&command[0])
                .args(&command[1..])
                .envs(hosts.environment())
                .status()?;
            return Ok(status.code().map_or(ExitCode::FAILURE, |code| ExitCode::from(code as u8)));
        }
        What::Far { path, four, six } => far::host::run(&path, [four, six])?,
        What::Case { name, far } => {
            let case = cases::all()
                .into_iter()
                .find(|case| case.name == name)
                .ok_or_else(|| format!("there is no case `{name}`"))?;
            let far = far::Far::reach(&far)?;
            (case.run)(&mut near::Near::new(far, case.family, worlds::NEAR));
        }
        What::Heir { word, descriptor } => {
            return Ok(ExitCode::from(cases::processes::heir(&word, descriptor) as u8));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the cases whose names contain one of the patterns, or all cases without patterns.
///
/// # Errors
/// If a pattern matches no case. Otherwise the comparison would be empty and succeed.
fn chosen(patterns: &[String]) -> Result<Vec<cases::Named>, String> {
    let all = cases::all();
    if let Some(pattern) =
        patterns.iter().find(|pattern| !all.iter().any(|case| case.name.contains(*pattern)))
    {
        return Err(format!(
            "--case {pattern}: no case has such a name; `resoa-semantics list` lists all cases"
        ));
    }
    Ok(all
        .into_iter()
        .filter(|case| patterns.is_empty() || patterns.iter().any(|pattern| case.name.contains(pattern)))
        .collect())
}

fn print(outcomes: &[Outcome]) {
    for outcome in outcomes {
        println!("{} ({})", outcome.case, outcome.rows);
        for line in &outcome.observations {
            println!("    {line}");
        }
    }
}

fn compare_worlds(
    worlds: &[World],
    patterns: &[String],
    jobs: NonZeroUsize,
    repeat: NonZeroUsize,
    serving: &Serving,
    waivers: &compare::Waivers,
    json: Option<&Path>,
) -> Result<ExitCode, Box<dyn Error>> {
    chosen(patterns)?;
    end_with_a_signal()?;
    let mut hosts = Hosts::new()?;
    let mut outcomes = BTreeMap::new();
    let mut faults = 0;
    for round in 1..=repeat.get() {
        let native = run_in(&hosts, World::Native, patterns, jobs)?;
        if let Some(first) = outcomes.insert(World::Native, native.clone()) {
            for (one, other) in first.iter().zip(&native) {
                if !one.agrees(other) {
                    faults += 1;
                    println!(
                        "{} differs from itself in round {round}:\n  {:?}\n  {:?}",
                        one.case, one.observations, other.observations
                    );
                }
            }
        }
    }
    if repeat.get() > 1 {
        println!(
            "native: {} cases, {repeat} times, {faults} differ from the time before",
            outcomes[&World::Native].len()
        );
    }
    if worlds.iter().any(|world| *world != World::Native) {
        hosts.serve(serving)?;
        let mut before = hosts.status()?;
        for world in worlds.iter().filter(|world| **world != World::Native) {
            outcomes.insert(*world, run_in(&hosts, *world, patterns, jobs)?);
            let now = hosts.status()?;
            println!(
                "{}: {} sockets made by programs, {} told to the server, {} local, {} connections accepted; {} open",
                world.name(),
                now.made - before.made,
                now.carried - before.carried,
                now.local - before.local,
                now.accepted - before.accepted,
                now.open
            );
            before = now;
        }
        for fallen in hosts.fallen() {
            println!("{fallen}");
            faults += 1;
        }
    }
    if let Some(path) = json {
        std::fs::write(path, serde_json::to_string_pretty(&outcomes)?)?;
    }
    let verdict = compare::compare(&outcomes, waivers);
    print!("{}", verdict.text);
    Ok(if faults + verdict.faults == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs this program in a world. Returns the outcomes of its cases.
fn run_in(
    hosts: &Hosts,
    world: World,
    patterns: &[String],
    jobs: NonZeroUsize,
) -> Result<Vec<Outcome>, Box<dyn Error>> {
    let mut command = hosts.command(world, &std::env::current_exe()?);
    command.args(["run", "--json", "--jobs", &jobs.to_string(), "--far"]).arg(hosts.far_path());
    for pattern in patterns {
        command.args(["--case", pattern]);
    }
    let mut child = hosts.spawn(world, command.stdin(Stdio::null()).stdout(Stdio::piped()))?;
    let output = child.stdout.take().map(runner::reader);
    let ended = runner::wait(&mut child, LIMIT)?;
    let text = output.and_then(|output| output.join().ok()).unwrap_or_default();
    let said = ended.map_or("it did not end".to_owned(), |status| status.to_string());
    serde_json::from_str(&text)
        .map_err(|error| format!("no outcomes in the world {} ({said}): {error}", world.name()).into())
}
