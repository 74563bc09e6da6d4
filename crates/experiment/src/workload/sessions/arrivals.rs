//! The sessions of one source: when they arrive, and how long they are.
//!
//! Arrivals are a Poisson process, and lengths follow a log-normal distribution (resoa-evaluation
//! 4.7). Both are functions of the seed alone, so whatever else runs, the same sessions arrive at
//! the same times. Times and lengths have a random stream each: with half the mean interval, the
//! same sessions arrive in half the time.

use borsh::{BorshDeserialize, BorshSerialize};
use link::units::{ByteCount, Span};
use link::{Seed, Stream};
use rand::RngExt;
use rand_distr::{Exp1, StandardNormal};

/// The law of a source's sessions.
#[derive(Debug, Clone, Copy, PartialEq, BorshSerialize, BorshDeserialize)]
pub struct Law {
    /// Mean time between two arrivals.
    pub interval: Span,
    /// Mean length.
    pub mean: ByteCount,
    /// Standard deviation of the natural logarithm of the length.
    pub sigma: f64,
}

/// One session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Session {
    /// Time of its arrival, from the start of the source.
    pub due: Span,
    /// Its length, at least one byte.
    pub length: ByteCount,
}

/// Sessions that arrived, together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Offered {
    /// Their number.
    pub sessions: u64,
    /// The sum of their lengths.
    pub bytes: u64,
}

/// All sessions of a source, without end, in the order of their arrivals.
#[derive(Debug)]
pub struct Arrivals {
    law: Law,
    due: Span,
    times: Stream,
    lengths: Stream,
}

impl Arrivals {
    /// Creates the sessions of the source with this number, of the workload with this seed.
    #[must_use]
    pub fn new(law: Law, workload: &Seed, source: u32) -> Self {
        let seed = workload.stage(&format!("source-{source}"));
        let (times, lengths) = (seed.stage("arrivals").stream(), seed.stage("lengths").stream());
        Self { law, due: Span::ZERO, times, lengths }
    }

    /// Returns what arrives before `end`.
    #[must_use]
    pub fn before(self, end: Span) -> Offered {
        let arrived = self.take_while(|session| session.due < end);
        arrived.fold(Offered::default(), |sum, session| Offered {
            sessions: sum.sessions + 1,
            bytes: sum.bytes + session.length.get(),
        })
    }
}

impl Iterator for Arrivals {
    type Item = Session;

