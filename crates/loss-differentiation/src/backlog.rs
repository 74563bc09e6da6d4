//! Veno: estimates how many of the sender's packets wait in queues (section 5.1; constants as in
//! Linux's module, spec 3.2.5).
//!
//! N = cwnd (1 - BaseRTT / RTT), as in Vegas, where RTT is the minimum of a round and BaseRTT that
//! of the connection. With fewer than 3 packets in queues, a loss is random. With 3 or more, the
//! window grows only every second round.

use crate::{Judgement, Loss, Quantum, Reason};

/// The detector: minimum round-trip times, and the backlog of the latest round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Backlog {
    threshold: f64,
    quantum: Quantum,
    base_us: Option<f64>,
    round_us: Option<f64>,
    held: Option<f64>,
}

impl Backlog {
    /// Number of packets in queues from which a loss is congestion.
    pub const THRESHOLD: u32 = 3;

    /// Creates a detector without samples.
    #[must_use]
    pub fn new(threshold: u32, quantum: Quantum) -> Self {
        Self { threshold: f64::from(threshold), quantum, base_us: None, round_us: None, held: None }
    }

    /// Takes a round-trip time, in microseconds.
    pub fn sample(&mut self, rtt_us: f64) {
        let rtt = self.quantum.read(rtt_us);
        for least in [&mut self.base_us, &mut self.round_us] {
            *least = Some(least.map_or(rtt, |before| before.min(rtt)));
        }
    }

    /// Returns BaseRTT in microseconds.
    #[must_use]
    pub const fn base_us(&self) -> Option<f64> {
        self.base_us
    }

    /// Returns N in segments, for a window of `cwnd` segments and the samples of this round. `None`
    /// without samples, or if their minimum is 0.
    #[must_use]
    pub fn estimate(&self, cwnd: u32) -> Option<f64> {
        let (base, least) = (self.base_us?, self.round_us?);
        (least > 0.0).then(|| f64::from(cwnd) * (1.0 - base / least))
    }

    /// Ends a round with a window of `cwnd` segments: losses are judged by its N until the next
    /// round ends. Returns whether the window should grow only every second round, because the
    /// backlog has reached the threshold.
    pub fn round(&mut self, cwnd: u32) -> bool {
        self.held = self.estimate(cwnd).or(self.held);
        self.round_us = None;
        self.held.is_some_and(|backlog| backlog >= self.threshold)
    }

    /// Returns wireless if N is below the threshold. N is that of the last completed round. Before
    /// there is one, it comes from the samples so far and the window at the loss.
    #[must_use]
    pub fn judge(&self, loss: Loss) -> Judgement {
        match self.held.or_else(|| self.estimate(loss.cwnd)) {
            None => Judgement::congestion(Reason::NoSample),
            Some(backlog) => Judgement::ruled(backlog < self.threshold, backlog, self.threshold),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LossVerdict::{self, Congestion, Wireless};
    use proptest::prelude::*;

    fn verdict(base: u32, rtt: u32, cwnd: u32) -> LossVerdict {
        let mut backlog = Backlog::new(Backlog::THRESHOLD, Quantum::MICROSECOND);
        backlog.sample(f64::from(base));
        backlog.round(cwnd);
        backlog.sample(f64::from(rtt));
        backlog.round(cwnd);
        backlog.judge(Loss { n: 1, cwnd }).verdict
    }

    /// N5: with 12 packets, 100 ms and a minimum of 75 ms, 3 packets are in queues, which is
    /// congestion. With 11 packets it is fewer.
    #[test]
    fn three_packets_in_queues_are_congestion() {
        assert_eq!(verdict(75_000, 100_000, 12), Congestion);
        assert_eq!(verdict(75_000, 100_000, 11), Wireless);
        assert_eq!(verdict(75_000, 75_000, 1000), Wireless);
    }

    #[test]
    fn a_round_has_its_own_least_and_the_connection_too() {
        let mut backlog = Backlog::new(3, Quantum::MICROSECOND);
        assert_eq!(backlog.judge(Loss { n: 1, cwnd: 9 }), Judgement::congestion(Reason::NoSample));
        assert!(!backlog.round(9), "nothing was measured");
        backlog.sample(100.0);
        backlog.sample(50.0);
        assert_eq!(
            backlog.judge(Loss { n: 1, cwnd: 9 }).measured,
            Some(0.0),
            "before a round ended: what there is"
        );
        assert!(!backlog.round(9));
        backlog.sample(150.0);
        backlog.sample(100.0);
        assert_eq!(backlog.judge(Loss { n: 1, cwnd: 9 }).measured, Some(0.0), "the round goes on");
        assert!(backlog.round(9));
        let judged = backlog.judge(Loss { n: 1, cwnd: 9 });
        assert_eq!((judged.verdict, judged.measured, judged.limit), (Congestion, Some(4.5), Some(3.0)));
        assert!(backlog.round(9), "a round without samples leaves it as it was");
        assert_eq!(backlog.base_us(), Some(50.0));
    }

    proptest! {
        /// N5: the rule in whole numbers. A backlog is at least 0 and less than the window.
        #[test]
        fn the_detector_is_the_formula(base in 1_u32..1_000_000, more in 0_u32..1_000_000, cwnd in 1_u32..5_000) {
            let rtt = base + more;
            let random = u64::from(cwnd) * u64::from(more) < 3 * u64::from(rtt);
            let exact = u64::from(cwnd) * u64::from(more) == 3 * u64::from(rtt);
            prop_assert!(exact || (verdict(base, rtt, cwnd) == Wireless) == random);
            let mut backlog = Backlog::new(3, Quantum::MICROSECOND);
            backlog.sample(f64::from(base));
            backlog.round(cwnd);
            backlog.sample(f64::from(rtt));
            let segments = backlog.estimate(cwnd).expect("samples");
            prop_assert!((0.0..f64::from(cwnd)).contains(&segments));
        }
    }
}
