//! A bulk transfer in steady state that has a bottleneck of fixed rate to itself, as in Ludwig's
//! spreadsheet (3.4.1; LL-30).
//!
//! The load is the number of segments outstanding. With L = pipe + buffer, it grows by one per
//! flight from L / 2 to L, and is then halved by an explicit signal. Every segment is timed and
//! acknowledged, and the bottleneck is never idle. So a flight of W segments gives W
//! acknowledgments, one service time apart, each with a round-trip time of W service times. Within
//! a cycle the round-trip time grows by one service time per flight, and its maximum is twice its
//! minimum (Fig. 3-9).
//!
//! One thing is left out, as in the original: the sender is silent for half a round trip after the
//! signal, but the samples of that flight keep their round-trip time (ambiguity 14).

use crate::timer::{Estimate, Sample, Settings, TimerAlgorithm};
use serde::Serialize;
use std::ops::Range;

/// What limits the transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Regime {
    /// Path and congestion window limit it: the load grows and is halved.
    NetworkLimited,
    /// The receiver's window limits it: the load and the round-trip time are constant.
    ReceiverLimited,
}

/// An acknowledgment of the transfer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Row {
    /// Its number, from 1.
    pub row: u64,
    /// Its cycle, from 1.
    pub cycle: u32,
    /// Its flight, from 1.
    pub flight: u64,
    /// Segments outstanding.
    pub load: u32,
    /// The sample that timers get.
    pub sample: Sample,
}

/// A transfer, row by row.
#[derive(Debug, Clone, PartialEq)]
pub struct Bulk {
    /// The rows of all cycles.
    pub rows: Vec<Row>,
}

/// Summary of a timer over some rows. Times are in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Summary {
    /// Number of rows.
    pub rows: usize,
    /// Minimum round-trip time.
    pub least_rtt_s: f64,
    /// Maximum round-trip time.
    pub greatest_rtt_s: f64,
    /// Maximum timeout.
    pub greatest_rto_s: f64,
    /// The load at the maximum timeout, in segments.
    pub greatest_rto_load: u32,
    /// Minimum of RTO / RTT.
    pub least_ratio: f64,
    /// The load at this minimum, in segments.
    pub least_ratio_load: u32,
    /// Mean of RTO / RTT over the rows.
    pub mean_ratio: f64,
    /// The timeout of the last row.
    pub last_rto_s: f64,
    /// Number of rows whose round-trip time exceeded the previous row's timeout: that timeout would
    /// have expired, spuriously.
    pub spurious: usize,
}

/// Why a transfer is impossible.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BulkError {
    /// The load cannot be halved, or is out of range.
    #[error(
        "load of {0} segments at the end of a cycle is invalid: expected an even number from 2 to 10000, because it is halved"
    )]
    Load(u32),
    /// The service time is not a positive number.
    #[error("service time of {0} s is out of range: expected a number above 0")]
    ServiceTime(f64),
    /// There are no cycles, or too many rows.
    #[error(
        "{0} cycles of this load are out of range: expected at least 1, and at most {MOST_ROWS} acknowledgments in all"
    )]
    Cycles(u32),
    /// The buffer is smaller than the pipe (ambiguity 15).
    #[error(
        "a load of {load} segments is too small for a pipe of {pipe}: half of it would leave the bottleneck idle, which this model does not cover; the \
         load must be at least twice the pipe"
    )]
    Pipe {
        /// Number of segments that fill the path.
        pipe: u32,
        /// Maximum load, in segments.
        load: u32,
    },
}

/// Most rows of a transfer.
pub const MOST_ROWS: u64 = 20_000_000;

/// Rejects a path that the halved load would leave idle; `pipe` segments fill it (ambiguity 15).
pub fn check_pipe(load: u32, pipe: u32) -> Result<(), BulkError> {
    if u64::from(load) < 2 * u64::from(pipe) { Err(BulkError::Pipe { pipe, load }) } else { Ok(()) }
}

