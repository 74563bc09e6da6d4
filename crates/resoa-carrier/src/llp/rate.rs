//! How much may be under way, and how fast it is sent: from the rate at which things arrive and the
//! shortest round trip (the model of BBR, draft-ietf-ccwg-bbr; the samples of
//! draft-cheng-iccrg-delivery-rate-estimation), not from losses, which on a last hop are damage.
//!
//! What may be under way is what the link carries in one and a half of its shortest round trips and
//! 5 ms, and a few packets. So the queue before the slowest part of the path stays at about half a
//! round trip, and with every third packet lost the link is still full. Nothing is sent at more
//! than 1.25 times the rate. As long as the rate grows by a quarter each round trip (the start) it
//! is 2.89 times, and two such round trips.
//!
//! The shortest round trip is measured anew after 10 s without one as short: for that much less is
//! under way for a moment.

use super::flight::Sent;
use std::collections::VecDeque;
use std::time::Duration;

/// Round trips over which the highest rate counts.
const ROUNDS: u64 = 10;
/// How long a round-trip time counts.
const TRIP: Duration = Duration::from_secs(10);
/// How long less is under way to measure it anew.
const PROBE: Duration = Duration::from_millis(100);
/// Packets that may be under way before anything is known, and in each round trip of the start (RFC
/// 6928).
const INITIAL: u64 = 10;
/// Packets that may be under way beside what the link carries: they are acknowledged so many at a
/// time.
const LEAST: u64 = 4;
/// Time that a host may be late with what arrives, or with sending.
const SLACK: Duration = Duration::from_millis(5);
/// Time for which packets may be sent in one go.
const BURST: Duration = Duration::from_millis(4);

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Rate {
    /// Octets of a full packet.
    packet: u64,
    /// Octets that have arrived, and when the last did.
    delivered: u64,
    delivered_at: Duration,
    /// When the packet was sent that arrived last.
    first_sent: Duration,
    /// Octets that had arrived when there was last nothing to send, and everything sent then: until
    /// more than those have, what was sent tells nothing.
    idle_until: Option<u64>,
    round: u64,
    round_ends: u64,
    /// Highest rates, octets a second, falling, with their rounds.
    highest: VecDeque<(u64, f64)>,
    /// The rate of the round in which it last grew, and rounds since, while it is still the start.
    start: Option<(f64, u32)>,
    shortest: Option<(Duration, Duration)>,
    /// Until when less is under way, and the shortest round trip found.
    probe: Option<(Duration, Duration)>,
    /// When the next packet may be sent.
    next: Duration,
}

impl Rate {
    pub(super) fn new(packet: usize) -> Self {
        Self {
            packet: packet as u64,
            delivered: 0,
            delivered_at: Duration::ZERO,
            first_sent: Duration::ZERO,
            idle_until: None,
            round: 0,
            round_ends: 0,
            highest: VecDeque::new(),
            start: Some((0.0, 0)),
            shortest: None,
            probe: None,
            next: Duration::ZERO,
        }
    }

    /// Octets a second that were seen to arrive while there was enough to send.
    fn seen(&self) -> Option<f64> {
        self.highest.front().map(|(_, rate)| *rate)
    }

    /// The same, and what is dared at the start.
    fn rate(&self) -> Option<f64> {
        let (trip, _) = self.shortest?;
        let dared = (INITIAL * self.packet) as f64 / trip.max(Duration::from_millis(1)).as_secs_f64();
        if self.start.is_some() { Some(self.seen().unwrap_or(0.0).max(dared)) } else { self.seen() }
    }

    /// The shortest round trip.
    pub(super) fn shortest(&self) -> Duration {
        self.shortest.map_or(Duration::ZERO, |(trip, _)| trip)
    }

