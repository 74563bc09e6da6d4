//! Tests of what a run says about itself: its files, counters and verdict.

use super::*;

#[test]
fn a_run_may_open_what_it_needs_and_its_programs_no_more() {
    let limit = |current, maximum| Rlimit { current, maximum };
    assert_eq!(enough(limit(Some(1024), Some(4096)), 300), Some(1024));
    assert_eq!(enough(limit(Some(1024), Some(4096)), 2000), Some(2000));
    assert_eq!(enough(limit(Some(1024), Some(4096)), 9000), Some(4096));
    assert_eq!(enough(limit(Some(1024), None), 9000), Some(9000));
    assert_eq!(enough(limit(None, None), 9000), None);
}

#[test]
fn files_of_a_run_have_its_cell_and_repetition() {
    let job = Job {
        plan_file: "plan.toml".to_owned(),
        plan_text: String::new(),
        cell: Cell { number: 12, levels: Vec::new() },
        repetition: 3,
        seed: 7,
        directory: "runs".into(),
        control_group: None,
        attached: Vec::new(),
        preload: None,
    };
    assert_eq!(job.stem(), "c012-r03");
    assert_eq!(job.result(), Path::new("runs/unfinished/c012-r03.json"));
    assert_eq!(job.scratch(), Path::new("runs/unfinished/c012-r03"));
    assert_eq!(stem(1234, 567), "c1234-r567");
    let text = serde_json::to_string(&job).expect("JSON");
    assert_eq!(serde_json::from_str::<Job>(&text).expect("a job"), job);
    let old = text.replace(",\"control_group\":null", "");
    assert_ne!(old, text);
    assert_eq!(serde_json::from_str::<Job>(&old).expect("a job"), job);
}

/// An error is a result, too: the campaign goes on and shows it.
#[test]
fn a_job_with_an_error_is_a_failed_run() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join(SCRATCH)).expect("created");
    let job = Job {
        plan_file: "plan.toml".to_owned(),
        plan_text: "no plan".to_owned(),
        cell: Cell { number: 4, levels: Vec::new() },
        repetition: 5,
        seed: 7,
        directory: folder.path().to_owned(),
        control_group: None,
        attached: Vec::new(),
        preload: None,
    };
    execute(&job).expect("a result");
    let text = fs::read(job.result()).expect("a file");
    let RunEnded { run, connections } = serde_json::from_slice(&text).expect("a result");
    assert_eq!((run.cell, run.repetition, run.verdict), (4, 5, RunVerdict::Failed));
    assert!(run.reasons[0].starts_with("plan.toml:1:"), "{:?}", run.reasons);
    assert!(run.started_unix_ns > 0 && connections.is_empty());
    fs::remove_dir_all(folder.path()).expect("removed");
    assert!(execute(&job).is_err(), "a result that cannot be written is an error");
}

/// A dropped call explains failures, and a failure explains lateness.
#[test]
fn the_gravest_verdict_counts() {
    use RunVerdict::{DroppedCall, Failed, Good, Overloaded};
    let of = |number: u8| verdict(number & 4 > 0, number & 2 > 0, number & 1 > 0);
    let expected = [Good, Overloaded, Failed, Failed, DroppedCall, DroppedCall, DroppedCall, DroppedCall];
    assert_eq!([0, 1, 2, 3, 4, 5, 6, 7].map(of), expected);
}

const PLAN: &str = r#"
    [[scenario.links]]
    name = "one"
    between = ["a", "b"]
    up = "rate=1mbit"
    [[scenario.links]]
    name = "two"
    between = ["b", "c"]
    down = "rate=2mbit"
    [[workloads]]
    name = "w"
    kind = "bulk"
    from = "a"
    to = "b"
    bytes = "1kB"
"#;

/// Each counter has a value of its own, so a counter in another one's place shows.
#[test]
fn counters_of_each_direction_of_each_link() {
    let plan = Plan::parse("plan.toml", PLAN).expect("a plan");
    let experiment = plan.experiment(&plan.cells()[0], 0, 0).expect("an experiment");
    let at = capture::Time::from_nanos;
    let (link, down) = (capture::LinkId(1), capture::Direction::Down);
    let mut summary = capture::Summary::default();
    let end = |number, arrived, left| {
        capture::EndedPacket::untouched(link, down, number, 100, at(arrived), at(left))
    };
    // Each waits for 30 ns and takes 500 ns.
    let mut delivered = |count, change: fn(&mut capture::EndedPacket)| {
        for number in 0..count {
            let mut ended = end(number, 1_000, 1_500);
            ended.sending = link::Sending { start: at(1_030), end: at(1_040) };
            change(&mut ended);
            summary.ended(&ended);
        }
    };
    delivered(9, |_| {});
    delivered(2, |ended| ended.copy = true);
    delivered(3, |ended| ended.overtaken = 1);
    delivered(4, |ended| ended.bits_flipped = 1);
    summary.ended(&capture::EndedPacket {
        outcome: capture::Outcome::Lost(capture::Loss::Outage),
        ..end(9, 0, 1)
    });
    (0..9).for_each(|_| summary.entered(link, down, 100));
    summary.entered(link, down, 11);
    let layer = Counters { first: 1, again: 2, erased: 3, rejects: 4, resets: 5, stalls: 6 };
    let all = counters(&experiment, &summary, &[(WayId(3), layer)]);
    let places: Vec<_> = all.iter().map(|its| (its.link.as_str(), its.direction.as_str())).collect();
    assert_eq!(places, [("one", "up"), ("one", "down"), ("two", "up"), ("two", "down")]);
    assert!(all[0].profile.contains("1Mbit") && all[3].profile.contains("2Mbit"), "{all:?}");
    for other in &all[..3] {
        assert_eq!((other.packets, other.delay_mean_ns, other.link_layer), (0, None, None));
    }
    let expected = LinkCounters {
        link: "two".to_owned(),
        direction: "down".to_owned(),
        profile: all[3].profile.clone(),
        packets: 10,
        lost: [("outage".to_owned(), 1)].into(),
        damaged: 4,
        duplicated: 2,
        reordered: 3,
        bytes: 911,
        delivered_bytes: 1800,
        delay_mean_ns: Some(500),
        waiting_mean_ns: Some(30),
        link_layer: Some(LinkLayerCounters {
            frames: 1,
            again: 2,
            erased: 3,
            rejects: 4,
            resets: 5,
            stalls: 6,
        }),
    };
    assert_eq!(all[3], expected);
}

/// LL-35: a link disconnects in both directions, and is named once.
#[test]
fn links_that_disconnected_are_named_once() {
    let plan = Plan::parse("plan.toml", PLAN).expect("a plan");
    let experiment = plan.experiment(&plan.cells()[0], 0, 0).expect("an experiment");
    let mut all = counters(&experiment, &capture::Summary::default(), &[]);
    assert!(dropped_calls(&all).is_empty());
    for place in [2, 3] {
        all[place].lost.insert("disconnected".to_owned(), 1);
    }
    let reasons = dropped_calls(&all);
    assert!(reasons.len() == 1 && reasons[0].contains("`two`"), "{reasons:?}");
    all[1].lost.insert("disconnected".to_owned(), 1);
    assert_eq!(dropped_calls(&all).len(), 2);
}
