//! The real driver: descriptors of the kernel, epoll, and an absolute timer.
//!
//! Waiting is one `epoll_wait` on the ports, the bell of the controls and a timerfd on the monotonic clock that is set to
//! the absolute time of the next event: an absolute timer is not made later by what happens between computing it and
//! setting it. Nothing here polls, so virtual time can pass while it waits. With [`Kernel::precise`] the timer rings a
//! little early and the rest is spent spinning, which takes the wake-up latency of the kernel out of the delay at the
//! price of processor time; that is for the real clock only.

mod buffers;
mod port;

pub use port::{Port, Segments};

use crate::control::{Bell, Controls};
use crate::driver::{Driver, PortId};
use buffers::Buffers;
use link::units::{Span, Time};
use packet::Frame;
use rustix::event::epoll;
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

/// What an epoll event is about, where it is not the number of a port.
const TIMER: u64 = u64::MAX;
const BELL: u64 = u64::MAX - 1;

/// Longest time that [`Kernel::precise`] spins before an event. The wake-up latency of a timer on an idle virtual machine
/// is 30 to 50 us; spinning longer than that costs processor time and gains nothing.
pub const SPIN: Span = Span::from_micros(60);

/// The driver.
pub struct Kernel {
    epoll: OwnedFd,
    timer: OwnedFd,
    bell: Bell,
    /// What the timer is set to.
    armed: Time,
    /// The monotonic clock at the start of the run.
    origin: Timespec,
    spin: Span,
    ports: Vec<Port>,
    buffers: Buffers,
    /// The port that has kept frames of a segment to send them in one piece.
    unflushed: Option<PortId>,
}

impl Kernel {
    /// A driver without ports. Its time starts now.
    ///
    /// # Errors
    /// If the kernel has no descriptor left.
    pub fn new(controls: &Controls) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let timer =
            timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
        // Edge-triggered: setting the timer again is all it takes to be told again, it need not be read.
        let edge = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(&epoll, &timer, epoll::EventData::new_u64(TIMER), edge)?;
        let bell = controls.bell();
        epoll::add(&epoll, &bell, epoll::EventData::new_u64(BELL), epoll::EventFlags::IN)?;
        Ok(Self {
            epoll,
            timer,
            bell,
            armed: Time::NEVER,
            origin: clock_gettime(ClockId::Monotonic),
            spin: Span::ZERO,
            ports: Vec::new(),
            buffers: Buffers::default(),
            unflushed: None,
        })
    }

    /// Spins for the last [`SPIN`] before an event instead of trusting the wake-up of the timer.
    #[must_use]
    pub fn precise(mut self) -> Self {
        self.spin = SPIN;
        self
    }

    /// Adds a port.
    ///
    /// # Errors
    /// If its descriptor cannot be waited for.
    pub fn add(&mut self, port: Port) -> io::Result<PortId> {
        let id = PortId(self.ports.len());
        epoll::add(&self.epoll, &port, epoll::EventData::new_u64(id.0 as u64), epoll::EventFlags::IN)?;
        self.ports.push(port);
        Ok(id)
    }

    /// Packets that the kernel handed over in a form that cannot be cut into MTU-sized ones; they were dropped.
    #[must_use]
    pub fn unusable(&self) -> u64 {
        self.ports.iter().map(Port::unusable).sum()
    }

    /// Sets the timer to ring at `at`, unless it is set so already.
    fn arm(&mut self, at: Time) -> io::Result<()> {
        if at == self.armed {
            return Ok(());
        }
        let it_value = if at == Time::NEVER {
            Timespec { tv_sec: 0, tv_nsec: 0 }
        } else {
            let nanos = self.origin.tv_nsec + at.as_nanos().cast_signed();
            Timespec { tv_sec: self.origin.tv_sec + nanos / 1_000_000_000, tv_nsec: nanos % 1_000_000_000 }
        };
        let it_interval = Timespec { tv_sec: 0, tv_nsec: 0 };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &Itimerspec { it_interval, it_value })?;
        self.armed = at;
        Ok(())
    }

    /// Blocks in epoll until something happens, or not at all, and takes in what happened.
    fn poll(&mut self, block: bool, ready: &mut Vec<PortId>) -> io::Result<()> {
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let timeout = (!block).then_some(&at_once);
        let mut memory = [const { MaybeUninit::uninit() }; 64];
        let events = match epoll::wait(&self.epoll, &mut memory, timeout) {
            Ok((events, _)) => events,
            // A signal: the caller looks around and waits again.
            Err(rustix::io::Errno::INTR) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        for event in events {
            match event.data.u64() {
                TIMER => self.armed = Time::NEVER,
                BELL => self.bell.hush(),
                port => ready.push(PortId(port as usize)),
            }
        }
        Ok(())
    }
}

impl Driver for Kernel {
    fn now(&mut self) -> Time {
        let now = clock_gettime(ClockId::Monotonic);
        let seconds = now.tv_sec - self.origin.tv_sec;
        let nanos = seconds * 1_000_000_000 + now.tv_nsec - self.origin.tv_nsec;
        Time::from_nanos(nanos.unsigned_abs())
    }

    fn wait(&mut self, until: Time, ready: &mut Vec<PortId>) -> io::Result<bool> {
        let now = self.now();
        if until <= now {
            // Something is due, but ports must not starve behind a link that is always busy.
            self.poll(false, ready)?;
            return Ok(true);
        }
        if self.spin > Span::ZERO && until != Time::NEVER {
            if until - now > self.spin {
                let nearly = Time::from_nanos(until.as_nanos() - self.spin.as_nanos());
                self.arm(nearly)?;
                self.poll(true, ready)?;
                if !ready.is_empty() || self.now() < nearly {
                    return Ok(true);
                }
            }
            while self.now() < until {
                self.poll(false, ready)?;
                if !ready.is_empty() {
                    break;
                }
            }
            return Ok(true);
        }
        self.arm(until)?;
        self.poll(true, ready)?;
        Ok(true)
    }

    fn receive(&mut self, port: PortId, into: &mut Vec<Frame>) -> io::Result<bool> {
        self.ports[port.0].receive(&mut self.buffers, into)
    }

    fn send(&mut self, port: PortId, frame: Frame) -> io::Result<()> {
        let mut flushed = Ok(());
        if self.unflushed.is_some_and(|other| other != port) {
            flushed = self.flush();
        }
        let sender = &mut self.ports[port.0];
        let sent = sender.send(frame, &mut self.buffers);
        self.unflushed = sender.has_kept().then_some(port);
        flushed.and(sent)
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.unflushed.take() {
            Some(port) => self.ports[port.0].flush(&mut self.buffers),
            None => Ok(()),
        }
    }

    fn recycle(&mut self, frame: Frame) {
        self.buffers.take_back(frame);
    }
}
