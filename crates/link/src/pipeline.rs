//! A direction of a link: stages in a row.
//!
//! The pipeline is an event loop without a clock. It keeps stages in step: whatever any stage has due happens in the order
//! of logical times, and before a packet that arrives later. Where two stages are due at the same instant, the one further
//! down the row goes first, so that a packet which leaves one stage finds the next as it is after its own events.

use crate::fate::{Effect, Loss, Mark};
use crate::packet::Packet;
use crate::stage::{Outbox, Stage};
use crate::units::Time;
use packet::Frame;

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
    /// Due time of each stage, in order: read much more often than it changes.
    due: Vec<Time>,
    next_number: u64,
    out: Outbox,
    /// Packets between two stages; kept for its memory only.
    moving: Vec<Packet>,
}

struct Named {
    name: String,
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
        let stages = stages.into_iter().map(|(name, stage)| Named { name, stage }).collect();
        Self { stages, due, next_number: 0, out: Outbox::default(), moving: Vec::new() }
    }

    /// Name of the stage that left a mark.
    #[must_use]
    pub fn stage_name(&self, stage: u8) -> &str {
        self.stages.get(usize::from(stage)).map_or("link", |named| &named.name)
    }

    /// When something next happens inside; [`Time::NEVER`] if only a packet can make it happen.
    #[must_use]
    pub fn due(&self) -> Time {
        self.due.iter().copied().min().unwrap_or(Time::NEVER)
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

    /// Ends the run: everything still inside is lost at `now` as [`Loss::RunEnded`].
    pub fn finish(&mut self, now: Time, sink: &mut impl Sink) {
        self.advance(now, sink);
        for (place, named) in self.stages.iter_mut().enumerate() {
            named.stage.clear(&mut self.moving);
            self.due[place] = named.stage.due();
            for mut packet in self.moving.drain(..) {
                packet.at = now;
                packet.mark(Effect::Lost(Loss::RunEnded));
                signed(&mut packet, place);
                sink.lost(packet);
            }
        }
    }

    /// Stage `first` has just acted: carries what left it through the stages behind it.
    fn settle(&mut self, first: usize, sink: &mut impl Sink) {
        let mut place = first;
        loop {
            self.due[place] = self.stages[place].stage.due();
            for mut packet in self.out.lost.drain(..) {
                signed(&mut packet, place);
                sink.lost(packet);
            }
            if self.out.passed.is_empty() {
                return;
            }
            for packet in &mut self.out.passed {
                signed(packet, place);
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

/// Fills in which stage made the newest marks.
fn signed(packet: &mut Packet, place: usize) {
    for mark in packet.marks.iter_mut().rev() {
        if mark.stage != Mark::BY_CURRENT_STAGE {
            break;
        }
        mark.stage = place as u8;
    }
}
