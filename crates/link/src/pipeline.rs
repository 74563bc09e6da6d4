//! A direction of a link: stages in a row.
//!
//! The pipeline is an event loop without a clock. It keeps stages in step: whatever any stage has
//! due happens in the order of logical times, and before a packet that arrives later. Where two
//! stages are due at the same instant, the one further down the row goes first, so that a packet
//! which leaves one stage finds the next as it is after its own events.

use crate::fate::{Effect, Mark};
use crate::packet::Packet;
use crate::spec::StageSpec;
use crate::stage::bottleneck::BottleneckSpec;
use crate::stage::outage::OutageCommand;
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
    /// The least time that a packet needs from each stage's end to the link's.
    onward: Vec<Span>,
    next_number: u64,
    out: Outbox,
    /// Packets between two stages; kept for its memory only.
    moving: Vec<Packet>,
    /// Place of the stage that is a hop, if there is one.
    hop: Option<usize>,
    /// Packets that have come to the hop.
    handed: Vec<Packet>,
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
        assert!(stages.len() < usize::from(Mark::BY_CURRENT_STAGE), "{} stages are too many", stages.len());
        let due = stages.iter().map(|(_, stage)| stage.due()).collect();
        let (names, stages): (Vec<_>, Vec<_>) = stages.into_iter().unzip();
        let stages = stages.into_iter().zip(0..).map(|(stage, id)| Named { id, stage }).collect();
        let (onward, out, moving, handed) = (Vec::new(), Outbox::default(), Vec::new(), Vec::new());
        let mut pipeline =
            Self { stages, names, due, onward, next_number: 0, out, moving, hop: None, handed };
        pipeline.reckon();
        pipeline
    }

    /// Reckons [`Pipeline::onward`] and [`Pipeline::hop`], after stages have changed.
    fn reckon(&mut self) {
        self.hop = self.stages.iter().position(|named| named.stage.is_hop());
        self.onward.resize(self.stages.len(), Span::ZERO);
        let mut least = Span::ZERO;
        for (onward, named) in self.onward.iter_mut().zip(&self.stages).rev() {
            *onward = least;
            least = least + named.stage.least_delay();
        }
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

    /// Packets that have come to the hop and are not in it yet.
    pub(crate) fn take_handed(&mut self) -> Vec<Packet> {
        std::mem::take(&mut self.handed)
    }

    /// Packets that the hop still had: [`Pipeline::finish`] ends their way.
    pub(crate) fn give_back(&mut self, packets: Vec<Packet>) {
        self.handed.extend(packets);
    }

    /// What has left the hop goes on from there.
    pub(crate) fn emerge(&mut self, out: &mut Outbox, sink: &mut impl Sink) {
        if let Some(hop) = self.hop {
            std::mem::swap(&mut self.out, out);
            self.settle(hop, sink);
        }
    }

    /// The hop takes one more packet from the stages above it.
    pub(crate) fn release(&mut self, now: Time) {
        for place in 0..self.hop.unwrap_or_default() {
            self.stages[place].stage.release(now);
            self.due[place] = self.stages[place].stage.due();
        }
    }

    /// The least time from the hop's end to the link's.
    pub(crate) fn behind_hop(&self) -> Span {
        self.hop.map_or(Span::ZERO, |hop| self.onward[hop])
    }

    /// As [`Pipeline::advance`], for the stages behind the hop only.
    pub(crate) fn advance_behind_hop(&mut self, now: Time, sink: &mut impl Sink) {
        self.advance_from(self.hop.map_or(0, |hop| hop + 1), now, sink);
    }

    /// Lets everything happen that is due until `now`, that instant included.
    pub fn advance(&mut self, now: Time, sink: &mut impl Sink) {
        self.advance_from(0, now, sink);
    }

    /// The same, for the stages from this place on.
    #[inline]
    fn advance_from(&mut self, first: usize, now: Time, sink: &mut impl Sink) {
        loop {
            let mut next = (Time::NEVER, 0);
            for (place, &due) in self.due.iter().enumerate().skip(first) {
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

    /// Tells the stage of this name to do something at `now`. Where there is no such stage for an
    /// outage but a hop, the outage is on the air beneath that.
    ///
    /// # Errors
    /// If there is no such stage, or if it cannot do that.
    pub fn obey(&mut self, name: &str, command: StageCommand, now: Time) -> Result<(), String> {
        match (self.hop, command) {
            (Some(hop), StageCommand::Outage(_)) if self.place_of(name).is_err() => {
                self.stages[hop].stage.obey(command, now)
            }
            _ => self.touch(name, |stage| stage.obey(command, now)),
        }
    }

    /// What the hop's place was told for the air since the last call.
    pub(crate) fn take_orders(&mut self) -> Vec<OutageCommand> {
        self.hop.map(|hop| self.stages[hop].stage.take_orders()).unwrap_or_default()
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
            return Err(format!("stage `{name}` may have packets inside and cannot be taken out"));
        }
        Ok(place)
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
        for (place, named) in self.stages.iter_mut().enumerate() {
            named.stage.clear(&mut self.moving);
            if self.hop == Some(place) {
                self.moving.append(&mut self.handed);
            }
            self.due[place] = named.stage.due();
            for mut packet in self.moving.drain(..) {
                packet.at = now;
                packet.mark(Effect::Lost(Loss::RunEnded));
                signed(&mut packet, named.id);
                sink.lost(packet);
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
            if self.hop == Some(place) {
                self.handed.append(&mut self.out.passed);
                return;
            }
            std::mem::swap(&mut self.moving, &mut self.out.passed);
            for packet in self.moving.drain(..) {
                self.stages[place].stage.accept(packet, &mut self.out);
            }
        }
    }
}

/// Fills in which stage made the newest marks.
fn signed(packet: &mut Packet, stage: u8) {
    for mark in packet.marks.unsigned() {
        mark.stage = stage;
    }
}
