//! The event loop in the guest's kernel.

use super::WORTH_READING;
use super::message::{Body, Event, Final, Flight, Order, number};
use crate::control::{Command, Control, control};
use crate::driver::{Driver, PortId};
use crate::event_loop::{Emulator, Ending, Observer, WayId};
use crate::framing::{Framing, Segments};
use crate::kernel::buffers::Buffers;
use link::arq::hop::Block;
use link::link_layer::Record;
use link::units::Time;
use link::{Link, Packet};
use packet::whole::Run;
use packet::{Frame, virtio};
use std::io;
use std::sync::mpsc::channel;

/// A packet that is to leave through a device of the kernel.
#[derive(Debug)]
#[repr(C)]
pub struct Outgoing {
    /// Number of the device.
    pub port: u32,
    /// The bytes, behind a virtio header if the device hands over whole segments.
    pub bytes: Vec<u8>,
}

/// The event loop of one run; see the [module](super).
///
/// All times are those of the kernel's monotonic clock in nanoseconds. The kernel calls one method
/// at a time, and then sends what is [`outgoing`](Self::outgoing) and sets its timer to
/// [`due`](Self::due).
pub struct KernelLoop {
    /// `None` when the run has ended.
    emulator: Option<Emulator<Devices, EventLog>>,
    /// The log, when the run has ended.
    ended: EventLog,
    control: Control,
    /// Events that a process is reading.
    reading: Vec<u8>,
    /// Time zero of the run.
    origin: u64,
    begun: bool,
    due: Time,
    /// Whether a process waits for an answer among the events.
    answered: bool,
}

impl KernelLoop {
    /// Creates a loop without links.
    ///
    /// # Errors
    /// If the host has no file descriptor left.
    pub fn new() -> io::Result<Self> {
        let (control, controls) = control()?;
        let emulator = Emulator::new(Devices::default(), EventLog::default(), controls);
        Ok(Self {
            emulator: Some(emulator),
            ended: EventLog::default(),
            control,
            reading: Vec::new(),
            origin: 0,
            begun: false,
            due: Time::NEVER,
            answered: false,
        })
    }

    /// Carries out an order of a process. If that is impossible, an event says why.
    pub fn order(&mut self, now: u64, bytes: &[u8]) {
        let done = match borsh::from_slice(bytes) {
            Ok(order) => self.carry_out(order, now),
            Err(error) => Err(format!("an order that is none: {error}")),
        };
        if let Err(why) = done {
            self.log().tell(&Event::Failed(why));
        }
        self.answered = true;
    }

    fn carry_out(&mut self, order: Order, now: u64) -> Result<(), String> {
        let Some(emulator) = &mut self.emulator else { return Err("the run has ended".to_owned()) };
        match order {
            Order::Add { spec, seed, watch, ends } => {
                let mut link = spec.build(&seed).map_err(|error| error.to_string())?;
                link.watch(watch);
                let driver = emulator.driver_mut();
                let ports = ends.map(|end| driver.add(end.port, Framing::new(end.layer(), end.segments)));
                emulator.add_link(link, ports);
            }
            Order::Begin { origin, wants_bytes } => {
                emulator.observer_mut().wants_bytes = wants_bytes;
                (self.origin, self.begun) = (origin, true);
                self.turn(now);
            }
            Order::Change { way, change } => {
                let way = WayId(way as usize);
                let (answer, answered) = channel();
                self.control.tell(Command::Change(way, change, answer));
                self.turn(now);
                let made = answered.try_recv().map_err(|_| "there is no such way".to_owned())?;
                let now = self.since_begin(now);
                self.log().tell(&Event::Changed { way: number(way), now, made });
            }
            Order::Settle => {
                self.turn(now);
                let now = self.since_begin(now);
                self.log().tell(&Event::Settled { now });
            }
            Order::Finish => self.finish(now),
        }
        Ok(())
    }

    /// Takes a packet that a device sends, in the device's form.
    pub fn packet(&mut self, port: u32, now: u64, bytes: &[u8]) {
        let now = self.since_begin(now);
        let Some(emulator) = self.emulator.as_mut().filter(|_| self.begun) else { return };
        let driver = emulator.driver_mut();
        driver.now = now;
        let Some(port) = driver.arrive(port, bytes) else { return };
        // Reading from memory does not fail.
        let _ = emulator.receive(port);
        self.due = emulator.until();
    }

    /// Does everything that is due.
    pub fn turn(&mut self, now: u64) {
        let now = self.since_begin(now);
        let Some(emulator) = self.emulator.as_mut().filter(|_| self.begun) else { return };
        emulator.driver_mut().now = now;
        self.due = emulator.turn().unwrap_or(Time::NEVER);
    }

    /// Returns when [`turn`](Self::turn) is to be called next; `u64::MAX` for never.
    #[must_use]
    pub fn due(&self) -> u64 {
        if self.due == Time::NEVER { u64::MAX } else { self.due.as_nanos().saturating_add(self.origin) }
    }

    /// Returns the packets that are to leave now, in their order.
    #[must_use]
    pub fn outgoing(&mut self) -> &[Outgoing] {
        self.emulator.as_mut().map_or(&[], |emulator| &emulator.driver_mut().out)
    }

    /// Takes note that the outgoing packets have left.
    pub fn sent(&mut self) {
        if let Some(emulator) = &mut self.emulator {
            let driver = emulator.driver_mut();
            driver.out.drain(..).for_each(|outgoing| driver.buffers.put(outgoing.bytes));
        }
    }

