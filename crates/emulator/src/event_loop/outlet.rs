//! Where packets go that leave a link: to the observer, and to a port or nowhere.

use super::{Observer, WayId};
use crate::driver::{Driver, PortId};
use crate::punctuality::Punctuality;
use link::arq::hop::{Block, EndRecord};
use link::units::Time;
use link::{Direction, LinkSink, Packet, Sink};
use std::io;

/// Where packets that leave a pipeline go.
pub(super) struct Outlet<D, O> {
    pub driver: D,
    pub observer: O,
    pub punctuality: Punctuality,
    pub refused: Option<(u64, io::Error)>,
    /// Time of the step that is being done.
    pub now: Time,
}

/// The outlet as one pipeline sees it.
pub(super) struct WayOutlet<'a, D, O> {
    pub outlet: &'a mut Outlet<D, O>,
    pub way: WayId,
    pub to: PortId,
}

impl<D: Driver, O: Observer> Sink for WayOutlet<'_, D, O> {
    fn delivered(&mut self, packet: Packet) {
        let outlet = &mut *self.outlet;
        outlet.observer.ended(self.way, &packet);
        outlet.punctuality.note(packet.at, outlet.now, packet.at.since(packet.sending.start));
        if let Err(error) = outlet.driver.send(self.to, packet.frame) {
            outlet.note_refused(error);
        }
    }

    fn lost(&mut self, packet: Packet) {
        self.outlet.observer.ended(self.way, &packet);
        self.outlet.driver.recycle(packet.frame);
    }
}

/// The outlet as a link sees it whose directions depend on each other.
pub(super) struct LinkOutlet<'a, D, O> {
    pub outlet: &'a mut Outlet<D, O>,
    pub ways: [WayId; 2],
    pub to: [PortId; 2],
}

impl<D, O> LinkOutlet<'_, D, O> {
    fn of(&mut self, direction: Direction) -> WayOutlet<'_, D, O> {
        let place = direction as usize;
        WayOutlet { outlet: self.outlet, way: self.ways[place], to: self.to[place] }
    }
}

impl<D: Driver, O: Observer> LinkSink for LinkOutlet<'_, D, O> {
    fn delivered(&mut self, direction: Direction, packet: Packet) {
        self.of(direction).delivered(packet);
    }

    fn lost(&mut self, direction: Direction, packet: Packet) {
        self.of(direction).lost(packet);
    }

    fn noted(&mut self, record: &EndRecord) {
        self.outlet.observer.noted(self.ways[record.end as usize], &record.record);
    }

    fn block(&mut self, block: &Block) {
        self.outlet.observer.block(self.ways[block.end as usize], block);
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
