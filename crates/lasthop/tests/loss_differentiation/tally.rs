//! What following senders gave: how much was compared, and what could not be.

use std::fmt;
use std::ops::AddAssign;

/// Counts of one congestion control.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Connections whose samples could be followed from the first to the last.
    pub whole: u32,
    /// Connections that could not: more than one sample between two rows.
    pub gaps: u32,
    /// Round-trip times of which mean and deviation were compared.
    pub samples: u32,
    /// Loss events whose verdict was compared.
    pub events: u32,
    /// Those with n = 1, 2, 3, and more.
    pub by_n: [u32; 4],
    /// Those judged wireless.
    pub wireless: u32,
    /// Those without a sample, or T_min, yet.
    pub unmeasured: u32,
    /// Those that differ, because what was measured is within the rounding of the limit.
    pub near: u32,
    /// Those that a timer or another reduction overwrote before the next row.
    pub overwritten: u32,
    /// Those whose n is not what is lost in the next row, since more was marked behind it.
    pub marked_later: u32,
    /// Those whose window is not that of the row before.
    pub moved: u32,
    /// Retransmission timeouts.
    pub timeouts: u32,
    /// Those in which the threshold stayed, because the window was being repaired already.
    pub unreduced: u32,
    /// Reductions without a loss event.
    pub local: u32,
    /// Rounds of Veno that ended, or gaps of Biaz and mBiaz, that were compared.
    pub further: u32,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        let Self { whole, gaps, samples, events, by_n, wireless, unmeasured, near, overwritten, .. } = other;
        let Self { marked_later, moved, timeouts, unreduced, local, further, .. } = other;
        self.whole += whole;
        self.gaps += gaps;
        self.samples += samples;
        self.events += events;
        for (sum, more) in self.by_n.iter_mut().zip(by_n) {
            *sum += more;
        }
        self.wireless += wireless;
        self.unmeasured += unmeasured;
        self.near += near;
        self.overwritten += overwritten;
        self.marked_later += marked_later;
        self.moved += moved;
        self.timeouts += timeouts;
        self.unreduced += unreduced;
        self.local += local;
        self.further += further;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { whole, gaps, samples, events, by_n, wireless, unmeasured, near, overwritten, .. } = self;
        let Self { marked_later, moved, timeouts, unreduced, local, further, .. } = self;
        write!(
            f,
            "{samples:6} samples in {whole} connections ({gaps} with gaps), {events:4} events: n {by_n:?}, {wireless:4} wireless, "
        )?;
        write!(
            f,
            "{unmeasured:2} unmeasured, {near:2} near, {overwritten:2} overwritten, {marked_later:2} marked later, "
        )?;
        write!(
            f,
            "{moved:2} moved; {timeouts:3} timeouts ({unreduced:2} unreduced), {local:2} local, {further:5} further"
        )
    }
}
