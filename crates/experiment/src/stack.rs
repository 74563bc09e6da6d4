//! The TCP settings of a node: a modern kernel's defaults, or those of hosts in 2001.

use link::units::ByteCount;
use netlab::route::Metrics;

/// Generation of hosts that a node belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Generation {
    /// The kernel's defaults, with socket buffers that do not limit.
    Modern,
    /// As in the TCP Lite experiments (tcp-lite 10.3 and 14.6).
    ///
    /// SACK and time stamps, window scale 0, a fixed receive window, an initial window of one
    /// segment. No RACK, tail loss probe, F-RTO, ECN or fast open. TCP itself cuts segments.
    ///
    /// Three things stay as in modern kernels:
    ///
    /// * The minimum of the retransmission timer stays 200 ms (on many hosts it was 1 s). A plan
    ///   can set `net.ipv4.tcp_rto_min_us` (Linux 6.11).
    /// * The first retransmission timeout stays 1 s (it was 3 s).
    /// * During recovery the window shrinks by proportional rate reduction (RFC 6937).
    ///
    /// With SACK, Linux uses RACK from 6.17 on, whatever `tcp_recovery` says
    /// (docs/competing-recovery.md); without SACK it does not.
    Of2001,
}

/// TCP settings of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stack {
    /// The generation that provides the defaults.
    pub generation: Generation,
    /// Congestion control by the kernel's name.
    pub congestion_control: String,
    /// Largest window that a receiver advertises.
    pub receive_window: Option<ByteCount>,
    /// Initial congestion window in segments.
    pub initial_window: Option<u32>,
    /// Additional sysctls in order.
    pub sysctls: Vec<(String, String)>,
}

/// Receive window of the TCP Lite experiments (tcp-lite 10.3: at most 32 696 bytes were seen).
const WINDOW_OF_2001: ByteCount = ByteCount::new(32 * 1024);

impl Generation {
    /// All names in a plan.
    pub const NAMES: [&str; 2] = ["modern", "2001"];

    /// Returns the generation with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "modern" => Some(Self::Modern),
            "2001" => Some(Self::Of2001),
            _ => None,
        }
    }

    /// Returns the settings of this generation.
    #[must_use]
    pub fn stack(self) -> Stack {
        let (congestion_control, receive_window, initial_window) = match self {
            Self::Modern => ("cubic", None, None),
            Self::Of2001 => ("reno", Some(WINDOW_OF_2001), Some(1)),
        };
        Stack {
            generation: self,
            congestion_control: congestion_control.to_owned(),
            receive_window,
            initial_window,
            sysctls: Vec::new(),
        }
    }
}

impl Stack {
    /// Returns whether TCP cuts its segments itself, instead of the device.
    #[must_use]
    pub fn cuts_segments(&self) -> bool {
        self.generation == Generation::Of2001
    }

    /// Returns the sysctls of the node.
    #[must_use]
    pub fn sysctls(&self) -> Vec<(String, String)> {
        let generation: &[(&str, &str)] = match self.generation {
            Generation::Modern => &[],
            Generation::Of2001 => &[
                ("net.ipv4.tcp_sack", "1"),
                ("net.ipv4.tcp_timestamps", "1"),
                // Loss detection by duplicate acknowledgements alone (RFC 6675), not by time (RACK,
                // RFC 8985). Works up to Linux 6.16, the last version that has both.
                ("net.ipv4.tcp_recovery", "0"),
                // No tail loss probe.
                ("net.ipv4.tcp_early_retrans", "0"),
                ("net.ipv4.tcp_frto", "0"),
                ("net.ipv4.tcp_ecn", "0"),
                ("net.ipv4.tcp_fastopen", "0"),
                // A buffer of constant size, so large that only the window is the limit, not the
                // memory that small packets waste.
                ("net.ipv4.tcp_moderate_rcvbuf", "0"),
                ("net.ipv4.tcp_rmem", "4096 1048576 1048576"),
            ],
        };
        let generation = generation.iter().map(|&(key, value)| (key.to_owned(), value.to_owned()));
        generation.chain(self.sysctls.iter().cloned()).collect()
    }

    /// Returns the metrics of the node's routes.
    #[must_use]
    pub fn metrics(&self) -> Metrics {
        Metrics {
            congestion_control: self.congestion_control.clone(),
            initial_congestion_window: self.initial_window,
            window: self.receive_window.map(|window| u32::try_from(window.get()).unwrap_or(u32::MAX)),
            ..Metrics::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// TL-12: window of 32 kB; tcp-lite 14.6: Reno, initial window of one segment.
    #[test]
    fn hosts_of_2001() {
        let stack = Generation::Of2001.stack();
        let metrics = stack.metrics();
        assert_eq!(metrics.congestion_control, "reno");
        assert_eq!(metrics.window, Some(32_768));
        assert_eq!(metrics.initial_congestion_window, Some(1));
        assert!(stack.cuts_segments());
    }

    #[test]
    fn a_plan_s_sysctls_come_last_and_win() {
        let mut stack = Generation::Of2001.stack();
        stack.sysctls.push(("net.ipv4.tcp_frto".into(), "2".into()));
        let sysctls = stack.sysctls();
        let last = sysctls.iter().rfind(|(key, _)| key == "net.ipv4.tcp_frto").unwrap();
        assert_eq!(last.1, "2");
    }
}