    fn next(&mut self) -> Option<Session> {
        let wait: f64 = self.times.sample(Exp1);
        self.due = self.due + Span::from_secs_f64(self.law.interval.as_secs_f64() * wait);
        let normal: f64 = self.lengths.sample(StandardNormal);
        let Law { mean, sigma, .. } = self.law;
        // The mean of exp(sigma N) is exp(sigma²/2).
        let length = mean.get() as f64 * (sigma * normal - sigma * sigma / 2.0).exp();
        Some(Session { due: self.due, length: ByteCount::new((length.round() as u64).max(1)) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LAW: Law = Law { interval: Span::from_millis(500), mean: ByteCount::new(12_000), sigma: 1.5 };

    fn arrivals(law: Law, source: u32) -> Arrivals {
        Arrivals::new(law, &Seed::campaign(7).run(0).workload("crowd"), source)
    }

    fn sessions(law: Law, source: u32, count: usize) -> Vec<Session> {
        arrivals(law, source).take(count).collect()
    }

    /// Returns mean and variance.
    fn moments(values: &[f64]) -> (f64, f64) {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        (mean, values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count)
    }

    /// Of a Poisson process, times between arrivals are exponential: their standard deviation is
    /// their mean, and a share of exp(-x) is longer than x means. Counts in equal times have a
    /// variance equal to their mean.
    #[test]
    fn sessions_arrive_as_a_poisson_process() {
        let dues: Vec<f64> =
            sessions(LAW, 0, 400_000).iter().map(|session| session.due.as_secs_f64()).collect();
        let waits: Vec<f64> = dues.windows(2).map(|two| two[1] - two[0]).collect();
        let (mean, variance) = moments(&waits);
        // Five standard errors of the mean are 0.8 %, of the standard deviation 1.6 %.
        assert!((mean / 0.5 - 1.0).abs() < 0.008, "{mean}");
        assert!((variance.sqrt() / 0.5 - 1.0).abs() < 0.016, "{variance}");
        for means in [0.1, 1.0, 3.0] {
            let longer = waits.iter().filter(|&&wait| wait > means * 0.5).count();
            let (share, expected) = (longer as f64 / waits.len() as f64, f64::exp(-means));
            let error = (expected * (1.0 - expected) / waits.len() as f64).sqrt();
            assert!((share - expected).abs() < 5.0 * error, "{share} instead of {expected}");
        }
        let mut counts = vec![0.0; 15_000];
        for due in dues {
            if let Some(count) = counts.get_mut((due / 10.0) as usize) {
                *count += 1.0;
            }
        }
        let (mean, variance) = moments(&counts);
        assert!((mean / 20.0 - 1.0).abs() < 0.01, "{mean} in 10 s");
        assert!((variance / mean - 1.0).abs() < 0.06, "{variance} of {mean}");
    }

    /// Logarithms of log-normal lengths are normal, with a median of ln(mean) - sigma²/2.
    #[test]
    fn lengths_are_log_normal_with_the_mean_asked_for() {
        let count = 400_000;
        for sigma in [0.0, 0.5, 1.5] {
            let law = Law { mean: ByteCount::new(1_000_000), sigma, ..LAW };
            let logs: Vec<f64> =
                sessions(law, 3, count).iter().map(|session| (session.length.get() as f64).ln()).collect();
            let (mean, variance) = moments(&logs);
            let expected = 1e6_f64.ln() - sigma * sigma / 2.0;
            let error = sigma / (count as f64).sqrt();
            assert!((mean - expected).abs() < 5.0 * error + 1e-4, "{mean} instead of {expected}");
            assert!((variance.sqrt() - sigma).abs() < 5.0 * error + 1e-4, "{variance} with {sigma}");
            let within = logs.iter().filter(|&&log| (log - expected).abs() <= sigma + 1e-4).count();
            let share = within as f64 / count as f64;
            assert!(sigma == 0.0 || (share - 0.6827).abs() < 0.004, "{share} within one sigma");
        }
        // The sum has a relative standard error of sqrt((exp(sigma²) - 1) / count) = 0.5 %.
        let bytes: u64 = sessions(LAW, 0, count).iter().map(|session| session.length.get()).sum();
        let mean = bytes as f64 / count as f64;
        assert!((mean / 12_000.0 - 1.0).abs() < 0.025, "{mean}");
    }

    /// The offered load is the mean length over the mean interval (M17: within 5 %).
    #[test]
    fn the_load_is_the_one_asked_for() {
        for millis in [50, 100, 500] {
            let law = Law { interval: Span::from_millis(millis), ..LAW };
            let seconds = 40 * millis;
            let offered = (0..10).map(|source| arrivals(law, source).before(Span::from_secs(seconds)));
            let bytes: u64 = offered.map(|offered| offered.bytes).sum();
            let load = bytes as f64 / seconds as f64;
            let asked = 10.0 * 12_000.0 * 1000.0 / millis as f64;
            assert!((load / asked - 1.0).abs() < 0.05, "{load} instead of {asked} bytes/s");
        }
    }

    /// Published results are reproduced with these numbers: changing the expected values breaks
    /// them.
    #[test]
    fn the_sessions_of_a_seed_do_not_change() {
        let first: Vec<_> = sessions(LAW, 0, 3)
            .iter()
            .map(|session| (session.due.as_nanos(), session.length.get()))
            .collect();
        assert_eq!(first, [(48_974_291, 3940), (571_030_776, 7892), (633_842_177, 2607)]);
    }

    proptest! {
        /// A source's sessions depend on nothing but its seed, number and law. Another interval
        /// moves them in time and leaves their lengths.
        #[test]
        fn a_source_depends_on_itself_alone(source in 0_u32..1000, factor in 1_u64..50, sigma in 0.0..3.0) {
            let law = Law { sigma, ..LAW };
            let one = sessions(law, source, 50);
            prop_assert_eq!(&one, &sessions(law, source, 50));
            prop_assert_ne!(&one, &sessions(law, source + 1, 50));
            prop_assert!(one.iter().all(|session| session.length.get() >= 1));
            prop_assert!(one.is_sorted_by_key(|session| session.due));
            let slower = sessions(Law { interval: law.interval * factor, ..law }, source, 50);
            for (one, other) in one.iter().zip(&slower) {
                prop_assert_eq!(one.length, other.length);
                let (wanted, got) = (one.due.as_secs_f64() * factor as f64, other.due.as_secs_f64());
                prop_assert!((got / wanted - 1.0).abs() < 1e-6, "{} {}", wanted, got);
            }
        }

        /// What has arrived by a time is the number and length of the sessions before it.
        #[test]
        fn offered_are_the_sessions_before_the_end(seconds in 0_u64..200) {
            let end = Span::from_secs(seconds);
            let offered = arrivals(LAW, 1).before(end);
            let listed = sessions(LAW, 1, 2000);
            let before: Vec<_> = listed.iter().filter(|session| session.due < end).collect();
            prop_assert_eq!(offered.sessions, before.len() as u64);
            prop_assert_eq!(offered.bytes, before.iter().map(|session| session.length.get()).sum::<u64>());
        }
    }
}
