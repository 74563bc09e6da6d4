use super::*;
use crate::layers::time::Axis;
use proptest::prelude::*;

/// Returns what a clock with this offset and drift shows when the sender's shows `t`.
fn other(t: f64, offset: f64, drift: f64) -> f64 {
    t + offset + drift * t
}

/// Packets both ways every `step` seconds; their delays are `least` plus `queues`, in seconds.
fn talk(offset: f64, drift: f64, least: [f64; 2], step: f64, queues: &[(f64, f64)]) -> [Vec<Passage>; 2] {
    let ns = |seconds: f64| (seconds * 1e9).round() as i64;
    let mut talk = [Vec::new(), Vec::new()];
    for (place, queue) in queues.iter().enumerate() {
        let at = place as f64 * step;
        talk[0].push(Passage { sent: ns(at), arrived: ns(other(at + least[0] + queue.0, offset, drift)) });
        talk[1].push(Passage { sent: ns(other(at, offset, drift)), arrived: ns(at + least[1] + queue.1) });
    }
    talk
}

/// LL-17: two clocks, 12.5 s and 40 ppm apart. The data's queue grows all the time, as in slow
/// start; acknowledgments wait in a short one.
#[test]
fn ll_17_two_clocks_are_told_apart_by_their_least_delays() {
    let queues: Vec<(f64, f64)> =
        (0..200).map(|place| (f64::from(place) * 0.01, f64::from(place % 7) * 0.003)).collect();
    let [data, answers] = talk(12.5, 40e-6, [0.2, 0.2], 0.5, &queues);
    let found = estimate(&data, &answers).expect("packets both ways");
    assert!((found.drift - 40e-6).abs() < 1e-7, "{found:?}");
    assert!((found.offset_ns / 1e9 - 12.5).abs() < 1e-4, "{found:?}");
    assert!((found.error_ns / 1e9 - 0.2).abs() < 1e-3, "{found:?}");
    // Back to the sender's axis.
    let rate = 1.0 / (1.0 + found.drift);
    let axis = Axis { zero: 0, shift_ns: -found.offset_ns * rate, rate };
    let at = axis.at((other(77.0, 12.5, 40e-6) * 1e9) as u64);
    assert!((at as f64 / 1e9 - 77.0).abs() < 1e-3, "{at}");
}

/// A path that is longer in one direction shifts the offset by half the difference, within the
/// error.
#[test]
fn ways_of_different_length_are_within_the_error() {
    let [data, answers] = talk(-3.0, 0.0, [0.5, 0.1], 1.0, &[(0.0, 0.0); 5]);
    let found = estimate(&data, &answers).expect("packets both ways");
    assert!(
        (found.offset_ns / 1e9 + 2.8).abs() < 1e-6 && (found.error_ns / 1e9 - 0.3).abs() < 1e-6,
        "{found:?}"
    );
}

#[test]
fn one_way_alone_says_nothing() {
    let [data, answers] = talk(1.0, 0.0, [0.1, 0.1], 1.0, &[(0.0, 0.0); 5]);
    assert_eq!(estimate(&data, &[]), None);
    assert_eq!(estimate(&[], &answers), None);
    assert!(estimate(&data, &answers[..1]).is_some(), "the data has the drift");
    assert_eq!(estimate(&data[..1], &answers[..1]), None);
}

/// The slope is that of the edge at the points' mean time. By hand: the hull is (0, 0), (4, -5),
/// (10, -4), and the mean is 6.8.
#[test]
fn the_edge_is_that_at_the_mean_time() {
    let points = [(0.0, 0.0), (4.0, -5.0), (10.0, -4.0), (9.0, 7.0), (9.0, 8.0), (9.0, 9.0)];
    let slope = lower_edge(&points).expect("two instants");
    assert!((slope - 1.0 / 6.0).abs() < 1e-12, "{slope}");
}

#[test]
fn packets_are_known_again_where_each_end_has_them_once() {
    let sent = [(1, 10), (2, 20), (2, 30), (3, 40)];
    let arrived = [(1, 15), (2, 25), (4, 50)];
    assert_eq!(matched(sent.into_iter(), arrived.into_iter()), [Passage { sent: 10, arrived: 15 }]);
}

proptest! {
    /// The estimate is right for any clocks and queues, if a tenth of the packets, first and last
    /// included, do not wait.
    #[test]
    fn clocks_are_found_below_any_queue(
        offset in -1e6_f64..1e6,
        drift in -200e-6_f64..200e-6,
        mut queues in prop::collection::vec((0.0_f64..3.0, 0.0_f64..3.0), 30..200),
    ) {
        let last = queues.len() - 1;
        for place in (0..=last).filter(|place| place % 10 == 0 || *place == last) {
            queues[place] = (0.0, 0.0);
        }
        let [data, answers] = talk(offset, drift, [0.15, 0.15], 0.7, &queues);
        let found = estimate(&data, &answers).expect("packets both ways");
        prop_assert!((found.drift - drift).abs() < 1e-7, "{found:?}");
        prop_assert!((found.offset_ns / 1e9 - offset).abs() < 1e-3, "{found:?}");
    }
}

/// Damaged time stamps give no meaningful estimate, but do no harm.
#[test]
fn times_that_are_centuries_apart_are_reckoned_with() {
    let far = [Passage { sent: i64::MIN, arrived: i64::MAX }, Passage { sent: 0, arrived: i64::MIN }];
    let estimate = estimate(&far, &far).expect("two instants");
    assert!(estimate.offset_ns.is_finite() && estimate.drift.is_finite(), "{estimate:?}");
}
