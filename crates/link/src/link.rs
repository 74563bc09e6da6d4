//! A link: both its directions, and what is between the stages of each.
//!
//! ```text
//!           above        medium      below
//!   up    queue, … ─▶ ┌────────┐ ─▶ delay, outage, …
//!                     │        │
//!   down  … ◀──────── └────────┘ ◀─ queue, …
//! ```
//!
//! Most links have no medium. All their stages are above, and the two directions do not know of
//! each other. A medium joins them, such as a link layer with retransmissions ([`crate::arq`]).
//!
//! A link is one event machine with the contract of a [`Pipeline`]. With a medium, everything
//! happens in the order of logical times over both directions. At one instant, what is below goes
//! first, then the medium, then what is above. The queue above gives the medium a packet as soon as
//! that has begun the one before (M15), so that the medium is never without one, and the queue
//! discipline judges all that wait.

mod arq_hop;
mod medium;
mod over_arq;
mod spec;

pub use arq_hop::HopSpec;
pub use spec::{LinkSpec, MediumSpec};

use crate::packet::Packet;
use crate::pipeline::{Pipeline, Sink, ended_with_the_run, signed};
use crate::stage::bottleneck::BottleneckSpec;
use crate::stage::{Outbox, StageCommand};
use crate::units::Time;
use ::packet::Frame;
use arq::hop::{Block, Counters, EndRecord, Watch};
use medium::Medium;
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

/// The link; see the [module](self). Directions have their places in arrays, up first.
pub struct Link {
    /// The stages before the medium: all of them if there is none.
    above: [Pipeline; 2],
    medium: Option<Box<dyn Medium>>,
    /// The stages behind it: none without a medium. Their table of names is that of those above.
    below: [Pipeline; 2],
    /// Packets between the stages above and the medium.
    handed: [Vec<Packet>; 2],
    /// The medium's numbers in the marks of both directions.
    ids: [u8; 2],
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

/// The same for the stages above a medium: what leaves them is handed to that.
struct Ahead<'a, S> {
    sink: &'a mut S,
    direction: Direction,
    handed: &'a mut Vec<Packet>,
}

impl<S: LinkSink> Sink for Ahead<'_, S> {
    fn delivered(&mut self, packet: Packet) {
        self.handed.push(packet);
    }

    fn lost(&mut self, packet: Packet) {
        self.sink.lost(self.direction, packet);
    }
}

impl Link {
    /// A link without a medium.
    #[must_use]
    pub fn new(up: Pipeline, down: Pipeline) -> Self {
        let below = [(); 2].map(|()| Pipeline::new(Vec::new()));
        Self { above: [up, down], medium: None, below, handed: Default::default(), ids: [0; 2] }
    }

    /// A link over a medium, which has these numbers in the marks of both directions.
    fn over(medium: Box<dyn Medium>, ids: [u8; 2], above: [Pipeline; 2], below: [Pipeline; 2]) -> Self {
        let mut link = Self { above, medium: Some(medium), below, handed: Default::default(), ids };
        link.release(Time::ZERO);
        link
    }

    /// Whether the directions depend on each other.
    #[must_use]
    pub fn has_medium(&self) -> bool {
        self.medium.is_some()
    }

    /// Shows the link's sink what is watched of a link layer, if it has one.
    pub fn watch(&mut self, watch: Watch) {
        if let Some(medium) = &mut self.medium {
            medium.watch(watch);
        }
    }

    /// What the link layer has sent in a direction so far; `None` without one.
    #[must_use]
    pub fn counters(&self, direction: Direction) -> Option<Counters> {
        self.medium.as_ref().map(|medium| medium.counters(direction))
    }

    /// The stages of a direction above and below.
    fn parts(&self, direction: Direction) -> [&Pipeline; 2] {
        [&self.above[direction as usize], &self.below[direction as usize]]
    }

