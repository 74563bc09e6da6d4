//! Both protocols over channels that are made for the purpose, with the contract of a stage looked
//! after at every step.

mod llp;
mod rlp;

use super::*;
use crate::profile::{Parameters, Resolve};
use crate::spec::{DirectionSpec, StageSpec};
use crate::stage::errors::{ErrorTrace, ProcessSpec};
use crate::stage::spec::FromFile;
use ::packet::{Frame, Layer};
use std::io;

/// Packets that end their way.
#[derive(Debug, Default)]
pub struct Ended {
    /// Numbers and times, up and down.
    pub delivered: [Vec<(u64, Time)>; 2],
    /// Numbers and reasons.
    pub lost: [Vec<(u64, Loss)>; 2],
    /// Octets delivered.
    pub octets: [usize; 2],
}

/// A hop that is driven as the emulator would.
pub struct Drive {
    pub hop: Hop,
    pub ended: Ended,
    now: Time,
    next: [u64; 2],
    /// When each packet came.
    came: [Vec<Time>; 2],
}

/// The packet with this number in its direction: its bytes tell which one it is.
fn frame(number: u64, length: usize) -> Frame {
    Frame::owned(Layer::Ip, (0..length).map(|at| (number as usize * 7 + at) as u8).collect())
}

impl Drive {
    pub fn new(spec: &HopSpec) -> Self {
        let hop = Hop::new(spec, &Seed::campaign(7), true).expect("a good hop");
        Self { hop, ended: Ended::default(), now: Time::ZERO, next: [0; 2], came: Default::default() }
    }

    /// A packet comes now.
    pub fn offer(&mut self, direction: Direction, length: usize) {
        let mut out = Outboxes::default();
        let number = self.next[direction as usize];
        self.next[direction as usize] += 1;
        self.came[direction as usize].push(self.now);
        self.hop.accept(direction, Packet::new(number, frame(number, length), self.now), &mut out);
        self.collect(out);
    }

    /// Runs until `end`; before each event each direction with a length here is kept busy with
    /// packets of that length.
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
            let mut out = Outboxes::default();
            self.hop.advance(due, &mut out);
            self.collect(out);
        }
    }

    fn collect(&mut self, mut out: Outboxes) {
        for way in Direction::BOTH {
            let (passed, lost) = out.of(way).take();
            for packet in passed {
                assert_eq!((packet.at, packet.marks.len()), (self.now, 0));
                assert_eq!(*packet.frame.to_bytes(), *frame(packet.number, packet.frame.len()).to_bytes());
                self.ended.octets[way as usize] += packet.frame.len();
                self.ended.delivered[way as usize].push((packet.number, packet.at));
            }
            for packet in lost {
                assert_eq!(packet.at, self.now);
                self.ended.lost[way as usize].push((packet.number, packet.loss().expect("it is lost")));
            }
        }
    }

    /// Every packet has left once, or is still inside; those delivered are in order.
    pub fn check(&self) {
        self.check_once();
        for way in [0, 1] {
            let delivered: Vec<_> = self.ended.delivered[way].iter().map(|(number, _)| *number).collect();
            assert!(delivered.is_sorted(), "{delivered:?}");
        }
    }

    /// Every packet has left once, or is still inside.
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

    /// How long packets took that were delivered, in milliseconds, the shortest first.
    pub fn delays_ms(&self, direction: Direction) -> Vec<f64> {
        let came = &self.came[direction as usize];
        let delay = |&(number, at): &(u64, Time)| (at - came[number as usize]).as_secs_f64() * 1000.0;
        let mut delays: Vec<_> = self.ended.delivered[direction as usize].iter().map(delay).collect();
        delays.sort_by(f64::total_cmp);
        delays
    }

    pub fn losses(&self, direction: Direction) -> Vec<Loss> {
        self.ended.lost[direction as usize].iter().map(|(_, why)| *why).collect()
    }
}

/// Each block or frame is lost by itself with this probability.
fn at_random(loss: f64) -> ErrorSpec {
    ErrorSpec::new(ProcessSpec::Packets { loss: loss.to_string().parse().expect("a probability") })
}

/// The blocks or frames with these numbers are lost.
fn listed(numbers: &str) -> ErrorSpec {
    ErrorSpec::new(ProcessSpec::Listed { packets: numbers.parse().expect("a list") })
}

/// Bad at these times.
fn traced(text: &str, repeat: Option<Span>) -> ErrorSpec {
    let trace = ErrorTrace::parse("trace", text).expect("a trace");
    ErrorSpec::new(ProcessSpec::Trace { file: FromFile::with("trace", trace), repeat })
}

/// Outages as the command line has them.
fn outages(parameters: &str) -> OutageSpec {
    let mut direction = DirectionSpec::default();
    let line: Parameters = parameters.parse().expect("parameters");
    line.apply(&mut direction, &mut NoFiles).expect("good ones");
    let Some(StageSpec::Outage(spec)) = direction.find("outage") else { panic!("no outage") };
    spec.clone()
}

struct NoFiles;

impl Resolve for NoFiles {
    fn losses(&mut self, name: &str) -> Result<ErrorSpec, String> {
        Err(format!("no {name}"))
    }
    fn file(&mut self, _: &str) -> io::Result<String> {
        Err(io::Error::other("no file"))
    }
}

fn secs(secs: u64) -> Time {
    Time::ZERO + Span::from_secs(secs)
}
