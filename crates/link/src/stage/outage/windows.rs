//! Windows in time at which the link is out, with a cursor for look-ups.
//!
//! The starts of successive queries never decrease, so each source keeps only the first window that
//! does not end before the last start. A look-up takes one step for each window that has ended
//! since the previous one, whatever the traffic. A schedule skips whole periods at once.

use super::{OutageProcess, ScheduledOutage};
use crate::seed::Stream;
use crate::units::{Span, Time};
use borsh::{BorshDeserialize, BorshSerialize};
use rand::RngExt;
use rand_distr::Exp1;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Distribution of the times of an outage process.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, BorshSerialize, BorshDeserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Sojourn {
    /// Exponential and independent: a two-state Markov process.
    #[default]
    Exponential,
    /// Constant: always the mean.
    Constant,
}

/// A window of outage, from its start up to but not including its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Window {
    start: Time,
    end: Time,
}

impl Window {
    const NONE: Self = Self { start: Time::NEVER, end: Time::NEVER };

    /// Returns whether the interval from `start` to `end`, both included, overlaps this window,
    /// which ends after `start`.
    fn is_met_until(self, end: Time) -> bool {
        self.start <= end && self.start != Time::NEVER
    }
}

/// Outages at given times.
#[derive(Debug)]
pub(super) struct Schedule {
    /// Windows relative to the start of the period, disjoint and in order.
    windows: Vec<(Span, Span)>,
    period: Option<Span>,
    /// Start of the cursor's period.
    origin: Time,
    place: usize,
}

impl Schedule {
    /// Creates a schedule of `outages` from `origin` on. If there is a period, no outage extends
    /// beyond it.
    pub(super) fn new(outages: &[ScheduledOutage], period: Option<Span>, origin: Time) -> Self {
        let mut sorted: Vec<_> =
            outages.iter().map(|outage| (outage.start, outage.start + outage.length)).collect();
        sorted.retain(|(start, end)| start < end);
        sorted.sort_unstable();
        let mut windows: Vec<(Span, Span)> = Vec::with_capacity(sorted.len());
        for (start, end) in sorted {
            match windows.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => windows.push((start, end)),
            }
        }
        Self { windows, period, origin, place: 0 }
    }

    pub(super) fn meets(&mut self, start: Time, end: Time) -> bool {
        self.skip_periods(start);
        loop {
            let window = self.window();
            if window.end > start || window == Window::NONE {
                return window.is_met_until(end);
            }
            self.place += 1;
            if self.place == self.windows.len()
                && let Some(period) = self.period
            {
                self.origin += period;
                self.place = 0;
            }
        }
    }

    fn window(&self) -> Window {
        self.windows.get(self.place).map_or(Window::NONE, |&(start, end)| Window {
            start: self.origin + start,
            end: self.origin + end,
        })
    }

    /// Moves the cursor to the period that contains `start`, if it is in an earlier one.
    fn skip_periods(&mut self, start: Time) {
        let Some(period) = self.period else { return };
        let periods = start.since(self.origin).as_nanos() / period.as_nanos();
        if periods > 0 {
            self.origin += period * periods;
            self.place = 0;
        }
    }
}

/// Outages of a random process.
#[derive(Debug)]
pub(super) struct Process {
    means: OutageProcess,
    stream: Stream,
    window: Window,
}

impl Process {
    /// Creates a process that is up at `origin`.
    pub(super) fn new(process: OutageProcess, origin: Time, stream: Stream) -> Self {
        let mut this = Self { means: process, stream, window: Window { start: origin, end: origin } };
        this.next();
        this
    }

    pub(super) fn meets(&mut self, start: Time, end: Time) -> bool {
        while self.window.end <= start && self.window.end != Time::NEVER {
            self.next();
        }
        self.window.is_met_until(end)
    }

    pub(super) fn into_stream(self) -> Stream {
        self.stream
    }

    fn next(&mut self) {
        let start = self.window.end + self.sojourn(self.means.up);
        self.window = Window { start, end: start + self.sojourn(self.means.down) };
    }

    fn sojourn(&mut self, mean: Span) -> Span {
        match self.means.sojourn {
            _ if mean.is_forever() => Span::MAX,
            Sojourn::Constant => mean,
            Sojourn::Exponential => {
                let draw: f64 = self.stream.sample(Exp1);
                Span::from_secs_f64(mean.as_secs_f64() * draw).max(Span::from_nanos(1))
            }
        }
    }
}

/// Outages by command, in order and disjoint.
#[derive(Debug, Default)]
pub(super) struct Commands {
    windows: VecDeque<Window>,
}

impl Commands {
    /// Takes the link down from `now` to `end`, or longer if it is down for longer already.
    pub(super) fn down(&mut self, now: Time, end: Time) {
        match self.windows.back_mut() {
            Some(last) if last.end >= now => last.end = last.end.max(end),
            _ => self.windows.push_back(Window { start: now, end }),
        }
    }

    /// Takes the link up from `now` on.
    pub(super) fn up(&mut self, now: Time) {
        if let Some(last) = self.windows.back_mut() {
            last.end = last.end.min(now);
            if last.start >= last.end {
                self.windows.pop_back();
            }
        }
    }

    pub(super) fn meets(&mut self, start: Time, end: Time) -> bool {
        while self.windows.front().is_some_and(|window| window.end <= start) {
            self.windows.pop_front();
        }
        self.windows.front().is_some_and(|window| window.is_met_until(end))
    }
}
