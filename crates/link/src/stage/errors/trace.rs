//! Traces of error events: the times at which a channel was bad.
//!
//! ```text
//! # start,end
//! 120,150
//! 2s,2.2s
//! 7000;7090.5
//! ```
//!
//! A line contains the start and the end of a bad time, separated by a comma, a semicolon or white
//! space. Both count from the start of the trace; a bare number is in milliseconds. The start
//! belongs to the bad time, the end does not, and the end `inf` never comes. Times must be in order
//! and must not overlap. Empty lines, text behind a `#`, and a first line `start,end` are ignored.

use crate::blocks::BlockTrace;
use crate::stage::spec::{Line, SpecError, TraceError};
use crate::units::Span;
use borsh::{BorshDeserialize, BorshSerialize};
use std::sync::Arc;
use vocabulary::ChannelState;

const WHAT: &str = "must be a time such as 120, 120ms or 1.5s";

/// Times at which a channel is bad.
#[derive(Debug, Clone, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct ErrorTrace {
    /// Start and end in nanoseconds, in order and disjoint. It is not empty if it was read from a
    /// file.
    bad: Vec<(u64, u64)>,
}

impl ErrorTrace {
    /// Reads a trace; `file` is its name in errors.
    pub fn parse(file: &str, text: &str) -> Result<Self, TraceError> {
        let mut trace = Self { bad: Vec::new() };
        let mut last = Line { file, number: 1, text: "" };
        let mut first = true;
        for line in Line::of(file, text) {
            last = line;
            let content = line.text.split('#').next().unwrap_or("").trim();
            if content.is_empty() {
                continue;
            }
            let fields = fields(content);
            if !std::mem::take(&mut first) || fields != ["start", "end"] {
                trace.add(line, content, &fields)?;
            }
        }
        if trace.bad.is_empty() {
            return Err(last.wrong(
                "start,end",
                "",
                "there must be at least one line with a start and an end",
            ));
        }
        Ok(trace)
    }

    fn add(&mut self, line: Line<'_>, content: &str, fields: &[&str]) -> Result<(), TraceError> {
        let &[start, end] = fields else {
            return Err(line.wrong(
                "start,end",
                content,
                "must have two fields: start and end of a bad time",
            ));
        };
        let from = nanos(start).filter(|&from| from != u64::MAX);
        let from = from.ok_or_else(|| line.wrong("start", start, WHAT))?;
        let to = nanos(end).ok_or_else(|| line.wrong("end", end, WHAT))?;
        if to <= from {
            return Err(line.wrong("end", end, "must be later than the start"));
        }
        match self.bad.last_mut() {
            Some(before) if from < before.1 => {
                return Err(line.wrong("start", start, "must not be earlier than the end in the line above"));
            }
            Some(before) if from == before.1 => before.1 = to,
            _ => self.bad.push((from, to)),
        }
        Ok(())
    }

    /// Returns the start and the end of each bad time.
    pub fn bad_times(&self) -> impl Iterator<Item = (Span, Span)> + '_ {
        self.bad.iter().map(|&(start, end)| (Span::from_nanos(start), Span::from_nanos(end)))
    }

    /// Returns the end of the last bad time.
    #[must_use]
    pub fn end(&self) -> Span {
        Span::from_nanos(self.bad.last().map_or(0, |last| last.1))
    }
}

/// Splits a line into fields at commas and semicolons, or at white space if it has neither.
pub(crate) fn fields(content: &str) -> Vec<&str> {
    if content.contains([',', ';']) {
        content.split([',', ';']).map(str::trim).collect()
    } else {
        content.split_whitespace().collect()
    }
}

/// Parses a time in nanoseconds; a number without a unit is in milliseconds.
pub(crate) fn nanos(field: &str) -> Option<u64> {
    let bare = field.ends_with(|c: char| c.is_ascii_digit() || c == '.');
    let span: Span = if bare { format!("{field}ms").parse() } else { field.parse() }.ok()?;
    Some(span.as_nanos())
}

/// A trace that is being replayed.
#[derive(Debug)]
pub(super) struct Replay {
    trace: Arc<ErrorTrace>,
    /// Length of a round; [`u64::MAX`] if there is only one.
    round: u64,
    /// Start of the current round.
    began: u64,
    /// Place of the next or current bad time.
    next: usize,
}

impl Replay {
    /// Replays `trace` from `start`, once or in rounds of `repeat`.
    pub fn new(trace: Arc<ErrorTrace>, repeat: Option<Span>, start: u64) -> Result<Self, SpecError> {
        if let Some(length) = repeat
            && (length < trace.end() || length.is_forever())
        {
            return Err(SpecError::value("repeat", length, "must be finite, and not shorter than the trace"));
        }
        let round = repeat.map_or(u64::MAX, Span::as_nanos);
        Ok(Self { trace, round, began: start, next: 0 })
    }

    /// Replays the erased blocks of `trace` from `start`, in endless rounds.
    pub fn of_blocks(trace: &BlockTrace, start: u64) -> Self {
        let at = |block: u64| (trace.period * block).as_nanos();
        let bad = trace.runs().map(|(first, length)| (at(first), at(first + length))).collect();
        Self {
            trace: Arc::new(ErrorTrace { bad }),
            round: trace.duration().as_nanos(),
            began: start,
            next: 0,
        }
    }

    /// Returns the end of the stay in `state` that begins now. Stays must be requested in their
    /// order, good first.
    pub fn end(&mut self, state: ChannelState) -> u64 {
        match state {
            ChannelState::Good if self.trace.bad.is_empty() => u64::MAX,
            ChannelState::Good => {
                if self.next == self.trace.bad.len() {
                    self.next = 0;
                    self.began = self.began.saturating_add(self.round);
                }
                self.began.saturating_add(self.trace.bad[self.next].0)
            }
            ChannelState::Bad => {
                let end = self.began.saturating_add(self.trace.bad[self.next].1);
                self.next += 1;
                end
            }
        }
    }
}
