//! A driver without a kernel: a script of arrivals, and a clock that jumps from one event to the
//! next.
//!
//! Tests run the real event loop on it and compare times to the nanosecond. Delays that a machine
//! would add are parameters: late wake-ups ([`Simulated::late_by`]) and a stopped process
//! ([`Simulated::stopped`]).

use crate::driver::{Driver, PortId};
use link::units::{Span, Time};
use packet::Frame;
use std::collections::VecDeque;
use std::io;

/// The simulated driver.
#[derive(Debug, Default)]
pub struct Simulated {
    now: Time,
    wake_up_late: Span,
    longest_wait: Option<Span>,
    /// Times at which the process is stopped, and for how long.
    stops: VecDeque<(Time, Span)>,
    /// Packets that have not arrived yet, in order of time.
    script: VecDeque<(Time, PortId, Frame)>,
    /// Packets that have arrived and are not read yet, by port.
    arrived: Vec<VecDeque<Frame>>,
    /// Sent packets: time, port, frame.
    pub sent: Vec<(Time, PortId, Frame)>,
    /// Number of waits so far. On a real kernel, each would block once.
    pub waits: usize,
}

impl Simulated {
    /// Creates a world in which the packets of `script` arrive, in order of their times.
    ///
    /// # Panics
    /// If the script goes back in time.
    #[must_use]
    pub fn new(script: Vec<(Time, PortId, Frame)>) -> Self {
        assert!(script.is_sorted_by_key(|entry| entry.0), "the script goes back in time");
        Self { script: script.into(), ..Self::default() }
    }

    /// Makes every wake-up by the clock come `late` too late, as on a busy machine.
    #[must_use]
    pub fn late_by(mut self, late: Span) -> Self {
        self.wake_up_late = late;
        self
    }

    /// Stops the process at `at` for `length`. Packets that arrive meanwhile wait at their port.
    #[must_use]
    pub fn stopped(mut self, at: Time, length: Span) -> Self {
        self.stops.push_back((at, length));
        self
    }

    /// Limits each wait of the loop to `longest`, as the real clock does.
    #[must_use]
    pub fn waiting_at_most(mut self, longest: Span) -> Self {
        self.longest_wait = Some(longest);
        self
    }

    /// Moves packets that have arrived by now from the script to the ports.
    fn deliver_arrivals(&mut self) {
        while let Some((_, port, frame)) = self.script.pop_front_if(|entry| entry.0 <= self.now) {
            if self.arrived.len() <= port.0 {
                self.arrived.resize_with(port.0 + 1, VecDeque::new);
            }
            self.arrived[port.0].push_back(frame);
        }
    }

    fn add_ready(&self, ready: &mut Vec<PortId>) {
        let waiting = self.arrived.iter().enumerate().filter(|(_, frames)| !frames.is_empty());
        ready.extend(waiting.map(|(port, _)| PortId(port)));
    }
}

impl Driver for Simulated {
    fn now(&mut self) -> Time {
        self.now
    }

    fn longest_wait(&self) -> Span {
        self.longest_wait.unwrap_or(Span::MAX)
    }

    fn wait(&mut self, until: Time, ready: &mut Vec<PortId>) -> io::Result<bool> {
        self.waits += 1;
        self.add_ready(ready);
        if !ready.is_empty() {
            return Ok(true);
        }
        let arrival = self.script.front().map_or(Time::NEVER, |entry| entry.0);
        let wake_up = if until == Time::NEVER { until } else { until + self.wake_up_late };
        let next = arrival.min(wake_up);
        if next == Time::NEVER {
            return Ok(false);
        }
        self.now = self.now.max(next);
        while let Some((at, length)) = self.stops.pop_front_if(|stop| stop.0 <= self.now) {
            self.now = self.now.max(at + length);
        }
        self.deliver_arrivals();
        self.add_ready(ready);
        // With a limited wait, the loop always has a time to wait for. Then the world ends with its
        // script.
        Ok(self.longest_wait.is_none() || !ready.is_empty() || !self.script.is_empty())
    }

    fn receive(&mut self, port: PortId, into: &mut Vec<Frame>) -> io::Result<bool> {
        let frame = self.arrived.get_mut(port.0).and_then(VecDeque::pop_front);
        let more = frame.is_some();
        into.extend(frame);
        Ok(more)
    }

    fn send(&mut self, port: PortId, frame: Frame) -> io::Result<()> {
        self.sent.push((self.now, port, frame));
        Ok(())
    }
}
