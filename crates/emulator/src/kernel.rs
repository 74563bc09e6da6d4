//! The driver for the real clock: kernel file descriptors and epoll.
//!
//! A wait is `epoll_pwait2` on the ports and the bell of the controls. Its timeout is the time to
//! the next event in nanoseconds, with a timer slack of 1 ns. Nothing here polls, so virtual time
//! can pass during a wait.
//!
//! An absolute timerfd would not be delayed by the time between reading the clock and setting it.
//! But it takes one more system call, and its expiry wakes epoll, which then wakes the loop: 60 us
//! later (docs/performance.md). The time in between costs nothing as long as the thread keeps its
//! processor, and the clock is read right before the call.
//!
//! Packets that leave together are written in one system call ([`batch`]).
//!
//! With [`Kernel::precise`], the wait ends a little early and the driver spins for the rest. This
//! removes the kernel's wake-up latency from the delay and costs processor time. It is only for the
//! real clock.

mod batch;
pub(crate) mod buffers;
mod port;

pub use crate::framing::Segments;
pub use port::Port;

use crate::control::{Bell, Controls};
use crate::driver::{Driver, PortId};
use batch::Batch;
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

/// Data of the bell's epoll events. All others carry the number of a port.
const BELL: u64 = u64::MAX;

/// Timer slack in nanoseconds: how much longer the kernel may make a wait, to end it together with
/// others. This is the smallest value: 0 would select the default of 50 us.
const TIMER_SLACK: NonZeroU64 = NonZeroU64::MIN;

/// Fraction 1 / `EARLY` of a wait by which waits longer than [`EXACT`] end early; the rest is a
/// wait of its own. The kernel may prolong a wait by a thousandth of its length, and by a
/// two-hundredth for a nice process, whatever the timer slack (`select_estimate_accuracy` in
/// `fs/select.c`). 1 / 128 is more than both.
const EARLY: u64 = 128;

/// Longest wait that need not end early: a two-hundredth of it does not matter.
const EXACT: Span = Span::from_millis(1);

/// Longest wait. A measured pause of this process may be too short by this much
/// ([`crate::pauses`]). Because of this limit, the loop wakes up 20 times a second on an idle link.
const LONGEST_WAIT: Span = Span::from_millis(50);

/// Longest time that [`Kernel::precise`] spins before an event. The wake-up latency of a timer on
/// an idle virtual machine is 30 to 50 us; longer spinning costs processor time and gains nothing.
pub const SPIN: Span = Span::from_micros(60);

/// The epoll driver; see the [module](self).
pub struct Kernel {
    epoll: OwnedFd,
    bell: Bell,
    /// Whether the waiting thread has set its timer slack.
    punctual: bool,
    /// The monotonic clock at the start of the run. The standard library reads it, because rustix
    /// reads it only through the vDSO, and User-Mode Linux has no vDSO that rustix knows.
    origin: Instant,
    spin: Span,
    ports: Vec<Port>,
    buffers: Buffers,
    batch: Batch,
    /// The port that has kept frames of a segment, to send them in one piece.
    unflushed: Option<PortId>,
}

impl Kernel {
    /// Creates a driver without ports. Its time starts now.
    ///
    /// # Errors
    /// If the kernel has no file descriptor left.
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
            batch: Batch::new(),
            unflushed: None,
        })
    }

    /// Spins for the last [`SPIN`] before an event instead of relying on the timer's wake-up.
    #[must_use]
    pub fn precise(mut self) -> Self {
        self.spin = SPIN;
        self
    }

    /// Adds a port.
    ///
    /// # Errors
    /// If epoll does not accept its descriptor.
    pub fn add(&mut self, port: Port) -> io::Result<PortId> {
        let id = PortId(self.ports.len());
        epoll::add(&self.epoll, &port, epoll::EventData::new_u64(id.0 as u64), epoll::EventFlags::IN)?;
        self.ports.push(port);
        Ok(id)
    }

    /// Returns the number of packets dropped because the kernel handed them over in a form that
    /// cannot be cut into MTU-sized packets.
    #[must_use]
    pub fn unusable(&self) -> u64 {
        self.ports.iter().map(Port::unusable).sum()
    }

    /// Blocks in epoll until an event, for at most `longest`, and handles the events.
    fn poll(&mut self, longest: Span, ready: &mut Vec<PortId>) -> io::Result<()> {
        let mut timeout = (longest != Span::MAX).then(|| timespec(longest));
        let mut memory = [const { MaybeUninit::uninit() }; 64];
        let events = loop {
            match epoll::wait(&self.epoll, &mut memory, timeout.as_ref()) {
                Ok((events, _)) => break events,
                // A signal such as SIGCONT. Return at once with the events until now: packets that
                // waited while the process was stopped must not look as if they had come later.
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

/// Converts a time span to the kernel's type.
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
            // The slack belongs to the thread, so the waiting thread has to set it.
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
        let sent = sender.send(frame, &mut self.buffers, &mut self.batch);
        self.unflushed = sender.has_kept().then_some(port);
        flushed.and(sent)
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Some(port) = self.unflushed.take() {
            self.ports[port.0].flush(&mut self.buffers, &mut self.batch)?;
        }
        self.batch.submit(&mut self.buffers);
        self.batch.refused().map_or(Ok(()), Err)
    }

    fn recycle(&mut self, frame: Frame) {
        self.buffers.take_back(frame);
    }
}

#[cfg(test)]
mod tests;
