//! What sends packets, one after the other, at the rate of a [`RateSpec`].
//!
//! It knows when sending a packet ends and nothing of who waits for it.

use super::clock::{self, Clock};
use super::mahimahi::{self, OPPORTUNITY, TUN_HEADER};
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
    /// A limiter whose trace, if it has one, begins at `now`.
    pub fn new(spec: &RateSpec, now: Time) -> Result<Self, SpecError> {
        Ok(match spec {
            RateSpec::Unlimited => Self::Unlimited,
            RateSpec::Constant(rate) => Self::Constant(Clock::new(*rate)),
            RateSpec::Mahimahi(file, once) => {
                Self::Mahimahi(mahimahi::Replay::new(file.content()?.clone(), once.0, now))
            }
            RateSpec::Theaterq(file, at_end) => Self::Theaterq(
                theaterq::Replay::new(file.content()?.clone(), *at_end, now),
                Clock::without_rate(),
            ),
            RateSpec::LinkLayer(rate) => Self::LinkLayer { rate: *rate, open: false },
        })
    }

    /// Bytes that each packet costs beyond what is counted of it.
    pub fn overhead(&self) -> u64 {
        if let Self::Mahimahi(_) = self { TUN_HEADER } else { 0 }
    }

    /// Whether a packet that comes at `now` to a limiter with nothing to do is sent from then on.
    pub fn is_ready(&mut self, now: Time) -> bool {
        match self {
            Self::Unlimited | Self::Constant(_) => true,
            Self::Mahimahi(_) => false,
            Self::Theaterq(replay, _) => replay.at(now).rate != EntryRate::Stopped,
            Self::LinkLayer { open, .. } => *open,
        }
    }

    /// When a packet that waits while nothing is sent can be, from `now` on.
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

    /// Begins to send `bytes` bytes and says when that ends: [`Time::NEVER`] if only the
    /// opportunities of a trace will tell. `waited`: the packet was in the queue when the last one
    /// ended.
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

    /// How long a packet that comes at `now` would wait until its sending begins, behind `bytes`
    /// bytes that wait and the packet that is being sent until `end`.
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

    /// What a packet of `bytes` bytes takes, at the rate of `now` or, if that varies, on average.
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

    /// What is left of the packet being sent, as work (see [`clock`]).
    pub fn left(&self, now: Time) -> u64 {
        match self {
            Self::Unlimited | Self::LinkLayer { .. } => 0,
            Self::Constant(clock) | Self::Theaterq(_, clock) => clock.left(now),
            Self::Mahimahi(replay) => clock::work(replay.left),
        }
    }

    /// Goes on with a packet of which `work` is left, and says when that ends.
    pub fn resume(&mut self, work: u64, now: Time) -> Time {
        match self {
            Self::Constant(clock) => clock.send(work, now, false),
            Self::Unlimited | Self::Mahimahi(_) | Self::Theaterq(..) | Self::LinkLayer { .. } => {
                self.send(clock::bytes(work), now, false)
            }
        }
    }

    /// Bytes of one opportunity of a trace of opportunities, which is now: `None` for other
    /// limiters.
    pub fn opportunity(&mut self, now: Time) -> Option<u64> {
        match self {
            Self::Mahimahi(replay) if replay.due() <= now => {
                replay.consume();
                Some(OPPORTUNITY)
            }
            _ => None,
        }
    }

    /// Uses up to `budget` bytes of an opportunity for the packet being sent: what is left of the
    /// budget, and whether the packet is through.
    pub fn spend(&mut self, budget: u64) -> (u64, bool) {
        let Self::Mahimahi(replay) = self else { return (0, false) };
        let sent = budget.min(replay.left);
        replay.left -= sent;
        (budget - sent, replay.left == 0)
    }
}
