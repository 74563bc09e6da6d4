//! The real driver: descriptors of the kernel and epoll.
//!
//! Waiting is `epoll_pwait2` on the ports and the bell of the controls, with the time to the next
//! event in nanoseconds as its timeout and a timer slack of 1 ns. An absolute timerfd would not be
//! made later by what happens between reading the clock and setting it, but it is a system call
//! more, and its expiry wakes epoll, which wakes the loop: later by 60 us (docs/performance.md).
//! What happens in between costs nothing as long as the thread keeps its processor, and the clock
//! is read right before the call. Nothing here polls, so virtual time can pass while it waits. With
//! [`Kernel::precise`] the wait ends a little early and the rest is spent spinning, which takes the
//! wake-up latency of the kernel out of the delay at the price of processor time; that is for the
//! real clock only.

pub(crate) mod buffers;
mod port;

pub use port::{Port, Segments};

use crate::control::{Bell, Controls};
use crate::driver::{Driver, PortId};
use buffers::Buffers;
use link::units::{Span, Time};
use packet::Frame;
use rustix::event::epoll;
use rustix::thread::set_current_timer_slack;
use rustix::time::Timespec;
use std::io;
use std::mem::MaybeUninit;
use std::num::NonZeroU64;
use std::os::fd::OwnedFd;
use std::time::Instant;

/// What an epoll event is about, where it is not the number of a port.
const BELL: u64 = u64::MAX;

/// By how much the kernel may let a wait of ours last longer, to end it together with others, in
/// nanoseconds: the least that is not "as by default", which is 50 us.
const TIMER_SLACK: NonZeroU64 = NonZeroU64::MIN;

/// The kernel lets a wait of so many times its slack be that much longer
/// (`select_estimate_accuracy` in `fs/select.c`: a thousandth of the time, a two-hundredth for a
/// process that is nice, whatever the timer slack). Longer waits than [`EXACT`] therefore end early
/// by more than that, and what is left is waited for anew.
const EARLY: u64 = 128;

/// A wait so short that a two-hundredth of it does not matter.
const EXACT: Span = Span::from_millis(1);

/// Longest wait at once: how much too short a pause of this process may be measured
/// ([`crate::pauses`]). An idle link wakes up 40 times a second by this, twice a wait (see
/// [`EARLY`]).
const LONGEST_WAIT: Span = Span::from_millis(50);

/// Longest time that [`Kernel::precise`] spins before an event. The wake-up latency of a timer on
/// an idle virtual machine is 30 to 50 us; spinning longer than that costs processor time and gains
/// nothing.
pub const SPIN: Span = Span::from_micros(60);

/// The driver.
pub struct Kernel {
    epoll: OwnedFd,
    bell: Bell,
    /// Whether the thread that waits has its timer slack.
    punctual: bool,
    /// The monotonic clock at the start of the run. The standard library reads it, since rustix
    /// does so by the vDSO alone, and a User-Mode Linux has none that it knows.
    origin: Instant,
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
        let bell = controls.bell();
        epoll::add(&epoll, &bell, epoll::EventData::new_u64(BELL), epoll::EventFlags::IN)?;
        Ok(Self {
            epoll,
            bell,
            punctual: false,
            origin: Instant::now(),
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

    /// Packets that the kernel handed over in a form that cannot be cut into MTU-sized ones; they
    /// were dropped.
    #[must_use]
    pub fn unusable(&self) -> u64 {
        self.ports.iter().map(Port::unusable).sum()
    }

    /// Blocks in epoll until something happens but at most for `longest`, and takes in what
    /// happened.
    fn poll(&mut self, longest: Span, ready: &mut Vec<PortId>) -> io::Result<()> {
        let mut timeout = (longest != Span::MAX).then(|| timespec(longest));
        let mut memory = [const { MaybeUninit::uninit() }; 64];
        let events = loop {
            match epoll::wait(&self.epoll, &mut memory, timeout.as_ref()) {
                Ok((events, _)) => break events,
                // A signal, SIGCONT for one: the caller looks around, and is told what has come
                // until now. What waited while the process was stopped shall not look as if it had
                // come after that.
                Err(rustix::io::Errno::INTR) => timeout = Some(timespec(Span::ZERO)),
                Err(error) => return Err(error.into()),
            }
        };
        for event in events {
            match event.data.u64() {
                BELL => self.bell.hush(),
                port => ready.push(PortId(port as usize)),
            }
        }
        Ok(())
    }
}

/// A time span as the kernel takes it.
fn timespec(span: Span) -> Timespec {
    let nanos = span.as_nanos().cast_signed();
    Timespec { tv_sec: nanos / 1_000_000_000, tv_nsec: nanos % 1_000_000_000 }
}

impl Driver for Kernel {
    fn now(&mut self) -> Time {
        Time::from_nanos(self.origin.elapsed().as_nanos() as u64)
    }

    fn longest_wait(&self) -> Span {
        LONGEST_WAIT
    }

    fn wait(&mut self, until: Time, ready: &mut Vec<PortId>) -> io::Result<bool> {
        if !self.punctual {
            // It belongs to the thread, so the thread that waits has to ask for it.
            set_current_timer_slack(Some(TIMER_SLACK))?;
            self.punctual = true;
        }
        if until == Time::NEVER {
            self.poll(Span::MAX, ready)?;
            return Ok(true);
        }
        let now = self.now();
        if until <= now {
            // Something is due, but ports must not starve behind a link that is always busy.
            self.poll(Span::ZERO, ready)?;
            return Ok(true);
        }
        let left = until - now;
        if left > EXACT && left > self.spin {
            let early = Span::from_nanos(left.as_nanos() / EARLY);
            self.poll(left - early.max(self.spin), ready)?;
            return Ok(true);
        }
        if left > self.spin {
            self.poll(left - self.spin, ready)?;
            if self.spin == Span::ZERO || !ready.is_empty() {
                return Ok(true);
            }
        }
        let nearly = Time::from_nanos(until.as_nanos().saturating_sub(self.spin.as_nanos()));
        while (nearly..until).contains(&self.now()) && ready.is_empty() {
            self.poll(Span::ZERO, ready)?;
        }
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

#[cfg(test)]
mod tests;
