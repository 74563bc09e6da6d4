//! Kinds of traffic. Each has a sender, which runs behind the link as a separate process, and a
//! receiver, which runs at the other end and measures. Every sender ends by itself.

pub mod bulk;
mod datagram;
pub mod flood;
pub mod probe;

use std::fmt;
use std::io;
use std::str::FromStr;
use std::time::Duration;

/// Longest wait of a receiver for traffic. Setting up a link takes well under a second.
const PATIENCE: Duration = Duration::from_secs(5);

/// Time that a sender sends beyond the window, so that the receiver gets its whole window.
const BEYOND_WINDOW: Duration = Duration::from_millis(500);

/// The part of the traffic that is measured.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    /// Time after the first arrival that is not measured.
    pub after: Duration,
    /// Time that is measured.
    pub length: Duration,
}

impl Window {
    /// Returns how long a sender sends.
    #[must_use]
    pub fn sending(self) -> Duration {
        self.after + self.length + BEYOND_WINDOW
    }
}

/// Notified at the start and the end of the window.
pub trait Watch {
    /// Called when the window starts and when it ends.
    fn now(&mut self);
}

impl<F: FnMut()> Watch for F {
    fn now(&mut self) {
        self();
    }
}

/// A kind of traffic.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TrafficKind {
    /// One TCP connection that sends as much as possible.
    Bulk,
    /// UDP datagrams as fast as the socket accepts them.
    Flood,
    /// UDP datagrams, this many per second.
    Probe(u32),
}

impl fmt::Display for TrafficKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bulk => f.write_str("bulk"),
            Self::Flood => f.write_str("flood"),
            Self::Probe(rate) => write!(f, "probe:{rate}"),
        }
    }
}

impl FromStr for TrafficKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "bulk" => Ok(Self::Bulk),
            None if text == "flood" => Ok(Self::Flood),
            Some(("probe", rate)) => rate
                .parse()
                .map(Self::Probe)
                .map_err(|error| format!("invalid packets per second `{rate}`: {error}")),
            _ => Err(format!("`{text}` is not a kind of traffic: expected bulk, flood or probe:RATE")),
        }
    }
}

/// Sends traffic of this kind to `address` for `time`.
///
/// # Errors
/// If the other end cannot be reached.
pub fn send(kind: TrafficKind, address: std::net::SocketAddr, time: Duration) -> io::Result<()> {
    match kind {
        TrafficKind::Bulk => bulk::send(address, time),
        TrafficKind::Flood => flood::send(address, time),
        TrafficKind::Probe(rate) => probe::send(&[address], time, rate),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_of_traffic_survives_the_command_line() {
        for kind in [TrafficKind::Bulk, TrafficKind::Flood, TrafficKind::Probe(10_000)] {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        assert!("probe:fast".parse::<TrafficKind>().unwrap_err().contains("fast"));
        assert!("trickle".parse::<TrafficKind>().is_err());
    }
}
