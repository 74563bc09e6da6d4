//! The event loop.
//!
//! It waits until a port has a packet or a link has something due. Then it hands received packets
//! to links, and packets that leave links to ports. Links make all decisions; the driver does all
//! waiting.
//!
//! Events at one instant have a fixed order:
//!
//! 1. Arrivals, port by port in the order in which the driver lists the ports.
//! 2. Due events, link by link in the order in which the links were added. Within a link, up comes
//!    before down; directions that a medium joins advance together.
//! 3. Commands. If no packet arrived, they come before events that are due on other ways.
//!
//! Before a packet enters a way, or a command runs on it, everything due on that way has happened
//! (see [`link::stage`]). The order does not affect either direction; it is the order in captures
//! and logs.

use crate::control::{Command, Controls, LinkChange};
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

/// Maximum number of calls of [`Driver::receive`] for a port before the loop looks at the other
/// ports again.
const READS_IN_A_ROW: usize = 8;

/// One direction of one link. Ways 2n and 2n + 1 are up and down of link n, in the order of
/// [`Emulator::add_link`].
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, borsh::BorshSerialize, borsh::BorshDeserialize,
)]
pub struct WayId(pub usize);

impl WayId {
    /// Returns the way in this direction of the link with this number.
    #[must_use]
    pub const fn of(link: usize, direction: Direction) -> Self {
        Self(2 * link + direction as usize)
    }

    /// Returns the number of the link.
    #[must_use]
    pub const fn link(self) -> usize {
        self.0 / 2
    }

    /// Returns the direction.
    #[must_use]
    pub const fn direction(self) -> Direction {
        Direction::BOTH[self.0 % 2]
    }
}

/// A link, and the ports that packets of its directions go to.
struct Placed {
    link: Link,
    to: [PortId; 2],
}

/// When each link is due. Apart from the links, because the loop looks through all of these times
/// for every packet.
#[derive(Default)]
struct DueTimes {
    /// When each link next has something due: an event inside, or a packet that leaves.
    due: Vec<Time>,
    /// Earliest time at which a packet can leave each link. The loop wakes up for this time,
    /// because events inside a link that happen late have no effect outside.
    wake: Vec<Time>,
}

/// Receives all events of a run. The loop calls it on its own thread, so its methods must be quick.
pub trait Observer {
    /// Returns whether the observer looks at the bytes of packets that no stage has damaged.
    fn wants_bytes(&self) -> bool {
        true
    }
    /// The packet with this number entered the way at `now`.
    fn entered(&mut self, way: WayId, number: u64, frame: &Frame, now: Time);
    /// The packet was delivered, or lost if [`Packet::loss`] returns a cause.
    fn ended(&mut self, way: WayId, packet: &Packet);
    /// A command ran on the way at `now` and may have changed it. `link` is its state from now on.
    fn visited(&mut self, way: WayId, link: &Link, now: Time) {
        let _ = (way, link, now);
    }
    /// A note for readers of this run's results ([`Command::Note`]).
    fn note(&mut self, text: &str, now: Time) {
        let _ = (text, now);
    }
    /// The link-layer end that sends on this way has logged a record. Only watched links log them
    /// ([`Link::watch`]). Records of an idle link come late, with the times at which they happened.
    fn noted(&mut self, way: WayId, record: &Record) {
        let _ = (way, record);
    }
    /// The link-layer end that sends on this way has handled a block. Only for watched links, and
    /// late for idle ones, as for [`Observer::noted`].
    fn block(&mut self, way: WayId, block: &Block) {
        let _ = (way, block);
    }
    /// Somebody is about to read what the observer has counted ([`Command::Settle`]).
    fn flush(&mut self) {}
    /// The observer has been shown everything that happened until `now`.
    fn settled(&mut self, now: Time) {
        let _ = now;
    }
    /// Returns when the observer next has work of its own, such as writing collected data to a
    /// disk. It does this work in [`Observer::settled`]. [`Time::NEVER`] if it has none.
    fn due(&self) -> Time {
        Time::NEVER
    }
}

/// An observer that ignores all events.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn wants_bytes(&self) -> bool {
        false
    }
    fn entered(&mut self, _: WayId, _: u64, _: &Frame, _: Time) {}
    fn ended(&mut self, _: WayId, _: &Packet) {}
}

