//! Cycles of a measured transfer, for comparison with the model's (Ludwig 3.4.3; LL-33).
//!
//! The round-trip time of a network-limited transfer grows until something is lost, and then falls
//! to about half. A cycle is what lies between two such falls. A fall is a sample of at most
//! [`FALL`] of the previous one, if that was at least [`HIGH`] of the maximum. The second condition
//! excludes what follows a loss, when the queue has run empty, and slow start, when it is short.
//! What is before the first fall and after the last one is not a whole cycle.
//!
//! While a loss is repaired, nothing is acknowledged for one round trip. Samples after this silence
//! belong to the repair and to no cycle. So a cycle ends before its first gap of at least
//! [`SILENCE`] of the maximum round-trip time.

use crate::bulk::{Bulk, BulkError, Regime};
use crate::timer::Sample;
use std::ops::Range;

/// A sample of at most this share of the previous one is a fall.
pub const FALL: f64 = 0.75;
/// A fall ends a cycle if it starts from at least this share of the maximum sample.
pub const HIGH: f64 = 0.75;
/// A time without samples is a silence from this share of the maximum sample on.
pub const SILENCE: f64 = 0.5;

/// Returns the indexes of the samples of each whole cycle, in order.
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

/// Returns the model of a measured cycle. The service time is the median time between samples. The
/// load at the end of the cycle is the number of service times in its maximum round-trip time,
/// rounded to the nearest even number. `None` for fewer than two samples, or if samples have the
/// same time.
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

    /// LL-33: the model's own rows form cycles of the model's length, and lead back to the model.
    #[test]
    fn ll_33_the_model_is_its_own_model() {
        let bulk = Bulk::new(40, 6.25, 4, Regime::NetworkLimited).expect("a transfer");
        let rows: Vec<Sample> = bulk.rows.iter().map(|row| row.sample).collect();
        let found = cycles(&rows);
        // The first has no fall before it, the last none after it.
        assert_eq!(found, [630..1260, 1260..1890]);
        assert_eq!(model(&rows[630..1260], 4), Some(Ok(bulk)));
    }

    #[test]
    fn only_falls_from_high_end_cycles() {
        // Slow start falls from 4. After a loss, the queue runs empty and falls from 6 to 3.
        // Neither ends a cycle.
        let row = samples(&[4.0, 2.0, 10.0, 20.0, 6.0, 3.0, 12.0, 16.0, 20.0, 10.0, 12.0, 15.0, 11.0, 5.0]);
        assert_eq!(cycles(&row), [4..9, 9..12]);
        // 15 is three quarters of the maximum, and 11 is 0.73 of 15.
        assert_eq!(cycles(&samples(&[20.0, 10.0, 14.9, 10.0])), Vec::<Range<usize>>::new());
        assert_eq!(cycles(&[]), Vec::<Range<usize>>::new());
    }

    /// Acknowledgments after the silence of a repair are not part of the cycle.
    #[test]
    fn a_cycle_ends_where_acknowledgments_stop() {
        let mut row = samples(&[20.0, 10.0, 12.0, 14.0, 16.0, 18.0, 20.0, 20.0, 9.0]);
        assert_eq!(cycles(&row).as_slice(), std::slice::from_ref(&(1..8)));
        // Half of the maximum is 10 s, of which 2 s are there already.
        row[6..].iter_mut().for_each(|sample| sample.at_s += 7.9);
        assert_eq!(cycles(&row).as_slice(), std::slice::from_ref(&(1..8)));
        row[6..].iter_mut().for_each(|sample| sample.at_s += 0.1);
        assert_eq!(cycles(&row).as_slice(), std::slice::from_ref(&(1..6)));
    }

    #[test]
    fn loads_are_even_and_measured() {
        // 2 s per segment and at most 17 s: 8.5 segments, which is nearer to 8 than to 10.
        let cycle = samples(&[8.0, 9.0, 12.0, 17.0]);
        let bulk = model(&cycle, 1).expect("samples").expect("a transfer");
        assert_eq!(bulk.rows.iter().map(|row| row.load).max(), Some(8));
        assert!((bulk.rows[1].sample.at_s - bulk.rows[0].sample.at_s - 2.0).abs() < 1e-12);
        // One acknowledgment that arrives at once and one that is late do not change the median.
        let mut uneven = cycle.clone();
        uneven[0].at_s += 2.0;
        uneven[3].at_s += 40.0;
        assert_eq!(model(&uneven, 1), Some(Ok(bulk)));
        assert_eq!(model(&cycle[..1], 1), None);
        let at_once = [cycle[0], cycle[0], cycle[0]];
        assert_eq!(model(&at_once, 1), None);
    }
}
