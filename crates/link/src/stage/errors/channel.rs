//! A process with its state, which judges one packet after the other.
//!
//! The schedule of an evolving process comes from a random stream of its own. The fates of single
//! packets come from another stream, with one number per packet, hit or not. Neither stream
//! therefore depends on the effect on packets.

use super::PacketList;
use super::damage::{Piece, hazard};
use super::extent::Extent;
use super::process::{ProcessSpec, StateErrors};
use super::spec::Sampled;
use super::timeline::{Stay, Timeline};
use super::trace::Replay;
use super::two_state::TwoState;
use crate::packet::Packet;
use crate::seed::{Seed, Stream};
use crate::stage::spec::SpecError;
use crate::units::{ByteCount, Probability, Time};
use rand::RngExt;
use vocabulary::{ChannelState, Sending};

/// A process with its state.
#[derive(Debug)]
pub(super) struct Channel {
    model: Model,
    seed: Seed,
    /// Random numbers for single packets.
    stream: Stream,
    /// Number of timelines so far.
    timelines: u64,
    /// Error hazard along the last judged packet, if the process has bit errors.
    pieces: Vec<Piece>,
}

#[derive(Debug)]
enum Model {
    Packets(Probability),
    /// Hazard of a bit.
    Bits(f64),
    InTime(Timeline, Option<Hazards>),
    /// The number is the thousandths of a bit that have passed.
    InBytes(Timeline, Option<Hazards>, u64),
    /// The number is the packets that have passed.
    InPackets(Timeline, u64),
    Listed(PacketList),
}

/// Hazard of a bit in each state.
#[derive(Debug, Clone, Copy)]
struct Hazards {
    good: f64,
    bad: f64,
}

/// Result of the process for a packet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ChannelEffect {
    /// Bad if any part of the packet met the bad state.
    pub state: ChannelState,
    pub hit: Hit,
}

/// Whether, and how, a packet is hit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Hit {
    No,
    /// The packet as a whole.
    Whole,
    /// Some bits: the first one is that at which the accumulated hazard exceeds this value. See
    /// [`Channel::pieces`].
    Bits(f64),
}

const STEPS_PER_BIT: u64 = 1000;

impl Channel {
    pub fn new(process: &ProcessSpec, seed: &Seed) -> Result<Self, SpecError> {
        let mut channel = Self {
            model: Model::Packets(Probability::ZERO),
            seed: seed.clone(),
            stream: seed.stage("packets").stream(),
            timelines: 0,
            pieces: Vec::new(),
        };
        channel.begin(process, Time::ZERO)?;
        Ok(channel)
    }

    /// Takes over another process from `now` on. Two states that evolve in the same quantity (time,
    /// bytes or packets) keep their state; any other process begins.
    pub fn change(&mut self, process: &ProcessSpec, now: Time) -> Result<(), SpecError> {
        match (&mut self.model, process) {
            (Model::InTime(timeline, hazards), ProcessSpec::InTime { channel, errors }) => {
                timeline.change(channel, now.as_nanos());
                *hazards = errors.map(Hazards::of);
            }
            (Model::InBytes(timeline, hazards, passed), ProcessSpec::InBytes { channel, errors }) => {
                timeline.change(channel, *passed);
                *hazards = errors.map(Hazards::of);
            }
            (Model::InPackets(timeline, passed), ProcessSpec::InPackets { channel }) => {
                // The state of a packet holds until the step before the next packet.
                timeline.change(channel, passed.saturating_sub(1));
            }
            _ => self.begin(process, now)?,
        }
        Ok(())
    }

    fn begin(&mut self, process: &ProcessSpec, now: Time) -> Result<(), SpecError> {
        self.model = match process {
            ProcessSpec::Packets { loss } => Model::Packets(*loss),
            ProcessSpec::Bits { ber } => Model::Bits(hazard(*ber)),
            ProcessSpec::Listed { packets } => Model::Listed(packets.clone()),
            ProcessSpec::InTime { channel, errors } => {
                Model::InTime(self.timeline(channel, now.as_nanos()), errors.map(Hazards::of))
            }
            ProcessSpec::InBytes { channel, errors } => {
                Model::InBytes(self.timeline(channel, 0), errors.map(Hazards::of), 0)
            }
            ProcessSpec::InPackets { channel } => Model::InPackets(self.timeline(channel, 0), 0),
            ProcessSpec::Blocks { file, .. } => {
                let replay = Replay::of_blocks(file.content()?, now.as_nanos());
                Model::InTime(Timeline::replayed(replay, now.as_nanos(), self.schedule()), None)
            }
            ProcessSpec::Trace { file, repeat } => {
                let replay = Replay::new(file.content()?.clone(), *repeat, now.as_nanos())?;
                Model::InTime(Timeline::replayed(replay, now.as_nanos(), self.schedule()), None)
            }
        };
        Ok(())
    }

