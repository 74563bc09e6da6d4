//! The command line of the bench.

#![forbid(unsafe_code)]

use bench::compare::{Effort, compare};
use bench::floor;
use clap::{Parser, Subcommand};
use std::ffi::OsString;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{ExitCode, ExitStatus};
use std::time::Duration;

/// Measures `lasthop link` side by side with other emulators.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Measure lasthop against its peers and print tables
    Compare {
        /// The lasthop to measure
        lasthop: PathBuf,
        /// Turns of each contender
        #[arg(long, env = "BENCH_ROUNDS", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=1000))]
        rounds: u64,
        /// Seconds that are measured in a turn
        #[arg(long, env = "BENCH_SECONDS", default_value_t = 2.0)]
        seconds: f64,
        /// Only measurements whose title contains this
        #[arg(long, env = "BENCH_ONLY", default_value = "")]
        only: String,
    },
    /// Run a command behind a veth pair
    Veth {
        #[arg(last = true, required = true)]
        command: Vec<OsString>,
    },
    /// Run a command behind a forwarder that does nothing but delay
    Bare {
        /// Delay of each packet one way, in microseconds
        #[arg(long, default_value_t = 0)]
        delay: u64,
        #[arg(last = true, required = true)]
        command: Vec<OsString>,
    },
    /// Send traffic from behind a link; started there by `compare`
    #[command(hide = true)]
    Send { kind: bench::traffic::TrafficKind, host: String, port: u16, milliseconds: u64 },
}

fn main() -> ExitCode {
    match run(Arguments::parse().task) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> io::Result<ExitCode> {
    match task {
        Task::Compare { lasthop, rounds, seconds, only } => {
            let length = Duration::try_from_secs_f64(seconds)
                .map_err(|error| io::Error::other(format!("invalid number of seconds {seconds}: {error}")))?;
            let sound = compare(lasthop, Effort { rounds: rounds as usize, length }, &only)?;
            Ok(if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        Task::Veth { command } => Ok(code(floor::veth(&command)?)),
        Task::Bare { delay, command } => Ok(code(floor::bare(Duration::from_micros(delay), &command)?)),
        Task::Send { kind, host, port, milliseconds } => {
            let host = match host.strip_prefix('$') {
                Some(name) => std::env::var(name).map_err(|error| {
                    io::Error::other(format!("cannot read the environment variable {name}: {error}"))
                })?,
                None => host,
            };
            let address = host
                .parse()
                .map_err(|error| io::Error::other(format!("invalid address `{host}`: {error}")))?;
            let time = Duration::from_millis(milliseconds);
            bench::traffic::send(kind, SocketAddr::new(address, port), time)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// The exit status of a command as one's own; killed by a signal it counts as failed.
fn code(status: ExitStatus) -> ExitCode {
    status.code().map_or(ExitCode::FAILURE, |code| ExitCode::from(code as u8))
}
