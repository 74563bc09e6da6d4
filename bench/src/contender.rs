//! The contenders, and how each is told which link to emulate.
//!
//! A contender that is not installed, or that cannot emulate a link, reports why. It is never
//! counted as passed.

use crate::floor;
use crate::measure::{Host, Link};
use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The link to emulate, the same in both directions.
#[derive(Debug, Clone, Copy, Default)]
pub struct Task {
    /// One-way delay of each packet.
    pub delay: Duration,
    /// Rate in Mbit/s, counted at the IP layer, behind a drop-tail queue of [`QUEUE`] bytes; `None`
    /// for no limit.
    pub megabits: Option<u32>,
}

/// Queue in front of a limiter, in bytes: what 1 Gbit/s sends in 20 ms.
pub const QUEUE: u64 = 2_500_000;

/// A contender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Contender {
    /// `lasthop link`, which keeps segments whole in this bench.
    Whole,
    /// `lasthop link --split`, which handles single packets.
    Split,
    /// `lasthop link --precise`.
    Precise,
    /// The bare forwarder of this bench.
    Bare,
    /// A veth pair.
    Veth,
    /// rattan (stack-rs/rattan), version 0.1.1 or later.
    Rattan,
    /// mahimahi (mm-delay, mm-link).
    Mahimahi,
    /// This many links of the emulator library in one process.
    Links(u16),
}

impl Contender {
    /// Returns the name in tables.
    #[must_use]
    pub fn name(self) -> Cow<'static, str> {
        let name = match self {
            Self::Whole => "lasthop, whole segments",
            Self::Split => "lasthop, per packet",
            Self::Precise => "lasthop --precise",
            Self::Bare => "bare forwarder",
            Self::Veth => "veth pair",
            Self::Rattan => "rattan",
            Self::Mahimahi => "mahimahi",
            Self::Links(1) => "1 link",
            Self::Links(count) => return format!("{count} links").into(),
        };
        name.into()
    }
}

/// Paths of the contenders' programs.
#[derive(Debug, Clone)]
pub struct Programs {
    /// Path of `lasthop`, as given.
    pub lasthop: PathBuf,
    /// A directory for this run, readable by all users.
    pub scratch: PathBuf,
}

impl Programs {
    /// Returns the contender as a link for `task`.
    ///
    /// # Errors
    /// The reason why there is no such link, for readers.
    pub fn link(&self, contender: Contender, task: Task) -> Result<Link, String> {
        match contender {
            Contender::Whole => self.lasthop(task, &[]),
            Contender::Split => self.lasthop(task, &["--split"]),
            Contender::Precise => self.lasthop(task, &["--precise"]),
            Contender::Bare | Contender::Veth => floor_link(contender, task),
            Contender::Rattan => rattan(task),
            Contender::Mahimahi => self.mahimahi(task),
            Contender::Links(_) => Err("it runs in this process".into()),
        }
    }

    fn lasthop(&self, task: Task, flags: &[&str]) -> Result<Link, String> {
        if !self.lasthop.is_file() {
            return Err(format!("{} does not exist", self.lasthop.display()));
        }
        let mut direction = format!("delay={}us", task.delay.as_micros());
        if let Some(megabits) = task.megabits {
            let _ = write!(direction, ",rate={megabits}mbit,counted=ip,queue={QUEUE}B");
        }
        let mut command = Command::new(&self.lasthop);
        command.args(["link", "--quiet", "--seed", "1"]).args(flags);
        if task.megabits.is_some() || !task.delay.is_zero() {
            command.args(["--up", &direction, "--down", &direction]);
        }
        command.arg("--");
        Ok(Link { command, host: Host::Variable("LASTHOP_HOST") })
    }

