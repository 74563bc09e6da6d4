//! A link whose directions depend on each other, because a link layer with retransmissions runs
//! over both ([`crate::arq`]).
//!
//! ```text
//!   up    queue ─▶ ┌─────┐ ─▶ delay, outage, …
//!                  │ hop │
//!   down  … ◀───── └─────┘ ◀─ queue
//! ```
//!
//! It is one event machine with the contract of a [`Pipeline`], for two directions at once:
//! everything happens in the order of logical times over both. At one instant, what is behind the
//! hop goes first, then the hop, then what is above it. The queue gives the hop a packet as soon as
//! that has begun the one before (M15), so that the link layer is never without one, and the queue
//! discipline judges all that wait.

use crate::arq::Rows;
use crate::arq::hop::{Block, Counters, EndRecord, Hop, Outboxes, Watch};
use crate::packet::Packet;
use crate::pipeline::{Pipeline, Sink};
use crate::seed::Seed;
use crate::spec::BuildError;
use crate::units::Time;
use ::packet::Frame;
use vocabulary::Direction;

/// Takes what comes out of both directions of a link.
pub trait LinkSink {
    /// The packet left the link at `packet.at`.
    fn delivered(&mut self, direction: Direction, packet: Packet);
    /// The packet is gone; its last mark says why and when.
    fn lost(&mut self, direction: Direction, packet: Packet);
    /// An end of the link layer has noted something, if that is watched.
    fn noted(&mut self, record: &EndRecord) {
        let _ = record;
    }
    /// A block is at one of the ends, if blocks are watched.
    fn block(&mut self, block: &Block) {
        let _ = block;
    }
}

/// Both directions of a link, ready to run.
pub enum Built {
    /// Each by itself, up first.
    Apart(Box<[Pipeline; 2]>),
    /// With a link layer over both.
    Joined(Box<HopLink>),
}

impl Built {
    /// One of the directions.
    #[must_use]
    pub fn pipeline(&self, direction: Direction) -> &Pipeline {
        match self {
            Self::Apart(ways) => &ways[direction as usize],
            Self::Joined(link) => link.pipeline(direction),
        }
    }

    /// Shows the link's sink what is watched of a link layer, if it has one.
    pub fn watch(&mut self, watch: Watch) {
        if let Self::Joined(link) = self {
            link.hop.watch(watch);
        }
    }

    /// Whether a stage may change bytes of a packet.
    #[must_use]
    pub fn changes_bytes(&self) -> bool {
        Direction::BOTH.iter().any(|&direction| self.pipeline(direction).changes_bytes())
    }
}

/// The link; see the [module](self).
pub struct HopLink {
    ways: [Pipeline; 2],
    hop: Hop,
    out: Outboxes,
}

/// One direction's part of a [`LinkSink`].
struct OneWay<'a, S> {
    sink: &'a mut S,
    direction: Direction,
}

impl<S: LinkSink> Sink for OneWay<'_, S> {
    fn delivered(&mut self, packet: Packet) {
        self.sink.delivered(self.direction, packet);
    }

    fn lost(&mut self, packet: Packet) {
        self.sink.lost(self.direction, packet);
    }
}

impl HopLink {
    /// A link of these rows; `seed` is that of the link.
    ///
    /// # Errors
    /// If a stage or the hop cannot be built.
    pub fn new(rows: &Rows, seed: &Seed) -> Result<Self, BuildError> {
        let hop = Hop::new(&rows.hop, seed, false)
            .map_err(|error| BuildError { stage: "arq".to_owned(), why: error.to_string() })?;
        let row = |direction| {
            let row = if direction == Direction::Up { &rows.up } else { &rows.down };
            row.build(&seed.direction(direction))
        };
        let ways = [row(Direction::Up)?, row(Direction::Down)?];
        let mut link = Self { ways, hop, out: Outboxes::default() };
        link.release(Time::ZERO);
        Ok(link)
    }

    /// One direction's stages.
    #[must_use]
    pub fn pipeline(&self, direction: Direction) -> &Pipeline {
        &self.ways[direction as usize]
    }

    /// What the link layer has sent in a direction so far.
    #[must_use]
    pub fn counters(&self, direction: Direction) -> Counters {
        self.hop.counters(direction)
    }

