//! Tests of the replay with times worked out by hand from `cellular_queue.cc`.

use super::*;
use crate::stage::bottleneck::tests::{Fate, drive};

const MS: u64 = 1_000_000;
/// An IP packet that fills an opportunity.
const FULL: usize = 1396;

fn spec(light: &str, heavy: &str) -> CellReplaySpec {
    CellReplaySpec {
        light: FromFile::with("light", Trains::parse("light", light).expect("trains")),
        heavy: FromFile::with("heavy", MahimahiTrace::parse("heavy", heavy).expect("opportunities")),
        offsets: None,
        timer: Span::ZERO,
        queue: QueueSpec::default(),
    }
}

fn in_ms(fates: &[Fate]) -> Vec<f64> {
    fates.iter().map(|fate| fate.at.as_secs_f64() * 1e3).collect()
}

fn run(spec: &CellReplaySpec, arrivals: &[(u64, usize)]) -> Vec<f64> {
    let mut stage = CellReplay::new(spec, &Seed::campaign(1)).expect("a stage");
    let arrivals = arrivals.iter().map(|&(at, length)| (at * MS, length));
    in_ms(&drive(&mut stage, arrivals))
}

#[test]
fn a_train_takes_the_light_opportunities_and_then_the_heavy_ones() {
    // Base delay 20 ms; a train delivers its second packet 2 ms after the first, the third after 5
    // ms.
    let spec = spec("0 20 0 2 5\n1000 20 0\n", "10\n20\n30\n40\n");
    // The fourth and the fifth cannot overtake the third. They reach the heavy queue with it, at 25
    // ms.
    assert_eq!(run(&spec, &[(0, FULL); 5]), [20.0, 22.0, 25.0, 30.0, 40.0]);
}

#[test]
fn small_packets_share_a_light_opportunity() {
    let spec = spec("0 20 0 2 5\n1000 20 0\n", "10\n");
    // 696 + 4 bytes twice are one opportunity.
    assert_eq!(run(&spec, &[(0, 696); 6]), [20.0, 20.0, 22.0, 22.0, 25.0, 25.0]);
    // Opportunities that have passed are lost: 3 ms after the first packet, the next one is at 5
    // ms. The timer keeps the train in progress.
    let timed = CellReplaySpec { timer: Span::from_millis(20), ..spec };
    assert_eq!(run(&timed, &[(0, FULL), (3, FULL)]), [20.0, 25.0]);
}

#[test]
fn a_packet_on_an_idle_link_begins_a_train_with_the_delay_of_its_time() {
    let light = "0 20 0 2\n100 40 0 9\n200 40 0\n";
    let spec = spec(light, "500\n");
    // At 50 ms the base delay is 30 ms; the second packet takes the first train's opportunities. At
    // 100 ms the second train begins. The trace repeats at 200 ms.
    let arrivals = [(50, FULL), (50, FULL), (100, FULL), (100, FULL), (200, FULL)];
    assert_eq!(run(&spec, &arrivals), [80.0, 82.0, 140.0, 149.0, 220.0]);
    // With a timer, 18 ms after the end of a train the train still goes on: its opportunities are
    // over, so the packet takes a heavy one.
    let timed = CellReplaySpec { timer: Span::from_millis(20), ..spec };
    assert_eq!(run(&timed, &[(50, FULL), (68, FULL)]), [80.0, 500.0]);
    let [first, second] = run(&timed, &[(50, FULL), (71, FULL)])[..] else { panic!("two packets") };
    assert!((first - 80.0).abs() < 1e-9 && second < 500.0, "{first} {second}");
}

#[test]
fn nothing_overtakes_the_heavy_queue() {
    let spec = spec("0 10 0\n1000 10 0\n", "100\n");
    // The second packet is behind the train and waits for the heavy opportunity. The third begins a
    // train at 30 ms, but finds the heavy queue occupied at 40 ms.
    assert_eq!(run(&spec, &[(0, FULL), (0, FULL), (30, FULL)]), [10.0, 100.0, 200.0]);
    // The queue's limit is that of the heavy queue: of two waiting packets, one is lost.
    let short = CellReplaySpec { queue: "1p".parse().expect("a limit"), ..spec };
    let mut stage = CellReplay::new(&short, &Seed::campaign(1)).expect("a stage");
    let fates = drive(&mut stage, [(0, FULL), (0, FULL), (30 * MS, FULL)]);
    assert_eq!(
        fates.iter().filter(|fate| fate.loss.is_some()).map(|fate| fate.number).collect::<Vec<_>>(),
        [2]
    );
}

#[test]
fn latency_offsets_depend_on_the_size_and_keep_the_order() {
    let offsets = SizeOffsets::parse("o", "100 -5\n200 0\n").expect("offsets");
    let spec = CellReplaySpec {
        offsets: Some(FromFile::with("o", offsets)),
        ..spec("0 20 0 0 0\n1000 20 0\n", "500\n")
    };
    // 96 + 4 bytes leave 5 ms earlier. Behind a full packet they cannot.
    assert_eq!(run(&spec, &[(0, 96), (100, FULL), (100, 96)]), [15.0, 120.0, 120.0]);
}

#[test]
fn a_new_trace_begins_at_the_change() {
    let mut stage = CellReplay::new(&spec("0 20 0\n100 20 0\n", "1\n"), &Seed::campaign(1)).expect("a stage");
    let next = StageSpec::CellReplay(spec("0 30 0\n100 50 0\n", "1\n"));
    stage.change(&next, Time::from_nanos(40 * MS)).expect("a change");
    // 50 ms after the change.
    assert_eq!(in_ms(&drive(&mut stage, [(90 * MS, FULL)])), [130.0]);
    let other = StageSpec::Duplicate(crate::stage::duplicate::DuplicateSpec {
        probability: "0%".parse().expect("0"),
    });
    assert!(stage.change(&other, Time::ZERO).is_err());
}
