use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// First numbers and lengths.
type Ranges<'a> = &'a [(u64, u64)];

fn sent(ranges: Ranges<'_>) -> (Sent, Novelty) {
    let mut sent = Sent::default();
    let mut last = Novelty::default();
    for (time, &(first, length)) in ranges.iter().enumerate() {
        last = sent.add(first, first + length, time as u64);
    }
    (sent, last)
}

#[test]
fn old_bytes_and_filled_holes_as_tcptrace_counts_them() {
    // Ranges, then bytes sent again and whether out of order, both of the last range; observed with
    // tcptrace 6.6.7.
    let cases: [(Ranges<'_>, u64, bool); 12] = [
        (&[(0, 100), (100, 100)], 0, false),
        (&[(0, 100), (10, 10)], 10, false),
        (&[(0, 100), (100, 1), (50, 100)], 51, false),
        (&[(0, 100), (200, 100), (50, 200)], 100, true),
        (&[(0, 100), (200, 100), (50, 300)], 150, false),
        (&[(100, 100), (0, 100)], 0, true),
        (&[(100, 100), (0, 150)], 50, true),
        (&[(100, 100), (0, 200)], 100, false),
        (&[(100, 100), (300, 100), (0, 400)], 200, false),
        (&[(100, 100), (300, 100), (0, 300)], 100, true),
        (&[(0, 100), (200, 100), (400, 100), (100, 300)], 100, true),
        (&[(0, 100), (200, 100), (400, 100), (150, 150)], 100, false),
    ];
    for (ranges, old, out_of_order) in cases {
        let novelty = sent(ranges).1;
        assert_eq!((novelty.old, novelty.out_of_order), (old, out_of_order), "{ranges:?}");
    }
}

#[test]
fn what_was_acknowledged_is_remembered() {
    let (mut sent, _) = sent(&[(0, 100), (100, 100), (300, 100)]);
    let covered = sent.acknowledge(200).expect("two segments");
    assert_eq!((covered.last.first, covered.retransmitted), (100, false));
    assert_eq!(sent.oldest(), Some(300));
    assert_eq!(sent.add(50, 150, 9).old, 100);
    assert!(sent.add(200, 300, 9).out_of_order);
    assert_eq!(sent.acknowledge(400).expect("the rest").last.end, 400);
    assert_eq!((sent.is_idle(), sent.end()), (true, Some(400)));
    assert_eq!(sent.add(250, 260, 10).old, 10);
}

#[test]
fn without_acknowledgments_memory_stays_bounded() {
    let mut sent = Sent::default();
    for number in 0..3 * FLIGHT as u64 {
        sent.add(number * 20, number * 20 + 10, number);
    }
    assert_eq!((sent.flight.len(), sent.acknowledged.len()), (FLIGHT, 2 * FLIGHT));
    assert_eq!(sent.add(0, 10, 0).old, 10);
    assert_eq!(sent.add(10, 20, 0).old, 0, "a hole is one however many there are");
    // Without holes it is one range.
    let mut sent = Sent::default();
    for number in 0..3 * FLIGHT as u64 {
        sent.add(number * 10, number * 10 + 10, number);
    }
    assert_eq!((sent.flight.len(), sent.acknowledged.len()), (FLIGHT, 1));
}

/// D4 of issue 20: 10 000 segments of one byte in descending order with a hole below each, then the
/// holes, then everything again.
#[test]
fn bytes_are_counted_right_at_any_number_of_holes() {
    const SEGMENTS: u64 = 10_000;
    let mut sent = Sent::default();
    let old = |sent: &mut Sent, bytes: &mut dyn Iterator<Item = u64>| -> u64 {
        bytes.map(|byte| sent.add(byte, byte + 1, byte).old).sum()
    };
    assert_eq!(old(&mut sent, &mut (0..SEGMENTS).rev().map(|place| 2 * place)), 0);
    assert_eq!(old(&mut sent, &mut (0..SEGMENTS).map(|place| 2 * place + 1)), 0);
    assert_eq!(old(&mut sent, &mut (0..2 * SEGMENTS)), 2 * SEGMENTS);
}

proptest! {
    /// Compares with a set of bytes.
    #[test]
    fn bytes_are_counted_right(steps in prop::collection::vec((0_u64..300, 1_u64..60, prop::option::of(0_u64..300)), 1..60)) {
        let mut sent = Sent::default();
        let mut bytes = BTreeSet::new();
        for (time, (first, length, acknowledged)) in steps.into_iter().enumerate() {
            let old = (first..first + length).filter(|byte| !bytes.insert(*byte)).count() as u64;
            prop_assert_eq!(sent.add(first, first + length, time as u64).old, old);
            if let Some(place) = acknowledged {
                sent.acknowledge(place);
            }
            let ranges: Vec<_> = sent.acknowledged.iter().map(|range| (*range.0, *range.1)).chain(sent.flight.iter().map(|piece| (piece.first, piece.end))).collect();
            prop_assert!(ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0));
            prop_assert_eq!(ranges.iter().map(|range| range.1 - range.0).sum::<u64>(), bytes.len() as u64);
        }
    }
}
