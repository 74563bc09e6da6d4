//! Traffic, and what arrives of it: each kind has a sender, which runs behind the link as a process
//! of its own, and a receiver, which runs at the other end and measures. Every sender ends by
//! itself.

pub mod bulk;
mod datagram;
pub mod flood;
pub mod probe;

use std::fmt;
use std::io;
use std::str::FromStr;
use std::time::Duration;

/// Longest time that a receiver waits for something to arrive. Setting a link up takes well under a
/// second.
const PATIENCE: Duration = Duration::from_secs(5);

/// How much longer than it is measured a sender sends, so that the receiver sees all of its window.
const BEYOND_WINDOW: Duration = Duration::from_millis(500);

/// Part of the traffic that is measured.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    /// Time after the first arrival that does not count.
    pub after: Duration,
    /// Time that counts.
    pub length: Duration,
}

impl Window {
    /// How long a sender sends.
    #[must_use]
    pub fn sending(self) -> Duration {
        self.after + self.length + BEYOND_WINDOW
    }
}

/// Says when the window opens and when it closes.
pub trait Watch {
    /// The window opens, or closes.
    fn now(&mut self);
}

impl<F: FnMut()> Watch for F {
    fn now(&mut self) {
        self();
    }
}

/// A kind of traffic.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// One TCP connection that sends all it can.
    Bulk,
    /// UDP datagrams as fast as the socket takes them.
    Flood,
    /// UDP datagrams at this many a second.
    Probe(u32),
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bulk => f.write_str("bulk"),
            Self::Flood => f.write_str("flood"),
            Self::Probe(rate) => write!(f, "probe:{rate}"),
        }
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "bulk" => Ok(Self::Bulk),
            None if text == "flood" => Ok(Self::Flood),
            Some(("probe", rate)) => {
                rate.parse().map(Self::Probe).map_err(|error| format!("packets a second: {rate}: {error}"))
            }
            _ => Err(format!("{text} is no kind of traffic; there are bulk, flood and probe:RATE")),
        }
    }
}

/// Sends traffic to `address` for `time`.
///
/// # Errors
/// If the other end cannot be reached.
pub fn send(kind: Kind, address: std::net::SocketAddr, time: Duration) -> io::Result<()> {
    match kind {
        Kind::Bulk => bulk::send(address, time),
        Kind::Flood => flood::send(address, time),
        Kind::Probe(rate) => probe::send(&[address], time, rate),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_of_traffic_survives_the_command_line() {
        for kind in [Kind::Bulk, Kind::Flood, Kind::Probe(10_000)] {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        assert!("probe:fast".parse::<Kind>().unwrap_err().contains("fast"));
        assert!("trickle".parse::<Kind>().is_err());
    }
}
