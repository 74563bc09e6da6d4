//! Replay of a cellular link that CellReplay recorded: a base delay, a light and a heavy workload.
//!
//! CellReplay measures a link twice. *Light*: short trains of packets on the idle link give the
//! base delay, and the opportunities to deliver the rest of a train ([`Trains`]). *Heavy*: a
//! saturating flow gives the opportunities of a busy link, in mahimahi's format with
//! [`OPPORTUNITY`] bytes each ([`MahimahiTrace`]).
//!
//! The replay changes between the two as CellReplay's emulator does:
//!
//! 1. A packet that would leave later than all before it, even by more than `timer`, begins a
//!    train: it leaves after the base delay of that time.
//! 2. A packet that arrives during a train takes the train's next opportunity. It leaves the base
//!    delay after that opportunity, which counts from the arrival of the train's first packet.
//! 3. A packet behind the last opportunity of its train waits for the base delay and then for the
//!    heavy opportunities, in a queue of its own. A packet of case 1 or 2 does the same if that
//!    queue is not empty then, or if it would overtake another packet.
//!
//! Case 3 has a peculiarity of the emulator, which is kept: the packet waits for at least the last
//! opportunity of the train, counted from its own arrival.
//!
//! Differences to CellReplay's emulator:
//!
//! * Times are exact; CellReplay rounds to milliseconds. The trace begins with the link; in
//!   CellReplay it begins with the first packet.
//! * A packet of more than [`OPPORTUNITY`] bytes takes several heavy opportunities; CellReplay
//!   stops with an error.
//! * There is no `--loss-rate`, which the emulator accepts and does not use: add `errors`.
//!
//! Source: Sentosa et al., "CellReplay: Towards accurate record-and-replay for cellular networks",
//! NSDI 2025; `src/frontend/cellular_queue.cc` of its repository
//! (github.com/williamsentosa95/cellreplay).

mod trace;

pub use trace::{SizeOffsets, Trains};

use crate::packet::Packet;
use crate::seed::Seed;
use crate::spec::StageSpec;
use crate::stage::bottleneck::mahimahi::{MahimahiTrace, Playback, TUN_HEADER};
use crate::stage::bottleneck::{Bottleneck, BottleneckSpec, Counted, QueueSpec, RateSpec};
use crate::stage::spec::{FromFile, Read, SpecError};
use crate::stage::{Outbox, Stage};
use crate::units::{ByteCount, Span, Time};
use borsh::{BorshDeserialize, BorshSerialize};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use vocabulary::Sending;

/// Bytes of one opportunity, with the header of a TUN device for each packet.
pub const OPPORTUNITY: u64 = 1400;

/// Parameters of [`CellReplay`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[serde(deny_unknown_fields)]
pub struct CellReplaySpec {
    /// Base delays and light opportunities (`up-delay-light-pdo`).
    pub light: FromFile<Trains>,
    /// Heavy opportunities (`up-heavy-pdo`).
    pub heavy: FromFile<MahimahiTrace>,
    /// Additional delay by size (`--psize-latency-offset-up`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offsets: Option<FromFile<SizeOffsets>>,
    /// Time without packets after which a packet begins a train (`--long-to-short-timer-up`).
    #[serde(default)]
    pub timer: Span,
    /// Queue in front of the heavy opportunities. Default: unlimited.
    #[serde(default)]
    pub queue: QueueSpec,
}

impl CellReplaySpec {
    /// Reads the files of the specification.
    pub fn load(&mut self, read: &mut Read<'_>) -> Result<(), SpecError> {
        self.light.load(read, Trains::parse)?;
        self.heavy.load(read, MahimahiTrace::parse)?;
        self.offsets.as_mut().map_or(Ok(()), |offsets| offsets.load(read, SizeOffsets::parse))
    }

    /// Returns the bottleneck of the busy link.
    fn bottleneck(&self) -> BottleneckSpec {
        let playback = Playback { opportunity: ByteCount::new(OPPORTUNITY), ..Playback::USUAL };
        BottleneckSpec {
            rate: RateSpec::Mahimahi(self.heavy.clone(), playback),
            queue: self.queue.clone(),
            counted: Counted::default(),
        }
    }
}

impl fmt::Display for CellReplaySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "light {}, heavy {}, {}", self.light.name(), self.heavy.name(), self.queue)
    }
}

/// The stage; see the [module](self).
#[derive(Debug)]
pub struct CellReplay {
    trains: Arc<Trains>,
    offsets: Option<Arc<SizeOffsets>>,
    timer: Span,
    /// Start of the traces.
    start: Time,
    /// The train of the last packet.
    train: Option<Train>,
    /// Time at which the last packet leaves the train, before its latency offset.
    released: Time,
    /// Time at which the last packet leaves the train.
    last: Time,
    /// Packets that wait for the base delay and the light opportunities.
    row: VecDeque<Delayed>,
    heavy: Bottleneck,
}

/// A train that is in progress.
#[derive(Debug, Clone, Copy)]
struct Train {
    place: usize,
    began: Time,
    delay: Span,
    /// Place of the next opportunity.
    next: usize,
    /// Bytes left of the current opportunity.
    left: u64,
}

