//! A limiter, which sends packets one after the other at the rate of a [`RateSpec`].
//!
//! It knows when the transmission of a packet ends, but not which packets wait.

use super::clock::{self, Clock};
use super::mahimahi::{self, TUN_HEADER};
use super::rate::RateSpec;
use super::theaterq::{self, EntryRate};
use crate::stage::spec::SpecError;
use crate::units::{BitRate, ByteCount, Span, Time};

/// A limiter; see the [module](self).
#[derive(Debug)]
pub(super) enum Limiter {
    Unlimited,
    Constant(Clock),
    Mahimahi(mahimahi::Replay),
    Theaterq(theaterq::Replay, Clock),
    /// Packets go to a link layer below, one each time that it is open.
    LinkLayer {
        rate: BitRate,
        open: bool,
    },
}

impl Limiter {
    /// Creates a limiter. Its trace, if it has one, begins at `now`.
    pub fn new(spec: &RateSpec, now: Time) -> Result<Self, SpecError> {
        Ok(match spec {
            RateSpec::Unlimited => Self::Unlimited,
            RateSpec::Constant(rate) => Self::Constant(Clock::new(*rate)),
            RateSpec::Mahimahi(file, playback) => {
                Self::Mahimahi(mahimahi::Replay::new(file.content()?.clone(), *playback, now)?)
            }
            RateSpec::Theaterq(file, at_end) => Self::Theaterq(
                theaterq::Replay::new(file.content()?.clone(), *at_end, now),
                Clock::without_rate(),
            ),
            RateSpec::LinkLayer(rate) => Self::LinkLayer { rate: *rate, open: false },
        })
    }

    /// Returns the bytes that each packet costs in addition to its counted size.
    pub fn overhead(&self) -> u64 {
        if let Self::Mahimahi(_) = self { TUN_HEADER } else { 0 }
    }

    /// Returns whether an idle limiter starts to send a packet that arrives at `now`.
    pub fn is_ready(&mut self, now: Time) -> bool {
        match self {
            Self::Unlimited | Self::Constant(_) => true,
            Self::Mahimahi(_) => false,
            Self::Theaterq(replay, _) => replay.at(now).rate != EntryRate::Stopped,
            Self::LinkLayer { open, .. } => *open,
        }
    }

    /// Returns the earliest time from `now` on at which an idle limiter can send a waiting packet.
    pub fn next(&mut self, now: Time) -> Time {
        match self {
            Self::Unlimited | Self::Constant(_) => now,
            Self::Mahimahi(replay) => replay.due(),
            Self::Theaterq(replay, _) => replay.sending(now),
            Self::LinkLayer { open, .. } => {
                if *open {
                    now
                } else {
                    Time::NEVER
                }
            }
        }
    }

    /// Starts to send `bytes` bytes and returns the end of the transmission: [`Time::NEVER`] if it
    /// depends on later opportunities of a trace. `waited` states whether the packet was in the
    /// queue when the last one ended.
    pub fn send(&mut self, bytes: u64, now: Time, waited: bool) -> Time {
        match self {
            Self::Unlimited => now,
            Self::LinkLayer { open, .. } => {
                *open = false;
                now
            }
            Self::Constant(clock) => clock.send(clock::work(bytes), now, waited),
            Self::Mahimahi(replay) => {
                replay.left = bytes;
                Time::NEVER
            }
            Self::Theaterq(replay, clock) => {
                let begin = replay.sending(now);
                match replay.at(begin).rate {
                    EntryRate::Limited(rate) => {
                        clock.set_rate(rate);
                        clock.send(clock::work(bytes), begin, waited)
                    }
                    EntryRate::Unlimited => begin,
                    EntryRate::Stopped => clock.hold(clock::work(bytes)),
                }
            }
        }
    }

    /// Returns how long a packet that arrives at `now` would wait for the start of its
    /// transmission, behind `bytes` waiting bytes and the packet that is being sent until `end`.
    pub fn wait(&mut self, bytes: u64, end: Option<Time>, now: Time) -> Span {
        let begin = match self {
            Self::Unlimited => now,
            Self::Constant(clock) => clock.foresee(clock::work(bytes), now),
            Self::Mahimahi(replay) => return replay.wait(replay.left + bytes, now),
            Self::LinkLayer { rate, .. } => now + rate.time_for(ByteCount::new(bytes)),
            Self::Theaterq(replay, _) => {
                let begin = replay.sending(end.unwrap_or(now));
                match replay.at(begin).rate {
                    EntryRate::Unlimited => begin,
                    EntryRate::Stopped => Time::NEVER,
                    EntryRate::Limited(rate) => begin + rate.time_for(ByteCount::new(bytes)),
                }
            }
        };
        if begin == Time::NEVER { Span::MAX } else { begin.since(now) }
    }

    /// Returns the transmission time of a packet of `bytes` bytes: at the rate of `now`, or the
    /// mean over a mahimahi trace.
    pub fn packet_time(&mut self, bytes: ByteCount, now: Time) -> Span {
        match self {
            Self::Unlimited => Span::ZERO,
            Self::Constant(clock) => clock.packet_time(bytes.get()),
            Self::Mahimahi(replay) => replay.mean_time(bytes.get()),
            Self::Theaterq(replay, _) => match replay.at(now).rate {
                EntryRate::Limited(rate) => rate.time_for(bytes),
                EntryRate::Unlimited | EntryRate::Stopped => Span::ZERO,
            },
            Self::LinkLayer { rate, .. } => rate.time_for(bytes),
        }
    }

    /// Returns the rest of the packet being sent, as work (see [`clock`]).
    pub fn left(&self, now: Time) -> u64 {
        match self {
            Self::Unlimited | Self::LinkLayer { .. } => 0,
            Self::Constant(clock) | Self::Theaterq(_, clock) => clock.left(now),
            Self::Mahimahi(replay) => clock::work(replay.left),
        }
    }

    /// Continues a packet of which `work` is left; returns the end of its transmission.
    pub fn resume(&mut self, work: u64, now: Time) -> Time {
        match self {
            Self::Constant(clock) => clock.send(work, now, false),
            Self::Unlimited | Self::Mahimahi(_) | Self::Theaterq(..) | Self::LinkLayer { .. } => {
                self.send(clock::bytes(work), now, false)
            }
        }
    }

    /// Returns the bytes of one opportunity if a mahimahi trace has one at `now`; `None` otherwise.
    pub fn opportunity(&mut self, now: Time) -> Option<u64> {
        match self {
            Self::Mahimahi(replay) if replay.due() <= now => {
                replay.consume();
                Some(replay.opportunity)
            }
            _ => None,
        }
    }

    /// Uses up to `budget` bytes of an opportunity for the packet being sent. Returns the rest of
    /// the budget, and whether the packet is complete.
    pub fn spend(&mut self, budget: u64) -> (u64, bool) {
        let Self::Mahimahi(replay) = self else { return (0, false) };
        let sent = budget.min(replay.left);
        replay.left -= sent;
        (budget - sent, replay.left == 0)
    }
}