/// The result of a run.
pub struct Ending<D, O> {
    /// The driver, with its counters.
    pub driver: D,
    /// The observer.
    pub observer: O,
    /// Lateness of packets.
    pub punctuality: Punctuality,
    /// Pauses of the loop.
    pub pauses: Pauses,
    /// Number of packets that a port refused, for example because the interface was down, and the
    /// last error.
    pub refused: Option<(u64, io::Error)>,
    /// Counters of the link layers, for the ways that have one.
    pub counted: Vec<(WayId, Counters)>,
    /// When the run ended.
    pub at: Time,
}

impl<D, O> Ending<D, O> {
    /// Converts the driver.
    pub fn map<E>(self, convert: impl FnOnce(D) -> E) -> Ending<E, O> {
        let Self { driver, observer, punctuality, pauses, refused, counted, at } = self;
        Ending { driver: convert(driver), observer, punctuality, pauses, refused, counted, at }
    }
}

/// The event loop over any number of links.
pub struct Emulator<D, O> {
    links: Vec<Placed>,
    times: DueTimes,
    /// The way that each port feeds.
    fed_by: Vec<Option<WayId>>,
    outlet: Outlet<D, O>,
    pauses: Pauses,
    /// Packets read since the last turn began.
    read: u64,
    /// Latest time at which the next turn begins if the kernel does not suspend this process.
    expected: Time,
    /// Memory for packets that are read.
    frames: Vec<Frame>,
}

impl<D: Driver, O: Observer> Emulator<D, O> {
    /// Creates a loop without links.
    pub fn new(driver: D, observer: O) -> Self {
        let outlet =
            Outlet { driver, observer, punctuality: Punctuality::default(), refused: None, now: Time::ZERO };
        let (links, times, fed_by, pauses, frames) = Default::default();
        Self { links, times, fed_by, outlet, pauses, read: 0, expected: Time::NEVER, frames }
    }

    /// Adds a link between two ports. Packets from the first port go up, packets from the second go
    /// down.
    ///
    /// # Panics
    /// If one of the ports feeds another way already: a port can feed only one.
    pub fn add_link(&mut self, link: Link, [wireless, network]: [PortId; 2]) -> [WayId; 2] {
        let ways = Direction::BOTH.map(|direction| WayId::of(self.links.len(), direction));
        for (way, PortId(port)) in ways.into_iter().zip([wireless, network]) {
            if self.fed_by.len() <= port {
                self.fed_by.resize(port + 1, None);
            }
            assert!(self.fed_by[port].is_none(), "port {port} feeds two ways");
            self.fed_by[port] = Some(way);
        }
        self.times.due.push(link.due());
        self.times.wake.push(link.wake());
        self.links.push(Placed { link, to: [network, wireless] });
        ways
    }

    /// Runs until `controls` bring [`Command::Stop`], or until the driver reports that nothing will
    /// happen any more.
    ///
    /// # Errors
    /// If the driver can no longer wait or read.
    pub fn run(mut self, controls: &Controls) -> io::Result<Ending<D, O>> {
        let mut ready = Vec::new();
        loop {
            let mut stop = false;
            while let Some(command) = controls.next() {
                stop |= self.obey(command);
            }
            let until = self.turn();
            if stop {
                break;
            }
            ready.clear();
            if !self.outlet.driver.wait(until, &mut ready)? && self.wake() == Time::NEVER {
                break;
            }
            for &port in &ready {
                self.receive(port)?;
            }
        }
        Ok(self.finish())
    }

    /// Begins a turn: carries out everything that is due. Returns how long to wait for packets
    /// then.
    ///
    /// [`run`](Self::run) is made of commands, of this, of waiting, and of
    /// [`receive`](Self::receive). Call them yourself where something else does the waiting
    /// ([`crate::guest`]).
    pub fn turn(&mut self) -> Time {
        let now = self.outlet.driver.now();
        self.pauses.note(self.expected, now, std::mem::take(&mut self.read));
        self.outlet.now = now;
        self.advance();
        self.until()
    }