/// A packet before it leaves or enters the heavy queue.
#[derive(Debug)]
struct Delayed {
    leaves: Time,
    light: bool,
    packet: Packet,
}

impl CellReplay {
    /// Creates a stage as `spec` says. The traces begin at [`Time::ZERO`].
    pub fn new(spec: &CellReplaySpec, seed: &Seed) -> Result<Self, SpecError> {
        Ok(Self {
            trains: spec.light.content()?.clone(),
            offsets: spec.offsets.as_ref().map(FromFile::content).transpose()?.cloned(),
            timer: spec.timer,
            start: Time::ZERO,
            train: None,
            released: Time::ZERO,
            last: Time::ZERO,
            row: VecDeque::new(),
            heavy: Bottleneck::new(spec.bottleneck(), seed)?,
        })
    }

    /// Returns when a packet of `size` bytes that arrives at `now` leaves its train, and whether
    /// the train has an opportunity for it.
    fn release(&mut self, size: u64, now: Time) -> (Time, bool) {
        match &mut self.train {
            Some(train) if now + train.delay <= self.released + self.timer => {
                let opportunities = &self.trains.train(train.place).opportunities;
                let since = now.since(train.began).as_nanos();
                while opportunities.get(train.next).is_some_and(|&instant| since > instant) {
                    train.next += 1;
                    train.left = OPPORTUNITY;
                }
                if train.left < size {
                    train.next += 1;
                    train.left = OPPORTUNITY;
                }
                train.left = train.left.saturating_sub(size);
                if let Some(&instant) = opportunities.get(train.next) {
                    let wait = Span::from_nanos(instant.saturating_sub(since));
                    (now + train.delay + wait, true)
                } else {
                    let last = opportunities.last().copied().unwrap_or_default();
                    (now + train.delay.max(Span::from_nanos(last)), false)
                }
            }
            _ => {
                let (place, delay) = self.trains.at(now.since(self.start).as_nanos());
                let delay = Span::from_nanos(delay);
                let left = OPPORTUNITY.saturating_sub(size);
                self.train = Some(Train { place, began: now, delay, next: 0, left });
                (now + delay, true)
            }
        }
    }

    /// Returns `leaves` with the latency offset of `size` bytes, unless the packet would then leave
    /// before the last one.
    fn with_offset(&self, leaves: Time, size: u64) -> Time {
        let Some(offsets) = &self.offsets else { return leaves };
        let millis = offsets.of(size);
        let offset = Span::from_millis(millis.unsigned_abs());
        let moved =
            if millis < 0 { Time::ZERO + (leaves.since(Time::ZERO) - offset) } else { leaves + offset };
        if moved >= self.last { moved } else { leaves }
    }
}

impl Stage for CellReplay {
    fn accept(&mut self, packet: Packet, _: &mut Outbox) {
        let size = packet.frame.len() as u64 + TUN_HEADER;
        let (released, light) = self.release(size, packet.at);
        self.released = released;
        let leaves = self.with_offset(released, size);
        let light = light && leaves >= self.last;
        // An offset cannot make a packet leave before it arrives.
        self.last = self.last.max(leaves).max(packet.at);
        self.row.push_back(Delayed { leaves: self.last, light, packet });
    }

    fn due(&self) -> Time {
        self.row.front().map_or(Time::NEVER, |first| first.leaves).min(self.heavy.due())
    }

    fn advance(&mut self, now: Time, out: &mut Outbox) {
        if self.heavy.due() <= now {
            self.heavy.advance(now, out);
        }
        while self.row.front().is_some_and(|first| first.leaves <= now) {
            let Some(Delayed { light, mut packet, .. }) = self.row.pop_front() else { return };
            packet.at = now;
            if light && self.heavy.is_empty() {
                packet.sending = Sending { start: now, end: now };
                out.pass(packet);
            } else {
                self.heavy.accept(packet, out);
            }
        }
    }

    fn limiter(&self) -> Option<&BottleneckSpec> {
        self.heavy.limiter()
    }

    fn clear(&mut self, out: &mut Vec<Packet>) {
        out.extend(self.row.drain(..).map(|delayed| delayed.packet));
        self.heavy.clear(out);
    }

    fn waiting(&self) -> usize {
        self.heavy.waiting()
    }

    fn change(&mut self, to: &StageSpec, now: Time) -> Result<(), String> {
        let StageSpec::CellReplay(spec) = to else {
            return Err(format!("`cellreplay` cannot become `{}`", to.kind()));
        };
        let said = |error: SpecError| error.to_string();
        let trains = spec.light.content().map_err(said)?.clone();
        let offsets = spec.offsets.as_ref().map(FromFile::content).transpose().map_err(said)?.cloned();
        self.heavy.set(spec.bottleneck(), now).map_err(said)?;
        if trains != self.trains {
            (self.trains, self.start, self.train) = (trains, now, None);
        }
        (self.offsets, self.timer) = (offsets, spec.timer);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
