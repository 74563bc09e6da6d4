//! The TCP settings of a node: a modern kernel's defaults, or those of hosts of a period.

use link::units::ByteCount;
use netlab::route::Metrics;

/// Generation of hosts that a node belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Generation {
    /// The kernel's defaults, with socket buffers that do not limit.
    Modern,
    /// As in the TCP Lite experiments (tcp-lite 10.3 and 14.6), as far as any kernel can be
    /// configured.
    ///
    /// SACK and time stamps, window scale 0, a fixed receive window, an initial window of one
    /// segment. No tail loss probe, F-RTO, ECN or fast open. TCP itself cuts segments.
    ///
    /// Four things stay as in modern kernels: RACK (with SACK, from Linux 6.17 on), proportional
    /// rate reduction, a first retransmission timeout of 1 s, and a minimum of 200 ms. The other
    /// generations change these too, but need the kernel of the virtual clock.
    Of2001,
    /// Linux 2.4, as LTCP used it (ltcp-newzag 1.2).
    Linux24,
    /// 4.4BSD-Lite (Stevens, TCP/IP Illustrated, volume 2): Reno, and two clocks for all
    /// connections, one of 500 ms for retransmissions and one of 200 ms for acknowledgements.
    Bsd,
    /// The TCP of ns-2 with which the remote sockets were evaluated (resoa-evaluation 4.1 and 7).
    Ns2,
    /// The senders with which NewZag was evaluated: Linux 2.6, with a clock of 1000 Hz
    /// (ltcp-newzag 3.2).
    Lien2005,
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

/// Sysctls of all generations but the modern one.
const OF_THE_PERIOD: &[(&str, &str)] = &[
    ("net.ipv4.tcp_timestamps", "1"),
    // No tail loss probe.
    ("net.ipv4.tcp_early_retrans", "0"),
    ("net.ipv4.tcp_frto", "0"),
    ("net.ipv4.tcp_ecn", "0"),
    ("net.ipv4.tcp_fastopen", "0"),
    // A buffer of constant size, so large that only the window is the limit, not the memory that
    // small packets waste.
    ("net.ipv4.tcp_moderate_rcvbuf", "0"),
    ("net.ipv4.tcp_rmem", "4096 1048576 1048576"),
];

/// Sysctls of the generations that only the kernel of the virtual clock has
/// (`kernel/patches/13-hosts-of-the-period.patch`).
const OF_THE_GUEST: &[(&str, &str)] = &[
    // A lost SYN doubles the timeout. Since Linux 6.5 the first four timeouts are equal.
    ("net.ipv4.tcp_syn_linear_timeouts", "0"),
    // Every segment out of order is acknowledged. Since Linux 4.18 such acknowledgements are
    // delayed and merged.
    ("net.ipv4.tcp_comp_sack_nr", "0"),
    ("net.ipv4.tcp_backlog_ack_defer", "0"),
    // A segment leaves as soon as the window has room for it. Today, segments of one write can wait
    // for the acknowledgements of the next millisecond, and then leave together.
    ("net.ipv4.tcp_tso_win_divisor", "255"),
    // The window grows by acknowledgements (RFC 2581), not by acknowledged segments.
    ("net.ipv4.tcp_period_growth_per_ack", "1"),
];

impl Generation {
    /// All generations, with their names in a plan.
    const ALL: [(&'static str, Self); 6] = [
        ("modern", Self::Modern),
        ("2001", Self::Of2001),
        ("linux-2.4", Self::Linux24),
        ("bsd", Self::Bsd),
        ("ns-2", Self::Ns2),
        ("lien-2005", Self::Lien2005),
    ];

    /// Returns all names in a plan.
    pub fn names() -> impl Iterator<Item = &'static str> + Clone {
        Self::ALL.into_iter().map(|(name, _)| name)
    }

