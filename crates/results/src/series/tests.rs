use super::*;
use crate::RunVerdict;
use crate::example::{campaign, cells};

/// The pairs of `lite`, with gaps of one to ten seconds.
fn series() -> Series {
    Series { gap_ns: [1_000_000_000, 10_000_000_000], together: vec!["lite".into()] }
}

/// Eq. 9.2: T(r₁) R(r₁) E₁ T(r₂) R(r₂) E₂ …, whatever the order of the factors in the plan.
#[test]
fn m20_pairs_follow_each_other_and_gaps_are_between_them() {
    let steps = steps(&series(), &cells(), 2, 7);
    let order: Vec<_> = steps.iter().map(|step| (step.repetition, step.cell)).collect();
    assert_eq!(order[..6], [(0, 0), (0, 3), (0, 1), (0, 4), (0, 2), (0, 5)]);
    assert_eq!(order[6..], [(1, 0), (1, 3), (1, 1), (1, 4), (1, 2), (1, 5)]);
    let with_gap: Vec<_> = steps.iter().map(|step| step.gap_ns > 0).collect();
    assert_eq!(with_gap, [false, false, true, false, true, false, true, false, true, false, true, false]);
    let within = |step: &Step| step.gap_ns == 0 || (1_000_000_000..=10_000_000_000).contains(&step.gap_ns);
    assert!(steps.iter().all(within), "{steps:?}");
}

#[test]
fn m20_gaps_are_uniform_and_follow_from_the_seed() {
    let all = steps(&series(), &cells(), 2000, 7);
    let gaps: Vec<f64> = all.iter().map(|step| step.gap_ns as f64 / 1e9).filter(|gap| *gap > 0.0).collect();
    assert_eq!(gaps.len(), 5999);
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    // The standard error is 9/√12/√5999 = 0.034 s.
    assert!((mean - 5.5).abs() < 0.14, "{mean}");
    let below = |limit: f64| gaps.iter().filter(|gap| **gap < limit).count() as f64 / gaps.len() as f64;
    for quarter in 1..4 {
        assert!(
            (below(1.0 + 2.25 * f64::from(quarter)) - f64::from(quarter) / 4.0).abs() < 0.025,
            "{quarter}"
        );
    }
    assert_eq!(all[..12], steps(&series(), &cells(), 2, 7), "more repetitions add steps at the end");
    assert_ne!(all[..12], steps(&series(), &cells(), 2, 8));
}

#[test]
fn without_groups_each_run_has_a_gap() {
    let alone = Series { together: Vec::new(), ..series() };
    let steps = steps(&alone, &cells(), 1, 7);
    assert_eq!(steps.iter().map(|step| step.cell).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
    assert_eq!(steps.iter().filter(|step| step.gap_ns == 0).count(), 1);
}

#[test]
fn the_log_has_a_line_for_each_run_in_the_order_of_the_series() {
    let mut directory =
        campaign(&[(0, RunVerdict::Good, 1.0), (1, RunVerdict::Failed, 1.0), (3, RunVerdict::Good, 1.0)]);
    for run in &mut directory.manifest.runs {
        run.repetition = 0;
    }
    assert_eq!(log(&directory), None, "no series");
    directory.manifest.series = Some(series());
    directory.manifest.repetitions = 1;
    let log = log(&directory).expect("a log");
    let lines: Vec<_> = log.lines().collect();
    assert_eq!(lines[0], "position,repetition,cell,levels,gap_s,started_unix_ns,wall_s,verdict");
    assert_eq!(lines[1], "0,0,0,\"lite=off, loss=none\",0.000000000,0,1.500000,good");
    assert_eq!(lines[2], "1,0,3,\"lite=on, loss=none\",0.000000000,0,1.500000,good");
    assert!(lines[3].starts_with("2,0,1,\"lite=off, loss=one\",") && lines[3].ends_with(",failed"), "{log}");
    assert_eq!(lines.len(), 4, "runs that were not made are left out");
}
