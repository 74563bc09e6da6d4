//! Waiting between the runs of a series.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Interval at which a waiting campaign checks whether it was interrupted.
const LOOK: Duration = Duration::from_millis(50);

/// Waits for this time, or until `interrupted` becomes true.
pub fn wait(gap: Duration, interrupted: &AtomicBool) {
    let end = Instant::now() + gap;
    while !interrupted.load(Ordering::Acquire) {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        thread::sleep(left.min(LOOK));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_waited_for_unless_the_campaign_is_interrupted() {
        let begin = Instant::now();
        wait(Duration::from_millis(60), &AtomicBool::new(false));
        assert!(begin.elapsed() >= Duration::from_millis(60));
        // It would wait for years.
        wait(Duration::from_secs(1 << 30), &AtomicBool::new(true));
    }
}
