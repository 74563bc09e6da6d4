//! Traces in the CSV format of TheaterQ, a Linux queueing discipline that replays the state of a
//! link.
//!
//! Each line applies for a while and is then replaced by the next. There are two forms, with five
//! and with ten fields:
//!
//! ```text
//! KEEP,LATENCY,RATE,LOSS,LIMIT
//! KEEP,LATENCY,JITTER,RATE,LOSS,LIMIT,DUP_PROB,DUP_DELAY,ROUTE_ID,QUEUE_ID
//! ```
//!
//! | field | unit | meaning |
//! |---|---|---|
//! | `KEEP` | µs | how long the line applies, above 0 |
//! | `LATENCY`, `JITTER` | ns | propagation delay, drawn uniformly from latency ± jitter |
//! | `RATE` | bit/s | rate of the limiter; −1: unlimited; 0: stopped until the next rate |
//! | `LOSS`, `DUP_PROB` | 2³² − 1 is 100 % | probability of a loss, or of a copy, on arrival |
//! | `LIMIT` | packets, or bytes | room in the queue; 0: unlimited |
//! | `DUP_DELAY` | ns | additional delay of the copy |
//! | `ROUTE_ID` | 0–65535 | packets of a route keep their order, except those of route 0 |
//! | `QUEUE_ID` | 0–65535 | virtual queue in which the packet counts; all packets wait in one row |
//!
//! A line that does not begin with a digit is a comment. In TheaterQ, route and queue numbers are
//! limited to 255 unless a parameter of its module sets another limit.
//!
//! [`super::Bottleneck`] replays rate, loss, duplication, limit and queue.
//! [`crate::stage::delay::Delay`] replays latency, jitter, delay of copies and routes. Each looks
//! up the line that applies when a packet arrives at it. The line for the latency is therefore that
//! at the end of the packet's transmission; TheaterQ takes that at its start. A packet is sent
//! completely at the rate that applies at the start of its transmission, as in TheaterQ.
//!
//! If TheaterQ's code and description differ, this module follows the description: −1 is unlimited.
//! The exception is JITTER. The description calls it a standard deviation, but the code draws it
//! uniformly, and so does this module.
//!
//! Source: README and `theaterq_lkm/sch_theaterq.c` of the repository cs7org/TheaterQ.

use crate::stage::spec::{Line, TraceError};
use crate::units::{BitRate, Probability, Span, Time};
use borsh::{BorshDeserialize, BorshSerialize};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

const NANOS_PER_MICRO: u64 = 1_000;

/// State of the link while a line applies.
#[derive(Debug, Clone, Copy, PartialEq, BorshSerialize, BorshDeserialize)]
pub struct Entry {
    /// Propagation delay.
    pub latency: Span,
    /// The delay is drawn uniformly from latency ± jitter, but is never negative.
    pub jitter: Span,
    /// Rate of the limiter.
    pub rate: EntryRate,
    /// Probability that an arriving packet is lost.
    pub loss: Probability,
    /// Room in the queue, in packets or in bytes; 0 is unlimited.
    pub limit: u32,
    /// Probability that an arriving packet is copied.
    pub duplicate: Probability,
    /// Additional delay of the copy.
    pub duplicate_delay: Span,
    /// Route in which packets keep their order; 0 is no route.
    pub route: u16,
    /// Virtual queue in which a packet counts.
    pub queue: u16,
}

/// Rate of the limiter while a line applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum EntryRate {
    /// Packets pass at once.
    Unlimited,
    /// No packet is sent.
    Stopped,
    /// Packets are sent at this rate.
    Limited(BitRate),
}

/// Behaviour after the last line.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, BorshSerialize, BorshDeserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum AtEnd {
    /// The trace begins again with the first line (`LOOP`).
    #[default]
    Loop,
    /// The last line applies for ever (`HOLD`).
    Hold,
    /// The link becomes perfect: no delay, no limit, no loss (`CLEAR`).
    Clear,
}

impl Entry {
    /// A link without any effect on packets.
    pub const CLEAR: Self = Self {
        latency: Span::ZERO,
        jitter: Span::ZERO,
        rate: EntryRate::Unlimited,
        loss: Probability::ZERO,
        limit: 0,
        duplicate: Probability::ZERO,
        duplicate_delay: Span::ZERO,
        route: 0,
        queue: 0,
    };
}

