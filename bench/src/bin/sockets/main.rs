//! Cost of socket calls as an ordinary program sees it: round trips, short connections, bulk
//! transfer. `scripts/bench/resoa` runs it natively, by remote sockets and through proxies.

#![forbid(unsafe_code)]

mod far;
mod many;
mod near;
mod place;
mod relay;
mod table;

use clap::Parser;
use place::SocketAddress;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Measures sockets of whatever carries them.
#[derive(Debug, Parser)]
enum Task {
    /// The far host: answers whoever connects
    Far {
        /// Where: 192.0.2.1:4000, or unix:PATH
        address: SocketAddress,
    },
    /// The program: prints a line `metric value` for each measurement
    Near {
        /// Where the far host is
        address: SocketAddress,
        /// What to measure; everything if nothing is said
        #[arg(long, value_enum)]
        only: Vec<near::Metric>,
        /// Seconds of each bulk transfer
        #[arg(long, default_value_t = 2.0)]
        seconds: f64,
        /// Round trips, and a tenth of it short connections
        #[arg(long, default_value_t = 2000)]
        rounds: u32,
        /// Congestion control of the program's sockets
        #[arg(long)]
        congestion: Option<String>,
    },
    /// Opens many connections, uses each once, says so and keeps them until its input ends
    Hold {
        /// Where the far host is
        address: SocketAddress,
        /// How many
        count: usize,
    },
    /// Connects, exchanges 64 octets and closes, over and over: prints how often
    Churn {
        /// Where the far host is
        address: SocketAddress,
        /// For how long
        #[arg(long, default_value_t = 10.0)]
        seconds: f64,
    },
    /// A bare relay: the least that anything between two sockets can do
    Relay {
        /// Where it listens
        from: SocketAddress,
        /// Where it connects to for each connection
        to: SocketAddress,
        /// Congestion control of both sides
        #[arg(long)]
        congestion: Option<String>,
    },
    /// Lines `world metric value` as a table with medians, ranges, and ratios
    Table {
        /// The lines
        file: PathBuf,
        /// The world that the others are compared with
        #[arg(long)]
        against: String,
    },
}

fn main() -> ExitCode {
    let done = match Task::parse() {
        Task::Far { address } => far::run(&address),
        Task::Near { address, only, seconds, rounds, congestion } => near::run(
            &near::Near { address, length: Duration::from_secs_f64(seconds), rounds, congestion },
            &only,
        ),
        Task::Hold { address, count } => many::hold(&address, count),
        Task::Churn { address, seconds } => many::churn(&address, Duration::from_secs_f64(seconds)),
        Task::Relay { from, to, congestion } => relay::run(&from, &to, congestion.as_deref()),
        Task::Table { file, against } => table::print(&file, &against),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads has enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("sockets: {error}");
            ExitCode::FAILURE
        }
    }
}
