//! The event loop.
//!
//! It waits until a port has a packet or a pipeline has something due, then hands packets to
//! pipelines and what comes out of them to ports. All decisions are the pipelines'; all waiting is
//! the driver's.
//!
//! Where several things happen at one instant, what came is dealt with first, port by port as the
//! driver names them; then what is due, way by way as they were added (for a link: up, then down;
//! both together where a link layer runs over them); then commands. A packet that comes finds done
//! whatever was due on its own way (see [`link::stage`]). No direction can tell: it is the order in
//! captures and logs.

use crate::control::{Command, Controls};
use crate::driver::{Driver, PortId};
use crate::pauses::Pauses;
use crate::punctuality::Punctuality;
use link::arq::hop::{Block, Counters};
use link::link_layer::Record;
use link::units::Time;
use link::{Built, Direction, HopLink, Packet, Pipeline};
use outlet::{LinkOutlet, Outlet, WayOutlet};
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

/// Where packets of a way come from and go, and what happens to them.
struct Lane {
    to: PortId,
    body: Body,
}

/// What happens to packets of a way.
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all ways are of the large kind: the loop finds their stages without another jump"
)]
enum Body {
    /// A pipeline that depends on nothing else.
    Alone(Pipeline),
    /// One direction of the link at this place in [`Emulator::joined`].
    Joined(usize, Direction),
}

/// A link with a link layer over both its directions, with their ways, up first.
struct Joined {
    link: HopLink,
    ways: [WayId; 2],
    to: [PortId; 2],
}

/// Sees what happens to each packet. Called on the loop's thread: it must be quick.
pub trait Observer {
    /// The packet with this number came to the way at `now`.
    fn entered(&mut self, way: WayId, number: u64, frame: &Frame, now: Time);
    /// The packet ended its way: delivered, or lost if [`Packet::loss`] says so.
    fn ended(&mut self, way: WayId, packet: &Packet);
    /// Somebody called on the way at `now`, and may have changed it: its pipeline is as it is from
    /// here on.
    fn visited(&mut self, way: WayId, pipeline: &Pipeline, now: Time) {
        let _ = (way, pipeline, now);
    }
    /// Something that people should know when they read about this run.
    fn note(&mut self, text: &str, now: Time) {
        let _ = (text, now);
    }
    /// The end of a link layer that sends on this way has noted something, if the link is watched
    /// ([`link::Built::watch`]). An idle link's come late, with the times at which they happened.
    fn noted(&mut self, way: WayId, record: &Record) {
        let _ = (way, record);
    }
    /// A block is at the end that sends on this way, likewise.
    fn block(&mut self, way: WayId, block: &Block) {
        let _ = (way, block);
    }
    /// All that happened until `now` has been shown.
    fn settled(&mut self, now: Time) {
        let _ = now;
    }
    /// When the observer next has something to do of its own, such as sending what it collected to
    /// a disk; it is told by [`Observer::settled`]. [`Time::NEVER`] if it only looks.
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
    /// How long the loop did not run.
    pub pauses: Pauses,
    /// Packets that a port refused (an interface that was down), and what it said last.
    pub refused: Option<(u64, io::Error)>,
    /// What the link layers of ways have sent, of ways that have one.
    pub counted: Vec<(WayId, Counters)>,
    /// When the run ended.
    pub at: Time,
}

/// The event loop over any number of links.
pub struct Emulator<D, O> {
    ways: Vec<Lane>,
    joined: Vec<Joined>,
    /// When each way has something due: inside it, or a packet that leaves.
    due: Vec<Time>,
    /// Before when nothing leaves each way. Nobody outside can tell whether what happens inside
    /// happens then or later, so this is what the loop wakes up for.
    wake: Vec<Time>,
    /// Which way each port feeds.
    fed_by: Vec<Option<WayId>>,
    outlet: Outlet<D, O>,
    controls: Controls,
    pauses: Pauses,
    /// Packets that were read since the last turn began.
    read: u64,
}

