//! When a channel is good and when it is bad.
//!
//! A timeline is a row of sojourns, good and bad in turn, along an axis that only grows:
//! nanoseconds, thousandths of a bit that have passed, or packets that have passed. Sojourns are
//! drawn as they are reached, from a stream of the timeline's own, so the row is a function of seed
//! and parameters and of nothing else: who asks, and how often, changes nothing in it. Asking costs
//! a comparison, and moving on a draw for each sojourn that ended, however many packets there were.

use super::extent::Extent;
use super::trace::Replay;
use super::two_state::{Law, Start, TwoState};
use crate::seed::Stream;
use rand::RngExt;
use rand_distr::Exp1;
use std::collections::VecDeque;
use vocabulary::ChannelState;

/// Sojourns before the present one that are remembered, for packets whose transmission began in one
/// of them.
pub(super) const MEMORY: usize = 1024;

/// The row of sojourns, seen from one of them.
#[derive(Debug)]
pub(super) struct Timeline {
    source: Source,
    stream: Stream,
    present: Stay,
    /// Stays before the present one, the latest last; each ends where the next begins.
    past: VecDeque<Stay>,
}

/// One sojourn, from its start up to but not including its end; an end of [`u64::MAX`] never comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stay {
    pub state: ChannelState,
    pub start: u64,
    pub end: u64,
}

/// Where the ends of sojourns come from.
#[derive(Debug)]
pub(super) enum Source {
    /// Drawn.
    Drawn { good: Law, bad: Law },
    /// Read from a file.
    Replay(Replay),
}

impl Timeline {
    /// A two-state channel that comes into being at `from`.
    pub fn drawn<U: Extent>(channel: &TwoState<U>, from: u64, mut stream: Stream) -> Self {
        let bad = match channel.start() {
            Start::Stationary => channel.loss().happens(stream.random()),
            Start::Good => false,
            Start::Bad => true,
        };
        let state = if bad { ChannelState::Bad } else { ChannelState::Good };
        Self::begin(Source::of(channel), state, from, stream)
    }

    /// A row from a file, which begins at `from`.
    pub fn replayed(replay: Replay, from: u64, stream: Stream) -> Self {
        Self::begin(Source::Replay(replay), ChannelState::Good, from, stream)
    }

    fn begin(mut source: Source, state: ChannelState, from: u64, mut stream: Stream) -> Self {
        let end = source.end(state, from, &mut stream);
        Self { source, stream, present: Stay { state, start: from, end }, past: VecDeque::new() }
    }

    /// Goes on with other parameters from `now`, in the state that holds then.
    pub fn change<U: Extent>(&mut self, channel: &TwoState<U>, now: u64) {
        self.advance(now);
        self.source = Source::of(channel);
        // Both laws are without memory: what is left of the stay has the distribution of a whole
        // one.
        self.present.end = self.source.end(self.present.state, now.max(self.present.start), &mut self.stream);
    }

    /// State at `at`.
    pub fn at(&mut self, at: u64) -> ChannelState {
        if at >= self.present.start {
            self.advance(at);
            return self.present.state;
        }
        let after = self.past.partition_point(|stay| stay.start <= at);
        self.past.get(after.saturating_sub(1)).unwrap_or(&self.present).state
    }

    /// Every stay that meets `from..to`, cut to it, in order. The part of it that lies before what
    /// is remembered (see [`MEMORY`]) or before the timeline began is left out.
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

    /// Goes to the next sojourn; false if the present one never ends.
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

    /// End of a stay in `state` that starts, or goes on, at `from`.
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
                // Ticks are multiples of the tick since 0, wherever the stay starts.
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

/// Failures before the first success of probability `p`: exact at 1, [`u64::MAX`] at 0.
fn failures(p: f64, stream: &mut Stream) -> u64 {
    // The whole part of an exponential variable with rate −ln(1 − p) is geometric. At p = 1 the
    // rate is infinite and the quotient 0; at p = 0 it is 0, the quotient infinite, and `as`
    // saturates.
    let draw: f64 = stream.sample(Exp1);
    if p == 0.0 { u64::MAX } else { (draw / -(-p).ln_1p()) as u64 }
}
