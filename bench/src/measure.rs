//! One measurement of one link: a sender behind it, a receiver here, and the processor time of the
//! link's processes.

use crate::processor;
use crate::traffic::{TrafficKind, Watch, Window, bulk, flood, probe};
use std::ffi::OsString;
use std::io::{self, Read};
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Longest time that a link may take to end after its sender.
const GOING_AWAY: Duration = Duration::from_secs(10);

/// A program that runs a command behind a link; the command is still to be appended.
pub struct Link {
    /// The program with its own arguments.
    pub command: Command,
    /// Address of this end for the command behind the link.
    pub host: Host,
}

/// Address of this end, seen from behind a link.
#[derive(Debug, Clone, Copy)]
pub enum Host {
    /// In an environment variable.
    Variable(&'static str),
    /// At a fixed address.
    Address(Ipv4Addr),
}

/// Result of a measurement.
#[derive(Debug, Clone)]
pub struct Measured {
    /// The traffic that arrived.
    pub traffic: Arrived,
    /// Processor time of the link in the window.
    pub processor: Duration,
}

/// The traffic that arrived in the window.
#[derive(Debug, Clone)]
pub enum Arrived {
    /// Goodput in bits per second.
    Bulk(f64),
    /// Rates of packets.
    Flood(flood::Flood),
    /// Delays of packets.
    Probe(probe::Delays),
}

/// Processor time at the start and the end of the window.
struct Meter {
    root: u32,
    readings: Vec<Duration>,
}

impl Watch for Meter {
    fn now(&mut self) {
        self.readings.push(processor::used_by(self.root));
    }
}

/// Sends traffic through the link and measures it. Must run in the network namespace to which the
/// link leads.
///
/// # Errors
/// What failed, in one line, with the last messages of the link's program.
pub fn measure(link: Link, kind: TrafficKind, window: Window) -> Result<Measured, String> {
    let end = End::open(kind).map_err(|error| format!("cannot listen: {error}"))?;
    let mut child = start(link, kind, window, &end).map_err(|error| format!("cannot start: {error}"))?;
    let said = child.stderr.take().map(|mut stderr| {
        thread::spawn(move || {
            let mut said = Vec::new();
            let _ = stderr.read_to_end(&mut said);
            String::from_utf8_lossy(&said).into_owned()
        })
    });
    let mut meter = Meter { root: child.id(), readings: Vec::new() };
    let traffic = end.receive(window, &mut meter);
    let ended = stop(&mut child);
    let said = said.and_then(|said| said.join().ok()).unwrap_or_default();
    let traffic = traffic.map_err(|error| format!("{error} ({})", in_one_line(&said)))?;
    ended.map_err(|error| format!("{error} ({})", in_one_line(&said)))?;
    let processor = match meter.readings[..] {
        [first, last] => last.saturating_sub(first),
        _ => Duration::ZERO,
    };
    Ok(Measured { traffic, processor })
}

/// Returns the last lines that a program printed, as one line.
fn in_one_line(said: &str) -> String {
    const LINES: usize = 3;
    const MOST: usize = 200;
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    match lines.len() {
        0 => "it printed nothing".into(),
        count => lines[count.saturating_sub(LINES)..].join("; ").chars().take(MOST).collect(),
    }
}

/// Starts the link's program with the sender behind it.
fn start(link: Link, kind: TrafficKind, window: Window, end: &End) -> io::Result<Child> {
    let to = match link.host {
        Host::Variable(name) => format!("${name}"),
        Host::Address(address) => address.to_string(),
    };
    let words: [OsString; 6] = [
        std::env::current_exe()?.into(),
        "send".into(),
        kind.to_string().into(),
        to.into(),
        end.port()?.to_string().into(),
        window.sending().as_millis().to_string().into(),
    ];
    let mut command = link.command;
    command.args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn()
}

/// Waits for the link's program to end; kills it if it does not end in time.
fn stop(child: &mut Child) -> Result<(), String> {
    let start = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("it ended with {status}")),
            Ok(None) if start.elapsed() < GOING_AWAY => thread::sleep(Duration::from_millis(5)),
            Ok(None) => {
                // Kill by process id. What it has created goes with this process's own namespaces.
                let _ = child.kill();
                let _ = child.wait();
                return Err("it did not end by itself".into());
            }
            Err(error) => return Err(error.to_string()),
        }
    }
}

/// The receiving end.
enum End {
    Bulk(TcpListener),
    Flood(std::net::UdpSocket),
    Probe(std::net::UdpSocket),
}

impl End {
    fn open(kind: TrafficKind) -> io::Result<Self> {
        Ok(match kind {
            TrafficKind::Bulk => Self::Bulk(TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0))?),
            TrafficKind::Flood => Self::Flood(std::net::UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?),
            TrafficKind::Probe(_) => Self::Probe(std::net::UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?),
        })
    }

    fn port(&self) -> io::Result<u16> {
        Ok(match self {
            Self::Bulk(listener) => listener.local_addr()?,
            Self::Flood(socket) | Self::Probe(socket) => socket.local_addr()?,
        }
        .port())
    }

    fn receive(self, window: Window, watch: &mut impl Watch) -> io::Result<Arrived> {
        Ok(match self {
            Self::Bulk(listener) => Arrived::Bulk(bulk::receive(&listener, window, watch)?),
            Self::Flood(socket) => Arrived::Flood(flood::receive(socket, window, watch)?),
            Self::Probe(socket) => Arrived::Probe(probe::receive(socket, window, watch)?),
        })
    }
}