impl<D: Driver, O: Observer> Emulator<D, O> {
    /// A loop without links.
    pub fn new(driver: D, observer: O, controls: Controls) -> Self {
        let outlet =
            Outlet { driver, observer, punctuality: Punctuality::default(), refused: None, now: Time::ZERO };
        let (ways, joined, due, wake, fed_by) = Default::default();
        Self { ways, joined, due, wake, fed_by, outlet, controls, pauses: Pauses::default(), read: 0 }
    }

    /// Adds one direction of a link.
    ///
    /// # Panics
    /// If another way is fed by the same port: packets go one way.
    pub fn add(&mut self, way: Way) -> WayId {
        let Way { from, pipeline, to } = way;
        let times = (pipeline.due(), pipeline.wake());
        self.add_lane(from, Lane { to, body: Body::Alone(pipeline) }, times)
    }

    /// Adds both directions of a link between two ports: up comes from the first, and is the first
    /// of the ways.
    ///
    /// # Panics
    /// If another way is fed by one of the ports.
    pub fn add_link(&mut self, link: Built, [wireless, network]: [PortId; 2]) -> [WayId; 2] {
        match link {
            Built::Apart(ways) => {
                let [up, down] = *ways;
                [
                    self.add(Way { from: wireless, pipeline: up, to: network }),
                    self.add(Way { from: network, pipeline: down, to: wireless }),
                ]
            }
            Built::Joined(link) => {
                let (place, times) = (self.joined.len(), (link.due(), link.wake()));
                let mut lane = |from, to, direction| {
                    self.add_lane(from, Lane { to, body: Body::Joined(place, direction) }, times)
                };
                let ways = [lane(wireless, network, Direction::Up), lane(network, wireless, Direction::Down)];
                self.joined.push(Joined { link: *link, ways, to: [network, wireless] });
                ways
            }
        }
    }

    fn add_lane(&mut self, from: PortId, lane: Lane, (due, wake): (Time, Time)) -> WayId {
        let id = WayId(self.ways.len());
        let port = from.0;
        if self.fed_by.len() <= port {
            self.fed_by.resize(port + 1, None);
        }
        assert!(self.fed_by[port].is_none(), "port {port} feeds two ways");
        self.fed_by[port] = Some(id);
        self.due.push(due);
        self.wake.push(wake);
        self.ways.push(lane);
        id
    }

