//! The event loop.
//!
//! It waits until a port has a packet or a pipeline has something due, then hands packets to pipelines and what comes out
//! of them to ports. All decisions are the pipelines'; all waiting is the driver's.
//!
//! Where several things happen at one instant, what came is dealt with first, port by port as the driver names them; then
//! what is due, way by way as they were added (for a link: up, then down); then commands. A packet that comes finds done
//! whatever was due on its own way (see [`link::stage`]). No direction can tell: it is the order in captures and logs.

use crate::control::{Command, Controls};
use crate::driver::{Driver, PortId};
use crate::punctuality::Punctuality;
use link::units::Time;
use link::{Packet, Pipeline, Sink};
use packet::Frame;
use std::io;

/// Times a port may be read in a row before the loop looks at the other ports again.
const READS_IN_A_ROW: usize = 32;

/// One direction of one link, numbered in the order of [`Emulator::add`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WayId(pub usize);

/// One direction of one link: where packets come from, what happens to them, where they go.
pub struct Way {
    /// Where packets come from. A port feeds one way.
    pub from: PortId,
    /// What happens to them.
    pub pipeline: Pipeline,
    /// Where they go.
    pub to: PortId,
}

/// Sees what happens to each packet. Called on the loop's thread: it must be quick.
pub trait Observer {
    /// The packet with this number came to the way at `now`.
    fn entered(&mut self, way: WayId, number: u64, frame: &Frame, now: Time);
    /// The packet ended its way: delivered, or lost if [`Packet::loss`] says so.
    fn ended(&mut self, way: WayId, packet: &Packet);
    /// Somebody called on the way, and may have changed it: its pipeline is as it is from here on.
    fn visited(&mut self, way: WayId, pipeline: &Pipeline) {
        let _ = (way, pipeline);
    }
    /// Something that people should know when they read about this run.
    fn note(&mut self, text: &str, now: Time) {
        let _ = (text, now);
    }
    /// All that happened until `now` has been shown.
    fn settled(&mut self, now: Time) {
        let _ = now;
    }
    /// When the observer next has something to do of its own, such as sending what it collected to a disk; it is told
    /// by [`Observer::settled`]. [`Time::NEVER`] if it only looks.
    fn due(&self) -> Time {
        Time::NEVER
    }
}

/// Nobody looks.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn entered(&mut self, _: WayId, _: u64, _: &Frame, _: Time) {}
    fn ended(&mut self, _: WayId, _: &Packet) {}
}

/// What a run leaves behind.
pub struct Ending<D, O> {
    /// The driver, with whatever it counted.
    pub driver: D,
    /// The observer.
    pub observer: O,
    /// How punctual the run was.
    pub punctuality: Punctuality,
    /// Packets that a port refused (an interface that was down), and what it said last.
    pub refused: Option<(u64, io::Error)>,
    /// When the run ended.
    pub at: Time,
}

/// The event loop over any number of links.
pub struct Emulator<D, O> {
    ways: Vec<Way>,
    /// When each way has something due: inside it, or a packet that leaves.
    due: Vec<Time>,
    /// Before when nothing leaves each way. Nobody outside can tell whether what happens inside happens then or later, so
    /// this is what the loop wakes up for.
    wake: Vec<Time>,
    /// Which way each port feeds.
    fed_by: Vec<Option<WayId>>,
    outlet: Outlet<D, O>,
    controls: Controls,
}

/// Where packets that leave a pipeline go.
struct Outlet<D, O> {
    driver: D,
    observer: O,
    punctuality: Punctuality,
    refused: Option<(u64, io::Error)>,
    /// Time of the step that is being done.
    now: Time,
}

/// The outlet as one pipeline sees it.
struct WayOutlet<'a, D, O> {
    outlet: &'a mut Outlet<D, O>,
    way: WayId,
    to: PortId,
}

impl<D: Driver, O: Observer> Sink for WayOutlet<'_, D, O> {
    fn delivered(&mut self, packet: Packet) {
        let outlet = &mut *self.outlet;
        outlet.observer.ended(self.way, &packet);
        outlet.punctuality.note(packet.at, outlet.now);
        if let Err(error) = outlet.driver.send(self.to, packet.frame) {
            outlet.note_refused(error);
        }
    }

    fn lost(&mut self, packet: Packet) {
        self.outlet.observer.ended(self.way, &packet);
        self.outlet.driver.recycle(packet.frame);
    }
}

impl<D, O> Outlet<D, O> {
    fn note_refused(&mut self, error: io::Error) {
        let count = self.refused.as_ref().map_or(0, |(count, _)| *count);
        self.refused = Some((count + 1, error));
    }
}

impl<D: Driver, O> Outlet<D, O> {
    fn flush(&mut self) {
        while let Err(error) = self.driver.flush() {
            self.note_refused(error);
        }
    }
}