    /// Returns whether a process should read events: there is an answer, or there are many.
    #[must_use]
    pub fn is_readable(&mut self) -> bool {
        self.answered || self.log().stream.len() >= WORTH_READING
    }

    /// Returns all events until now as a piece of the stream. It stays valid until the next call of
    /// this method.
    pub fn events(&mut self) -> &[u8] {
        self.answered = false;
        let mut reading = std::mem::take(&mut self.reading);
        reading.clear();
        std::mem::swap(&mut self.log().stream, &mut reading);
        self.reading = reading;
        &self.reading
    }

    fn log(&mut self) -> &mut EventLog {
        match &mut self.emulator {
            Some(emulator) => emulator.observer_mut(),
            None => &mut self.ended,
        }
    }

    fn finish(&mut self, now: u64) {
        self.turn(now);
        let Some(emulator) = self.emulator.take() else { return };
        self.due = Time::NEVER;
        let Ending { driver, mut observer, punctuality, pauses, counted, at, .. } = emulator.finish();
        let counted = counted.into_iter().map(|(way, counters)| (number(way), counters)).collect();
        let unusable = driver.ports.iter().map(|(_, framing)| framing.unusable).sum();
        let last = Final { at, punctuality, pauses, counted, unusable };
        observer.tell(&Event::Finished(Box::new(last)));
        self.ended = observer;
    }

    fn since_begin(&self, now: u64) -> Time {
        Time::from_nanos(now.saturating_sub(self.origin))
    }
}

/// The driver: network devices of the kernel around the loop.
#[derive(Default)]
struct Devices {
    now: Time,
    /// The kernel's number of each port, and the form of its packets.
    ports: Vec<(u32, Framing)>,
    arrived: Vec<Frame>,
    out: Vec<Outgoing>,
    buffers: Buffers,
    /// The port that has kept frames of a segment, to send them in one piece.
    unflushed: Option<PortId>,
}

impl Devices {
    fn add(&mut self, number: u32, framing: Framing) -> PortId {
        self.ports.push((number, framing));
        PortId(self.ports.len() - 1)
    }

    fn arrive(&mut self, number: u32, bytes: &[u8]) -> Option<PortId> {
        let place = self.ports.iter().position(|(known, _)| *known == number)?;
        self.ports[place].1.parse(bytes, &mut self.buffers, &mut self.arrived);
        Some(PortId(place))
    }

    fn leave(&mut self, PortId(place): PortId, run: Run) {
        let (port, framing) = &mut self.ports[place];
        let pieces = run.pieces(&mut framing.header);
        let mut bytes = self.buffers.fitting(virtio::LEN + pieces.header.len() + pieces.payload.len());
        bytes.extend_from_slice(&pieces.virtio);
        bytes.extend_from_slice(pieces.header);
        bytes.extend_from_slice(pieces.payload);
        self.out.push(Outgoing { port: *port, bytes });
        if let Some(whole) = run.into_buffer() {
            self.buffers.put(whole);
        }
    }
}

impl Driver for Devices {
    fn now(&mut self) -> Time {
        self.now
    }

    /// The kernel waits, not this driver.
    fn wait(&mut self, _: Time, _: &mut Vec<PortId>) -> io::Result<bool> {
        Ok(false)
    }

    fn receive(&mut self, _: PortId, into: &mut Vec<Frame>) -> io::Result<bool> {
        into.append(&mut self.arrived);
        Ok(false)
    }

    fn send(&mut self, port: PortId, frame: Frame) -> io::Result<()> {
        if self.unflushed.is_some_and(|other| other != port) {
            self.flush()?;
        }
        let (number, framing) = &mut self.ports[port.0];
        if framing.segments == Segments::Split {
            let mut bytes = self.buffers.fitting(frame.len());
            frame.write_into(&mut bytes);
            self.buffers.take_back(frame);
            self.out.push(Outgoing { port: *number, bytes });
            return Ok(());
        }
        if let Some(run) = framing.join(frame) {
            self.leave(port, run);
        }
        self.unflushed = Some(port);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        let Some(port) = self.unflushed.take() else { return Ok(()) };
        if let Some(run) = self.ports[port.0].1.take_kept() {
            self.leave(port, run);
        }
        Ok(())
    }

    fn recycle(&mut self, frame: Frame) {
        self.buffers.take_back(frame);
    }
}

/// The observer: it writes down what a process will read.
#[derive(Default)]
struct EventLog {
    stream: Vec<u8>,
    wants_bytes: bool,
}

impl EventLog {
    fn tell(&mut self, event: &Event<'_>) {
        event.append(&mut self.stream);
    }
}

impl Observer for EventLog {
    fn entered(&mut self, way: WayId, number: u64, frame: &Frame, now: Time) {
        let body = Body::of(frame, self.wants_bytes);
        self.tell(&Event::Entered { way: self::number(way), number, now, body });
    }

    fn ended(&mut self, way: WayId, packet: &Packet) {
        // The observer has seen the bytes of the packets that no stage has touched.
        let with_bytes = packet.is_damaged() || self.wants_bytes && !packet.marks.is_empty();
        let body = Body::of(&packet.frame, with_bytes);
        self.tell(&Event::Ended { way: number(way), packet: Flight::of(packet), body });
    }

    fn noted(&mut self, way: WayId, record: &Record) {
        self.tell(&Event::Noted { way: number(way), record: *record });
    }

    fn block(&mut self, way: WayId, block: &Block) {
        self.tell(&Event::Block { way: number(way), block: block.clone() });
    }

    fn visited(&mut self, _: WayId, _: &Link, _: Time) {}
}
