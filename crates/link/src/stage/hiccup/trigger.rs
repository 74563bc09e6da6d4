//! Triggers of hiccups: by time, by number of packets, at random, or by command only.

use crate::seed::Stream;
use crate::units::{Span, Time};
use borsh::{BorshDeserialize, BorshSerialize};
use rand::RngExt;
use rand_distr::Exp1;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Trigger of a hiccup. Times and packets count from the start of the run, or from the change of
/// the trigger.
///
/// In TOML: `"command"`, `{ at = "5s" }`, `{ packet = 10 }`, `{ every = "10s" }`,
/// `{ every-packets = 100 }`, `{ random = "30s" }`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, BorshSerialize, BorshDeserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Trigger {
    /// Only by [`super::Hiccup::command`].
    #[default]
    Command,
    /// Once, this long after the start; 0 is at once.
    At(Span),
    /// Once, with the n-th packet that arrives at the stage; the first is 1. The hiccup applies to
    /// that packet too.
    Packet(u64),
    /// At every multiple of this period, the first time one period after the start.
    Every(Span),
    /// With every n-th packet that arrives at the stage: n, 2n, 3n ...
    EveryPackets(u64),
    /// At random: a Poisson process with this mean interval.
    Random(Span),
}

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command => f.write_str("on command"),
            Self::At(at) => write!(f, "at {at}"),
            Self::Packet(number) => write!(f, "with packet {number}"),
            Self::Every(period) => write!(f, "every {period}"),
            Self::EveryPackets(count) => write!(f, "every {count} packets"),
            Self::Random(mean) => write!(f, "every {mean} at random"),
        }
    }
}

impl Trigger {
    /// Returns the fault of the parameter, if it has one.
    pub(super) const fn fault(self) -> Option<&'static str> {
        match self {
            Self::Packet(0) => Some("packet = 0: packets are counted from 1"),
            Self::EveryPackets(0) => Some("every-packets = 0: a period must have at least 1 packet"),
            Self::Every(Span::ZERO) => Some("every = 0: a period must be above 0"),
            Self::Random(Span::ZERO) => Some("random = 0: a mean time must be above 0"),
            _ => None,
        }
    }
}

/// A [`Trigger`] with its state.
#[derive(Debug)]
pub(super) struct Firing {
    trigger: Trigger,
    stream: Stream,
    /// Next time at which it fires by time.
    next: Time,
    /// Number of packets so far.
    packets: u64,
}

impl Firing {
    /// Creates a trigger that counts from `origin` and draws from `stream`.
    pub(super) fn new(trigger: Trigger, origin: Time, stream: Stream) -> Self {
        let mut firing = Self { trigger, stream, next: Time::NEVER, packets: 0 };
        firing.start(origin);
        firing
    }

    /// Takes over another trigger, which counts from `now`. An unchanged trigger continues.
    pub(super) fn set(&mut self, trigger: Trigger, now: Time) {
        if trigger != self.trigger {
            self.trigger = trigger;
            self.packets = 0;
            self.start(now);
        }
    }

    /// Returns the next time at which it fires by time.
    pub(super) const fn due(&self) -> Time {
        self.next
    }

    /// Returns whether it fires at or before `now`, and then moves on to its next time. The caller
    /// repeats the call until the result is false.
    pub(super) fn fires(&mut self, now: Time) -> bool {
        if self.next > now || self.next == Time::NEVER {
            return false;
        }
        self.next = match self.trigger {
            Trigger::Every(period) => self.next + period,
            Trigger::Random(mean) => self.next + self.gap(mean),
            _ => Time::NEVER,
        };
        true
    }

    /// Counts an arriving packet; returns whether the trigger fires with it.
    pub(super) fn counts(&mut self) -> bool {
        self.packets += 1;
        match self.trigger {
            Trigger::Packet(number) => self.packets == number,
            Trigger::EveryPackets(period) => self.packets.is_multiple_of(period),
            _ => false,
        }
    }

    fn start(&mut self, origin: Time) {
        self.next = match self.trigger {
            Trigger::At(span) | Trigger::Every(span) => origin + span,
            Trigger::Random(mean) => origin + self.gap(mean),
            _ => Time::NEVER,
        };
    }

    fn gap(&mut self, mean: Span) -> Span {
        if mean.is_forever() {
            return Span::MAX;
        }
        let draw: f64 = self.stream.sample(Exp1);
        Span::from_secs_f64(mean.as_secs_f64() * draw).max(Span::from_nanos(1))
    }
}