impl<D: Driver, O: Observer> Emulator<D, O> {
    /// A loop without links.
    pub fn new(driver: D, observer: O, controls: Controls) -> Self {
        let outlet =
            Outlet { driver, observer, punctuality: Punctuality::default(), refused: None, now: Time::ZERO };
        Self { ways: Vec::new(), due: Vec::new(), wake: Vec::new(), fed_by: Vec::new(), outlet, controls }
    }

    /// Adds one direction of a link.
    ///
    /// # Panics
    /// If another way is fed by the same port: packets go one way.
    pub fn add(&mut self, way: Way) -> WayId {
        let id = WayId(self.ways.len());
        let port = way.from.0;
        if self.fed_by.len() <= port {
            self.fed_by.resize(port + 1, None);
        }
        assert!(self.fed_by[port].is_none(), "port {port} feeds two ways");
        self.fed_by[port] = Some(id);
        self.due.push(way.pipeline.due());
        self.wake.push(way.pipeline.wake());
        self.ways.push(way);
        id
    }

    /// Runs until [`Command::Stop`], or until a driver says that nothing will happen any more.
    ///
    /// # Errors
    /// If the driver can no longer wait or read.
    pub fn run(mut self) -> io::Result<Ending<D, O>> {
        let mut ready = Vec::new();
        let mut frames = Vec::new();
        loop {
            let mut stop = false;
            while let Some(command) = self.controls.next() {
                stop |= self.obey(command);
            }
            self.outlet.now = self.outlet.driver.now();
            self.advance();
            if stop {
                return Ok(self.finish());
            }
            let wake = self.wake.iter().copied().min().unwrap_or(Time::NEVER);
            ready.clear();
            let until = wake.min(self.outlet.observer.due());
            if !self.outlet.driver.wait(until, &mut ready)? && wake == Time::NEVER {
                return Ok(self.finish());
            }
            for &port in &ready {
                self.read(port, &mut frames)?;
            }
        }
    }

    /// Hands packets from `port` to its pipeline, and lets whatever else is due happen in between.
    fn read(&mut self, port: PortId, frames: &mut Vec<Frame>) -> io::Result<()> {
        let Some(WayId(way)) = self.fed_by.get(port.0).copied().flatten() else { return Ok(()) };
        for _ in 0..READS_IN_A_ROW {
            let more = self.outlet.driver.receive(port, frames)?;
            let now = self.outlet.driver.now();
            self.outlet.now = now;
            let Way { pipeline, to, .. } = &mut self.ways[way];
            let outlet = &mut self.outlet;
            let mut sink = WayOutlet { outlet, way: WayId(way), to: *to };
            for frame in frames.drain(..) {
                sink.outlet.observer.entered(WayId(way), pipeline.arrivals(), &frame, now);
                pipeline.accept(frame, now, &mut sink);
            }
            (self.due[way], self.wake[way]) = (pipeline.due(), pipeline.wake());
            self.advance();
            if !more {
                break;
            }
        }
        Ok(())
    }

    /// Lets everything happen that is due until now, on all ways.
    fn advance(&mut self) {
        let now = self.outlet.now;
        for (way, (due, wake)) in self.due.iter_mut().zip(&mut self.wake).enumerate() {
            if *due <= now {
                let Way { pipeline, to, .. } = &mut self.ways[way];
                let mut sink = WayOutlet { outlet: &mut self.outlet, way: WayId(way), to: *to };
                pipeline.advance(now, &mut sink);
                (*due, *wake) = (pipeline.due(), pipeline.wake());
            }
        }
        self.outlet.flush();
        self.outlet.observer.settled(now);
    }

    /// Does what it is told; true for [`Command::Stop`].
    fn obey(&mut self, command: Command) -> bool {
        match command {
            Command::Stop => true,
            Command::Note(text) => {
                let now = self.outlet.driver.now();
                self.outlet.observer.note(&text, now);
                false
            }
            Command::Visit(WayId(way), visit) => {
                let now = self.outlet.driver.now();
                self.outlet.now = now;
                if let Some(Way { pipeline, to, .. }) = self.ways.get_mut(way) {
                    let mut sink = WayOutlet { outlet: &mut self.outlet, way: WayId(way), to: *to };
                    pipeline.advance(now, &mut sink);
                    visit(pipeline, now);
                    (self.due[way], self.wake[way]) = (pipeline.due(), pipeline.wake());
                    self.outlet.observer.visited(WayId(way), pipeline);
                }
                false
            }
        }
    }

    fn finish(mut self) -> Ending<D, O> {
        let now = self.outlet.now;
        for (way, Way { pipeline, to, .. }) in self.ways.iter_mut().enumerate() {
            let mut sink = WayOutlet { outlet: &mut self.outlet, way: WayId(way), to: *to };
            pipeline.finish(now, &mut sink);
        }
        self.outlet.flush();
        if let Err(error) = self.outlet.driver.finish() {
            self.outlet.note_refused(error);
        }
        self.outlet.flush();
        self.outlet.observer.settled(now);
        let Outlet { driver, observer, punctuality, refused, now } = self.outlet;
        Ending { driver, observer, punctuality, refused, at: now }
    }
}

#[cfg(test)]
mod tests;