    /// When something next happens inside. An idle link with RLP has something due every 20 ms.
    #[must_use]
    pub fn due(&self) -> Time {
        self.ways.iter().map(Pipeline::due).fold(self.hop.due(), Time::min)
    }

    /// Before when no packet leaves, by what is inside ([`Pipeline::wake`]). Without packets in the
    /// hop that is never, whatever frames its ends exchange: they do that when the next packet
    /// comes, at their logical times.
    #[must_use]
    pub fn wake(&self) -> Time {
        let ways = Direction::BOTH.into_iter().map(|direction| {
            let way = self.pipeline(direction);
            let busy = self.hop.inside(direction) > 0;
            let hop = if busy { self.hop.due() + way.behind_hop() } else { Time::NEVER };
            way.wake().min(hop)
        });
        ways.fold(Time::NEVER, Time::min)
    }

    /// A frame comes to a direction at `now`, after everything that was due until then in both.
    pub fn accept(&mut self, direction: Direction, frame: Frame, now: Time, sink: &mut impl LinkSink) {
        self.advance(now, sink);
        self.ways[direction as usize].accept(frame, now, &mut OneWay { sink, direction });
        self.settle(now, sink);
    }

    /// Lets everything happen in both directions that is due until `now`, that instant included.
    pub fn advance(&mut self, now: Time, sink: &mut impl LinkSink) {
        loop {
            let due = self.due();
            if due > now || due == Time::NEVER {
                return;
            }
            for direction in Direction::BOTH {
                self.ways[direction as usize].advance_behind_hop(due, &mut OneWay { sink, direction });
            }
            if self.hop.due() <= due {
                self.hop.advance(due, &mut self.out);
                self.emerge(sink);
            }
            self.release(due);
            self.settle(due, sink);
        }
    }

    /// Calls on one direction's stages at `now`.
    pub fn visit<T>(
        &mut self,
        direction: Direction,
        now: Time,
        sink: &mut impl LinkSink,
        visit: impl FnOnce(&mut Pipeline, Time) -> T,
    ) -> T {
        self.advance(now, sink);
        let said = visit(&mut self.ways[direction as usize], now);
        for command in self.ways[direction as usize].take_orders() {
            self.hop.obey(direction, command, now);
        }
        self.release(now);
        self.settle(now, sink);
        said
    }

    /// Ends the run: everything still inside is lost at `now`, those in the hop as well.
    pub fn finish(&mut self, now: Time, sink: &mut impl LinkSink) {
        self.advance(now, sink);
        for (direction, packets) in Direction::BOTH.into_iter().zip(self.hop.clear()) {
            let way = &mut self.ways[direction as usize];
            way.give_back(packets);
            way.finish(now, &mut OneWay { sink, direction });
        }
    }

    /// Everything that follows at `now` from what has just happened: packets come to the hop, which
    /// may be ready for more then.
    fn settle(&mut self, now: Time, sink: &mut impl LinkSink) {
        loop {
            for direction in Direction::BOTH {
                self.ways[direction as usize].advance(now, &mut OneWay { sink, direction });
            }
            let mut handed = false;
            for direction in Direction::BOTH {
                for packet in self.ways[direction as usize].take_handed() {
                    handed = true;
                    self.hop.accept(direction, packet, &mut self.out);
                }
            }
            if !handed {
                return;
            }
            self.emerge(sink);
            self.release(now);
        }
    }

    /// What has left the hop goes on, and what it noted is shown: nothing stays here, however long
    /// the link runs.
    fn emerge(&mut self, sink: &mut impl LinkSink) {
        for record in self.hop.take_records() {
            sink.noted(&record);
        }
        for block in self.hop.take_blocks() {
            sink.block(&block);
        }
        for direction in Direction::BOTH {
            let way = &mut self.ways[direction as usize];
            way.emerge(self.out.of(direction), &mut OneWay { sink, direction });
        }
    }

    /// Queues may give a packet to a hop that has begun the last one.
    fn release(&mut self, now: Time) {
        for direction in Direction::BOTH {
            if self.hop.is_ready(direction) {
                self.ways[direction as usize].release(now);
            }
        }
    }
}

#[cfg(test)]
mod tests;
