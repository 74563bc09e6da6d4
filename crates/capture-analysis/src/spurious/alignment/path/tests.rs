//! A bottleneck of 10 ns per byte whose answers deviate by 100 ns: packets of 1000 bytes need 10
//! 000 ns, and the round trip of the longest takes 50 000 ns.

use super::*;

const PATH: Path =
    Path { round_trip: 40_000, data: (50_000, 1000), byte_ns: 10.0, deviation_ns: 100.0, full_ns: None };

fn sent(time: u64, length: u32) -> Transmission {
    Transmission {
        order: 0,
        time,
        first: 0,
        end: u64::from(length),
        length,
        identification: None,
        stamp: None,
        damaged: false,
        again: None,
    }
}

fn near(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-6
}

/// After another packet an answer waits for the bottleneck; otherwise it takes a round trip, less
/// for a shorter packet by the time of the missing bytes.
#[test]
fn an_answer_comes_behind_the_one_before_or_after_a_round_trip() {
    assert!(near(PATH.behind(100_000.0, &sent(0, 1000)), 110_000.0));
    assert!(near(PATH.behind(0.0, &sent(7_000, 1000)), 57_000.0));
    assert!(near(PATH.behind(0.0, &sent(7_000, 400)), 51_000.0));
    assert!(near(PATH.behind(50_000.0, &sent(7_000, 400)), 54_000.0));
}

/// A deviation of 100 ns costs 1 in both directions, where late is allowed only early ones cost,
/// and nothing costs more than a stall.
#[test]
fn what_is_off_costs_by_how_much() {
    assert_eq!((PATH.off(10_000, 10_100.0), PATH.off(10_200, 10_000.0)), (100, 200));
    assert_eq!((PATH.early(10_000, 10_100.0), PATH.early(10_200, 10_000.0)), (100, 0));
    assert_eq!((PATH.off(0, 1e9), PATH.early(0, 1e9)), (STALL, STALL));
}

/// The queue's length is unknown until enough drops were seen. One in twenty may be wrong on each
/// side.
#[test]
fn the_queue_is_learned_from_drops() {
    let mut path = PATH;
    let drops = |count: u64| (0..count).map(|n| (70_000 + n, 80_000 + n)).collect::<Vec<_>>();
    path.learn(&drops(ENOUGH as u64 - 1));
    assert_eq!((path.taken(1_000_000), path.dropped(0)), (0, 0));
    let mut some = drops(20);
    // An outlier that would make the queue too long, and one that would make it too short.
    some[19] = (500_000, 80_019);
    some[0] = (70_000, 1_000);
    path.learn(&some);
    // Of 20 values in order, place 19 is the largest, and place 1 the second smallest.
    assert_eq!(path.full_ns, Some((500_000.0, 80_001.0)));
    path.learn(&[drops(20), some].concat());
    // One outlier of 40 on each side is within one in twenty.
    assert_eq!(path.full_ns, Some((70_019.0, 80_001.0)));
    // Being taken beyond the limit, or dropped below it, costs only what exceeds the deviation.
    assert_eq!((path.taken(70_100), path.taken(70_319)), (0, 200));
    assert_eq!((path.dropped(79_950), path.dropped(79_701)), (0, 200));
    path.learn(&[]);
    assert_eq!(path.full_ns, None);
}

#[test]
fn quantiles_need_enough_values() {
    assert_eq!(median((0..7).collect()), None);
    assert_eq!(median((0..8).rev().collect()), Some(4));
    assert_eq!(quantile((0..100).rev().collect(), 0.95), Some(95));
    assert_eq!(middle(vec![10, 10, 10, 10, 10, 10, 10, 30]), Some((10.0, 0.0)));
    assert_eq!(middle(vec![8, 8, 8, 8, 10, 12, 12, 12]), Some((10.0, 2.0)));
}