    /// Octets that may be under way.
    pub(super) fn window(&self) -> u64 {
        let Some((rate, (trip, _))) = self.rate().zip(self.shortest) else { return INITIAL * self.packet };
        let trips = match (self.probe, self.start) {
            (Some(_), _) => return ((rate * trip.as_secs_f64() / 2.0) as u64).max(LEAST * self.packet),
            (None, Some(_)) => 3.0,
            (None, None) => 1.5,
        };
        let time = trip.as_secs_f64() * trips + SLACK.as_secs_f64();
        (rate * time) as u64 + LEAST * self.packet
    }

    /// When the next packet may be sent.
    pub(super) fn next(&self) -> Duration {
        self.next
    }

    /// A packet of so many octets is sent now; what it has to remember.
    pub(super) fn sent(&mut self, octets: usize, under_way: u64, now: Duration) -> Sample {
        if under_way == 0 {
            self.first_sent = now;
            self.delivered_at = now;
        }
        if let Some(rate) = self.rate() {
            let factor = if self.start.is_some() { 2.89 } else { 1.25 };
            let time = Duration::from_secs_f64(octets as f64 / (rate * factor));
            self.next = self.next.max(now.saturating_sub(BURST)) + time;
        }
        Sample {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            idle: self.idle_until.is_some_and(|until| self.delivered <= until),
        }
    }

    /// There is nothing more to send, and so much under way.
    pub(super) fn idle(&mut self, under_way: u64) {
        self.idle_until = Some(self.delivered + under_way);
    }

    /// These packets have arrived, in their order; the last was the largest number that was told of
    /// for the first time if `trip` says so.
    pub(super) fn arrived(&mut self, packets: &[Sent], trip: Option<Duration>, now: Duration) {
        let Some(last) = packets.iter().max_by_key(|packet| packet.at) else { return };
        self.delivered += packets.iter().map(|packet| packet.octets as u64).sum::<u64>();
        self.delivered_at = now;
        // Rounds in which the link is not full tell nothing, so that nothing is forgotten for them.
        let is_full = !last.sample.idle && self.probe.is_none();
        if is_full && last.sample.delivered >= self.round_ends {
            self.round += 1;
            self.round_ends = self.delivered;
            self.look_for_growth();
        }
        let sending = last.at.saturating_sub(last.sample.first_sent);
        let arriving = now.saturating_sub(last.sample.delivered_at);
        let interval = sending.max(arriving);
        self.first_sent = last.at;
        if let Some(trip) = trip {
            self.trip(trip, now);
        }
        // Over less than a round trip it would be that of a burst.
        if interval.is_zero() || interval < self.shortest() {
            return;
        }
        let rate = (self.delivered - last.sample.delivered) as f64 / interval.as_secs_f64();
        if !is_full && self.seen().is_none_or(|highest| rate < highest) {
            return;
        }
        while self.highest.back().is_some_and(|(_, lower)| *lower <= rate) {
            self.highest.pop_back();
        }
        self.highest.push_back((self.round, rate));
        while self.highest.front().is_some_and(|(round, _)| round + ROUNDS < self.round) {
            self.highest.pop_front();
        }
    }

    fn look_for_growth(&mut self) {
        let Some(rate) = self.seen() else { return };
        self.start = match self.start {
            Some((before, _)) if rate >= before * 1.25 => Some((rate, 0)),
            Some((before, rounds)) if rounds < 2 => Some((before, rounds + 1)),
            _ => None,
        };
    }

    fn trip(&mut self, trip: Duration, now: Duration) {
        if let Some((until, found)) = self.probe {
            let found = found.min(trip);
            self.probe = Some((until, found));
            if now >= until {
                self.shortest = Some((found, now));
                self.probe = None;
            }
            return;
        }
        match self.shortest {
            Some((shortest, at)) if trip > shortest => {
                if now.saturating_sub(at) > TRIP {
                    self.probe = Some((now + PROBE.max(trip * 2), trip));
                }
            }
            _ => self.shortest = Some((trip, now)),
        }
    }
}

/// What a packet remembers of the time when it was sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    delivered: u64,
    delivered_at: Duration,
    first_sent: Duration,
    /// There was not enough to send.
    idle: bool,
}
