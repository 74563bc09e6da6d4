//! The event loop in the guest's kernel.

use super::WORTH_READING;
use super::message::{Body, Event, Fate, Form, Order, Totals};
use crate::driver::{Driver, PortId};
use crate::event_loop::{Emulator, Ending, Observer, WayId};
use crate::framing::{Framing, Segments};
use crate::kernel::buffers::Buffers;
use link::Packet;
use link::arq::hop::Block;
use link::link_layer::Record;
use link::units::Time;
use packet::whole::Run;
use packet::{Frame, virtio};
use std::io;

/// A packet that is to leave through a device of the kernel.
#[derive(Debug)]
pub struct Outgoing {
    /// Number of the device: devices are counted from 0 as they are put behind the loop.
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
    phase: Phase,
    /// Events that a process is reading.
    reading: Vec<u8>,
    /// Time zero of the run; `None` before it begins.
    origin: Option<u64>,
    due: Time,
    /// Whether a process waits for an answer among the events.
    answered: bool,
    /// Packets that a device refused: their number, and the last errno.
    refused: Option<(u64, i32)>,
}

enum Phase {
    /// Before the end of the run.
    Running(Box<Emulator<Devices, EventLog>>),
    /// What remains after it: its last packets and events.
    Ended(Devices, EventLog),
}

impl Default for KernelLoop {
    /// Returns a loop without links.
    fn default() -> Self {
        let emulator = Emulator::new(Devices::default(), EventLog::default());
        Self {
            phase: Phase::Running(Box::new(emulator)),
            reading: Vec::new(),
            origin: None,
            due: Time::NEVER,
            answered: false,
            refused: None,
        }
    }
}

impl KernelLoop {
    /// Carries out an order of a process. If that is impossible, an event says why.
    pub fn order(&mut self, now: u64, bytes: &[u8]) {
        let done = match borsh::from_slice(bytes) {
            Ok(order) => self.carry_out(order, now),
            Err(error) => Err(format!("this is no order: {error}")),
        };
        if let Err(why) = done {
            self.log().report(&Event::Failed(why));
        }
        self.answered = true;
    }

    fn carry_out(&mut self, order: Order, now: u64) -> Result<(), String> {
        let Phase::Running(emulator) = &mut self.phase else { return Err("the run has ended".to_owned()) };
        match order {
            Order::Add { spec, seed, watch, form } => {
                let mut link = spec.build(&seed).map_err(|error| error.to_string())?;
                link.watch(watch);
                let ports = [(); 2].map(|()| emulator.driver_mut().add(form));
                emulator.add_link(link, ports);
            }
            Order::Begin { origin, wants_bytes } => {
                emulator.observer_mut().wants_bytes = wants_bytes;
                self.origin = Some(origin);
                self.turn(now);
            }
            Order::Change { way, change } => {
                let now = since(self.origin.unwrap_or(now), now);
                emulator.driver_mut().now = now;
                let made = emulator.change(way, &change).ok_or("there is no such way")?;
                self.due = emulator.turn();
                self.log().report(&Event::Changed { way, now, made });
            }
            Order::Settle => {
                self.turn(now);
                let now = since(self.origin.unwrap_or(now), now);
                self.log().report(&Event::Settled { now });
            }
            Order::Finish => self.finish(now),
        }
        Ok(())
    }

    /// Takes a packet that a device sends, in the device's form.
    pub fn packet(&mut self, port: u32, now: u64, bytes: &[u8]) {
        let (Phase::Running(emulator), Some(origin)) = (&mut self.phase, self.origin) else { return };
        let driver = emulator.driver_mut();
        driver.now = since(origin, now);
        let Some(port) = driver.arrive(port, bytes) else { return };
        // Reading from memory does not fail.
        let _ = emulator.receive(port);
        self.due = emulator.until();
    }

    /// Does everything that is due.
    pub fn turn(&mut self, now: u64) {
        let (Phase::Running(emulator), Some(origin)) = (&mut self.phase, self.origin) else { return };
        emulator.driver_mut().now = since(origin, now);
        self.due = emulator.turn();
    }

    /// Returns when [`turn`](Self::turn) is to be called next; `u64::MAX` for never.
    #[must_use]
    pub fn due(&self) -> u64 {
        match (self.due, self.origin) {
            (Time::NEVER, _) | (_, None) => u64::MAX,
            (due, Some(origin)) => due.as_nanos().saturating_add(origin),
        }
    }

    /// Returns the packets that are to leave now, in their order.
    #[must_use]
    pub fn outgoing(&mut self) -> &[Outgoing] {
        &self.devices().out
    }

