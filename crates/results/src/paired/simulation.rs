//! Thousands of simulated pairs of campaigns, compared by the shipped code: how often the verdict
//! is wrong, and how often there is one. With `--nocapture` the tests print their rates.

use super::*;
use crate::example::{campaign, run};
use crate::statistics::{Stream, stream};
use crate::{RunRecord, RunVerdict};
use rand_distr::{Distribution, Exp1, LogNormal, Normal};

/// Random differences within pairs, with a median of 0, in percent of the first value.
struct Noise {
    name: &'static str,
    draw: fn(&mut Stream) -> f64,
}

const NOISES: [Noise; 3] = [
    Noise {
        name: "normal, 2 %",
        draw: |stream| Normal::new(0.0, 2.0).expect("a distribution").sample(stream),
    },
    Noise {
        name: "mostly small, sometimes much worse",
        draw: |stream| {
            let drawn: f64 = Exp1.sample(stream);
            4.0 * (drawn - std::f64::consts::LN_2)
        },
    },
    Noise {
        name: "mostly small, sometimes much better",
        draw: |stream| {
            let drawn: f64 = Exp1.sample(stream);
            4.0 * (std::f64::consts::LN_2 - drawn)
        },
    },
];

const TOLERANCE: f64 = 5.0;
const ROUNDS: u32 = 4000;

/// Returns two campaigns. Seeds differ by a factor of two or more; the goodput of the second
/// campaign is worse by `change` percent in the median.
fn campaigns(random: &mut Stream, cells: u32, pairs: u32, change: f64, noise: &Noise) -> [Directory; 2] {
    let seeds = LogNormal::new(14.0, 0.7).expect("a distribution");
    let places: Vec<(u32, u32)> =
        (0..cells).flat_map(|cell| (0..pairs).map(move |pair| (cell, pair))).collect();
    let first: Vec<f64> = places.iter().map(|_| seeds.sample(random)).collect();
    let worse = |value: &f64| value * (1.0 - (change + (noise.draw)(random)) / 100.0);
    let second: Vec<f64> = first.iter().map(worse).collect();
    [first, second].map(|values| {
        let rows: Vec<_> = places
            .iter()
            .zip(values)
            .map(|(&(cell, _), goodput)| (cell, RunVerdict::Good, goodput))
            .collect();
        let mut directory = campaign(&rows);
        directory.manifest.cells.truncate(cells as usize);
        let runs = places.iter().map(|&(cell, pair)| RunRecord { seconds: 1.0, ..run(cell, pair) });
        directory.manifest.runs = runs.collect();
        directory
    })
}

/// Returns the shares of rounds in which any cell fails, any cell passes, all fail, and all pass.
fn shares(cells: u32, pairs: u32, change: f64, noise: &Noise) -> [f64; 4] {
    let mut random = stream(u64::from(pairs));
    let mut counts = [0_u32; 4];
    for _ in 0..ROUNDS {
        let [first, second] = &campaigns(&mut random, cells, pairs, change, noise);
        let comparison = Comparison {
            first,
            second,
            workload: "bulk",
            tolerance: TOLERANCE,
            confidence: 0.95,
            besides: Besides::default(),
        };
        let changes = compare(&comparison, &[Metric::Goodput]);
        assert_eq!(changes.len(), cells as usize);
        let verdicts: Vec<_> = changes.iter().map(|change| change.verdict).collect();
        for (number, wanted) in [Verdict::Fail, Verdict::Pass].into_iter().enumerate() {
            counts[number] += u32::from(verdicts.contains(&wanted));
            counts[number + 2] += u32::from(verdicts.iter().all(|verdict| *verdict == wanted));
        }
    }
    counts.map(|count| f64::from(count) / f64::from(ROUNDS))
}

/// The worst cases are a change of exactly the tolerance, which must not fail, and one just beyond,
/// which must not pass.
#[test]
fn verdicts_are_wrong_no_more_often_than_the_confidence_allows() {
    // Four standard errors are what so many rounds can tell.
    let most = 0.05 + 4.0 * (0.05_f64 * 0.95 / f64::from(ROUNDS)).sqrt();
    for noise in &NOISES {
        for (cells, pairs) in [(1, 6), (1, 10), (1, 40), (6, 10), (6, 40)] {
            let [fail, ..] = shares(cells, pairs, TOLERANCE, noise);
            let [_, pass, ..] = shares(cells, pairs, TOLERANCE + 1e-6, noise);
            println!(
                "{}, {cells} cells, {pairs} pairs: wrong fail {:.2} %, wrong pass {:.2} %",
                noise.name,
                100.0 * fail,
                100.0 * pass
            );
            assert!(fail <= most && pass <= most, "{}: {fail}, {pass}", noise.name);
        }
    }
}

/// Far from the tolerance ten pairs suffice, whatever the seeds do to the values.
#[test]
fn changes_are_found_and_their_absence_too() {
    let [noise, ..] = &NOISES;
    for (change, cells) in [(0.0, 1), (0.0, 6), (10.0, 1), (10.0, 6)] {
        for pairs in [6, 10, 20] {
            let [fail, pass, all_fail, all_pass] = shares(cells, pairs, change, noise);
            let is_regression = change > TOLERANCE;
            let (right, wrong) = if is_regression { (all_fail, pass) } else { (all_pass, fail) };
            println!(
                "{change} % worse, noise {}, {cells} cells, {pairs} pairs: all right {:.1} %, any wrong {:.1} %",
                noise.name,
                100.0 * right,
                100.0 * wrong
            );
            assert!(wrong < 0.001, "{change} %, {pairs} pairs: {wrong}");
            assert!(pairs < 10 || right > 0.9, "{change} %, {pairs} pairs: {right}");
        }
    }
}