    /// Runs until [`Command::Stop`], or until a driver says that nothing will happen any more.
    ///
    /// # Errors
    /// If the driver can no longer wait or read.
    pub fn run(mut self) -> io::Result<Ending<D, O>> {
        let mut ready = Vec::new();
        let mut frames = Vec::new();
        // When the next turn begins at the latest, if this process runs.
        let mut expected = Time::NEVER;
        loop {
            let mut stop = false;
            while let Some(command) = self.controls.next() {
                stop |= self.obey(command);
            }
            let now = self.outlet.driver.now();
            self.pauses.note(expected, now, std::mem::take(&mut self.read));
            self.outlet.now = now;
            self.advance();
            if stop {
                return Ok(self.finish());
            }
            let wake = self.wake.iter().copied().min().unwrap_or(Time::NEVER);
            ready.clear();
            let longest = now + self.outlet.driver.longest_wait();
            let until = wake.min(self.outlet.observer.due()).min(longest);
            expected = until.max(now);
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
            self.read += frames.len() as u64;
            let Lane { body, to, .. } = &mut self.ways[way];
            let outlet = &mut self.outlet;
            match body {
                Body::Alone(pipeline) => {
                    let mut sink = WayOutlet { outlet, way: WayId(way), to: *to };
                    for frame in frames.drain(..) {
                        sink.outlet.observer.entered(WayId(way), pipeline.arrivals(), &frame, now);
                        pipeline.accept(frame, now, &mut sink);
                    }
                    (self.due[way], self.wake[way]) = (pipeline.due(), pipeline.wake());
                }
                Body::Joined(place, direction) => {
                    let Joined { link, ways, to } = &mut self.joined[*place];
                    let mut sink = LinkOutlet { outlet, ways: *ways, to: *to };
                    for frame in frames.drain(..) {
                        let number = link.pipeline(*direction).arrivals();
                        sink.outlet.observer.entered(WayId(way), number, &frame, now);
                        link.accept(*direction, frame, now, &mut sink);
                    }
                    let (place, ways) = (*place, *ways);
                    self.note_times(place, ways);
                }
            }
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
        for way in 0..self.ways.len() {
            if self.due[way] > now {
                continue;
            }
            let Lane { body, to, .. } = &mut self.ways[way];
            match body {
                Body::Alone(pipeline) => {
                    let mut sink = WayOutlet { outlet: &mut self.outlet, way: WayId(way), to: *to };
                    pipeline.advance(now, &mut sink);
                    (self.due[way], self.wake[way]) = (pipeline.due(), pipeline.wake());
                }
                Body::Joined(place, _) => {
                    let place = *place;
                    let Joined { link, ways, to } = &mut self.joined[place];
                    let ways = *ways;
                    link.advance(now, &mut LinkOutlet { outlet: &mut self.outlet, ways, to: *to });
                    self.note_times(place, ways);
                }
            }
        }
        self.outlet.flush();
        self.outlet.observer.settled(now);
    }

    /// When a link with a link layer has something due: what one direction does may be due to the
    /// other.
    fn note_times(&mut self, place: usize, ways: [WayId; 2]) {
        let link = &self.joined[place].link;
        for WayId(way) in ways {
            (self.due[way], self.wake[way]) = (link.due(), link.wake());
        }
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
                match self.ways.get_mut(way) {
                    None => {}
                    Some(Lane { to, body: Body::Alone(pipeline), .. }) => {
                        let mut sink = WayOutlet { outlet: &mut self.outlet, way: WayId(way), to: *to };
                        pipeline.advance(now, &mut sink);
                        visit(pipeline, now);
                        (self.due[way], self.wake[way]) = (pipeline.due(), pipeline.wake());
                        self.outlet.observer.visited(WayId(way), pipeline, now);
                    }
                    Some(Lane { body: Body::Joined(place, direction), .. }) => {
                        let (place, direction) = (*place, *direction);
                        let Joined { link, ways, to } = &mut self.joined[place];
                        let ways = *ways;
                        let mut sink = LinkOutlet { outlet: &mut self.outlet, ways, to: *to };
                        link.visit(direction, now, &mut sink, visit);
                        self.outlet.observer.visited(WayId(way), link.pipeline(direction), now);
                        self.note_times(place, ways);
                    }
                }
                false
            }
        }
    }

    fn finish(mut self) -> Ending<D, O> {
        let now = self.outlet.now;
        let mut counted = Vec::new();
        for (way, Lane { body, to, .. }) in self.ways.iter_mut().enumerate() {
            match body {
                Body::Alone(pipeline) => {
                    let mut sink = WayOutlet { outlet: &mut self.outlet, way: WayId(way), to: *to };
                    pipeline.finish(now, &mut sink);
                }
                // Once for both: up comes first.
                Body::Joined(place, Direction::Up) => {
                    let Joined { link, ways, to } = &mut self.joined[*place];
                    link.finish(now, &mut LinkOutlet { outlet: &mut self.outlet, ways: *ways, to: *to });
                    let of = |direction| (ways[direction as usize], link.counters(direction));
                    counted.extend(Direction::BOTH.map(of));
                }
                Body::Joined(_, Direction::Down) => {}
            }
        }
        self.outlet.flush();
        if let Err(error) = self.outlet.driver.finish() {
            self.outlet.note_refused(error);
        }
        self.outlet.flush();
        self.outlet.observer.settled(now);
        let Outlet { driver, observer, punctuality, refused, now } = self.outlet;
        Ending { driver, observer, punctuality, pauses: self.pauses, refused, counted, at: now }
    }
}

mod outlet;
#[cfg(test)]
mod tests;