    /// Whether a stage may change bytes of a packet.
    #[must_use]
    pub fn changes_bytes(&self) -> bool {
        self.above.iter().chain(&self.below).any(Pipeline::changes_bytes)
    }

    /// Packets that wait in a direction's stages, not counting those in flight.
    #[must_use]
    pub fn waiting(&self, direction: Direction) -> usize {
        self.parts(direction).into_iter().map(Pipeline::waiting).sum()
    }

    /// Packets that came to a direction so far.
    #[must_use]
    pub fn arrivals(&self, direction: Direction) -> u64 {
        self.above[direction as usize].arrivals()
    }

    /// The limiter that [`Packet::sending`] is about: the last one of a direction; `None` if no
    /// stage limits.
    #[must_use]
    pub fn limiter(&self, direction: Direction) -> Option<&BottleneckSpec> {
        self.parts(direction).into_iter().rev().find_map(Pipeline::limiter)
    }

    /// Name of the stage, or of the medium, that left a mark on a packet of this direction.
    #[must_use]
    pub fn stage_name(&self, direction: Direction, stage: u8) -> &str {
        self.above[direction as usize].stage_name(stage)
    }

    /// Names of a direction's stages and of the medium by the number that their marks carry, those
    /// included that are only reserved.
    #[must_use]
    pub fn stage_names(&self, direction: Direction) -> &[String] {
        self.above[direction as usize].stage_names()
    }

    /// When something next happens inside; [`Time::NEVER`] if only a packet can make it happen. An
    /// idle link with RLP has something due every 20 ms.
    #[must_use]
    pub fn due(&self) -> Time {
        let above = self.above[0].due().min(self.above[1].due());
        let Some(medium) = &self.medium else { return above };
        self.below.iter().map(Pipeline::due).fold(above.min(medium.due()), Time::min)
    }

    /// Before when no packet leaves, by what is inside ([`Pipeline::wake`]). Without packets in the
    /// medium that is never, whatever frames its ends exchange: they do that when the next packet
    /// comes, at their logical times.
    #[must_use]
    pub fn wake(&self) -> Time {
        let Some(medium) = &self.medium else { return self.above[0].wake().min(self.above[1].wake()) };
        let ways = Direction::BOTH.into_iter().map(|direction| {
            let [above, below] = self.parts(direction);
            let is_empty = medium.inside(direction) == 0;
            let medium = if is_empty { Time::NEVER } else { medium.due() };
            below.wake().min(above.wake().min(medium) + below.least_delay())
        });
        ways.fold(Time::NEVER, Time::min)
    }

    /// A frame comes to a direction at `now`, after everything that was due until then: there, or,
    /// with a medium, in both.
    pub fn accept(&mut self, direction: Direction, frame: Frame, now: Time, sink: &mut impl LinkSink) {
        let place = direction as usize;
        if !self.has_medium() {
            return self.above[place].accept(frame, now, &mut OneWay { sink, direction });
        }
        self.advance(now, sink);
        let handed = &mut self.handed[place];
        self.above[place].accept(frame, now, &mut Ahead { sink, direction, handed });
        self.settle(now, sink);
    }

    /// Lets everything happen in both directions that is due until `now`, that instant included.
    pub fn advance(&mut self, now: Time, sink: &mut impl LinkSink) {
        if !self.has_medium() {
            for direction in Direction::BOTH {
                self.advance_alone(direction, now, sink);
            }
            return;
        }
        loop {
            let due = self.due();
            if due > now || due == Time::NEVER {
                return;
            }
            for direction in Direction::BOTH {
                self.below[direction as usize].advance(due, &mut OneWay { sink, direction });
            }
            if let Some(medium) = self.medium.as_mut().filter(|medium| medium.due() <= due) {
                medium.advance(due);
                self.emerge(sink);
            }
            self.release(due);
            self.settle(due, sink);
        }
    }

    /// The same for one direction of a link without a medium.
    fn advance_alone(&mut self, direction: Direction, now: Time, sink: &mut impl LinkSink) {
        self.above[direction as usize].advance(now, &mut OneWay { sink, direction });
    }

