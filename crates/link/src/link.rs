//! A link: both its directions, and the medium between them.
//!
//! ```text
//!           above        medium      below
//!   up    queue, … ─▶ ┌────────┐ ─▶ delay, outage, …
//!                     │        │
//!   down  … ◀──────── └────────┘ ◀─ queue, …
//! ```
//!
//! Most links have no medium. All their stages are above, and the two directions are independent. A
//! medium joins the directions; an example is a link layer with retransmissions ([`crate::arq`]).
//!
//! A link is an event machine with the contract of a [`Pipeline`]. With a medium, events happen in
//! the order of logical times over both directions. At one instant, the stages below go first, then
//! the medium, then the stages above. The queue above passes a packet to the medium as soon as the
//! medium has begun the previous one (M15). The medium therefore never runs idle while packets
//! wait, and the queue discipline judges all waiting packets.

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

/// Receiver of the packets that leave either direction of a link.
pub trait LinkSink {
    /// Takes a packet that left the link at `packet.at`.
    fn delivered(&mut self, direction: Direction, packet: Packet);
    /// Takes a packet that was lost; its last mark states the cause and the time.
    fn lost(&mut self, direction: Direction, packet: Packet);
    /// Takes a record of one end of the link layer, if records are watched.
    fn noted(&mut self, record: &EndRecord) {
        let _ = record;
    }
    /// Takes a block at one of the ends, if blocks are watched.
    fn block(&mut self, block: &Block) {
        let _ = block;
    }
}

/// The link; see the [module](self). In arrays of directions, up is first.
pub struct Link {
    /// The stages before the medium: all stages if there is none.
    above: [Pipeline; 2],
    medium: Option<Box<dyn Medium>>,
    /// The stages behind the medium: empty without a medium. Their table of names equals that of
    /// the stages above.
    below: [Pipeline; 2],
    /// Packets between the stages above and the medium.
    handed: [Vec<Packet>; 2],
    /// The number of the medium in the marks of each direction.
    ids: [u8; 2],
}

/// The part of a [`LinkSink`] for one direction.
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

/// A sink for the stages above a medium: packets that pass them are handed to the medium.
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
    /// Creates a link without a medium.
    #[must_use]
    pub fn new(up: Pipeline, down: Pipeline) -> Self {
        let below = [(); 2].map(|()| Pipeline::new(Vec::new()));
        Self { above: [up, down], medium: None, below, handed: Default::default(), ids: [0; 2] }
    }

    /// Creates a link over a medium, which has the numbers `ids` in the marks of the two
    /// directions.
    fn over(medium: Box<dyn Medium>, ids: [u8; 2], above: [Pipeline; 2], below: [Pipeline; 2]) -> Self {
        let mut link = Self { above, medium: Some(medium), below, handed: Default::default(), ids };
        link.release(Time::ZERO);
        link
    }

    /// Returns whether a medium joins the directions.
    #[must_use]
    pub fn has_medium(&self) -> bool {
        self.medium.is_some()
    }

    /// Starts to report the records or blocks of the link layer to the sink, as `watch` selects.
    /// Without a link layer there is no effect.
    pub fn watch(&mut self, watch: Watch) {
        if let Some(medium) = &mut self.medium {
            medium.watch(watch);
        }
    }

    /// Returns the link layer's counters of a direction; `None` without a link layer.
    #[must_use]
    pub fn counters(&self, direction: Direction) -> Option<Counters> {
        self.medium.as_ref().map(|medium| medium.counters(direction))
    }

    /// Returns the stages of a direction, above and below.
    fn parts(&self, direction: Direction) -> [&Pipeline; 2] {
        [&self.above[direction as usize], &self.below[direction as usize]]
    }

    /// Returns whether a stage may change bytes of a packet.
    #[must_use]
    pub fn changes_bytes(&self) -> bool {
        self.above.iter().chain(&self.below).any(Pipeline::changes_bytes)
    }

    /// Returns the number of packets that wait in a direction's stages. Packets in flight do not
    /// count.
    #[must_use]
    pub fn waiting(&self, direction: Direction) -> usize {
        self.parts(direction).into_iter().map(Pipeline::waiting).sum()
    }

    /// Returns the number of packets that have arrived in a direction so far.
    #[must_use]
    pub fn arrivals(&self, direction: Direction) -> u64 {
        self.above[direction as usize].arrivals()
    }

    /// Returns the limiter whose times are in [`Packet::sending`]: the last one of a direction;
    /// `None` if no stage limits.
    #[must_use]
    pub fn limiter(&self, direction: Direction) -> Option<&BottleneckSpec> {
        self.parts(direction).into_iter().rev().find_map(Pipeline::limiter)
    }

    /// Returns the name of the stage or medium that left a mark on a packet of this direction.
    #[must_use]
    pub fn stage_name(&self, direction: Direction, stage: u8) -> &str {
        self.above[direction as usize].stage_name(stage)
    }

    /// Returns the names of a direction's stages and of the medium by the number in their marks,
    /// including reserved names.
    #[must_use]
    pub fn stage_names(&self, direction: Direction) -> &[String] {
        self.above[direction as usize].stage_names()
    }

    /// Returns the time of the next event inside; [`Time::NEVER`] if only a packet can cause one.
    /// An idle link with RLP has an event every 20 ms.
    #[must_use]
    pub fn due(&self) -> Time {
        let above = self.above[0].due().min(self.above[1].due());
        let Some(medium) = &self.medium else { return above };
        self.below.iter().map(Pipeline::due).fold(above.min(medium.due()), Time::min)
    }

    /// Returns a lower bound on the time at which the next packet leaves if no more arrive
    /// ([`Pipeline::wake`]).
    ///
    /// Without packets in the medium it is [`Time::NEVER`], even if the ends exchange frames: their
    /// events are handled when the next packet arrives, at their logical times.
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

    /// Takes a frame that arrives in a direction at `now`, after handling all events due until then
    /// in that direction, or, with a medium, in both.
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

    /// Handles all events of both directions that are due until `now`, inclusive.
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

    /// Handles the events of one direction of a link without a medium.
    fn advance_alone(&mut self, direction: Direction, now: Time, sink: &mut impl LinkSink) {
        self.above[direction as usize].advance(now, &mut OneWay { sink, direction });
    }

    /// Handles the events until `now`, calls `visit` to change or inspect a direction, and handles
    /// the consequences.
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

    /// Sends a command to the stage of this name in a direction at `now`. With a medium and without
    /// such a stage, a command for an outage applies to the air beneath the medium.
    ///
    /// # Errors
    /// If there is no such stage, or if it does not know the command.
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

    /// Ends the run: every packet still inside is lost at `now`, including packets in the medium.
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

    /// Handles the consequences of the last event at `now`: packets move on to the medium, which
    /// may then take more.
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

    /// Passes on the packets that have left the medium, and reports its records and blocks. The
    /// medium keeps none of them, however long the link runs.
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

    /// Lets the queues pass a packet to a medium that has begun the last one.
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
