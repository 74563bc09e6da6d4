//! A model of a bulk transfer over a link: a TCP sender with NewReno's reaction to losses, which it
//! detects by SACK.
//!
//! The window follows RFC 5681 with an initial window of ten segments (RFC 6928). A segment counts
//! as lost when a later one has arrived, because the links of the profiles keep packets in order.
//! The timer is that of RFC 6298, with Linux's lower bound of 200 ms on the variance term. The
//! receiver acknowledges each segment, and each acknowledgement reports all segments that it has.
//! Segments fill the MTU with 52 bytes of headers (IPv4, TCP, timestamps).

use super::*;
use crate::link::LinkSink;
use crate::packet::Packet;
use crate::seed::Seed;
use crate::units::{Span, Time};
use ::packet::{Frame, Layer};
use std::collections::VecDeque;

/// Bytes of a segment's headers, and of an acknowledgement.
const HEADERS: usize = 52;

/// Result of a transfer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Transferred {
    /// Payload delivered in order, in bit/s, without the first quarter of the time.
    pub goodput: f64,
    /// Mean time from the end of a segment's transmission to its arrival, in seconds.
    pub delay: f64,
    /// Retransmission timeouts.
    pub timeouts: u32,
}

/// Transfers data down the link for `length`. `window` is the receive window in bytes.
pub(super) fn transfer(link: &LinkProfile, seed: &Seed, length: Span, window: Option<u64>) -> Transferred {
    let mtu = usize::from(link.mtu.unwrap_or(1500));
    let payload = mtu - HEADERS;
    let window = window.map_or(u64::MAX, |bytes| (bytes / payload as u64).max(1));
    let mut world = World {
        link: link.build(seed).unwrap_or_else(|error| panic!("{error}")),
        arrivals: Arrivals::default(),
        sent: Vec::new(),
        acknowledged: Vec::new(),
        receiver: Receiver::default(),
        sender: Sender::new(window),
        mtu,
    };
    let (quarter, end) = (Time::from_nanos(length.as_nanos() / 4), Time::ZERO + length);
    world.send(Time::ZERO);
    let before = world.run(quarter);
    let after = world.run(end);
    let receiver = &world.receiver;
    Transferred {
        goodput: ((after - before) * payload as u64 * 8) as f64 / end.since(quarter).as_secs_f64(),
        delay: receiver.delays / receiver.log.len() as f64,
        timeouts: world.sender.timeouts,
    }
}

/// A transmission: its number among all, its segment and its time.
#[derive(Debug, Clone, Copy)]
struct Transmission {
    number: u64,
    segment: u64,
    at: Time,
}

/// Content of an acknowledgement.
#[derive(Debug, Clone, Copy)]
struct Acknowledgement {
    /// Number of transmissions that had arrived.
    arrived: usize,
    /// Number of segments that had arrived in order.
    in_order: u64,
}

struct World {
    link: Link,
    arrivals: Arrivals,
    /// Transmissions by the packet's number in its direction.
    sent: Vec<Transmission>,
    acknowledged: Vec<Acknowledgement>,
    receiver: Receiver,
    sender: Sender,
    mtu: usize,
}

/// Packets at the far end of either direction.
#[derive(Default)]
struct Arrivals(VecDeque<(Direction, Packet)>);

impl LinkSink for Arrivals {
    fn delivered(&mut self, direction: Direction, packet: Packet) {
        self.0.push_back((direction, packet));
    }
    fn lost(&mut self, _: Direction, _: Packet) {}
}

#[derive(Default)]
struct Receiver {
    /// Transmissions in the order of their arrival.
    log: Vec<Transmission>,
    has: Vec<bool>,
    in_order: u64,
    delays: f64,
}

struct Sender {
    /// Receive window in segments.
    window: u64,
    congestion_window: f64,
    threshold: f64,
    /// The next segment that has never been sent.
    next: u64,
    in_order: u64,
    arrived: usize,
    has: Vec<bool>,
    flight: VecDeque<Transmission>,
    again: VecDeque<u64>,
    transmissions: u64,
    /// Transmission from which a loss reduces the window again: one reduction covers all losses
    /// among earlier transmissions.
    recovery: u64,
    /// Smoothed round-trip time and its variation in seconds.
    round_trip: Option<(f64, f64)>,
    backoff: u32,
    deadline: Time,
    timeouts: u32,
}

impl World {
    /// Handles all events until `end`; returns the number of segments that have then arrived in
    /// order.
    fn run(&mut self, end: Time) -> u64 {
        loop {
            let due = self.link.due();
            let now = due.min(self.sender.deadline);
            if now > end {
                return self.receiver.in_order;
            }
            if self.sender.deadline < due {
                self.sender.time_out(now);
                self.send(now);
            } else {
                self.link.advance(now, &mut self.arrivals);
            }
            while let Some((direction, packet)) = self.arrivals.0.pop_front() {
                self.arrive(direction, &packet, now);
            }
        }
    }

