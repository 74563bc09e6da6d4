//! How much may be in flight and how fast it is sent. Both follow from the delivery rate and the
//! shortest round trip (the model of BBR, draft-ietf-ccwg-bbr; the samples of
//! draft-cheng-iccrg-delivery-rate-estimation), and not from losses, which mean damage on a last
//! hop.
//!
//! The amount in flight is what the link carries in one and a half of its shortest round trips and
//! 5 ms, plus a few packets. So the queue before the bottleneck stays at about half a round trip,
//! and the link stays full even if every third packet is lost. The sending rate is at most 1.25
//! times the delivery rate. The start lasts until the rate has not grown by a quarter for three
//! round trips. During the start, the sending rate is 2.89 times the delivery rate, and three round
//! trips' worth may be in flight.
//!
//! If no round trip was as short for 10 s, the shortest round trip is measured again. For this,
//! less is in flight for a moment.

use super::flight::Sent;
use std::collections::VecDeque;
use std::time::Duration;

/// Number of round trips for which a rate counts towards the highest.
const ROUNDS: u64 = 10;
/// How long a round-trip time counts as the shortest.
const TRIP: Duration = Duration::from_secs(10);
/// How long less is in flight to measure it again.
const PROBE: Duration = Duration::from_millis(100);
/// Packets that may be in flight before anything is known, and in each round trip of the start (RFC
/// 6928).
const INITIAL: u64 = 10;
/// Packets in flight beyond what the link carries, because acknowledgements come for this many at a
/// time.
const LEAST: u64 = 4;
/// Time by which a host may be late in receiving or sending.
const SLACK: Duration = Duration::from_millis(5);
/// Time's worth of packets that may be sent in one burst.
const BURST: Duration = Duration::from_millis(4);

/// The model of the path; see the [module](self).
#[derive(Debug)]
pub(super) struct Rate {
    /// Bytes of a full packet.
    packet: u64,
    /// Bytes that have arrived, and when the last ones did.
    delivered: u64,
    delivered_at: Duration,
    /// When the packet that arrived last was sent.
    first_sent: Duration,
    /// Bytes delivered and in flight when there was last nothing to send. Packets sent before more
    /// than this has been delivered say nothing about the rate.
    idle_until: Option<u64>,
    round: u64,
    round_ends: u64,
    /// The highest rates in bytes per second, in descending order, with their rounds.
    highest: VecDeque<(u64, f64)>,
    /// During the start: the rate when it last grew by a quarter, and the rounds since.
    start: Option<(f64, u32)>,
    shortest: Option<(Duration, Duration)>,
    /// Until when less is in flight, and the shortest round trip found meanwhile.
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

    /// Returns the highest delivery rate in bytes per second, measured while there was enough to
    /// send.
    fn seen(&self) -> Option<f64> {
        self.highest.front().map(|(_, rate)| *rate)
    }

    /// Returns the delivery rate, which the start raises to at least ten packets per round trip.
    fn rate(&self) -> Option<f64> {
        let (trip, _) = self.shortest?;
        let dared = (INITIAL * self.packet) as f64 / trip.max(Duration::from_millis(1)).as_secs_f64();
        if self.start.is_some() { Some(self.seen().unwrap_or(0.0).max(dared)) } else { self.seen() }
    }

    /// Returns the shortest round trip.
    pub(super) fn shortest(&self) -> Duration {
        self.shortest.map_or(Duration::ZERO, |(trip, _)| trip)
    }

    /// Returns how many bytes may be in flight.
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

    /// Returns when the next packet may be sent.
    pub(super) fn next(&self) -> Duration {
        self.next
    }

    /// Notes that a packet of this length is sent now, and returns the state that it must remember.
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

    /// Notes that there is nothing more to send while this many bytes are in flight.
    pub(super) fn idle(&mut self, under_way: u64) {
        self.idle_until = Some(self.delivered + under_way);
    }

    /// Notes that these packets have arrived. `trip` is the round-trip time of the packet with the
    /// highest number, if that one is acknowledged for the first time.
    pub(super) fn arrived(&mut self, packets: &[Sent], trip: Option<Duration>, now: Duration) {
        let Some(last) = packets.iter().max_by_key(|packet| packet.at) else { return };
        self.delivered += packets.iter().map(|packet| packet.octets as u64).sum::<u64>();
        self.delivered_at = now;
        // Rounds in which the link is not full say nothing about it, so they must not age earlier
        // rates.
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
        // Over less than a round trip this would be the rate of a burst.
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

/// State of the model when a packet was sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    delivered: u64,
    delivered_at: Duration,
    first_sent: Duration,
    /// There was not enough to send.
    idle: bool,
}
