//! A row of `results.parquet`: one connection (or one stream of datagrams, or one request) of one
//! run.

use crate::LossEvent;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Measurements of one connection. Times are since the start of the run, by the run's clock.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Connection {
    /// Name of the workload in the plan.
    pub workload: String,
    /// Number of the connection in its workload, from 0.
    pub number: u32,
    /// Its transport protocol.
    pub protocol: Protocol,
    /// Node that sent the measured bytes.
    pub from: String,
    /// Node that received them.
    pub to: String,
    /// Port at `from`.
    pub from_port: u16,
    /// Port at `to`.
    pub to_port: u16,
    /// Congestion control of `from`, by the kernel's name; empty for datagrams.
    pub congestion_control: String,
    /// Whether all bytes arrived.
    pub complete: bool,
    /// What went wrong.
    pub error: Option<String>,
    /// When the application requested the connection, or sent the first datagram or echo request.
    pub start_ns: u64,
    /// When it was established; for datagrams when the first one arrived, for echo requests when
    /// the first one was answered.
    pub established_ns: Option<u64>,
    /// When the last byte was read at `to`; for a request when the client read the last byte of the
    /// response.
    pub end_ns: u64,
    /// Bytes of application data that arrived; for a request those of request and response
    /// (resoa-evaluation Eq. 8.1).
    pub bytes: u64,
    /// `bytes` over the time from `start_ns` to `end_ns`, in bit/s.
    pub goodput_bps: f64,
    /// Segments with data that were sent, retransmissions included; or datagrams or echo requests
    /// sent.
    pub segments: u64,
    /// Segments that were retransmitted.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Datagrams that did not arrive, or echo requests that were not answered.
    pub lost: u64,
    /// Round-trip times measured by TCP or of echo requests; for datagrams the one-way delays.
    pub round_trips: Option<RoundTrips>,
    /// Longest time without a byte read at the receiver.
    pub idle_max_ns: u64,
    /// Bytes that differ from those sent; `None` if not checked.
    #[serde(default)]
    pub wrong_bytes: Option<u64>,
    /// Blocks of 64 bytes of the stream in which at least half of the bytes are wrong: not bit
    /// errors, but data from another position or another connection. `None` if not checked.
    #[serde(default)]
    pub misplaced: Option<u64>,
    /// Its loss events, in their order; `None` if not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub losses: Option<Vec<LossEvent>>,
    /// Figures that a program reported, by name ([`figure`](crate::figure)).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub figures: BTreeMap<String, f64>,
    /// For sessions of cross traffic, of which one row has all: their counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<SessionCounts>,
}

/// Counts of the sessions of cross traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SessionCounts {
    /// Time in which sessions arrived, in nanoseconds.
    pub arriving_ns: u64,
    /// Sum of the lengths of all sessions that arrived. [`Connection::bytes`] has what was carried.
    pub offered_bytes: u64,
    /// Sessions that arrived.
    pub arrived: u64,
    /// Sessions that began; the others waited for an earlier one of their source.
    pub begun: u64,
    /// Sessions of which all was carried.
    pub ended: u64,
}

/// Distribution of delays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RoundTrips {
    /// Number of samples.
    pub samples: u64,
    /// The smallest, in nanoseconds.
    pub min_ns: u64,
    /// The mean.
    pub mean_ns: u64,
    /// The median: latency under load.
    pub median_ns: u64,
    /// 95 % were at most this.
    pub p95_ns: u64,
    /// 99 % were at most this.
    pub p99_ns: u64,
    /// The largest.
    pub max_ns: u64,
}

/// Transport protocol of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// TCP.
    #[default]
    Tcp,
    /// UDP.
    Udp,
    /// ICMP: echo requests and their replies.
    Icmp,
    /// A program, of which only the run time is known, and what it reported.
    Program,
}

impl RoundTrips {
    /// Summarises delays in nanoseconds; `None` without any.
    ///
    /// A quantile is the smallest sample that at least its share of the samples does not exceed.
    #[must_use]
    pub fn of(mut samples: Vec<u64>) -> Option<Self> {
        samples.sort_unstable();
        let (&min_ns, &max_ns) = (samples.first()?, samples.last()?);
        let count = samples.len();
        let at = |share: f64| samples[((count as f64 * share).ceil() as usize).clamp(1, count) - 1];
        let sum: u128 = samples.iter().map(|&sample| u128::from(sample)).sum();
        Some(Self {
            samples: count as u64,
            min_ns,
            mean_ns: (sum / count as u128) as u64,
            median_ns: at(0.5),
            p95_ns: at(0.95),
            p99_ns: at(0.99),
            max_ns,
        })
    }
}

impl SessionCounts {
    /// Returns the offered load in bit/s; `None` if sessions had no time to arrive.
    #[must_use]
    pub fn load(&self) -> Option<f64> {
        (self.arriving_ns > 0).then(|| self.offered_bytes as f64 * 8e9 / self.arriving_ns as f64)
    }
}

impl Connection {
    /// Returns the share of segments that were retransmissions; `None` without segments.
    #[must_use]
    pub fn retransmission_rate(&self) -> Option<f64> {
        (self.segments > 0).then(|| self.retransmissions as f64 / self.segments as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_in_quantiles() {
        let delays = RoundTrips::of((1..=100).rev().collect()).unwrap();
        let expected = RoundTrips {
            samples: 100,
            min_ns: 1,
            mean_ns: 50,
            median_ns: 50,
            p95_ns: 95,
            p99_ns: 99,
            max_ns: 100,
        };
        assert_eq!(delays, expected);
        assert_eq!(RoundTrips::of(vec![]), None);
    }
}