    /// Returns the generation with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find_map(|(its, generation)| (its == name).then_some(generation))
    }

    /// Returns the name in a plan.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.into_iter().find(|&(_, each)| each == self).map_or("", |(name, _)| name)
    }

    /// Returns whether only the kernel of the virtual clock has this TCP.
    #[must_use]
    pub fn needs_guest(self) -> bool {
        !matches!(self, Self::Modern | Self::Of2001)
    }

    /// Returns the settings of this generation.
    #[must_use]
    pub fn stack(self) -> Stack {
        let (congestion_control, receive_window, initial_window) = match self {
            Self::Modern => ("cubic", None, None),
            // tcp-lite 10.3: at most 32 696 bytes were seen.
            Self::Of2001 => ("reno", Some(32 * 1024), Some(1)),
            // A buffer of 87 380 bytes, of which a quarter is overhead; tcp_init_cwnd() of 2.4.20
            // for segments of more than 1460 bytes.
            Self::Linux24 => ("reno", Some(65_535), Some(2)),
            // tcp_recvspace of 4.4BSD-Lite.
            Self::Bsd => ("reno", Some(8 * 1024), Some(1)),
            // The window depends on the bandwidth-delay product, so a plan sets it.
            Self::Ns2 => ("reno", None, Some(1)),
            // RFC 3390.
            Self::Lien2005 => ("reno", Some(65_535), Some(3)),
        };
        Stack {
            generation: self,
            congestion_control: congestion_control.to_owned(),
            receive_window: receive_window.map(ByteCount::new),
            initial_window,
            sysctls: Vec::new(),
        }
    }

    /// Returns the sysctls that distinguish this generation from the others of the period.
    fn sysctls(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Modern => &[],
            Self::Of2001 => &[
                ("net.ipv4.tcp_sack", "1"),
                // Loss detection by duplicate acknowledgements alone (RFC 6675), not by time (RACK,
                // RFC 8985). Works up to Linux 6.16, the last version that has both.
                ("net.ipv4.tcp_recovery", "0"),
            ],
            Self::Linux24 => &[
                ("net.ipv4.tcp_sack", "1"),
                ("net.ipv4.tcp_period_tick_us", "10000"),
                ("net.ipv4.tcp_period_timer_us", "10000"),
                ("net.ipv4.tcp_period_rto_init_ms", "3000"),
                ("net.ipv4.tcp_period_reduction", "1"),
                ("net.ipv4.tcp_period_loss_detection", "2"),
                ("net.ipv4.tcp_period_max_burst", "3"),
                ("net.ipv4.tcp_period_growth_limit", "1"),
            ],
            Self::Bsd => &[
                ("net.ipv4.tcp_sack", "0"),
                ("net.ipv4.tcp_rto_min_us", "1000000"),
                ("net.ipv4.tcp_period_rto_rfc2988", "1"),
                ("net.ipv4.tcp_period_tick_us", "500000"),
                ("net.ipv4.tcp_period_timer_us", "500000"),
                // Twice a deviation of 3 s (Stevens, volume 2, 25.5).
                ("net.ipv4.tcp_period_rto_init_ms", "6000"),
                ("net.ipv4.tcp_period_delack_ms", "200"),
                ("net.ipv4.tcp_period_reduction", "2"),
                ("net.ipv4.tcp_period_no_limited_transmit", "1"),
                ("net.ipv4.tcp_period_no_undo", "1"),
                ("net.ipv4.tcp_period_growth_limit", "2"),
                ("net.ipv4.tcp_period_reno", "1"),
            ],
            Self::Ns2 => &[
                ("net.ipv4.tcp_sack", "0"),
                ("net.ipv4.tcp_rto_min_us", "1000000"),
                ("net.ipv4.tcp_period_rto_rfc2988", "1"),
                ("net.ipv4.tcp_period_tick_us", "100000"),
                // A simulator's timers are exact.
                ("net.ipv4.tcp_period_timer_us", "1000"),
                ("net.ipv4.tcp_period_rto_init_ms", "3000"),
                ("net.ipv4.tcp_period_reduction", "2"),
                ("net.ipv4.tcp_period_no_limited_transmit", "1"),
                ("net.ipv4.tcp_period_no_undo", "1"),
                ("net.ipv4.tcp_period_growth_limit", "2"),
            ],
            Self::Lien2005 => &[
                ("net.ipv4.tcp_sack", "1"),
                ("net.ipv4.tcp_period_timer_us", "1000"),
                ("net.ipv4.tcp_period_rto_init_ms", "3000"),
                ("net.ipv4.tcp_period_reduction", "1"),
                ("net.ipv4.tcp_period_loss_detection", "2"),
                ("net.ipv4.tcp_period_max_burst", "3"),
                ("net.ipv4.tcp_period_growth_limit", "1"),
            ],
        }
    }
}

impl Stack {
    /// Returns whether TCP cuts its segments itself, instead of the device.
    #[must_use]
    pub fn cuts_segments(&self) -> bool {
        self.generation != Generation::Modern
    }

    /// Returns the sysctls of the node.
    #[must_use]
    pub fn sysctls(&self) -> Vec<(String, String)> {
        let period = if self.cuts_segments() { OF_THE_PERIOD } else { &[] };
        let guest = if self.generation.needs_guest() { OF_THE_GUEST } else { &[] };
        let generation = period.iter().chain(guest).chain(self.generation.sysctls());
        let generation = generation.map(|&(key, value)| (key.to_owned(), value.to_owned()));
        generation.chain(self.sysctls.iter().cloned()).collect()
    }

    /// Returns the metrics of the node's routes.
    #[must_use]
    pub fn metrics(&self) -> Metrics {
        Metrics {
            congestion_control: self.congestion_control.clone(),
            initial_congestion_window: self.initial_window,
            window: self.receive_window.map(|window| u32::try_from(window.get()).unwrap_or(u32::MAX)),
            // The sinks of ns-2 acknowledge each segment.
            quick_acknowledgements: self.generation == Generation::Ns2,
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
        let sysctls = stack.sysctls();
        assert!(!sysctls.iter().any(|(key, _)| key.contains("period")), "{sysctls:?}");
    }

    #[test]
    fn a_plan_s_sysctls_come_last_and_win() {
        let mut stack = Generation::Of2001.stack();
        stack.sysctls.push(("net.ipv4.tcp_frto".into(), "2".into()));
        let sysctls = stack.sysctls();
        let last = sysctls.iter().rfind(|(key, _)| key == "net.ipv4.tcp_frto").unwrap();
        assert_eq!(last.1, "2");
    }

    #[test]
    fn names_and_generations_are_one_to_one() {
        for name in Generation::names() {
            assert_eq!(Generation::named(name).map(Generation::name), Some(name));
        }
        assert_eq!(Generation::named("2002"), None);
    }
}
