//! Result of comparing senders with the oracle: how much was compared, and what could not be.

use std::fmt;
use std::ops::AddAssign;

/// Counts of one congestion control.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Connections whose samples could be followed from the first to the last.
    pub whole: u32,
    /// Connections that could not be followed: more than one sample between two rows.
    pub gaps: u32,
    /// Round-trip times whose mean and deviation were compared.
    pub samples: u32,
    /// Loss events whose verdict was compared.
    pub events: u32,
    /// Compared loss events with n = 1, 2, 3, and more.
    pub by_n: [u32; 4],
    /// Compared loss events classified as wireless.
    pub wireless: u32,
    /// Compared loss events before the first sample or T_min.
    pub unmeasured: u32,
    /// Compared loss events with a different verdict, because the measured value is within the
    /// rounding of the limit.
    pub near: u32,
    /// Loss events overwritten by a timer or another reduction before the next row.
    pub overwritten: u32,
    /// Compared loss events whose n differs from the lost segments in the next row, because more
    /// were marked afterwards.
    pub marked_later: u32,
    /// Compared loss events whose window differs from that of the row before.
    pub moved: u32,
    /// Retransmission timeouts.
    pub timeouts: u32,
    /// Retransmission timeouts that left the threshold, because the window was in recovery already.
    pub unreduced: u32,
    /// Reductions without a loss event.
    pub local: u32,
    /// Compared rounds of Veno, or gaps of Biaz and mBiaz.
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
