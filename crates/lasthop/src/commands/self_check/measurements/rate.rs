//! Measures the rate of a limiter that always has something to send, from the kernel's receive
//! timestamps.

use super::super::Bench;
use super::super::flow::{Arrival, Flow};
use super::super::row::{Accepted, Row, Unit};
use super::super::statistics::mean;
use super::super::watch::Look;
use crate::failure::Failure;
use link::Direction;
use link::spec::StageSpec;
use link::stage::bottleneck::{BottleneckSpec, Counted, Limit, QueueSpec, RateSpec};
use link::units::{BitRate, Span};
use std::time::Duration;

/// Number of batches into which the received packets are divided; the interval is that of the mean
/// of their rates.
const BATCHES: usize = 10;

/// Accepted deviation as a share: over less than a second, the lateness of two packets alone can
/// cause it.
const TOLERANCE: f64 = 0.001;

/// Time at the start that is left out, in which the queue fills and threads run for the first time.
const WARM_UP: Duration = Duration::from_secs(1);

/// Length of the queue in time, so that the limiter is not idle if the sender is not scheduled for
/// a moment.
const QUEUE: Span = Span::from_millis(500);

/// Measures 10 Mbit/s with packets of 1500 bytes.
pub fn fast(bench: &mut Bench) -> Result<Vec<Row>, Failure> {
    measure(bench, 10_000_000, 1500)
}

/// Measures 384 kbit/s with packets of 500 bytes.
pub fn slow(bench: &mut Bench) -> Result<Vec<Row>, Failure> {
    measure(bench, 384_000, 500)
}

fn measure(bench: &mut Bench, bits_per_second: u64, size: usize) -> Result<Vec<Row>, Failure> {
    let rate = BitRate::from_bits_per_second(bits_per_second).ok_or("a rate of 0")?;
    let stage = StageSpec::Bottleneck(BottleneckSpec {
        rate: RateSpec::Constant(rate),
        queue: QueueSpec::drop_tail(Limit::Time(QUEUE)),
        counted: Counted::Ip,
    });
    // Twice the rate of the limiter.
    let flow = Flow::paced(size, (bits_per_second / (4 * size as u64)) as u32, bench.length);
    let (flown, _) = bench.with_link([Some(stage), None], Look::Lateness, |link| {
        Ok(flow.run(&link.sockets(Direction::Up)?)?)
    })?;
    let rates = rates(&flown.came, size, WARM_UP.min(bench.length / 4));
    let name = format!("rate of IP packets of {size} bytes");
    let accepted = Accepted::ByIntervalOrShare(TOLERANCE);
    Ok(vec![Row::estimated(name, Unit::BitsPerSecond, bits_per_second as f64, mean(&rates), accepted)])
}

/// Returns the bits per second of each batch received after the warm-up. A batch begins with the
/// last packet of the previous one, whose own bits do not count.
fn rates(came: &[Arrival], size: usize, warm_up: Duration) -> Vec<f64> {
    let Some(first) = came.first() else { return Vec::new() };
    let start = came.partition_point(|arrival| u128::from(arrival.at - first.at) < warm_up.as_nanos());
    let came = &came[start..];
    let a_batch = came.len().saturating_sub(1) / BATCHES;
    if a_batch == 0 {
        return Vec::new();
    }
    let rate = |batch: usize| {
        let (from, to) = (came[batch * a_batch].at, came[(batch + 1) * a_batch].at);
        (a_batch * size * 8) as f64 * 1e9 / (to - from) as f64
    };
    (0..BATCHES).map(rate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_count_the_bits_between_their_ends() {
        // A packet of 1000 bytes every millisecond is 8 Mbit/s, whatever arrived before the
        // warm-up.
        let came: Vec<Arrival> = (0..1000)
            .map(|number| Arrival { number, at: if number < 100 { number } else { number * 1_000_000 } })
            .collect();
        let rates = rates(&came, 1000, Duration::from_millis(100));
        assert_eq!(rates, vec![8e6; BATCHES]);
    }

    #[test]
    fn too_little_gives_no_rate() {
        assert!(rates(&[], 1000, Duration::ZERO).is_empty());
        let few: Vec<Arrival> = (0..5).map(|number| Arrival { number, at: number }).collect();
        assert!(rates(&few, 1000, Duration::ZERO).is_empty());
        let none =
            Row::estimated("rate", Unit::BitsPerSecond, 1.0, mean(&[]), Accepted::ByIntervalOrShare(0.001));
        assert!(!none.is_ok(), "{none:?}");
    }
}
