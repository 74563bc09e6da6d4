//! Two ends of RLP on a circuit: a block begins every 20 ms in each direction.
//!
//! Block k is on the air from k x 20 ms until 20 ms later, and is decoded one delay after that.
//! Error processes that judge by a single point in time use the block's beginning. So block k of a
//! trace with blocks of 20 ms is block k here (LL-06).

use super::{Exit, HopError, OnAir, RlpHopSpec};
use crate::Then;
use crate::rlp::{Abandoned, BLOCK_OCTETS, Indication, Output, Rlp, Role, TICKS_PER_SECOND};
use packet::rlp::{Frame, Size};
use std::collections::VecDeque;
use vocabulary::Direction;
use vocabulary::link_layer::Way;
use vocabulary::units::{ByteCount, Span, Time};

const BLOCK: Span = Span::from_millis(1000 / TICKS_PER_SECOND as u64);

/// The machine. In arrays, a direction has the same index as the end that sends in it.
#[derive(Debug)]
pub(super) struct RlpHop {
    ends: [Rlp; 2],
    /// Blocks in transit.
    blocks: [VecDeque<Flying>; 2],
    delay: Span,
    /// When the next blocks begin.
    tick: Time,
    /// Blocks for which each end had new data but no room in its window.
    stalls: [u64; 2],
}

/// A block in transit.
#[derive(Debug)]
struct Flying {
    /// When it has arrived and is decoded, or found erased.
    at: Time,
    octets: Vec<u8>,
    erased: bool,
}

impl RlpHop {
    pub fn new(spec: &RlpHopSpec) -> Result<Self, HopError> {
        let parameters = spec.parameters;
        let most = (parameters.modulus.numbers() - 1).min(u32::from(u8::MAX)) as u16;
        for given in [parameters.send_window, parameters.receive_window] {
            if given == 0 || given > most {
                return Err(HopError::Window { given, most });
            }
        }
        // An answer begins with the first block after the arrival of the block that it answers.
        let way = spec.delay + BLOCK;
        let ticks = way.as_nanos().div_ceil(BLOCK.as_nanos());
        let round_trip = BLOCK * ticks + way;
        if BLOCK * u64::from(parameters.t1_ticks.saturating_sub(parameters.t2_ticks)) < round_trip {
            let ms = |ticks: u16| u32::from(ticks) * 1000 / TICKS_PER_SECOND;
            let (t1_ms, t2_ms) = (ms(parameters.t1_ticks), ms(parameters.t2_ticks));
            return Err(HopError::Timer { t1_ms, t2_ms, round_trip });
        }
        let mut other = parameters;
        std::mem::swap(&mut other.send_window, &mut other.receive_window);
        let mut ends = [
            Rlp::new(Role::Mobile, parameters, spec.throttle_down),
            Rlp::new(Role::Network, other, spec.throttle_up),
        ];
        ends[0].connect();
        Ok(Self { ends, blocks: Default::default(), delay: spec.delay, tick: Time::ZERO, stalls: [0; 2] })
    }

    pub fn is_ready(&self, direction: Direction) -> bool {
        self.ends[direction as usize].waiting() == 0
    }

    pub fn accept(&mut self, direction: Direction, number: u64, exit: &Exit<'_>) {
        let frame = exit.around.frame(direction, number);
        self.ends[direction as usize].offer(number as u16, &frame.to_bytes());
    }

    pub fn due(&self) -> Time {
        let arrivals = self.blocks.iter().filter_map(|blocks| Some(blocks.front()?.at));
        arrivals.fold(self.tick, Time::min)
    }

    pub fn advance(&mut self, now: Time, exit: &mut Exit<'_>) {
        // Arrivals come before the next blocks begin.
        for way in Direction::BOTH {
            while self.blocks[way as usize].front().is_some_and(|block| block.at <= now) {
                let Flying { octets, erased, .. } =
                    self.blocks[way as usize].pop_front().expect("there is one");
                let frame = if erased { None } else { Frame::parse(&octets).ok() };
                exit.block(other(way), Way::Received, now, &octets, erased);
                let mut said = Output::default();
                self.ends[1 - way as usize].receive(frame.as_ref(), now, &mut said);
                say(other(way), said, now, exit);
            }
        }
        if self.tick > now {
            return;
        }
        for end in Direction::BOTH {
            let mut said = Output::default();
            let frame = self.ends[end as usize].tick(now, &mut said);
            self.stalls[end as usize] += u64::from(said.stalled);
            let length = ByteCount::new(u64::from(BLOCK_OCTETS));
            let sent = OnAir { octets: length, start: now, end: now + BLOCK, judged: now };
            let erased = !exit.carries(end, &sent);
            let octets = frame.to_octets(Size::Short);
            exit.block(end, Way::Sent, now, &octets, erased);
            self.blocks[end as usize].push_back(Flying { at: sent.end + self.delay, octets, erased });
            say(end, said, now, exit);
        }
        self.tick += BLOCK;
    }

    pub fn stalls(&self, direction: Direction) -> u64 {
        self.stalls[direction as usize]
    }

    #[cfg(test)]
    pub fn ends(&self) -> &[Rlp; 2] {
        &self.ends
    }
}

/// Processes the output of an end.
fn say(end: Direction, said: Output, now: Time, exit: &mut Exit<'_>) {
    exit.records(end, said.records);
    for indication in said.indications {
        match indication {
            Indication::Connected | Indication::Disconnected => {}
            Indication::Delivered { number, bytes } => {
                let way = other(end);
                if let Some(number) = exit.number_of(way, number) {
                    exit.deliver(way, number, Some(&bytes), now);
                }
            }
            Indication::Abandoned { number, why } => {
                if let Some(number) = exit.number_of(end, number) {
                    let then = match why {
                        Abandoned::GivenUp => Then::GiveUp,
                        Abandoned::Reset => Then::Reset,
                        Abandoned::Disconnected => Then::Disconnect,
                    };
                    exit.abandon(end, number, then, now);
                }
            }
        }
    }
}

/// Returns the other end.
pub(super) const fn other(end: Direction) -> Direction {
    match end {
        Direction::Up => Direction::Down,
        Direction::Down => Direction::Up,
    }
}