/// A trace.
#[derive(Debug, Clone, PartialEq, BorshSerialize, BorshDeserialize)]
pub struct TheaterqTrace {
    /// Not empty, and as long as `ends`.
    entries: Vec<Entry>,
    /// End of each entry in nanoseconds since the start of the trace; increasing.
    ends: Vec<u64>,
}

impl TheaterqTrace {
    /// Reads a trace; `file` is its name in errors.
    pub fn parse(file: &str, text: &str) -> Result<Self, TraceError> {
        let mut trace = Self { entries: Vec::new(), ends: Vec::new() };
        let mut width = None;
        let mut last = 1;
        for line in Line::of(file, text) {
            last = line.number;
            if !line.text.starts_with(|c: char| c.is_ascii_digit()) {
                continue;
            }
            let fields = line.text.split(',').count();
            if !matches!(fields, 5 | 10) {
                return Err(line.wrong(
                    "line",
                    line.text,
                    "must have 5 fields (simple form) or 10 (extended)",
                ));
            }
            if *width.get_or_insert(fields) != fields {
                return Err(line.wrong("line", line.text, "must have as many fields as the lines above"));
            }
            let (keep, entry) = read_entry(&line, fields == 10)?;
            let begin = trace.ends.last().copied().unwrap_or(0);
            let Some(end) = keep.checked_mul(NANOS_PER_MICRO).and_then(|nanos| begin.checked_add(nanos))
            else {
                return Err(line.wrong(
                    "KEEP",
                    &keep.to_string(),
                    "the trace must be shorter than 580 years",
                ));
            };
            trace.entries.push(entry);
            trace.ends.push(end);
        }
        if trace.entries.is_empty() {
            let line = Line { file, number: last, text: "" };
            return Err(line.wrong("line", "", "there must be at least one line of fields"));
        }
        Ok(trace)
    }

    /// Creates a trace from the duration and the state of each line. `None` if there is no line, a
    /// line has no duration, or the trace takes more than 580 years.
    #[must_use]
    pub fn of(lines: impl IntoIterator<Item = (Span, Entry)>) -> Option<Self> {
        let mut trace = Self { entries: Vec::new(), ends: Vec::new() };
        for (keep, entry) in lines {
            let begin = trace.ends.last().copied().unwrap_or(0);
            let end = begin.checked_add(keep.as_nanos()).filter(|&end| end > begin)?;
            trace.entries.push(entry);
            trace.ends.push(end);
        }
        (!trace.entries.is_empty()).then_some(trace)
    }

    /// Returns the lines of the trace.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the duration and the rate of each line.
    pub fn rates(&self) -> impl Iterator<Item = (Span, EntryRate)> {
        let begins = [0].into_iter().chain(self.ends.iter().copied());
        let keeps = begins.zip(&self.ends).map(|(begin, end)| Span::from_nanos(end - begin));
        keeps.zip(self.entries.iter().map(|entry| entry.rate))
    }

    /// Returns the length of the trace.
    #[must_use]
    pub fn duration(&self) -> Span {
        Span::from_nanos(self.length())
    }

    fn length(&self) -> u64 {
        self.ends.last().copied().unwrap_or(1)
    }
}

/// Reads a line: `KEEP` in microseconds, and the other fields.
fn read_entry(line: &Line<'_>, extended: bool) -> Result<(u64, Entry), TraceError> {
    const KEEP: &str = "must be a whole number of microseconds above 0";
    const NANOS: &str = "must be a whole number of nanoseconds";
    const SCALED: &str = "must be a whole number from 0 to 4294967295 (100 %)";
    const ID: &str = "must be a whole number from 0 to 65535";

    let mut fields = line.text.split(',').map(str::trim);
    let mut text = || fields.next().unwrap_or_default();
    let whole = |field, text: &str, most: u64, wanted| match text.parse::<u64>() {
        Ok(value) if value <= most => Ok(value),
        _ => Err(line.wrong(field, text, wanted)),
    };
    let scaled = |field, text: &str| {
        let value = whole(field, text, u64::from(u32::MAX), SCALED)?;
        Probability::new(value as f64 / f64::from(u32::MAX)).ok_or_else(|| line.wrong(field, text, SCALED))
    };

    let keep = text();
    let keep = match whole("KEEP", keep, u64::MAX, KEEP)? {
        0 => return Err(line.wrong("KEEP", keep, KEEP)),
        keep => keep,
    };
    let mut entry = Entry::CLEAR;
    entry.latency = Span::from_nanos(whole("LATENCY", text(), u64::MAX, NANOS)?);
    if extended {
        entry.jitter = Span::from_nanos(whole("JITTER", text(), u64::MAX, NANOS)?);
    }
    entry.rate = read_rate(line, text())?;
    entry.loss = scaled("LOSS", text())?;
    entry.limit =
        whole("LIMIT", text(), u64::from(u32::MAX), "must be a whole number from 0 to 4294967295")? as u32;
    if extended {
        entry.duplicate = scaled("DUP_PROB", text())?;
        entry.duplicate_delay = Span::from_nanos(whole("DUP_DELAY", text(), u64::MAX, NANOS)?);
        entry.route = whole("ROUTE_ID", text(), u64::from(u16::MAX), ID)? as u16;
        entry.queue = whole("QUEUE_ID", text(), u64::from(u16::MAX), ID)? as u16;
    }
    Ok((keep, entry))
}

