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

/// Smoothed round-trip times of `connection` in nanoseconds, every 20 ms until `done`: equally spaced in time, so that their
/// quantiles are those that a packet at any time would have met.
pub fn round_trips(connection: &TcpStream, done: &Done) -> Vec<u64> {
    let mut samples = Vec::new();
    while !done.wait(INTERVAL) {
        let Ok(info) = tcp::info(connection) else { break };
        if !info.round_trip.is_zero() {
            samples.push(info.round_trip.as_nanos() as u64);
        }
    }
    samples
}
