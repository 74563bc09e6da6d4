//! Cycles of a transfer that was measured, to lay the model's over them (Ludwig 3.4.3; LL-33).
//!
//! A network-limited transfer's round-trip time grows until something is lost and then falls to
//! about half. A cycle is what lies between two such falls: samples from [`FALL`] of the one before
//! them or less, where that one was [`HIGH`] of the greatest of all or more. The second condition
//! leaves out what follows a loss, when the queue has run empty, and slow start, when there is
//! little of it. What lies before the first fall and behind the last one is no whole cycle.
//!
//! A loss is repaired in a round trip in which nothing is acknowledged. Samples behind such a
//! silence, of what had been sent before the loss, are of the repair and belong to no cycle: a
//! cycle ends before its first silence of [`SILENCE`] of the greatest round-trip time.

use crate::bulk::{Bulk, BulkError, Regime};
use crate::timer::Sample;
use std::ops::Range;

/// A sample of this share of the one before is a fall.
pub const FALL: f64 = 0.75;
/// A fall from this share of the greatest sample ends a cycle.
pub const HIGH: f64 = 0.75;
/// A time without samples of this share of the greatest one is a silence.
pub const SILENCE: f64 = 0.5;

/// Places of the samples of each whole cycle, in order.
#[must_use]
pub fn cycles(samples: &[Sample]) -> Vec<Range<usize>> {
    let greatest = samples.iter().map(|sample| sample.rtt_s).fold(0.0, f64::max);
    let high = HIGH * greatest;
    let ends = |pair: &[Sample]| pair[0].rtt_s >= high && pair[1].rtt_s <= FALL * pair[0].rtt_s;
    let falls: Vec<usize> =
        (1..).zip(samples.windows(2)).filter(|(_, pair)| ends(pair)).map(|(place, _)| place).collect();
    let before_silence = |cycle: Range<usize>| {
        let pairs = samples[cycle.clone()].windows(2);
        let silent = (cycle.start + 1..)
            .zip(pairs)
            .find(|(_, pair)| pair[1].at_s - pair[0].at_s >= SILENCE * greatest);
        cycle.start..silent.map_or(cycle.end, |(place, _)| place)
    };
    falls.windows(2).map(|two| before_silence(two[0]..two[1])).collect()
}

/// The model of a cycle that was measured: the service time is the median time from a sample to the
/// next, and the load at the cycle's end is what its greatest round-trip time holds of that, to the
/// next even number. `None` of fewer than two samples, or where samples come at once.
#[must_use]
pub fn model(cycle: &[Sample], cycles: u32) -> Option<Result<Bulk, BulkError>> {
    let mut between: Vec<f64> = cycle.windows(2).map(|two| two[1].at_s - two[0].at_s).collect();
    between.sort_unstable_by(f64::total_cmp);
    let service = *between.get(between.len() / 2)?;
    let greatest = cycle.iter().map(|sample| sample.rtt_s).fold(0.0, f64::max);
    let half = greatest / service / 2.0;
    half.is_finite().then(|| Bulk::new(2 * half.round() as u32, service, cycles, Regime::NetworkLimited))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(trips: &[f64]) -> Vec<Sample> {
        (0..)
            .zip(trips)
            .map(|(place, &rtt_s)| Sample { at_s: f64::from(place) * 2.0, rtt_s, flight: rtt_s / 2.0 })
            .collect()
    }

    /// LL-33: the model's own rows are cycles of the model's length, and give the model back.
    #[test]
    fn ll_33_the_model_is_its_own_model() {
        let bulk = Bulk::new(40, 6.25, 4, Regime::NetworkLimited).expect("a transfer");
        let rows: Vec<Sample> = bulk.rows.iter().map(|row| row.sample).collect();
        let found = cycles(&rows);
        // The first has no fall before it, the last none behind.
        assert_eq!(found, [630..1260, 1260..1890]);
        assert_eq!(model(&rows[630..1260], 4), Some(Ok(bulk)));
    }

    #[test]
    fn only_falls_from_high_end_cycles() {
        // Slow start falls from 4; the queue runs empty behind a loss and falls from 6 to 3;
        // neither ends one.
        let row = samples(&[4.0, 2.0, 10.0, 20.0, 6.0, 3.0, 12.0, 16.0, 20.0, 10.0, 12.0, 15.0, 11.0, 5.0]);
        assert_eq!(cycles(&row), [4..9, 9..12]);
        // 15 is three quarters of the greatest, and 11 is 0.73 of it.
        assert_eq!(cycles(&samples(&[20.0, 10.0, 14.9, 10.0])), Vec::<Range<usize>>::new());
        assert_eq!(cycles(&[]), Vec::<Range<usize>>::new());
    }

    /// What is acknowledged behind the silence of a repair is not the cycle's.
    #[test]
    fn a_cycle_ends_where_acknowledgments_stop() {
        let mut row = samples(&[20.0, 10.0, 12.0, 14.0, 16.0, 18.0, 20.0, 20.0, 9.0]);
        assert_eq!(cycles(&row).as_slice(), std::slice::from_ref(&(1..8)));
        // Half of the greatest is 10 s, of which 2 are there already.
        row[6..].iter_mut().for_each(|sample| sample.at_s += 7.9);
        assert_eq!(cycles(&row).as_slice(), std::slice::from_ref(&(1..8)));
        row[6..].iter_mut().for_each(|sample| sample.at_s += 0.1);
        assert_eq!(cycles(&row).as_slice(), std::slice::from_ref(&(1..6)));
    }

    #[test]
    fn loads_are_even_and_measured() {
        // 2 s a segment and 17 s at most: 8.5 of them, which is nearer to 8 than to 10.
        let cycle = samples(&[8.0, 9.0, 12.0, 17.0]);
        let bulk = model(&cycle, 1).expect("samples").expect("a transfer");
        assert_eq!(bulk.rows.iter().map(|row| row.load).max(), Some(8));
        assert!((bulk.rows[1].sample.at_s - bulk.rows[0].sample.at_s - 2.0).abs() < 1e-12);
        // One acknowledgment that comes at once and one that is waited for do not change the
        // median.
        let mut uneven = cycle.clone();
        uneven[0].at_s += 2.0;
        uneven[3].at_s += 40.0;
        assert_eq!(model(&uneven, 1), Some(Ok(bulk)));
        assert_eq!(model(&cycle[..1], 1), None);
        let at_once = [cycle[0], cycle[0], cycle[0]];
        assert_eq!(model(&at_once, 1), None);
    }
}
