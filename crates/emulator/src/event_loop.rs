//! The event loop.
//!
//! It waits until a port has a packet or a link has something due, then hands packets to links and
//! what comes out of them to ports. All decisions are the links'; all waiting is the driver's.
//!
//! Where several things happen at one instant, what came is dealt with first, port by port as the
//! driver names them; then what is due, link by link as they were added (up, then down; both
//! together where a medium joins them); then commands. A packet that comes finds done whatever was
//! due on its own way (see [`link::stage`]). No direction can tell: it is the order in captures and
//! logs.

use crate::control::{Command, Controls};
use crate::driver::{Driver, PortId};
use crate::pauses::Pauses;
use crate::punctuality::Punctuality;
use link::arq::hop::{Block, Counters};
use link::link_layer::Record;
use link::units::Time;
use link::{Direction, Link, Packet};
use outlet::{LinkOutlet, Outlet};
use packet::Frame;
use std::io;

/// Times a port may be read in a row before the loop looks at the other ports again.
const READS_IN_A_ROW: usize = 32;

/// One direction of one link: ways 2n and 2n + 1 are up and down of link n, in the order of
/// [`Emulator::add_link`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WayId(pub usize);

impl WayId {
    /// A direction of the link with this number.
    #[must_use]
    pub const fn of(link: usize, direction: Direction) -> Self {
        Self(2 * link + direction as usize)
    }

    /// Number of the link.
    #[must_use]
    pub const fn link(self) -> usize {
        self.0 / 2
    }

    /// Which way through it.
    #[must_use]
    pub const fn direction(self) -> Direction {
        Direction::BOTH[self.0 % 2]
    }
}

/// A link, and where packets of its directions go.
struct Placed {
    link: Link,
    to: [PortId; 2],
    /// When it has something due: inside it, or a packet that leaves.
    due: Time,
    /// Before when nothing leaves it. Nobody outside can tell whether what happens inside happens
    /// then or later, so this is what the loop wakes up for.
    wake: Time,
}

/// Sees what happens to each packet. Called on the loop's thread: it must be quick.
pub trait Observer {
    /// The packet with this number came to the way at `now`.
    fn entered(&mut self, way: WayId, number: u64, frame: &Frame, now: Time);
    /// The packet ended its way: delivered, or lost if [`Packet::loss`] says so.
    fn ended(&mut self, way: WayId, packet: &Packet);
    /// Somebody called on the way at `now`, and may have changed it: its link is as it is from here
    /// on.
    fn visited(&mut self, way: WayId, link: &Link, now: Time) {
        let _ = (way, link, now);
    }
    /// Something that people should know when they read about this run.
    fn note(&mut self, text: &str, now: Time) {
        let _ = (text, now);
    }
    /// The end of a link layer that sends on this way has noted something, if the link is watched
    /// ([`Link::watch`]). An idle link's come late, with the times at which they happened.
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
    links: Vec<Placed>,
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
        let (links, fed_by, pauses) = Default::default();
        Self { links, fed_by, outlet, controls, pauses, read: 0 }
    }

    /// Adds a link between two ports: up comes from the first.
    ///
    /// # Panics
    /// If one of the ports feeds another way: packets go one way.
    pub fn add_link(&mut self, link: Link, [wireless, network]: [PortId; 2]) -> [WayId; 2] {
        let ways = Direction::BOTH.map(|direction| WayId::of(self.links.len(), direction));
        for (way, PortId(port)) in ways.into_iter().zip([wireless, network]) {
            if self.fed_by.len() <= port {
                self.fed_by.resize(port + 1, None);
            }
            assert!(self.fed_by[port].is_none(), "port {port} feeds two ways");
            self.fed_by[port] = Some(way);
        }
        let (due, wake) = (link.due(), link.wake());
        self.links.push(Placed { link, to: [network, wireless], due, wake });
        ways
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
            let wake = self.links.iter().map(|placed| placed.wake).min().unwrap_or(Time::NEVER);
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

    /// Hands packets from `port` to its link, and lets whatever else is due happen in between.
    fn read(&mut self, port: PortId, frames: &mut Vec<Frame>) -> io::Result<()> {
        let Some(way) = self.fed_by.get(port.0).copied().flatten() else { return Ok(()) };
        let direction = way.direction();
        for _ in 0..READS_IN_A_ROW {
            let more = self.outlet.driver.receive(port, frames)?;
            let now = self.outlet.driver.now();
            self.outlet.now = now;
            self.read += frames.len() as u64;
            self.links[way.link()].touch(way.link(), &mut self.outlet, |link, sink| {
                for frame in frames.drain(..) {
                    sink.outlet.observer.entered(way, link.arrivals(direction), &frame, now);
                    link.accept(direction, frame, now, sink);
                }
            });
            self.advance();
            if !more {
                break;
            }
        }
        Ok(())
    }

    /// Lets everything happen that is due until now, on all links.
    fn advance(&mut self) {
        let now = self.outlet.now;
        for (number, placed) in self.links.iter_mut().enumerate() {
            if placed.due <= now {
                placed.touch(number, &mut self.outlet, |link, sink| link.advance(now, sink));
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
            Command::Visit(way, visit) => {
                let now = self.outlet.driver.now();
                self.outlet.now = now;
                if let Some(placed) = self.links.get_mut(way.link()) {
                    placed.touch(way.link(), &mut self.outlet, |link, sink| {
                        link.visit(way.direction(), now, sink, visit);
                        sink.outlet.observer.visited(way, link, now);
                    });
                }
                false
            }
        }
    }

    fn finish(mut self) -> Ending<D, O> {
        let now = self.outlet.now;
        let mut counted = Vec::new();
        for (number, placed) in self.links.iter_mut().enumerate() {
            placed.touch(number, &mut self.outlet, |link, sink| link.finish(now, sink));
            let of = |direction| Some((WayId::of(number, direction), placed.link.counters(direction)?));
            counted.extend(Direction::BOTH.into_iter().filter_map(of));
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

impl Placed {
    /// Lets something happen to the link with this number, after which it may have something else
    /// due.
    fn touch<D, O>(
        &mut self,
        number: usize,
        outlet: &mut Outlet<D, O>,
        act: impl FnOnce(&mut Link, &mut LinkOutlet<'_, D, O>),
    ) {
        act(&mut self.link, &mut LinkOutlet { outlet, link: number, to: self.to });
        (self.due, self.wake) = (self.link.due(), self.link.wake());
    }
}

mod outlet;
#[cfg(test)]
mod tests;
