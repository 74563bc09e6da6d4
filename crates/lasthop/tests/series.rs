//! Tests of series (M20): runs one after the other in pairs, with random gaps, and their log.

mod lab;

use lab::{Lab, VIRTUAL};
use std::fs;

const PLAN: &str = r#"
seed = 7
repetitions = 2
[[factors]]
name = "window"
levels = ["8kB", "32kB"]
[[factors]]
name = "size"
levels = ["1kB", "2kB", "3kB"]
[series]
gap = ["50ms", "200ms"]
together = ["window"]
[scenario]
receive-window = "{window}"
[[scenario.links]]
between = ["mobile", "server"]
up = "rate=10mbit,delay=1ms"
down = "rate=10mbit,delay=1ms"
[[workloads]]
name = "page"
kind = "request"
from = "mobile"
to = "server"
response = "{size}"
[capture]
keep = "none"
"#;

/// A line of series.csv: cell, gap, start, and the time that the run took, in nanoseconds.
fn log(lab: &Lab, out: &str) -> Vec<(u32, u64, u64, u64)> {
    let text = fs::read_to_string(lab.path(out).join("series.csv")).expect("a log");
    let line = |line: &str| {
        // The levels are quoted, and have commas.
        let (front, rest) = line.split_once('"').expect("levels");
        let cell = front.split(',').nth(2).expect("a cell").parse().expect("a number");
        let rest: Vec<&str> = rest.rsplit_once('"').expect("levels").1.split(',').collect();
        let nanoseconds = |text: &str| (text.parse::<f64>().expect("seconds") * 1e9).round() as u64;
        (cell, nanoseconds(rest[1]), rest[2].parse().expect("a time"), nanoseconds(rest[3]))
    };
    text.lines().skip(1).map(line).collect()
}

/// Eq. 9.2 of the thesis on remote sockets, whatever else could run at a time.
#[test]
fn m20_pairs_follow_each_other_with_random_gaps() {
    let Some(lab) = Lab::new() else { return };
    lab.succeed(PLAN, &["--jobs", "4"]);
    let log = log(&lab, "out");
    let cells: Vec<u32> = log.iter().map(|line| line.0).collect();
    assert_eq!(cells, [0, 3, 1, 4, 2, 5, 0, 3, 1, 4, 2, 5]);
    for (place, pair) in log.windows(2).enumerate() {
        let [(_, _, before, took), (_, gap, start, _)] = pair else { panic!("two") };
        let is_within = place % 2 == 0;
        assert!(if is_within { *gap == 0 } else { (50_000_000..=200_000_000).contains(gap) }, "{log:?}");
        // A millisecond for the difference of two clocks.
        assert!(start + 1_000_000 >= before + took + gap, "run {place} and the next: {log:?}");
    }
}

/// By the virtual clock nobody waits, and the log has the same order and gaps.
#[test]
fn m20_the_log_follows_from_the_seed() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    lab.succeed(PLAN, VIRTUAL);
    lab.succeed(PLAN, &[VIRTUAL, &["--jobs", "1", "--out", "again"]].concat());
    let order = |out: &str| log(&lab, out).iter().map(|line| (line.0, line.1)).collect::<Vec<_>>();
    assert_eq!(order("out"), order("again"));
    assert_eq!(order("out").len(), 12);
    let refused = lab.run(PLAN, &["--shard", "1/2", "--out", "shard"]);
    let said = lab::text(&refused.stderr);
    assert!(!refused.status.success() && said.contains("the runs of a [series] follow each other"), "{said}");
}
