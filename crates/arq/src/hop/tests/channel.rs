//! Channels with losses that a test selects, and the owner of the packets.

use super::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;

/// Losses on the air.
#[derive(Clone)]
pub enum Channel {
    /// Each block or frame independently, with this probability.
    AtRandom(f64),
    /// The blocks or frames with these numbers.
    Listed(Vec<u64>),
    /// Blocks or frames judged from the first time up to, but not including, the second.
    Traced(Vec<(Time, Time)>),
}

/// Creates a channel that loses each block or frame independently with this probability.
pub fn at_random(loss: f64) -> Channel {
    Channel::AtRandom(loss)
}

/// Creates a channel that loses the blocks or frames with these numbers: `10, 17-19`.
pub fn listed(numbers: &str) -> Channel {
    let number = |text: &str| text.trim().parse::<u64>().expect("a number");
    let numbers = numbers.split(',').flat_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        number(first)..=number(last)
    });
    Channel::Listed(numbers.collect())
}

/// Creates a channel that is bad at these times in milliseconds: `0,3000`, one pair per line.
pub fn traced(text: &str) -> Channel {
    let time = |text: &str| match text {
        "inf" => Time::NEVER,
        ms => Time::ZERO + Span::from_millis(ms.parse().expect("milliseconds")),
    };
    let bad = text.lines().map(|line| {
        let (from, to) = line.split_once(',').expect("two times");
        (time(from), time(to))
    });
    Channel::Traced(bad.collect())
}

/// Environment of a hop.
pub struct Ways {
    channels: [Option<Channel>; 2],
    streams: [ChaCha8Rng; 2],
    /// Number of blocks or frames sent.
    sent: [u64; 2],
    pub inside: [BTreeMap<u64, Frame>; 2],
    /// Numbers, octets and times.
    pub delivered: [Vec<(u64, usize, Time)>; 2],
    pub abandoned: [Vec<(u64, Then, Time)>; 2],
}

impl Ways {
    pub fn new(channels: [Option<Channel>; 2]) -> Self {
        Self {
            channels,
            streams: [7, 8].map(ChaCha8Rng::seed_from_u64),
            sent: [0; 2],
            inside: Default::default(),
            delivered: Default::default(),
            abandoned: Default::default(),
        }
    }
}

impl Surroundings for Ways {
    fn frame(&self, direction: Direction, number: u64) -> &Frame {
        &self.inside[direction as usize][&number]
    }

    fn carries(&mut self, direction: Direction, sent: &OnAir) -> bool {
        let way = direction as usize;
        let number = self.sent[way];
        self.sent[way] += 1;
        let is_lost = match &self.channels[way] {
            None => false,
            Some(Channel::AtRandom(loss)) => (self.streams[way].next_u64() as f64) < loss * 2f64.powi(64),
            Some(Channel::Listed(numbers)) => numbers.contains(&number),
            Some(Channel::Traced(bad)) => {
                bad.iter().any(|&(from, to)| from <= sent.judged && sent.judged < to)
            }
        };
        !is_lost
    }

    fn delivered(&mut self, direction: Direction, number: u64, octets: Option<&[u8]>, now: Time) {
        let frame = self.inside[direction as usize].remove(&number).expect("it is inside");
        assert!(octets.is_none_or(|octets| *octets == *frame.to_bytes()), "other octets than were sent");
        self.delivered[direction as usize].push((number, frame.len(), now));
    }

    fn abandoned(&mut self, direction: Direction, number: u64, why: Then, now: Time) {
        self.inside[direction as usize].remove(&number).expect("it is inside");
        self.abandoned[direction as usize].push((number, why, now));
    }
}
