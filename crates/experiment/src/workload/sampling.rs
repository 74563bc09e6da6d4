//! Sampling of a connection's round-trip time while it lasts.

use netlab::tcp;
use std::net::TcpStream;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Time between two samples, at first.
const INTERVAL: Duration = Duration::from_millis(20);

/// Signal to stop sampling.
#[derive(Debug, Default)]
pub struct Done {
    done: Mutex<bool>,
    told: Condvar,
}

impl Done {
    /// Gives the signal.
    pub fn tell(&self) {
        *self.done.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.told.notify_all();
    }

    /// Waits for `time` or until the signal; returns whether it was given.
    fn wait(&self, time: Duration) -> bool {
        let done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.told.wait_timeout_while(done, time, |done| !*done);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// Samples at equal intervals, however long the connection lasts.
///
/// When there are [`MOST`], every second one is dropped, and the interval doubles.
#[derive(Debug)]
struct Samples {
    taken: Vec<u64>,
    interval: Duration,
}

/// Largest number of samples.
const MOST: usize = 4096;

impl Samples {
    fn new() -> Self {
        Self { taken: Vec::new(), interval: INTERVAL }
    }

    fn add(&mut self, sample: u64) {
        self.taken.push(sample);
        if self.taken.len() == MOST {
            let mut number = 0;
            self.taken.retain(|_| {
                number += 1;
                number % 2 == 0
            });
            self.interval *= 2;
        }
    }
}

/// Returns smoothed round-trip times of `connection` in nanoseconds, sampled until `done`.
///
/// Samples are 20 ms apart, and more on connections longer than 80 s. They are equally spaced in
/// time, so their quantiles are those that a packet at a random time would meet.
pub fn round_trips(connection: &TcpStream, done: &Done) -> Vec<u64> {
    let mut samples = Samples::new();
    while !done.wait(samples.interval) {
        let Ok(info) = tcp::info(connection) else { break };
        if !info.round_trip.is_zero() {
            samples.add(info.round_trip.as_nanos() as u64);
        }
    }
    samples.taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_of_a_long_time_are_few_and_equally_spaced() {
        let mut samples = Samples::new();
        let mut now = Duration::ZERO;
        while now < Duration::from_hours(4) {
            now += samples.interval;
            samples.add(now.as_millis() as u64);
        }
        assert!((MOST / 2 - 1..MOST).contains(&samples.taken.len()), "{}", samples.taken.len());
        let distances: Vec<_> = samples.taken.windows(2).map(|two| two[1] - two[0]).collect();
        assert!(distances.iter().all(|distance| u128::from(*distance) == samples.interval.as_millis()));
    }
}
