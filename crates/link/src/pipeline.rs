//! A row of stages: one direction of a link, or the part of it on one side of a medium.
//!
//! The pipeline is an event loop without a clock. It handles the events of all stages in the order
//! of their logical times, and before packets that arrive later. If two stages have an event at the
//! same instant, the stage further down the row goes first: a packet that leaves one stage then
//! meets the next after that one's own events.

use crate::fate::{Effect, Mark};
use crate::packet::Packet;
use crate::spec::StageSpec;
use crate::stage::bottleneck::BottleneckSpec;
use crate::stage::{Outbox, Stage, StageCommand};
use crate::units::{Span, Time};
use packet::Frame;
use vocabulary::Loss;

/// Receiver of the packets that leave a pipeline.
pub trait Sink {
    /// Takes a packet that left the link at `packet.at`.
    fn delivered(&mut self, packet: Packet);
    /// Takes a packet that was lost; its last mark states the cause and the time.
    fn lost(&mut self, packet: Packet);
}

/// A row of named stages.
pub struct Pipeline {
    stages: Vec<Named>,
    /// Names of stages by the number in their marks. A stage keeps its number while others come and
    /// go.
    names: Vec<String>,
    /// Due time of each stage, in order. A cache, because it is read far more often than it
    /// changes.
    due: Vec<Time>,
    /// Lower bound on a packet's delay from the end of each stage to the end of the pipeline.
    onward: Vec<Span>,
    /// Lower bound on a packet's delay from one end of the pipeline to the other.
    least_delay: Span,
    next_number: u64,
    out: Outbox,
    /// Packets between two stages. The field is only kept to reuse its memory.
    moving: Vec<Packet>,
}

struct Named {
    /// Place of the name in [`Pipeline::names`].
    id: u8,
    stage: Box<dyn Stage>,
}

impl Pipeline {
    /// Creates a pipeline of `stages` in their order, each with its name. Without stages it is a
    /// perfect link.
    ///
    /// # Panics
    /// If there are more than 254 stages: a mark numbers them in one byte, of which one value is
    /// reserved.
    #[must_use]
    pub fn new(stages: Vec<(String, Box<dyn Stage>)>) -> Self {
        let (names, stages) = stages.into_iter().unzip();
        Self::part_of(names, 0, stages)
    }

    /// Creates a pipeline that is part of a longer row with these `names`; its first stage has the
    /// name at place `first`.
    pub(crate) fn part_of(names: Vec<String>, first: usize, stages: Vec<Box<dyn Stage>>) -> Self {
        assert!(names.len() < usize::from(Mark::BY_CURRENT_STAGE), "{} stages are too many", names.len());
        let due = stages.iter().map(|stage| stage.due()).collect();
        let stages = stages.into_iter().zip(first as u8..).map(|(stage, id)| Named { id, stage }).collect();
        let (onward, out, moving) = (Vec::new(), Outbox::default(), Vec::new());
        let mut pipeline =
            Self { stages, names, due, onward, least_delay: Span::ZERO, next_number: 0, out, moving };
        pipeline.reckon();
        pipeline
    }

    /// Computes [`Pipeline::onward`] and [`Pipeline::least_delay`] after a change of stages.
    fn reckon(&mut self) {
        self.onward.resize(self.stages.len(), Span::ZERO);
        let mut least = Span::ZERO;
        for (onward, named) in self.onward.iter_mut().zip(&self.stages).rev() {
            *onward = least;
            least = least + named.stage.least_delay();
        }
        self.least_delay = least;
    }

    /// Assigns numbers to the names of stages that may be inserted later, so that logs can list
    /// them from the start.
    pub fn reserve(&mut self, names: impl IntoIterator<Item = String>) {
        for name in names {
            self.id_of(&name);
        }
    }

