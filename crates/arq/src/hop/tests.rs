//! Tests of both protocols over artificial channels. The contract of a stage is checked at every
//! step.

mod channel;
mod llp;
mod rlp;

use super::*;
use channel::{Channel, Ways, at_random, listed, traced};
use packet::Layer;

/// A hop over channels.
struct HopSpec {
    protocol: Protocol,
    errors_up: Option<Channel>,
    errors_down: Option<Channel>,
}

impl HopSpec {
    const fn without_errors(protocol: Protocol) -> Self {
        Self { protocol, errors_up: None, errors_down: None }
    }
}

/// Packets that have left the hop.
#[derive(Debug, Default)]
pub struct Ended {
    /// Numbers and times, up and down.
    pub delivered: [Vec<(u64, Time)>; 2],
    /// Numbers and reasons.
    pub lost: [Vec<(u64, Then)>; 2],
    /// Octets delivered.
    pub octets: [usize; 2],
}

/// A hop driven as by the emulator.
pub struct Drive {
    pub hop: Hop,
    pub ended: Ended,
    ways: Ways,
    now: Time,
    next: [u64; 2],
    /// Arrival times of the packets.
    came: [Vec<Time>; 2],
}

/// Creates the packet with this number in its direction. Its bytes identify it.
fn frame(number: u64, length: usize) -> Frame {
    Frame::owned(Layer::Ip, (0..length).map(|at| (number as usize * 7 + at) as u8).collect())
}

impl Drive {
    fn new(spec: &HopSpec) -> Self {
        let mut hop = Hop::new(&spec.protocol).expect("a good hop");
        hop.watch(Watch { records: true, blocks: false });
        let ways = Ways::new([&spec.errors_up, &spec.errors_down].map(Clone::clone));
        let (now, next, came) = (Time::ZERO, [0; 2], Default::default());
        Self { hop, ended: Ended::default(), ways, now, next, came }
    }

    /// Offers a packet now.
    pub fn offer(&mut self, direction: Direction, length: usize) {
        let number = self.next[direction as usize];
        self.next[direction as usize] += 1;
        self.came[direction as usize].push(self.now);
        self.ways.inside[direction as usize].insert(number, frame(number, length));
        self.hop.accept(direction, number, self.now, &mut self.ways);
        self.collect();
    }

    /// Runs until `end`. Before each event, it keeps each direction that has a length in `busy`
    /// supplied with packets of that length.
    pub fn run(&mut self, end: Time, busy: [Option<usize>; 2]) {
        loop {
            for way in Direction::BOTH {
                while let Some(length) = busy[way as usize]
                    && self.hop.is_ready(way)
                    && self.ended.lost[way as usize].len() < 100
                {
                    self.offer(way, length);
                }
            }
            let due = self.hop.due();
            assert!(due >= self.now, "what is due lies ahead");
            if due > end {
                self.now = end;
                return;
            }
            self.now = due;
            self.hop.advance(due, &mut self.ways);
            self.collect();
        }
    }

    fn collect(&mut self) {
        for way in Direction::BOTH {
            for (number, octets, at) in self.ways.delivered[way as usize].drain(..) {
                assert_eq!(at, self.now);
                self.ended.octets[way as usize] += octets;
                self.ended.delivered[way as usize].push((number, at));
            }
            for (number, why, at) in self.ways.abandoned[way as usize].drain(..) {
                assert_eq!(at, self.now);
                self.ended.lost[way as usize].push((number, why));
            }
        }
    }

    /// Checks that every packet has left once or is still inside, and that deliveries are in order.
    pub fn check(&self) {
        self.check_once();
        for way in [0, 1] {
            let delivered: Vec<_> = self.ended.delivered[way].iter().map(|(number, _)| *number).collect();
            assert!(delivered.is_sorted(), "{delivered:?}");
        }
    }

    /// Checks that every packet has left once or is still inside.
    pub fn check_once(&self) {
        for way in [0, 1] {
            let mut all: Vec<_> = self.ended.delivered[way].iter().map(|(number, _)| *number).collect();
            all.extend(self.ended.lost[way].iter().map(|(number, _)| *number));
            all.sort_unstable();
            assert!(all.is_sorted_by(|a, b| a < b), "{all:?}");
            let inside = self.hop.inside(Direction::BOTH[way]);
            assert_eq!(all.len() + inside, self.next[way] as usize);
        }
    }

    pub fn delivered(&self, direction: Direction) -> usize {
        self.ended.delivered[direction as usize].len()
    }

    /// Returns the delays of delivered packets in milliseconds, the shortest first.
    pub fn delays_ms(&self, direction: Direction) -> Vec<f64> {
        let came = &self.came[direction as usize];
        let delay = |&(number, at): &(u64, Time)| (at - came[number as usize]).as_secs_f64() * 1000.0;
        let mut delays: Vec<_> = self.ended.delivered[direction as usize].iter().map(delay).collect();
        delays.sort_by(f64::total_cmp);
        delays
    }

    pub fn losses(&self, direction: Direction) -> Vec<Then> {
        self.ended.lost[direction as usize].iter().map(|(_, why)| *why).collect()
    }
}

fn secs(secs: u64) -> Time {
    Time::ZERO + Span::from_secs(secs)
}

#[test]
fn records_blocks_and_counters_pass_through_bytes() {
    fn check<T: BorshSerialize + BorshDeserialize + PartialEq + std::fmt::Debug>(value: &T) {
        let bytes = borsh::to_vec(value).expect("bytes");
        assert_eq!(borsh::from_slice::<T>(&bytes).expect("a value"), *value);
    }
    let watch = Watch { records: true, blocks: true };
    let mut drive = Drive::new(&HopSpec::without_errors(Protocol::Rlp(RlpHopSpec::default())));
    drive.hop.watch(watch);
    drive.run(Time::ZERO + Span::from_secs(2), [Some(500), Some(200)]);
    let (records, blocks) = (drive.hop.take_records(), drive.hop.take_blocks());
    assert!(!records.is_empty() && !blocks.is_empty());
    check(&watch);
    check(&records);
    check(&blocks);
    for direction in Direction::BOTH {
        check(&drive.hop.counters(direction));
    }
}
