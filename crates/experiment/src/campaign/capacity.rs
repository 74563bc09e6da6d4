//! How many runs at a time.

/// What the machine can do at once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Capacity {
    /// Runs at a time at most.
    runs: usize,
    /// Packets a second that all links of all runs together may carry; a single run may always.
    packets_per_second: f64,
}

/// What each processor moves without making packets late. A link takes 11 us of the emulator for
/// each packet (docs/performance.md), and TCP and the programs at both ends some more: half of a
/// processor at this rate, so that bursts find the other half.
const PACKETS_PER_SECOND: f64 = 10_000.0;

/// Runs side by side when nothing else limits them: each has threads and devices of its own.
const RUNS: usize = 16;

impl Capacity {
    /// As much as `processors` can do.
    #[must_use]
    pub fn of(processors: usize) -> Self {
        Self { runs: RUNS, packets_per_second: PACKETS_PER_SECOND * processors as f64 }
    }

    /// So many runs at a time, whatever they carry.
    #[must_use]
    pub fn runs(runs: usize) -> Self {
        Self { runs: runs.max(1), packets_per_second: f64::INFINITY }
    }

    /// Whether a run of this load may begin beside those that go on.
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