    fn id_of(&mut self, name: &str) -> u8 {
        let place = self.names.iter().position(|known| known == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        assert!(place < usize::from(Mark::BY_CURRENT_STAGE), "{place} stages are too many");
        place as u8
    }

    /// Returns the name of the stage that left a mark.
    #[must_use]
    pub fn stage_name(&self, stage: u8) -> &str {
        self.names.get(usize::from(stage)).map_or("link", String::as_str)
    }

    /// Returns the time of the next event inside; [`Time::NEVER`] if only a packet can cause one.
    #[must_use]
    pub fn due(&self) -> Time {
        self.due.iter().copied().min().unwrap_or(Time::NEVER)
    }

    /// Returns a lower bound on the time at which the next packet leaves if no more arrive;
    /// [`Time::NEVER`] if only an arrival can make one leave.
    ///
    /// Stages work on logical times, so events between stages can be handled late, when this time
    /// comes. A caller that waits for packets to send need not wake up for them. The result is
    /// never earlier than [`Pipeline::due`].
    #[must_use]
    pub fn wake(&self) -> Time {
        let wakes = self.due.iter().zip(&self.onward).map(|(&due, &onward)| due + onward);
        wakes.min().unwrap_or(Time::NEVER)
    }

    /// Returns a lower bound on a packet's delay from one end to the other, as far as the stages
    /// know it.
    pub(crate) fn least_delay(&self) -> Span {
        self.least_delay
    }

    /// Returns whether a stage may change bytes of a packet.
    #[must_use]
    pub fn changes_bytes(&self) -> bool {
        self.stages.iter().any(|named| named.stage.changes_bytes())
    }

    /// Returns the number of packets that wait inside. Packets in flight do not count.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.stages.iter().map(|named| named.stage.waiting()).sum()
    }

    /// Returns the number of packets that have arrived so far.
    #[must_use]
    pub fn arrivals(&self) -> u64 {
        self.next_number
    }

    /// Takes a frame that arrives at the link at `now`, after handling all events due until then.
    pub fn accept(&mut self, frame: Frame, now: Time, sink: &mut impl Sink) {
        self.advance(now, sink);
        let packet = Packet::new(self.next_number, frame, now);
        self.next_number += 1;
        if self.stages.is_empty() {
            sink.delivered(packet);
            return;
        }
        self.stages[0].stage.accept(packet, &mut self.out);
        self.settle(0, sink);
    }

    /// Takes packets that another pipeline has numbered. They reach the first stage together; the
    /// caller has handled all events due until then.
    pub(crate) fn enter(&mut self, packets: &mut Vec<Packet>, sink: &mut impl Sink) {
        if self.stages.is_empty() {
            packets.drain(..).for_each(|packet| sink.delivered(packet));
        } else if !packets.is_empty() {
            for packet in packets.drain(..) {
                self.stages[0].stage.accept(packet, &mut self.out);
            }
            self.settle(0, sink);
        }
    }

    /// Announces to the stages that the medium behind the pipeline takes one more packet.
    pub(crate) fn release(&mut self, now: Time) {
        for (named, due) in self.stages.iter_mut().zip(&mut self.due) {
            named.stage.release(now);
            *due = named.stage.due();
        }
    }

    /// Handles all events that are due until `now`, inclusive.
    pub fn advance(&mut self, now: Time, sink: &mut impl Sink) {
        loop {
            let mut next = (Time::NEVER, 0);
            for (place, &due) in self.due.iter().enumerate() {
                // `<=`: if two stages are due together, the later one in the row goes first.
                if due <= next.0 {
                    next = (due, place);
                }
            }
            let (due, place) = next;
            if due > now || due == Time::NEVER {
                return;
            }
            self.stages[place].stage.advance(due, &mut self.out);
            self.settle(place, sink);
        }
    }

    /// Returns the limiter whose times are in [`Packet::sending`]: the last one; `None` if no stage
    /// limits.
    #[must_use]
    pub fn limiter(&self) -> Option<&BottleneckSpec> {
        self.stages.iter().rev().find_map(|named| named.stage.limiter())
    }

    /// Returns the names of stages by the number in their marks, including reserved names.
    #[must_use]
    pub fn stage_names(&self) -> &[String] {
        &self.names
    }

    /// Gives the stage of this name other parameters at `now`, which must not be earlier than any
    /// event so far.
    ///
    /// # Errors
    /// If there is no such stage, or if it refuses the parameters. Nothing has changed then.
    pub fn set(&mut self, name: &str, spec: &StageSpec, now: Time) -> Result<(), String> {
        self.touch(name, |stage| stage.change(spec, now))
    }

