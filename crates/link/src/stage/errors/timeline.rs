//! Timelines of a channel: its good and bad sojourns.
//!
//! A timeline is a sequence of alternating good and bad sojourns along an axis that only increases:
//! nanoseconds, thousandths of a bit that have passed, or packets that have passed. Sojourns are
//! drawn when they are reached, from the timeline's own random stream. The sequence therefore
//! depends only on seed and parameters, not on the queries. A query costs one comparison, and a
//! draw for each sojourn that has ended, however many packets there were.

use super::extent::Extent;
use super::trace::Replay;
use super::two_state::{Law, Start, TwoState};
use crate::seed::Stream;
use rand::RngExt;
use rand_distr::Exp1;
use std::collections::VecDeque;
use vocabulary::ChannelState;

/// Number of past sojourns that are kept for packets whose transmission began in one of them.
pub(super) const MEMORY: usize = 1024;

/// The sequence of sojourns, with a current one.
#[derive(Debug)]
pub(super) struct Timeline {
    source: Source,
    stream: Stream,
    present: Stay,
    /// Sojourns before the current one, oldest first. Each ends where the next begins.
    past: VecDeque<Stay>,
}

/// A sojourn, from its start up to but not including its end; an end of [`u64::MAX`] never comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stay {
    pub state: ChannelState,
    pub start: u64,
    pub end: u64,
}

/// Source of the ends of sojourns.
#[derive(Debug)]
pub(super) enum Source {
    /// Drawn.
    Drawn { good: Law, bad: Law },
    /// Read from a file.
    Replay(Replay),
}

impl Timeline {
    /// Creates the timeline of a two-state channel that begins at `from`.
    pub fn drawn<U: Extent>(channel: &TwoState<U>, from: u64, mut stream: Stream) -> Self {
        let bad = match channel.start() {
            Start::Stationary => channel.loss().happens(stream.random()),
            Start::Good => false,
            Start::Bad => true,
        };
        let state = if bad { ChannelState::Bad } else { ChannelState::Good };
        Self::begin(Source::of(channel), state, from, stream)
    }

    /// Creates a timeline from a file that begins at `from`.
    pub fn replayed(replay: Replay, from: u64, stream: Stream) -> Self {
        Self::begin(Source::Replay(replay), ChannelState::Good, from, stream)
    }

    fn begin(mut source: Source, state: ChannelState, from: u64, mut stream: Stream) -> Self {
        let end = source.end(state, from, &mut stream);
        Self { source, stream, present: Stay { state, start: from, end }, past: VecDeque::new() }
    }

    /// Continues with other parameters from `now`, in the state at that time.
    pub fn change<U: Extent>(&mut self, channel: &TwoState<U>, now: u64) {
        self.advance(now);
        self.source = Source::of(channel);
        // Both distributions are memoryless, so the rest of the sojourn is distributed like a whole
        // one.
        self.present.end = self.source.end(self.present.state, now.max(self.present.start), &mut self.stream);
    }

    /// Returns the state at `at`.
    pub fn at(&mut self, at: u64) -> ChannelState {
        if at >= self.present.start {
            self.advance(at);
            return self.present.state;
        }
        let after = self.past.partition_point(|stay| stay.start <= at);
        self.past.get(after.saturating_sub(1)).unwrap_or(&self.present).state
    }

    /// Calls `met` for every sojourn that overlaps `from..to`, cut to it, in order. Parts before
    /// the remembered sojourns (see [`MEMORY`]), or before the start of the timeline, are left out.
    pub fn between(&mut self, from: u64, to: u64, mut met: impl FnMut(Stay)) {
        let mut give = |stay: Stay| {
            let (start, end) = (stay.start.max(from), stay.end.min(to));
            if start < end {
                met(Stay { start, end, ..stay });
            }
        };
        if from < self.present.start {
            let first = self.past.partition_point(|stay| stay.end <= from);
            self.past.range(first..).copied().for_each(&mut give);
        } else {
            self.advance(from);
        }
        loop {
            give(self.present);
            if to <= self.present.end || !self.step() {
                return;
            }
        }
    }

    fn advance(&mut self, to: u64) {
        while to >= self.present.end && self.step() {}
    }

    /// Moves to the next sojourn; returns false if the current one never ends.
    fn step(&mut self) -> bool {
        let Stay { state, end: start, .. } = self.present;
        if start == u64::MAX {
            return false;
        }
        if self.past.len() == MEMORY {
            self.past.pop_front();
        }
        self.past.push_back(self.present);
        let state = match state {
            ChannelState::Good => ChannelState::Bad,
            ChannelState::Bad => ChannelState::Good,
        };
        self.present = Stay { state, start, end: self.source.end(state, start, &mut self.stream) };
        true
    }
}

impl Source {
    fn of<U: Extent>(channel: &TwoState<U>) -> Self {
        let (good, bad) = channel.laws();
        Self::Drawn { good, bad }
    }

    /// Returns the end of a sojourn in `state` that starts or continues at `from`.
    fn end(&mut self, state: ChannelState, from: u64, stream: &mut Stream) -> u64 {
        match (self, state) {
            (Self::Drawn { good, .. }, ChannelState::Good) => good.end(from, stream),
            (Self::Drawn { bad, .. }, ChannelState::Bad) => bad.end(from, stream),
            (Self::Replay(replay), state) => replay.end(state),
        }
    }
}

impl Law {
    fn end(self, from: u64, stream: &mut Stream) -> u64 {
        match self {
            Self::Zero => from,
            Self::Forever => u64::MAX,
            Self::Geometric { leave, tick } => {
                // Ticks are at multiples of the tick since 0, wherever the sojourn starts.
                let first = (from / tick + 1).saturating_mul(tick);
                first.saturating_add(tick.saturating_mul(failures(leave, stream)))
            }
            Self::Exponential { mean } => {
                let draw: f64 = stream.sample(Exp1);
                from.saturating_add((mean * draw).round() as u64)
            }
        }
    }
}

/// Returns the number of failures before the first success of probability `p`: exact at 1, and
/// [`u64::MAX`] at 0.
fn failures(p: f64, stream: &mut Stream) -> u64 {
    // The integer part of an exponential variable with rate −ln(1 − p) is geometric. At p = 1 the
    // rate is infinite and the quotient 0. At p = 0 the rate is 0 and the quotient infinite, and
    // `as` saturates.
    let draw: f64 = stream.sample(Exp1);
    if p == 0.0 { u64::MAX } else { (draw / -(-p).ln_1p()) as u64 }
}
