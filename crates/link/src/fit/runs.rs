//! Tests of whether the lengths of runs match a two-state channel.
//!
//! Only complete runs count; the first and the last run are cut off by the ends of the trace. The
//! chi-square test has up to 20 classes with at least 5 expected runs each. One degree of freedom
//! is subtracted for the estimated parameter.

use super::Test;
use crate::seed::Seed;
use crate::units::Time;
use rand::RngExt;
use std::ops::Range;

const CLASSES: f64 = 20.0;
const LEAST: f64 = 5.0;

/// Returns the complete runs: the state of each, and its range in the trace.
pub(super) fn complete(states: &[bool]) -> Vec<(bool, Range<usize>)> {
    let mut runs = Vec::new();
    let mut start = 0;
    for run in states.chunk_by(|one, other| one == other) {
        runs.push((run[0], start..start + run.len()));
        start += run.len();
    }
    runs.pop();
    if !runs.is_empty() {
        runs.remove(0);
    }
    runs
}

/// Tests `lengths` for the geometric distribution from 1 on, in which each step is the last with
/// probability `leave`.
pub(super) fn geometric(lengths: &[u64], leave: f64) -> Option<Test> {
    let count = lengths.len() as f64;
    let least = (count / CLASSES).max(LEAST);
    let beyond = |length: u64| (length as f64 * (-leave).ln_1p()).exp();
    let mut sorted = lengths.to_vec();
    sorted.sort_unstable();
    let (mut chi_square, mut classes, mut before) = (0.0, 0, 0);
    let mut add = |expected: f64, range: Range<u64>| {
        let found = sorted.partition_point(|length| *length <= range.end)
            - sorted.partition_point(|length| *length <= range.start);
        chi_square += (found as f64 - expected).powi(2) / expected;
        classes += 1;
    };
    loop {
        // The shortest length that ends a class of sufficient size and leaves enough for another.
        let survivors = beyond(before);
        let target = survivors - least / count;
        let end = if target > 0.0 { (target.ln() / (-leave).ln_1p()).ceil() } else { f64::INFINITY };
        let end = if end.is_finite() { (end as u64).max(before + 1) } else { u64::MAX };
        if end == u64::MAX || beyond(end) * count < least {
            add(count * survivors, before..u64::MAX);
            break;
        }
        add(count * (survivors - beyond(end)), before..end);
        before = end;
    }
    (classes >= 3).then(|| Test::new(chi_square, classes - 2))
}

/// Tests runs of `state` among `packets` at any distance. `stays(seconds)` is the probability that
/// the channel is in the same state after that time.
///
/// The probability that a run lasts longer than the observed one is uniformly distributed, whatever
/// the distances. A run can only end at packets, so the observation gives a range of probabilities.
/// A point in that range is drawn from a fixed random stream.
pub(super) fn in_time(packets: &[(Time, bool)], state: bool, stays: impl Fn(f64) -> f64) -> Option<Test> {
    let states: Vec<bool> = packets.iter().map(|packet| packet.1).collect();
    let mut stream = Seed::campaign(0).stage("fit").stream();
    let mut points = Vec::new();
    for (_, run) in complete(&states).into_iter().filter(|run| run.0 == state) {
        let step = |place: usize| stays(packets[place].0.since(packets[place - 1].0).as_secs_f64());
        let lasted: f64 = (run.start + 1..run.end).map(step).product();
        let drawn: f64 = stream.random();
        points.push(lasted * (1.0 - drawn * (1.0 - step(run.end))));
    }
    let count = points.len() as f64;
    let classes = (count / LEAST).min(CLASSES).floor();
    if classes < 3.0 {
        return None;
    }
    let mut found = vec![0.0; classes as usize];
    for point in points {
        found[((point * classes) as usize).min(classes as usize - 1)] += 1.0;
    }
    let expected = count / classes;
    let chi_square = found.iter().map(|found: &f64| (found - expected).powi(2) / expected).sum();
    Some(Test::new(chi_square, classes as u32 - 2))
}
