//! Stages in a row: one direction of a link, or what one direction has on one side of a medium.
//!
//! The pipeline is an event loop without a clock. It keeps stages in step: whatever any stage has
//! due happens in the order of logical times, and before a packet that arrives later. Where two
//! stages are due at the same instant, the one further down the row goes first, so that a packet
//! which leaves one stage finds the next as it is after its own events.

use crate::fate::{Effect, Mark};
use crate::packet::Packet;
use crate::spec::StageSpec;
use crate::stage::bottleneck::BottleneckSpec;
use crate::stage::{Outbox, Stage, StageCommand};
use crate::units::{Span, Time};
use packet::Frame;
use vocabulary::Loss;

/// Takes what comes out of a pipeline.
pub trait Sink {
    /// The packet left the link at `packet.at`.
    fn delivered(&mut self, packet: Packet);
    /// The packet is gone; its last mark says why and when.
    fn lost(&mut self, packet: Packet);
}

/// A row of named stages.
pub struct Pipeline {
    stages: Vec<Named>,
    /// Names of stages by the number that their marks carry. Stages that come and go while the link
    /// runs keep theirs.
    names: Vec<String>,
    /// Due time of each stage, in order: read much more often than it changes.
    due: Vec<Time>,
    /// The least time that a packet needs from each stage's end to the pipeline's.
    onward: Vec<Span>,
    /// The least time that a packet needs from one end to the other.
    least_delay: Span,
    next_number: u64,
    out: Outbox,
    /// Packets between two stages; kept for its memory only.
    moving: Vec<Packet>,
}

struct Named {
    /// Place of the name in [`Pipeline::names`].
    id: u8,
    stage: Box<dyn Stage>,
}

impl Pipeline {
    /// A pipeline of `stages` in their order, each with its name. None at all is a perfect link.
    ///
    /// # Panics
    /// If there are more than 255 stages: a mark counts them in one byte.
    #[must_use]
    pub fn new(stages: Vec<(String, Box<dyn Stage>)>) -> Self {
        let (names, stages) = stages.into_iter().unzip();
        Self::part_of(names, 0, stages)
    }

    /// A pipeline that is a part of a longer row with these `names`, of which `first` is that of
    /// its first stage.
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

    /// Reckons [`Pipeline::onward`] and [`Pipeline::least_delay`], after stages have changed.
    fn reckon(&mut self) {
        self.onward.resize(self.stages.len(), Span::ZERO);
        let mut least = Span::ZERO;
        for (onward, named) in self.onward.iter_mut().zip(&self.stages).rev() {
            *onward = least;
            least = least + named.stage.least_delay();
        }
        self.least_delay = least;
    }

    /// Gives numbers to the names of stages that may be inserted later, so that logs can list them
    /// from the start.
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

    /// Name of the stage that left a mark.
    #[must_use]
    pub fn stage_name(&self, stage: u8) -> &str {
        self.names.get(usize::from(stage)).map_or("link", String::as_str)
    }

    /// When something next happens inside; [`Time::NEVER`] if only a packet can make it happen.
    #[must_use]
    pub fn due(&self) -> Time {
        self.due.iter().copied().min().unwrap_or(Time::NEVER)
    }

    /// Before when, by what is inside, no packet leaves; [`Time::NEVER`] if only a packet can make
    /// one leave. What happens between two stages until then can be done then, since each stage
    /// works on logical times: whoever waits for packets to send need not wake up for it. Never
    /// earlier than [`Pipeline::due`].
    #[must_use]
    pub fn wake(&self) -> Time {
        let wakes = self.due.iter().zip(&self.onward).map(|(&due, &onward)| due + onward);
        wakes.min().unwrap_or(Time::NEVER)
    }

    /// The least time that a packet needs from one end to the other, as far as the stages know.
    pub(crate) fn least_delay(&self) -> Span {
        self.least_delay
    }

    /// Whether a stage may change bytes of a packet.
    #[must_use]
    pub fn changes_bytes(&self) -> bool {
        self.stages.iter().any(|named| named.stage.changes_bytes())
    }

