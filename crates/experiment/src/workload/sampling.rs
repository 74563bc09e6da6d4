//! Looking at a connection's round-trip time again and again while it lasts.

use netlab::tcp;
use std::net::TcpStream;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Time between two looks.
const INTERVAL: Duration = Duration::from_millis(20);

/// Says when to stop looking.
#[derive(Debug, Default)]
pub struct Done {
    done: Mutex<bool>,
    told: Condvar,
}

impl Done {
    /// Enough.
    pub fn tell(&self) {
        *self.done.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.told.notify_all();
    }

    /// Waits for `time` or until told; whether it was told.
    fn wait(&self, time: Duration) -> bool {
        let done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.told.wait_timeout_while(done, time, |done| !*done);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// Samples at equal distances in time, however long it takes: when there are [`MOST`], every second
/// one goes, and from then on they are taken half as often.
#[derive(Debug)]
struct Samples {
    taken: Vec<u64>,
    interval: Duration,
}

/// Samples that are kept at most.
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

/// Smoothed round-trip times of `connection` in nanoseconds, every 20 ms until `done`, more seldom
/// if it lasts longer than 80 s: equally spaced in time, so that their quantiles are those that a
/// packet at any time would have met.
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
