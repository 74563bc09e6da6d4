//! Destinations of packets that leave a link: the observer, and a port if they are delivered.

use super::{Observer, WayId};
use crate::driver::{Driver, PortId};
use crate::punctuality::Punctuality;
use link::arq::hop::{Block, EndRecord};
use link::units::Time;
use link::{Direction, LinkSink, Packet};
use std::io;

/// Destinations of packets that leave links.
pub(super) struct Outlet<D, O> {
    pub driver: D,
    pub observer: O,
    pub punctuality: Punctuality,
    pub refused: Option<(u64, io::Error)>,
    /// Time of the current step.
    pub now: Time,
}

/// The outlet for packets of one link.
pub(super) struct LinkOutlet<'a, D, O> {
    pub outlet: &'a mut Outlet<D, O>,
    /// Number of the link.
    pub link: usize,
    pub to: [PortId; 2],
}

impl<D: Driver, O: Observer> LinkSink for LinkOutlet<'_, D, O> {
    fn delivered(&mut self, direction: Direction, packet: Packet) {
        let outlet = &mut *self.outlet;
        outlet.observer.ended(WayId::of(self.link, direction), &packet);
        outlet.punctuality.note(packet.at, outlet.now, packet.at.since(packet.sending.start));
        if let Err(error) = outlet.driver.send(self.to[direction as usize], packet.frame) {
            outlet.note_refused(error);
        }
    }

    fn lost(&mut self, direction: Direction, packet: Packet) {
        self.outlet.observer.ended(WayId::of(self.link, direction), &packet);
        self.outlet.driver.recycle(packet.frame);
    }

    fn noted(&mut self, record: &EndRecord) {
        self.outlet.observer.noted(WayId::of(self.link, record.end), &record.record);
    }

    fn block(&mut self, block: &Block) {
        self.outlet.observer.block(WayId::of(self.link, block.end), block);
    }
}

impl<D, O> Outlet<D, O> {
    pub(super) fn note_refused(&mut self, error: io::Error) {
        let count = self.refused.as_ref().map_or(0, |(count, _)| *count);
        self.refused = Some((count + 1, error));
    }
}

impl<D: Driver, O> Outlet<D, O> {
    pub(super) fn flush(&mut self) {
        while let Err(error) = self.driver.flush() {
            self.note_refused(error);
        }
    }
}
