//! Measures an overflowing queue: bursts of 200 packets into a drop-tail queue of 50.

use super::super::Bench;
use super::super::flow::Flow;
use super::super::row::Row;
use super::super::watch::Look;
use crate::failure::Failure;
use link::Direction;
use link::spec::StageSpec;
use link::stage::bottleneck::{BottleneckSpec, Counted, Limit, QueueSpec, RateSpec};
use link::units::{BitRate, ByteCount, Span, Time};
use std::collections::VecDeque;
use std::time::Duration;

const BURST: u64 = 200;
const ROOM: usize = 50;
/// Size of a packet in bytes. At 1 Mbit/s it takes 8 ms, and a burst that fills the queue takes 408
/// ms, so the queue is empty before the next burst.
const SIZE: usize = 1000;
const GAP: Duration = Duration::from_millis(500);

/// Checks that exactly those packets arrive that a model keeps. The model knows only when each
/// packet reached the link.
pub fn measure(bench: &mut Bench) -> Result<Vec<Row>, Failure> {
    let rate = BitRate::from_bits_per_second(1_000_000).ok_or("a rate of 0")?;
    let stage = StageSpec::Bottleneck(BottleneckSpec {
        rate: RateSpec::Constant(rate),
        queue: QueueSpec::drop_tail(Limit::Packets(ROOM as u64)),
        counted: Counted::Ip,
    });
    let flow = Flow { size: SIZE, burst: BURST, gap: GAP, length: bench.length, patience: GAP };
    let (flown, watch) = bench.with_link([Some(stage), None], Look::Arrivals, |link| {
        Ok(flow.run(&link.sockets(Direction::Up)?)?)
    })?;
    let came: Vec<bool> = flown.copies().iter().map(|copies| *copies == 1).collect();
    let model = drop_tail(&watch.arrivals, rate.time_for(ByteCount::new(SIZE as u64)), ROOM);
    let kept = |fates: &[bool]| fates.iter().filter(|kept| **kept).count() as u64;
    let differ = came.iter().zip(&model).filter(|(one, other)| one != other).count();
    let bursts = came.len() as u64 / BURST;
    Ok(vec![
        Row::exact("queue of 50: packets that reached the link", came.len() as u64, model.len() as u64),
        Row::exact(format!("queue of 50: {bursts} bursts of {BURST}, delivered"), kept(&model), kept(&came)),
        Row::exact("queue of 50: packets with another fate than in the model", 0, differ as u64),
    ])
}

/// Returns which of the packets arriving at these times a drop-tail queue keeps, if sending one
/// takes `service` and `room` packets may wait besides the one being sent.
fn drop_tail(arrivals: &[Time], service: Span, room: usize) -> Vec<bool> {
    // Time at which each packet inside has been sent; the first one is being sent.
    let mut inside: VecDeque<Time> = VecDeque::new();
    let mut keeps = |&now: &Time| {
        while inside.front().is_some_and(|end| *end <= now) {
            inside.pop_front();
        }
        let kept = inside.len() <= room;
        if kept {
            let start = inside.back().map_or(now, |end| (*end).max(now));
            inside.push_back(start + service);
        }
        kept
    };
    arrivals.iter().map(&mut keeps).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(times: &[u64]) -> Vec<Time> {
        times.iter().map(|at| Time::ZERO + Span::from_millis(*at)).collect()
    }

    #[test]
    fn a_burst_fills_the_room_and_the_limiter() {
        let kept = drop_tail(&millis(&[0; 10]), Span::from_millis(8), 3);
        assert_eq!(kept, [vec![true; 4], vec![false; 6]].concat());
    }

    #[test]
    fn a_packet_that_was_sent_makes_room_at_that_instant() {
        // One packet has been sent at 8 ms: the packet that arrives at that instant finds room, the
        // next one does not.
        let kept = drop_tail(&millis(&[0, 0, 7, 8, 8, 15, 16, 40, 40, 40]), Span::from_millis(8), 1);
        assert_eq!(kept, [true, true, false, true, false, false, true, true, true, false]);
    }
}