    fn timeline<U: Extent>(&mut self, channel: &TwoState<U>, from: u64) -> Timeline {
        Timeline::drawn(channel, from, self.schedule())
    }

    /// Returns the stream of the next timeline.
    fn schedule(&mut self) -> Stream {
        let number = self.timelines;
        self.timelines += 1;
        let schedule = self.seed.stage("schedule");
        if number == 0 { schedule.stream() } else { schedule.stage(&number.to_string()).stream() }
    }

    /// Returns the error hazard along the last judged packet, if the result was [`Hit::Bits`].
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Judges the next packet.
    pub fn judge(&mut self, packet: &Packet, sampled: Sampled) -> ChannelEffect {
        let bits = ByteCount::new(packet.frame.len() as u64).bits();
        let pieces = &mut self.pieces;
        let (state, hazards) = match &mut self.model {
            Model::Packets(loss) => {
                let hit = loss.happens(self.stream.random());
                return ChannelEffect::whole(ChannelState::Good, hit);
            }
            Model::Listed(list) => {
                return ChannelEffect::whole(ChannelState::Good, list.contains(packet.number));
            }
            Model::InPackets(timeline, passed) => {
                let state = timeline.at(*passed);
                *passed += 1;
                return ChannelEffect::whole(state, state == ChannelState::Bad);
            }
            Model::Bits(hazard) => {
                pieces.clear();
                pieces.push(Piece { end: bits, hazard: *hazard });
                (ChannelState::Good, Some(Hazards { good: *hazard, bad: *hazard }))
            }
            Model::InTime(timeline, hazards) => {
                let Sending { start, end } = packet.sending;
                let state = match sampled {
                    Sampled::Interval if start < end => {
                        let (start, end) = (start.as_nanos(), end.as_nanos());
                        along(timeline, start, end, *hazards, pieces, |at| {
                            // The first bit whose transmission begins at or after `at`.
                            (u128::from(at - start) * u128::from(bits)).div_ceil(u128::from(end - start))
                                as u64
                        })
                    }
                    _ => None,
                };
                let state = state.unwrap_or_else(|| {
                    let state = timeline.at(packet.at.as_nanos());
                    pieces.clear();
                    pieces
                        .extend(hazards.map(|hazards| Piece { end: bits, hazard: hazards.in_state(state) }));
                    state
                });
                (state, *hazards)
            }
            Model::InBytes(timeline, hazards, passed) => {
                let start = *passed;
                *passed = start.saturating_add(bits.saturating_mul(STEPS_PER_BIT));
                let state = along(timeline, start, *passed, *hazards, pieces, |at| {
                    (at - start).div_ceil(STEPS_PER_BIT)
                });
                (state.unwrap_or(ChannelState::Good), *hazards)
            }
        };
        if hazards.is_none() {
            return ChannelEffect::whole(state, state == ChannelState::Bad);
        }
        // `1 − e^−x` is the probability of at least one wrong bit if the hazards of all bits add up
        // to x.
        let first = -(-self.stream.random::<f64>()).ln_1p();
        let hit = if first < Piece::total(&self.pieces) { Hit::Bits(first) } else { Hit::No };
        ChannelEffect { state, hit }
    }
}

impl ChannelEffect {
    fn whole(state: ChannelState, hit: bool) -> Self {
        Self { state, hit: if hit { Hit::Whole } else { Hit::No } }
    }
}

impl Hazards {
    fn of(errors: StateErrors) -> Self {
        Self { good: hazard(errors.good), bad: hazard(errors.bad) }
    }

    fn in_state(self, state: ChannelState) -> f64 {
        match state {
            ChannelState::Good => self.good,
            ChannelState::Bad => self.bad,
        }
    }
}

/// Returns the state along `start..end`, bad if any part of it is, and fills `pieces` if there are
/// `hazards`. `bit` is the first bit that begins at or after a point of the axis. Returns `None` if
/// the timeline no longer remembers that part.
fn along(
    timeline: &mut Timeline,
    start: u64,
    end: u64,
    hazards: Option<Hazards>,
    pieces: &mut Vec<Piece>,
    bit: impl Fn(u64) -> u64,
) -> Option<ChannelState> {
    pieces.clear();
    let mut seen = None;
    timeline.between(start, end, |Stay { state, end, .. }| {
        if seen != Some(ChannelState::Bad) {
            seen = Some(state);
        }
        pieces.extend(hazards.map(|hazards| Piece { end: bit(end), hazard: hazards.in_state(state) }));
    });
    seen
}