    /// Sends a command to the stage of this name at `now`.
    ///
    /// # Errors
    /// If there is no such stage, or if it does not know the command.
    pub fn obey(&mut self, name: &str, command: StageCommand, now: Time) -> Result<(), String> {
        self.touch(name, |stage| stage.obey(command, now))
    }

    /// Inserts a stage into the row, in front of the one that is now at `place`.
    ///
    /// # Panics
    /// If the row is shorter than `place`, or if there are more than 255 names of stages.
    pub fn insert(&mut self, place: usize, name: &str, stage: Box<dyn Stage>) {
        let id = self.id_of(name);
        self.due.insert(place, stage.due());
        self.stages.insert(place, Named { id, stage });
        self.reckon();
    }

    /// Removes the stage of this name from the row.
    ///
    /// # Errors
    /// If there is no such stage, or if it keeps packets.
    pub fn remove(&mut self, name: &str) -> Result<(), String> {
        let place = self.removable(name)?;
        self.stages.remove(place);
        self.due.remove(place);
        self.reckon();
        Ok(())
    }

    /// Returns the place of a stage that can be removed.
    pub(crate) fn removable(&self, name: &str) -> Result<usize, String> {
        let place = self.place_of(name)?;
        if self.stages[place].stage.keeps_packets() {
            return Err(format!("stage `{name}` may hold packets and cannot be removed while the link runs"));
        }
        Ok(place)
    }

    /// Returns whether there is a stage of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.place_of(name).is_ok()
    }

    fn place_of(&self, name: &str) -> Result<usize, String> {
        let place = self.stages.iter().position(|named| self.names[usize::from(named.id)] == name);
        place.ok_or_else(|| format!("there is no stage `{name}`"))
    }

    /// Applies `change` to one stage and reads its due time again.
    fn touch(
        &mut self,
        name: &str,
        change: impl FnOnce(&mut dyn Stage) -> Result<(), String>,
    ) -> Result<(), String> {
        let place = self.place_of(name)?;
        let changed = change(self.stages[place].stage.as_mut());
        self.due[place] = self.stages[place].stage.due();
        self.reckon();
        changed
    }

    /// Ends the run: every packet still inside is lost at `now` as [`Loss::RunEnded`].
    pub fn finish(&mut self, now: Time, sink: &mut impl Sink) {
        self.advance(now, sink);
        for (named, due) in self.stages.iter_mut().zip(&mut self.due) {
            named.stage.clear(&mut self.moving);
            *due = named.stage.due();
            for packet in self.moving.drain(..) {
                sink.lost(ended_with_the_run(packet, now, named.id));
            }
        }
    }

    /// Carries the packets that left stage `first`, which has just acted, through the stages behind
    /// it.
    fn settle(&mut self, first: usize, sink: &mut impl Sink) {
        let mut place = first;
        loop {
            self.due[place] = self.stages[place].stage.due();
            let id = self.stages[place].id;
            for mut packet in self.out.lost.drain(..) {
                signed(&mut packet, id);
                sink.lost(packet);
            }
            if self.out.passed.is_empty() {
                return;
            }
            for packet in &mut self.out.passed {
                signed(packet, id);
            }
            place += 1;
            if place == self.stages.len() {
                for packet in self.out.passed.drain(..) {
                    sink.delivered(packet);
                }
                return;
            }
            std::mem::swap(&mut self.moving, &mut self.out.passed);
            for packet in self.moving.drain(..) {
                self.stages[place].stage.accept(packet, &mut self.out);
            }
        }
    }
}

/// Marks a packet that was still inside the stage of this number when the run ended.
pub(crate) fn ended_with_the_run(mut packet: Packet, now: Time, stage: u8) -> Packet {
    packet.at = now;
    packet.mark(Effect::Lost(Loss::RunEnded));
    signed(&mut packet, stage);
    packet
}

/// Fills in the stage of the newest marks.
pub(crate) fn signed(packet: &mut Packet, stage: u8) {
    for mark in packet.marks.unsigned() {
        mark.stage = stage;
    }
}