impl Bulk {
    /// Creates the rows of `cycles` cycles with `load` segments outstanding at the end of each, and
    /// one segment every `service_s` seconds.
    pub fn new(load: u32, service_s: f64, cycles: u32, regime: Regime) -> Result<Self, BulkError> {
        if !load.is_multiple_of(2) || !(2..=10_000).contains(&load) {
            return Err(BulkError::Load(load));
        }
        if !(service_s > 0.0 && service_s.is_finite()) {
            return Err(BulkError::ServiceTime(service_s));
        }
        let loads: Vec<u32> = match regime {
            Regime::NetworkLimited => (load / 2..=load).collect(),
            Regime::ReceiverLimited => vec![load; load as usize / 2 + 1],
        };
        let rows: u64 = loads.iter().map(|&load| u64::from(load)).sum();
        if cycles == 0 || rows * u64::from(cycles) > MOST_ROWS {
            return Err(BulkError::Cycles(cycles));
        }
        let (mut rows, mut number, mut flight) =
            (Vec::with_capacity((rows * u64::from(cycles)) as usize), 0, 0);
        for cycle in 1..=cycles {
            for &load in &loads {
                flight += 1;
                for _ in 0..load {
                    number += 1;
                    let sample = Sample {
                        at_s: number as f64 * service_s,
                        rtt_s: f64::from(load) * service_s,
                        flight: f64::from(load),
                    };
                    rows.push(Row { row: number, cycle, flight, load, sample });
                }
            }
        }
        Ok(Self { rows })
    }

    /// Runs a timer of this kind over all rows; returns its estimate at each.
    #[must_use]
    pub fn run(&self, kind: TimerAlgorithm, settings: Settings) -> Vec<Estimate> {
        let mut timer = kind.timer(settings);
        self.rows.iter().map(|row| timer.sample(&row.sample)).collect()
    }

    /// Returns the summary of the last cycle for a timer with these `estimates`.
    #[must_use]
    pub fn last_cycle(&self, estimates: &[Estimate]) -> Summary {
        let samples: Vec<Sample> = self.rows.iter().map(|row| row.sample).collect();
        Summary::over(&samples, estimates, self.last())
    }

    /// Returns the indexes of the rows of the last cycle.
    #[must_use]
    pub fn last(&self) -> Range<usize> {
        let last = self.rows.last().map_or(0, |row| row.cycle);
        self.rows.partition_point(|row| row.cycle < last)..self.rows.len()
    }
}