    /// Packets that wait inside, not counting those in flight.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.stages.iter().map(|named| named.stage.waiting()).sum()
    }

    /// Packets that came in so far.
    #[must_use]
    pub fn arrivals(&self) -> u64 {
        self.next_number
    }

    /// A frame comes to the link at `now`, after everything that was due until then.
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

    /// Packets that another pipeline has numbered come to the first stage together, after
    /// everything that was due until then.
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

    /// What follows the pipeline takes one more packet from it.
    pub(crate) fn release(&mut self, now: Time) {
        for (named, due) in self.stages.iter_mut().zip(&mut self.due) {
            named.stage.release(now);
            *due = named.stage.due();
        }
    }

    /// Lets everything happen that is due until `now`, that instant included.
    pub fn advance(&mut self, now: Time, sink: &mut impl Sink) {
        loop {
            let mut next = (Time::NEVER, 0);
            for (place, &due) in self.due.iter().enumerate() {
                // `<=`: of two stages that are due together the later one in the row goes first.
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

    /// The limiter that [`Packet::sending`] is about: the last one; `None` if no stage limits.
    #[must_use]
    pub fn limiter(&self) -> Option<&BottleneckSpec> {
        self.stages.iter().rev().find_map(|named| named.stage.limiter())
    }

    /// Names of stages by the number that their marks carry, those included that are only reserved.
    #[must_use]
    pub fn stage_names(&self) -> &[String] {
        &self.names
    }

    /// Gives the stage of this name other parameters at `now`, which must not lie before anything
    /// that has happened.
    ///
    /// # Errors
    /// If there is no such stage, or if it refuses; then nothing has changed.
    pub fn set(&mut self, name: &str, spec: &StageSpec, now: Time) -> Result<(), String> {
        self.touch(name, |stage| stage.change(spec, now))
    }

    /// Tells the stage of this name to do something at `now`.
    ///
    /// # Errors
    /// If there is no such stage, or if it cannot do that.
    pub fn obey(&mut self, name: &str, command: StageCommand, now: Time) -> Result<(), String> {
        self.touch(name, |stage| stage.obey(command, now))
    }

    /// Puts another stage into the row, in front of the one that is now at `place`.
    ///
    /// # Panics
    /// If the row is shorter than `place`.
    pub fn insert(&mut self, place: usize, name: &str, stage: Box<dyn Stage>) {
        let id = self.id_of(name);
        self.due.insert(place, stage.due());
        self.stages.insert(place, Named { id, stage });
        self.reckon();
    }

    /// Takes the stage of this name out of the row.
    ///
    /// # Errors
    /// If there is no such stage, or if it is one that keeps packets.
    pub fn remove(&mut self, name: &str) -> Result<(), String> {
        let place = self.removable(name)?;
        self.stages.remove(place);
        self.due.remove(place);
        self.reckon();
        Ok(())
    }

    /// Place of a stage that can be taken out.
    pub(crate) fn removable(&self, name: &str) -> Result<usize, String> {
        let place = self.place_of(name)?;
        if self.stages[place].stage.keeps_packets() {
            return Err(format!("stage `{name}` may hold packets and cannot be removed while the link runs"));
        }
        Ok(place)
    }

    /// Whether there is a stage of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.place_of(name).is_ok()
    }

    fn place_of(&self, name: &str) -> Result<usize, String> {
        let place = self.stages.iter().position(|named| self.names[usize::from(named.id)] == name);
        place.ok_or_else(|| format!("there is no stage `{name}`"))
    }

    /// Does something to one stage, after which it may have something else due.
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

    /// Ends the run: everything still inside is lost at `now` as [`Loss::RunEnded`].
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

    /// Stage `first` has just acted: carries what left it through the stages behind it.
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

/// A packet that was still inside the stage of this number when the run ended.
pub(crate) fn ended_with_the_run(mut packet: Packet, now: Time, stage: u8) -> Packet {
    packet.at = now;
    packet.mark(Effect::Lost(Loss::RunEnded));
    signed(&mut packet, stage);
    packet
}

/// Fills in which stage made the newest marks.
pub(crate) fn signed(packet: &mut Packet, stage: u8) {
    for mark in packet.marks.unsigned() {
        mark.stage = stage;
    }
}