fn read_rate(line: &Line<'_>, text: &str) -> Result<EntryRate, TraceError> {
    match text.parse::<i64>() {
        Ok(-1) => Ok(EntryRate::Unlimited),
        Ok(0) => Ok(EntryRate::Stopped),
        Ok(rate) if rate > 0 => {
            Ok(BitRate::from_bits_per_second(rate as u64).map_or(EntryRate::Stopped, EntryRate::Limited))
        }
        _ => Err(line.wrong(
            "RATE",
            text,
            "must be a whole number of bits per second, 0 (stopped) or -1 (unlimited)",
        )),
    }
}

/// A trace that is being replayed.
#[derive(Debug)]
pub(crate) struct Replay {
    trace: Arc<TheaterqTrace>,
    at_end: AtEnd,
    start: Time,
    /// The line of the last look-up, and the time for which it applies.
    current: Entry,
    from: Time,
    until: Time,
    /// Start and end of the last known time without transmissions.
    stopped: (Time, Time),
}

impl Replay {
    /// Replays `trace` from `start`.
    pub fn new(trace: Arc<TheaterqTrace>, at_end: AtEnd, start: Time) -> Self {
        let (current, never) = (Entry::CLEAR, Time::NEVER);
        Self { trace, at_end, start, current, from: never, until: never, stopped: (never, never) }
    }

    /// Returns the line that applies at `now`.
    pub fn at(&mut self, now: Time) -> &Entry {
        if now < self.from || now >= self.until {
            (self.current, self.from, self.until) = self.look_up(now);
        }
        &self.current
    }

    /// Returns the first instant from `now` on at which packets are sent; [`Time::NEVER`] if there
    /// is none.
    pub fn sending(&mut self, now: Time) -> Time {
        if self.stopped.0 <= now && now < self.stopped.1 {
            return self.stopped.1;
        }
        let mut instant = now;
        // One more than the number of lines: the current line may have begun earlier and recur.
        for _ in 0..=self.trace.entries.len() {
            if self.at(instant).rate != EntryRate::Stopped {
                self.stopped = (now, instant);
                return instant;
            }
            instant = self.until;
            if instant == Time::NEVER {
                break;
            }
        }
        self.stopped = (now, Time::NEVER);
        Time::NEVER
    }

    /// Returns the line that applies at `now`, its start and its end.
    fn look_up(&self, now: Time) -> (Entry, Time, Time) {
        let length = self.trace.length();
        let elapsed = now.since(self.start).as_nanos();
        let (round, within) = match self.at_end {
            AtEnd::Loop => (elapsed / length * length, elapsed % length),
            AtEnd::Hold | AtEnd::Clear => (0, elapsed),
        };
        let place = self.trace.ends.partition_point(|&end| end <= within);
        let after = |nanos| self.start + Span::from_nanos(round) + Span::from_nanos(nanos);
        let begin = after(place.checked_sub(1).map_or(0, |before| self.trace.ends[before]));
        match (self.trace.entries.get(place), self.at_end, self.trace.entries.last()) {
            (Some(&entry), ..) => (entry, begin, after(self.trace.ends[place])),
            (None, AtEnd::Hold, Some(&last)) => (last, begin, Time::NEVER),
            (None, ..) => (Entry::CLEAR, begin, Time::NEVER),
        }
    }
}