    /// mahimahi refuses to run as root, and needs its set-user-id bit, so an unprivileged user runs
    /// it.
    fn mahimahi(&self, task: Task) -> Result<Link, String> {
        let delay = find("mm-delay").ok_or("mm-delay is not installed")?;
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]);
        command.arg(delay).arg(task.delay.as_millis().to_string());
        if let Some(megabits) = task.megabits {
            let link = find("mm-link").ok_or("mm-link is not installed")?;
            let trace = self.scratch.join("mahimahi.trace");
            std::fs::write(&trace, mahimahi_trace(megabits)).map_err(|error| error.to_string())?;
            command.arg(link).arg(&trace).arg(&trace);
            for way in ["uplink", "downlink"] {
                command.arg(format!("--{way}-queue=droptail"));
                command.arg(format!("--{way}-queue-args=bytes={QUEUE}"));
            }
            command.arg("--");
        }
        // In nested shells, mahimahi's own variable names the intermediate shell. All links lead to
        // this address.
        Ok(Link { command, host: Host::Address(OUTER_ADDRESS) })
    }
}

/// Address of this end that is reachable over every link, in addition to the contenders' own
/// (RFC 5737).
pub const OUTER_ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);

/// Returns the times in milliseconds at which mahimahi may send 1500 bytes, for endless repetition.
fn mahimahi_trace(megabits: u32) -> String {
    // In 12 ms, a link of N Mbit/s sends N packets of 1500 bytes.
    const PERIOD: u32 = 12;
    let mut trace = String::new();
    for millisecond in 1..=PERIOD {
        let sent = |until: u32| until * megabits / PERIOD;
        for _ in sent(millisecond - 1)..sent(millisecond) {
            let _ = writeln!(trace, "{millisecond}");
        }
    }
    trace
}

fn floor_link(contender: Contender, task: Task) -> Result<Link, String> {
    let mut command = Command::new(std::env::current_exe().map_err(|error| error.to_string())?);
    match (contender, task) {
        (_, Task { megabits: Some(_), .. }) => return Err("it has no limiter".into()),
        (Contender::Veth, Task { delay: Duration::ZERO, .. }) => command.arg("veth"),
        (Contender::Veth, _) => return Err("it has no delay".into()),
        (_, Task { delay, .. }) => command.args(["bare", "--delay", &delay.as_micros().to_string()]),
    };
    command.arg("--");
    Ok(Link { command, host: Host::Variable(floor::HOST) })
}

fn rattan(task: Task) -> Result<Link, String> {
    let named = std::env::var_os("RATTAN").map(PathBuf::from);
    let program = named.or_else(|| find("rattan")).ok_or("rattan is not installed")?;
    let mut command = Command::new(program);
    // Otherwise its log would go to the command's terminal.
    command.env("RUST_LOG", "error").arg("link");
    for way in ["uplink", "downlink"] {
        if let Some(megabits) = task.megabits {
            command.args([format!("--{way}-bandwidth"), format!("{megabits}Mbps")]);
            command.args([format!("--{way}-queue"), "droptail".into()]);
            command.args([format!("--{way}-queue-args"), format!("{{\"byte_limit\":{QUEUE}}}")]);
        }
        if !task.delay.is_zero() {
            command.args([format!("--{way}-delay"), format!("{}us", task.delay.as_micros())]);
        }
    }
    command.arg("--");
    Ok(Link { command, host: Host::Variable("RATTAN_BASE") })
}

/// Finds the program of this name on PATH.
fn find(name: &str) -> Option<PathBuf> {
    let path: OsString = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(name)).find(|program| Path::is_file(program))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mahimahi_trace_sends_the_rate_in_packets_of_1500_bytes() {
        let trace = mahimahi_trace(1000);
        let lines: Vec<u32> = trace.lines().map(|line| line.parse().unwrap()).collect();
        assert_eq!(lines.last(), Some(&12));
        assert!(lines.is_sorted());
        // 1000 packets of 12 000 bits in 12 ms.
        assert_eq!(lines.len(), 1000);
    }
}
