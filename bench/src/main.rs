//! The command line of the bench.

use clap::{Parser, Subcommand};
use std::io;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

/// Measures `lasthop link` side by side with other emulators.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Sends traffic from behind a link; started there by the other tasks
    Send { kind: bench::traffic::Kind, host: String, port: u16, milliseconds: u64 },
}

fn main() -> ExitCode {
    match run(Arguments::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> io::Result<()> {
    match task {
        Task::Send { kind, host, port, milliseconds } => {
            let host = match host.strip_prefix('$') {
                Some(name) => {
                    std::env::var(name).map_err(|error| io::Error::other(format!("{name}: {error}")))?
                }
                None => host,
            };
            let address = host.parse().map_err(|error| io::Error::other(format!("{host}: {error}")))?;
            let time = Duration::from_millis(milliseconds);
            bench::traffic::send(kind, SocketAddr::new(address, port), time)
        }
    }
}