    /// Calls on the link at `now` to change a direction, or to look at it.
    pub fn visit<T>(
        &mut self,
        direction: Direction,
        now: Time,
        sink: &mut impl LinkSink,
        visit: impl FnOnce(&mut Self, Time) -> T,
    ) -> T {
        if !self.has_medium() {
            self.advance_alone(direction, now, sink);
            return visit(self, now);
        }
        self.advance(now, sink);
        let said = visit(self, now);
        self.release(now);
        self.settle(now, sink);
        said
    }

    /// Tells the stage of this name in a direction to do something at `now`. Where there is no such
    /// stage for an outage but a medium, the outage is on the air there.
    ///
    /// # Errors
    /// If there is no such stage, or if it cannot do that.
    pub fn obey(
        &mut self,
        direction: Direction,
        name: &str,
        command: StageCommand,
        now: Time,
    ) -> Result<(), String> {
        let place = direction as usize;
        let (above, below) = (&mut self.above[place], &mut self.below[place]);
        match (&mut self.medium, command) {
            (Some(medium), StageCommand::Outage(command)) if !above.has(name) && !below.has(name) => {
                medium.obey(direction, command, now);
                Ok(())
            }
            _ if below.has(name) => below.obey(name, command, now),
            _ => above.obey(name, command, now),
        }
    }

    /// Ends the run: everything still inside is lost at `now`, what is in the medium as well.
    pub fn finish(&mut self, now: Time, sink: &mut impl LinkSink) {
        self.advance(now, sink);
        let inside = self.medium.as_mut().map(|medium| medium.clear()).unwrap_or_default();
        for (direction, inside) in Direction::BOTH.into_iter().zip(inside) {
            let place = direction as usize;
            let way = &mut OneWay { sink: &mut *sink, direction };
            self.above[place].finish(now, way);
            for packet in inside {
                way.lost(ended_with_the_run(packet, now, self.ids[place]));
            }
            self.below[place].finish(now, way);
        }
    }

    /// Everything that follows at `now` from what has just happened: packets come to the medium,
    /// which may be ready for more then.
    fn settle(&mut self, now: Time, sink: &mut impl LinkSink) {
        loop {
            for direction in Direction::BOTH {
                let place = direction as usize;
                self.below[place].advance(now, &mut OneWay { sink, direction });
                let handed = &mut self.handed[place];
                self.above[place].advance(now, &mut Ahead { sink, direction, handed });
            }
            let Some(medium) = self.medium.as_mut().filter(|_| !self.handed.iter().all(Vec::is_empty)) else {
                return;
            };
            for direction in Direction::BOTH {
                self.handed[direction as usize].drain(..).for_each(|packet| medium.accept(direction, packet));
            }
            self.emerge(sink);
            self.release(now);
        }
    }

    /// What has left the medium goes on, and what was noted there is shown: nothing stays there,
    /// however long the link runs.
    fn emerge(&mut self, sink: &mut impl LinkSink) {
        let Some(medium) = &mut self.medium else { return };
        medium.take_records().iter().for_each(|record| sink.noted(record));
        medium.take_blocks().iter().for_each(|block| sink.block(block));
        for direction in Direction::BOTH {
            let place = direction as usize;
            let Outbox { passed, lost } = medium.outbox(direction);
            passed.iter_mut().chain(&mut *lost).for_each(|packet| signed(packet, self.ids[place]));
            lost.drain(..).for_each(|packet| sink.lost(direction, packet));
            self.below[place].enter(passed, &mut OneWay { sink, direction });
        }
    }

    /// Queues may give a packet to a medium that has begun the last one.
    fn release(&mut self, now: Time) {
        let Some(medium) = &self.medium else { return };
        for direction in Direction::BOTH {
            if medium.is_ready(direction) {
                self.above[direction as usize].release(now);
            }
        }
    }
}

#[cfg(test)]
mod tests;