    /// Changes a way now; returns the result, or `None` if there is no such way.
    pub fn change(&mut self, way: WayId, change: &LinkChange) -> Option<Result<(), String>> {
        let now = self.outlet.driver.now();
        self.outlet.now = now;
        self.links.get(way.link())?;
        let mut made = Ok(());
        self.touch(way.link(), |link, sink| {
            made = link.visit(way.direction(), now, sink, |link, now| change.make(way, link, now));
            sink.outlet.observer.visited(way, link, now);
        });
        Some(made)
    }

    /// Returns how long to wait for packets. The next turn should begin then.
    pub fn until(&mut self) -> Time {
        let now = self.outlet.now;
        let longest = now + self.outlet.driver.longest_wait();
        let until = self.wake().min(self.outlet.observer.due()).min(longest);
        self.expected = until.max(now);
        until
    }

    /// Returns the earliest time at which a packet can leave a link.
    pub fn wake(&self) -> Time {
        self.times.wake.iter().copied().min().unwrap_or(Time::NEVER)
    }

    /// Returns the driver.
    pub fn driver_mut(&mut self) -> &mut D {
        &mut self.outlet.driver
    }

    /// Returns the observer.
    pub fn observer_mut(&mut self) -> &mut O {
        &mut self.outlet.observer
    }

    /// Hands packets from `port` to its link. After each read, it handles everything else that is
    /// due.
    ///
    /// # Errors
    /// If the driver can no longer read.
    pub fn receive(&mut self, port: PortId) -> io::Result<()> {
        let Some(way) = self.fed_by.get(port.0).copied().flatten() else { return Ok(()) };
        let mut frames = std::mem::take(&mut self.frames);
        let direction = way.direction();
        for _ in 0..READS_IN_A_ROW {
            let more = self.outlet.driver.receive(port, &mut frames)?;
            let now = self.outlet.driver.now();
            self.outlet.now = now;
            self.read += frames.len() as u64;
            self.touch(way.link(), |link, sink| {
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
        self.frames = frames;
        Ok(())
    }

    /// Handles everything that is due until now, on all links.
    fn advance(&mut self) {
        let now = self.outlet.now;
        for number in 0..self.links.len() {
            if self.times.due[number] <= now {
                self.touch(number, |link, sink| link.advance(now, sink));
            }
        }
        self.outlet.flush();
        self.outlet.observer.settled(now);
    }

    /// Carries out a command. Returns true for [`Command::Stop`].
    fn obey(&mut self, command: Command) -> bool {
        match command {
            Command::Stop => true,
            Command::Note(text) => {
                let now = self.outlet.driver.now();
                self.outlet.observer.note(&text, now);
                false
            }
            Command::Settle(answer) => {
                // This loop shows every event at once.
                self.outlet.observer.flush();
                // An error means that nobody waits any more.
                let _ = answer.send(());
                false
            }
            Command::Waiting(way, answer) => {
                let waiting = self.links.get(way.link()).map(|placed| placed.link.waiting(way.direction()));
                waiting.and_then(|waiting| answer.send(waiting).ok());
                false
            }
            Command::Change(way, change, answer) => {
                if let Some(made) = self.change(way, &change) {
                    // An error means that nobody waits for the result any more.
                    let _ = answer.send(made);
                }
                false
            }
        }
    }

    /// Ends the run: packets that are still inside a link are lost.
    pub fn finish(mut self) -> Ending<D, O> {
        let now = self.outlet.now;
        let mut counted = Vec::new();
        for number in 0..self.links.len() {
            self.touch(number, |link, sink| link.finish(now, sink));
            let link = &self.links[number].link;
            let of = |direction| Some((WayId::of(number, direction), link.counters(direction)?));
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

    /// Runs `act` on the link with this number and updates the link's due times.
    fn touch(&mut self, number: usize, act: impl FnOnce(&mut Link, &mut LinkOutlet<'_, D, O>)) {
        let Placed { link, to } = &mut self.links[number];
        act(link, &mut LinkOutlet { outlet: &mut self.outlet, link: number, to: *to });
        self.times.due[number] = link.due();
        self.times.wake[number] = link.wake();
    }
}

mod outlet;
#[cfg(test)]
mod tests;