    fn arrive(&mut self, direction: Direction, packet: &Packet, now: Time) {
        let number = packet.number as usize;
        match direction {
            Direction::Down => {
                self.receiver.take(self.sent[number], packet);
                let (arrived, in_order) = (self.receiver.log.len(), self.receiver.in_order);
                self.acknowledged.push(Acknowledgement { arrived, in_order });
                self.put(Direction::Up, HEADERS, now);
            }
            Direction::Up => {
                self.sender.take(self.acknowledged[number], &self.receiver.log, now);
                self.send(now);
            }
        }
    }

    /// Sends as many segments as the windows allow.
    fn send(&mut self, now: Time) {
        while let Some(transmission) = self.sender.next(now) {
            self.sent.push(transmission);
            self.put(Direction::Down, self.mtu, now);
        }
    }

    fn put(&mut self, direction: Direction, bytes: usize, now: Time) {
        let frame = Frame::owned(Layer::Ip, vec![0; bytes]);
        self.link.accept(direction, frame, now, &mut self.arrivals);
    }
}

impl Receiver {
    fn take(&mut self, transmission: Transmission, packet: &Packet) {
        self.delays += packet.at.since(packet.sending.end).as_secs_f64();
        self.log.push(transmission);
        mark(&mut self.has, transmission.segment);
        while self.has.get(self.in_order as usize) == Some(&true) {
            self.in_order += 1;
        }
    }
}

impl Sender {
    fn new(window: u64) -> Self {
        Self {
            window,
            congestion_window: 10.0,
            threshold: f64::INFINITY,
            next: 0,
            in_order: 0,
            arrived: 0,
            has: Vec::new(),
            flight: VecDeque::new(),
            again: VecDeque::new(),
            transmissions: 0,
            recovery: 0,
            round_trip: None,
            backoff: 0,
            deadline: Time::NEVER,
            timeouts: 0,
        }
    }

    fn has(&self, segment: u64) -> bool {
        self.has.get(segment as usize) == Some(&true)
    }

    /// Returns the next transmission, if the windows allow one.
    fn next(&mut self, now: Time) -> Option<Transmission> {
        while self.again.front().is_some_and(|&segment| self.has(segment)) {
            self.again.pop_front();
        }
        if self.flight.len() as f64 + 1.0 > self.congestion_window {
            return None;
        }
        let segment = if let Some(segment) = self.again.pop_front() {
            segment
        } else if self.next - self.in_order < self.window {
            self.next += 1;
            self.next - 1
        } else {
            return None;
        };
        if self.flight.is_empty() {
            self.deadline = now + self.timeout();
        }
        let transmission = Transmission { number: self.transmissions, segment, at: now };
        self.transmissions += 1;
        self.flight.push_back(transmission);
        Some(transmission)
    }

    fn take(&mut self, acknowledgement: Acknowledgement, log: &[Transmission], now: Time) {
        let new = log.get(self.arrived..acknowledgement.arrived).unwrap_or_default();
        let Some(last) = new.last().copied() else { return };
        self.arrived = acknowledgement.arrived;
        self.in_order = self.in_order.max(acknowledgement.in_order);
        for transmission in new {
            mark(&mut self.has, transmission.segment);
        }
        self.measure(now.since(last.at).as_secs_f64());
        self.backoff = 0;
        let mut missing = None;
        while let Some(sent) = self.flight.front().copied().filter(|sent| sent.number <= last.number) {
            self.flight.pop_front();
            if !self.has(sent.segment) {
                self.again.push_back(sent.segment);
                missing = Some(sent.number);
            }
        }
        if missing.is_some_and(|number| number >= self.recovery) {
            self.threshold = (self.congestion_window / 2.0).max(2.0);
            self.congestion_window = self.threshold;
            self.recovery = self.transmissions;
        } else if last.number >= self.recovery || self.congestion_window < self.threshold {
            for _ in new {
                let slow_start = self.congestion_window < self.threshold;
                self.congestion_window += if slow_start { 1.0 } else { 1.0 / self.congestion_window };
            }
            self.congestion_window = self.congestion_window.min(self.window as f64);
        }
        self.deadline = if self.flight.is_empty() { Time::NEVER } else { now + self.timeout() };
    }

    fn time_out(&mut self, now: Time) {
        self.timeouts += 1;
        if self.backoff == 0 {
            self.threshold = (self.flight.len() as f64 / 2.0).max(2.0);
        }
        self.congestion_window = 1.0;
        self.recovery = self.transmissions;
        let lost: Vec<_> = self.flight.drain(..).map(|sent| sent.segment).collect();
        self.again.extend(lost);
        self.again.make_contiguous().sort_unstable();
        self.backoff += 1;
        self.deadline = now + self.timeout();
    }

    fn measure(&mut self, sample: f64) {
        self.round_trip = Some(match self.round_trip {
            None => (sample, sample / 2.0),
            Some((mean, variation)) => {
                (mean + (sample - mean) / 8.0, variation + ((sample - mean).abs() - variation) / 4.0)
            }
        });
    }

    fn timeout(&self) -> Span {
        let seconds = self.round_trip.map_or(1.0, |(mean, variation)| mean + f64::max(4.0 * variation, 0.2));
        Span::from_nanos((seconds * 1e9) as u64) * (1 << self.backoff.min(8))
    }
}

fn mark(has: &mut Vec<bool>, segment: u64) {
    let place = segment as usize;
    if place >= has.len() {
        has.resize(place + 1, false);
    }
    has[place] = true;
}