impl Summary {
    /// Returns the summary over `range` for a timer that gave `estimates`, one at each of
    /// `samples`. A load is the number of segments outstanding at the sample.
    #[must_use]
    pub fn over(samples: &[Sample], estimates: &[Estimate], range: Range<usize>) -> Self {
        let mut summary = Self {
            rows: range.len(),
            least_rtt_s: f64::INFINITY,
            greatest_rtt_s: 0.0,
            greatest_rto_s: 0.0,
            greatest_rto_load: 0,
            least_ratio: f64::INFINITY,
            least_ratio_load: 0,
            mean_ratio: 0.0,
            last_rto_s: estimates[range.clone()].last().map_or(0.0, |estimate| estimate.rto_s),
            spurious: 0,
        };
        for (place, (sample, estimate)) in
            samples.iter().zip(estimates).enumerate().skip(range.start).take(range.len())
        {
            let (rtt, rto, load) = (sample.rtt_s, estimate.rto_s, sample.flight.round() as u32);
            let ratio = rto / rtt;
            summary.least_rtt_s = summary.least_rtt_s.min(rtt);
            summary.greatest_rtt_s = summary.greatest_rtt_s.max(rtt);
            if rto > summary.greatest_rto_s {
                (summary.greatest_rto_s, summary.greatest_rto_load) = (rto, load);
            }
            if ratio < summary.least_ratio {
                (summary.least_ratio, summary.least_ratio_load) = (ratio, load);
            }
            summary.mean_ratio += ratio / summary.rows as f64;
            let before = place.checked_sub(1).and_then(|before| estimates.get(before));
            summary.spurious += usize::from(before.is_some_and(|before| before.rto_s < rtt));
        }
        summary
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn summary(load: u32, kind: TimerAlgorithm) -> Summary {
        let bulk = Bulk::new(load, 1.0, 12, Regime::NetworkLimited).expect("a transfer");
        bulk.last_cycle(&bulk.run(kind, Settings::default()))
    }

    /// A summary of one cycle contains nothing of the other cycles.
    #[test]
    fn a_summary_is_of_its_range() {
        let bulk = Bulk::new(8, 1.0, 12, Regime::NetworkLimited).expect("a transfer");
        let samples: Vec<Sample> = bulk.rows.iter().map(|row| row.sample).collect();
        let said = bulk.run(TimerAlgorithm::Lite, Settings::default());
        // A range before the end, whose last timeout differs from the very last one.
        let range = 30..47;
        let summary = Summary::over(&samples, &said, range.clone());
        assert_eq!((summary.rows, summary.last_rto_s), (17, said[46].rto_s));
        assert!((summary.last_rto_s - said[said.len() - 1].rto_s).abs() > 0.1, "another than the very last");
        let greatest = said[range].iter().map(|of| of.rto_s).fold(0.0, f64::max);
        assert!((summary.greatest_rto_s - greatest).abs() < 1e-12);
        assert_eq!((summary.least_rtt_s, summary.greatest_rtt_s), (4.0, 7.0));
    }

    /// LL-30, LL-31, LL-32: every figure of section 11.3, to the digits printed there.
    #[test]
    fn ll_30_reference_values() {
        let mut found = Vec::new();
        for load in [8, 16, 40] {
            for kind in [TimerAlgorithm::Lite, TimerAlgorithm::Eifel] {
                let s = summary(load, kind);
                found.push(format!(
                    "{load} {} {} {}-{} {:.2} ({}) {:.3} ({}) {:.3} {:.2}",
                    kind.name(),
                    s.rows,
                    s.least_rtt_s,
                    s.greatest_rtt_s,
                    s.greatest_rto_s,
                    s.greatest_rto_load,
                    s.least_ratio,
                    s.least_ratio_load,
                    s.mean_ratio,
                    s.last_rto_s
                ));
            }
        }
        assert_eq!(
            found,
            [
                "8 lite 30 4-8 14.60 (4) 1.212 (7) 1.799 10.64",
                "8 eifel 30 4-8 16.16 (8) 1.895 (7) 2.065 16.16",
                "16 lite 108 8-16 29.90 (8) 1.055 (16) 1.386 16.88",
                "16 eifel 108 8-16 35.38 (16) 2.036 (12) 2.205 35.38",
                "40 lite 630 20-40 74.89 (20) 1.001 (40) 1.084 40.03",
                "40 eifel 630 20-40 94.87 (40) 2.262 (26) 2.364 94.84",
            ]
        );
    }

    /// LL-31, LL-32: the Lite timer has a spike when the round-trip time is halved, and collapses
    /// at high load. The Eifel timer has neither.
    #[test]
    fn ll_31_and_ll_32_shape() {
        let (lite, eifel) = (summary(40, TimerAlgorithm::Lite), summary(40, TimerAlgorithm::Eifel));
        assert!(lite.greatest_rto_s > 1.8 * lite.greatest_rtt_s && lite.greatest_rto_load == 20);
        assert!(lite.least_ratio < 1.01 && lite.least_ratio_load == 40);
        assert!(eifel.greatest_rto_load == 40 && eifel.least_ratio > 2.0);
        // Once in nearly every one of the 20 flights that are longer than the previous one, the
        // timeout collapses below the next flight's round-trip time; and only there.
        assert!((15..=20).contains(&lite.spurious), "{}", lite.spurious);
        assert_eq!(eifel.spurious, 0);
    }

    proptest! {
        /// LL-30: the maximum round-trip time is twice the minimum; a flight has as many rows as
        /// segments; rows are one service time apart.
        #[test]
        fn ll_30_the_greatest_round_trip_time_is_twice_the_least(half in 1_u32..60, service_s in 0.001_f64..10.0, cycles in 1_u32..5) {
            let load = 2 * half;
            let bulk = Bulk::new(load, service_s, cycles, Regime::NetworkLimited).expect("a transfer");
            let rtts = || bulk.rows.iter().map(|row| row.sample.rtt_s);
            let (least, greatest) = (rtts().fold(f64::INFINITY, f64::min), rtts().fold(0.0, f64::max));
            prop_assert!((greatest / least - 2.0).abs() < 1e-12);
            let of_cycle: u64 = (half..=load).map(u64::from).sum();
            prop_assert_eq!(bulk.rows.len() as u64, of_cycle * u64::from(cycles));
            for pair in bulk.rows.windows(2) {
                prop_assert!((pair[1].sample.at_s - pair[0].sample.at_s - service_s).abs() < 1e-9 * pair[1].sample.at_s);
                // Within a cycle the round-trip time grows by one service time per flight.
                if pair[0].cycle == pair[1].cycle {
                    prop_assert_eq!(u64::from(pair[1].load - pair[0].load), pair[1].flight - pair[0].flight);
                }
            }
            for flight in bulk.rows.chunk_by(|one, next| one.flight == next.flight) {
                prop_assert_eq!(flight.len() as u32, flight[0].load);
            }
        }

        /// LL-30: when the receiver is the limit, the round-trip time is constant, and every
        /// timeout converges.
        #[test]
        fn ll_30_limited_by_the_receiver(half in 1_u32..30, service_s in 0.1_f64..10.0) {
            let bulk = Bulk::new(2 * half, service_s, 60, Regime::ReceiverLimited).expect("a transfer");
            prop_assert!(bulk.rows.iter().all(|row| row.load == 2 * half && row.sample.rtt_s.to_bits() == bulk.rows[0].sample.rtt_s.to_bits()));
            let rtt = bulk.rows[0].sample.rtt_s;
            for kind in TimerAlgorithm::ALL {
                let rto = bulk.last_cycle(&bulk.run(kind, Settings::default())).last_rto_s;
                let expected = match kind {
                    TimerAlgorithm::Lite | TimerAlgorithm::Eifel => rtt,
                    // Slightly more than a whole number of ticks is rounded up to one more.
                    TimerAlgorithm::LiteTicks => {
                        prop_assert!(rto >= 1.0 && rto > rtt - 1e-6 && rto <= rtt.max(1.0) + 0.5 + 1e-6);
                        continue;
                    }
                    TimerAlgorithm::Rfc6298 => rtt.max(1.0),
                    TimerAlgorithm::Linux => rtt + 0.2,
                };
                prop_assert!((rto / expected - 1.0).abs() < 1e-6, "{}: {}, expected {}", kind.name(), rto, expected);
            }
        }

        /// Timers without minimums do not depend on the unit of time.
        #[test]
        fn ll_30_the_service_time_scales(half in 1_u32..20, service_s in 0.001_f64..1000.0) {
            for kind in [TimerAlgorithm::Lite, TimerAlgorithm::Eifel] {
                let of = |service_s| {
                    let bulk = Bulk::new(2 * half, service_s, 4, Regime::NetworkLimited).expect("a transfer");
                    bulk.last_cycle(&bulk.run(kind, Settings::default()))
                };
                let (one, other) = (of(1.0), of(service_s));
                prop_assert!((other.greatest_rto_s / service_s / one.greatest_rto_s - 1.0).abs() < 1e-9);
                prop_assert!((other.mean_ratio / one.mean_ratio - 1.0).abs() < 1e-9);
            }
        }
    }

    /// LL-33: 2.4 kbit/s, MTU 1500, load 40: 250 s at the end of a cycle, 3938 s per cycle (11.4).
    #[test]
    fn ll_33_the_figures_of_the_validation() {
        // An octet takes ten bits on an asynchronous line: 240 octets per second.
        let bulk = Bulk::new(40, 1500.0 / 240.0, 1, Regime::NetworkLimited).expect("a transfer");
        let last = bulk.rows.last().expect("rows");
        assert!((last.sample.rtt_s - 250.0).abs() < 1e-9 && (last.sample.at_s - 3937.5).abs() < 1e-9);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let of = |load, service, cycles| Bulk::new(load, service, cycles, Regime::NetworkLimited);
        for load in [0, 7, 10_002] {
            assert_eq!(of(load, 1.0, 1), Err(BulkError::Load(load)));
        }
        assert_eq!(of(8, 0.0, 1), Err(BulkError::ServiceTime(0.0)));
        assert!(of(8, f64::INFINITY, 1).is_err() && of(8, f64::NAN, 1).is_err());
        assert_eq!(of(8, 1.0, 0), Err(BulkError::Cycles(0)));
        assert_eq!(of(10_000, 1.0, 1), Err(BulkError::Cycles(1)));
        assert_eq!(check_pipe(40, 20), Ok(()));
        assert!(
            check_pipe(40, 21).expect_err("idle").to_string().contains("must be at least twice the pipe")
        );
    }
}
