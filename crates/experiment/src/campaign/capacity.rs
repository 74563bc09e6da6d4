//! The number of runs in parallel.

/// What the machine can do at the same time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Capacity {
    /// Largest number of runs in parallel.
    runs: usize,
    /// Packets per second that the links of all runs together may carry; a run alone is always
    /// admitted.
    packets_per_second: f64,
}

/// Packets per second that each processor moves without delaying them.
///
/// A link takes 11 us of the emulator for each packet (docs/performance.md), and TCP and the
/// programs at both ends take some more. At this rate this is half of a processor, so that the
/// other half is free for bursts.
const PACKETS_PER_SECOND: f64 = 10_000.0;

/// Runs in parallel if nothing else limits them: each has its own threads and devices.
const RUNS: usize = 16;

impl Capacity {
    /// Returns the capacity of a machine with this many processors.
    #[must_use]
    pub fn of(processors: usize) -> Self {
        Self { runs: RUNS, packets_per_second: PACKETS_PER_SECOND * processors as f64 }
    }

    /// Returns a capacity of this many runs in parallel, whatever they carry.
    #[must_use]
    pub fn runs(runs: usize) -> Self {
        Self { runs: runs.max(1), packets_per_second: f64::INFINITY }
    }

    /// Returns whether a run of this load may start beside those that are running.
    pub fn admits<'a>(self, running: impl ExactSizeIterator<Item = &'a f64>, load: f64) -> bool {
        let count = running.len();
        count == 0 || (count < self.runs && running.sum::<f64>() + load <= self.packets_per_second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_links_side_by_side_fast_ones_alone() {
        let capacity = Capacity::of(2);
        assert!(capacity.admits([].iter(), 1e9), "one may always run");
        assert!(!capacity.admits([1e9].iter(), 100.0));
        assert!(capacity.admits([5000.0, 5000.0, 5000.0].iter(), 5000.0));
        assert!(!capacity.admits([5000.0, 5000.0, 5000.0, 5000.0].iter(), 5000.0));
        assert!(!capacity.admits([1.0; RUNS].iter(), 1.0));
    }

    #[test]
    fn as_many_as_asked_for() {
        assert!(Capacity::runs(2).admits([1e9].iter(), 1e9));
        assert!(!Capacity::runs(2).admits([1.0, 1.0].iter(), 1.0));
        assert!(!Capacity::runs(0).admits([1.0].iter(), 1.0));
    }
}
