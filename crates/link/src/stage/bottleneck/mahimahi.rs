//! Traces in the format of mahimahi's `mm-link`: the opportunities of a link to deliver.
//!
//! Each line is a whole number of milliseconds; the numbers do not decrease. Each is an opportunity
//! to deliver [`OPPORTUNITY`] bytes, or as many as [`Playback::opportunity`] says, at that instant.
//! As in mahimahi's `LinkQueue`:
//!
//! * An opportunity goes to the packet that is partly sent, then to the waiting packets in order,
//!   until its bytes are used up. A packet may span several opportunities. It leaves at the
//!   opportunity that carries its last byte.
//! * Unused bytes are lost. A packet that arrives at the instant of an opportunity is too late for
//!   it.
//! * The last number is also the length of the trace. At that instant the trace starts again, or
//!   ends permanently with `once`.
//!
//! mahimahi reads each packet with a header of 4 bytes from a Linux TUN device ([`TUN_HEADER`]) and
//! counts these bytes. This implementation does the same: 1500 bytes of IP fill one opportunity. At
//! a larger packet, mahimahi stops with an error; here such a packet takes more than one
//! opportunity.
//!
//! Source: Netravali et al., "Mahimahi: Accurate Record-and-Replay for HTTP", USENIX ATC 2015;
//! `src/frontend/link_queue.cc` of its repository.

use crate::stage::spec::{Line, SpecError, TraceError};
use crate::units::{ByteCount, Span, Time};
use borsh::{BorshDeserialize, BorshSerialize};
use std::sync::Arc;

/// Bytes that one line of a trace can carry.
pub const OPPORTUNITY: u64 = 1504;

/// Bytes that mahimahi adds to each packet: the header of a TUN device.
pub const TUN_HEADER: u64 = 4;

const NANOS_PER_MILLI: u64 = 1_000_000;

/// How a trace is replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Playback {
    /// Whether the trace is replayed once, after which no packet is sent (`mm-link --once`), or in
    /// endless rounds.
    pub once: bool,
    /// Bytes that one line can carry, with the header of a TUN device for each packet.
    pub opportunity: ByteCount,
}

impl Playback {
    /// Endless rounds of mahimahi's opportunities.
    pub const USUAL: Self = Self { once: false, opportunity: ByteCount::new(OPPORTUNITY) };
}

impl Default for Playback {
    fn default() -> Self {
        Self::USUAL
    }
}

/// A trace: instants of opportunities since its start.
#[derive(Debug, Clone, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct MahimahiTrace {
    /// Nanoseconds, not decreasing; there is at least one, and the last is above 0.
    instants: Vec<u64>,
}

impl MahimahiTrace {
    /// Reads a trace; `file` is its name in errors.
    pub fn parse(file: &str, text: &str) -> Result<Self, TraceError> {
        let mut instants: Vec<u64> = Vec::new();
        let mut last = Line { file, number: 1, text: "" };
        for line in Line::of(file, text) {
            let field = line.text.trim();
            let millis = field.parse::<u64>().ok().and_then(|millis| millis.checked_mul(NANOS_PER_MILLI));
            let Some(nanos) = millis.filter(|_| !field.starts_with('+')) else {
                return Err(line.wrong(
                    "opportunity",
                    field,
                    "must be a whole number of milliseconds, one per line",
                ));
            };
            if instants.last().is_some_and(|&before| nanos < before) {
                return Err(line.wrong("opportunity", field, "must not be earlier than the one above"));
            }
            instants.push(nanos);
            last = line;
        }
        match instants.last() {
            None => Err(last.wrong("opportunity", "", "there must be at least one line")),
            Some(0) => Err(last.wrong("opportunity", last.text, "the last one must be later than 0 ms")),
            Some(_) => Ok(Self { instants }),
        }
    }

    /// Returns the number of opportunities in the trace.
    #[must_use]
    pub fn opportunities(&self) -> usize {
        self.instants.len()
    }

    /// Returns the instant of each opportunity in milliseconds since the start of the trace.
    pub fn millis(&self) -> impl Iterator<Item = u64> {
        self.instants.iter().map(|nanos| nanos / NANOS_PER_MILLI)
    }

    /// Returns the length of the trace.
    #[must_use]
    pub fn duration(&self) -> Span {
        Span::from_nanos(self.length())
    }

    fn length(&self) -> u64 {
        self.instants.last().copied().unwrap_or(1)
    }
}

/// A trace that is being replayed.
#[derive(Debug)]
pub(super) struct Replay {
    trace: Arc<MahimahiTrace>,
    once: bool,
    /// Bytes of an opportunity, above 0.
    pub opportunity: u64,
    /// Start of the current round; [`Time::NEVER`] after the last one.
    round: Time,
    /// Place of the next opportunity of this round.
    next: usize,
    /// Unsent bytes of the packet being sent.
    pub left: u64,
}

impl Replay {
    /// Replays `trace` from `start`.
    ///
    /// # Errors
    /// If an opportunity carries no bytes.
    pub fn new(trace: Arc<MahimahiTrace>, playback: Playback, start: Time) -> Result<Self, SpecError> {
        let Playback { once, opportunity } = playback;
        if opportunity.get() == 0 {
            return Err(SpecError::value("opportunity", opportunity, "must be above 0, such as 1504B"));
        }
        Ok(Self { trace, once, opportunity: opportunity.get(), round: start, next: 0, left: 0 })
    }

    /// Returns the time of the next opportunity.
    pub fn due(&self) -> Time {
        self.round + Span::from_nanos(self.trace.instants[self.next])
    }

    /// Moves on from the next opportunity, which is used or lost.
    pub fn consume(&mut self) {
        self.next += 1;
        if self.next == self.trace.instants.len() {
            self.next = 0;
            self.begin_round(1);
        }
    }

    /// Skips all opportunities until `now`, inclusive.
    pub fn skip(&mut self, now: Time) {
        if self.due() > now {
            return;
        }
        let elapsed = now.since(self.round).as_nanos();
        let length = self.trace.length();
        self.begin_round(elapsed / length);
        let within = if self.round == Time::NEVER { 0 } else { elapsed % length };
        self.next = self.trace.instants.partition_point(|&instant| instant <= within);
    }

    /// Returns the time from `now` until the opportunity that carries the first byte behind `bytes`
    /// others.
    pub fn wait(&self, bytes: u64, now: Time) -> Span {
        let ahead = self.next as u64 + bytes / self.opportunity;
        let count = self.trace.instants.len() as u64;
        if self.once && ahead >= count {
            return Span::MAX;
        }
        let within = self.trace.instants[(ahead % count) as usize];
        let rounds = self.trace.duration() * (ahead / count);
        (self.round + rounds + Span::from_nanos(within)).since(now)
    }

    /// Returns the mean time of `bytes` bytes over the whole trace.
    pub fn mean_time(&self, bytes: u64) -> Span {
        let opportunities = bytes as f64 / self.opportunity as f64;
        Span::from_nanos(
            (opportunities * self.trace.length() as f64 / self.trace.instants.len() as f64) as u64,
        )
    }

    fn begin_round(&mut self, rounds: u64) {
        if rounds > 0 {
            self.round = if self.once { Time::NEVER } else { self.round + self.trace.duration() * rounds };
        }
    }
}