    /// Takes note that the devices have been handed the outgoing packets, and that they refused
    /// `refused` of them, the last with `errno`.
    pub fn sent(&mut self, refused: u64, errno: i32) {
        let devices = self.devices();
        devices.out.drain(..).for_each(|outgoing| devices.buffers.put(outgoing.bytes));
        if refused > 0 {
            let before = self.refused.map_or(0, |(count, _)| count);
            self.refused = Some((before + refused, errno));
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
        match &mut self.phase {
            Phase::Running(emulator) => emulator.observer_mut(),
            Phase::Ended(_, log) => log,
        }
    }

    fn devices(&mut self) -> &mut Devices {
        match &mut self.phase {
            Phase::Running(emulator) => emulator.driver_mut(),
            Phase::Ended(devices, _) => devices,
        }
    }

    fn finish(&mut self, now: u64) {
        self.turn(now);
        let ended = Phase::Ended(Devices::default(), EventLog::default());
        let Phase::Running(emulator) = std::mem::replace(&mut self.phase, ended) else { return };
        self.due = Time::NEVER;
        let Ending { driver, mut observer, punctuality, pauses, counted, at, .. } = emulator.finish();
        let unusable = driver.ports.iter().map(|framing| framing.unusable).sum();
        let totals = Totals { at, punctuality, pauses, counted, unusable, refused: self.refused };
        observer.report(&Event::Finished(Box::new(totals)));
        self.phase = Phase::Ended(driver, observer);
    }
}

fn since(origin: u64, now: u64) -> Time {
    Time::from_nanos(now.saturating_sub(origin))
}

/// The driver: network devices of the kernel around the loop.
#[derive(Default)]
struct Devices {
    now: Time,
    /// By the number of the device.
    ports: Vec<Framing>,
    arrived: Vec<Frame>,
    out: Vec<Outgoing>,
    buffers: Buffers,
    /// The port that has kept frames of a segment, to send them in one piece.
    unflushed: Option<PortId>,
}

impl Devices {
    fn add(&mut self, form: Form) -> PortId {
        self.ports.push(Framing::new(form.layer, form.segments));
        PortId(self.ports.len() - 1)
    }

    fn arrive(&mut self, port: u32, bytes: &[u8]) -> Option<PortId> {
        let framing = self.ports.get_mut(port as usize)?;
        framing.parse(bytes, &mut self.buffers, &mut self.arrived);
        Some(PortId(port as usize))
    }

    fn leave(&mut self, PortId(port): PortId, run: Run) {
        let pieces = run.pieces(&mut self.ports[port].header);
        let mut bytes = self.buffers.fitting(virtio::LEN + pieces.header.len() + pieces.payload.len());
        bytes.extend_from_slice(&pieces.virtio);
        bytes.extend_from_slice(pieces.header);
        bytes.extend_from_slice(pieces.payload);
        self.out.push(Outgoing { port: port as u32, bytes });
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
        let framing = &mut self.ports[port.0];
        if framing.segments == Segments::Split {
            let mut bytes = self.buffers.fitting(frame.len());
            frame.write_into(&mut bytes);
            self.buffers.take_back(frame);
            self.out.push(Outgoing { port: port.0 as u32, bytes });
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
        if let Some(run) = self.ports[port.0].take_kept() {
            self.leave(port, run);
        }
        Ok(())
    }

    fn recycle(&mut self, frame: Frame) {
        self.buffers.take_back(frame);
    }
}

/// The observer: it writes events to the stream that a process reads.
#[derive(Default)]
struct EventLog {
    stream: Vec<u8>,
    wants_bytes: bool,
}

impl EventLog {
    fn report(&mut self, event: &Event<'_>) {
        event.append(&mut self.stream);
    }
}

impl Observer for EventLog {
    fn entered(&mut self, way: WayId, number: u64, frame: &Frame, now: Time) {
        let body = Body::of(frame, self.wants_bytes);
        self.report(&Event::Entered { way, number, now, body });
    }

    fn ended(&mut self, way: WayId, packet: &Packet) {
        // The observer has seen the bytes of the packets that no stage has touched.
        let with_bytes = packet.is_damaged() || self.wants_bytes && !packet.marks.is_empty();
        let body = Body::of(&packet.frame, with_bytes);
        self.report(&Event::Ended { way, fate: Fate::of(packet), body });
    }

    fn noted(&mut self, way: WayId, record: &Record) {
        self.report(&Event::Noted { way, record: *record });
    }

    fn block(&mut self, way: WayId, block: &Block) {
        self.report(&Event::Block { way, block: block.clone() });
    }
}
