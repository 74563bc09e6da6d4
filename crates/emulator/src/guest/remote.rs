//! The process's side of an event loop in the guest's kernel.

use super::message::{Form, Order};
use super::replay::Replay;
use crate::control::{Bell, Command, Controls};
use crate::event_loop::{Ending, Observer};
use crate::host::{Planned, Unusable};
use borsh::BorshSerialize;
use link::units::Time;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, BorrowedFd};

/// `LASTHOP_ADD`: puts the device of another descriptor behind this loop, and returns its number.
const ADD: libc::Ioctl = 0x4004_4c01;

/// Bytes of one read.
const PIECE: usize = 1 << 20;

/// An event loop in the guest's kernel, and the observer in this process.
pub struct Remote<O> {
    device: File,
    replay: Replay<O>,
    controls: Controls,
    bell: Bell,
    /// Time zero of the run on the monotonic clock, in nanoseconds.
    origin: u64,
    /// Memory for one read.
    piece: Vec<u8>,
}

impl<O: Observer> Remote<O> {
    /// Creates a loop without links in the kernel whose device file `device` is. Time zero of its
    /// run is now.
    pub fn new(device: File, observer: O, controls: Controls) -> Self {
        let bell = controls.bell();
        let (replay, origin) = (Replay::new(observer), monotonic());
        Self { device, replay, controls, bell, origin, piece: vec![0; PIECE] }
    }

    /// Adds a link between two devices, given by their descriptors.
    ///
    /// # Errors
    /// If a descriptor is no device of this kernel, or the kernel cannot build the link.
    pub fn add(&mut self, planned: Planned, ends: [BorrowedFd<'_>; 2], form: Form) -> io::Result<()> {
        let Planned { link, spec, seed, watch } = planned;
        for end in ends {
            // SAFETY: the request takes a descriptor by value.
            let added = unsafe { libc::ioctl(self.device.as_raw_fd(), ADD, end.as_raw_fd()) };
            if added < 0 {
                return Err(io::Error::last_os_error());
            }
        }
        self.replay.add(link);
        self.tell(&Order::Add { spec: Box::new(spec), seed, watch, form })
    }

    /// Runs until [`Command::Stop`].
    ///
    /// # Errors
    /// If the kernel reports an error, or what it sends cannot be read.
    pub fn run(mut self) -> io::Result<Ending<Unusable, O>> {
        let wants_bytes = self.replay.observer().wants_bytes();
        self.tell(&Order::Begin { origin: self.origin, wants_bytes })?;
        loop {
            while let Some(command) = self.controls.next() {
                self.obey(command)?;
            }
            if self.replay.is_finished() {
                return self.replay.ending();
            }
            self.wait()?;
        }
    }

    fn obey(&mut self, command: Command) -> io::Result<()> {
        match command {
            Command::Stop => self.tell(&Order::Finish),
            Command::Note(text) => {
                self.tell(&Order::Settle)?;
                let now = self.now();
                self.replay.observer().note(&text, now);
                Ok(())
            }
            Command::Settle(answer) => {
                self.tell(&Order::Settle)?;
                self.replay.observer().flush();
                // An error means that nobody waits any more.
                let _ = answer.send(());
                Ok(())
            }
            // Without an answer: nobody looks at a guest's queue while it runs.
            Command::Waiting(..) => Ok(()),
            Command::Change(way, change, answer) => {
                self.replay.expect(change.clone(), answer);
                self.tell(&Order::Change { way, change })
            }
        }
    }

    /// Waits for events, for a command, or until the observer has work of its own.
    fn wait(&mut self) -> io::Result<()> {
        let due = self.replay.observer().due();
        let timeout = (due != Time::NEVER).then(|| {
            let left = due.since(self.now()).as_nanos().cast_signed();
            Timespec { tv_sec: left / 1_000_000_000, tv_nsec: left % 1_000_000_000 }
        });
        let mut watched = [PollFd::new(&self.device, PollFlags::IN), PollFd::new(&self.bell, PollFlags::IN)];
        match poll(&mut watched, timeout.as_ref()) {
            Ok(0) => return self.tell(&Order::Settle),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let [readable, rung] = watched.map(|its| !its.revents().is_empty());
        if rung {
            self.bell.hush();
        }
        if readable { self.read() } else { Ok(()) }
    }

    /// Tells the kernel and takes its answer, behind all events until now.
    fn tell(&mut self, order: &Order) -> io::Result<()> {
        let mut bytes = Vec::new();
        order.serialize(&mut bytes)?;
        self.device.write_all(&bytes)?;
        self.read()
    }

    /// Reads all events until now, and shows them to the observer.
    fn read(&mut self) -> io::Result<()> {
        loop {
            let read = self.device.read(&mut self.piece)?;
            self.replay.take(&self.piece[..read])?;
            if read < PIECE {
                return Ok(());
            }
        }
    }

    fn now(&self) -> Time {
        Time::from_nanos(monotonic().saturating_sub(self.origin))
    }
}

/// Returns the kernel's monotonic clock in nanoseconds. The C library reads it, because User-Mode
/// Linux has no vDSO that rustix knows.
fn monotonic() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes `now`; this clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}
