use super::*;
use crate::example;
use crate::units::Time;
use proptest::prelude::*;

#[test]
fn counts_what_happened() {
    let mut summary = Summary::default();
    let (link, down) = (LinkId(3), Direction::Down);
    for _ in 0..4 {
        summary.entered(link, down, 100);
    }
    let ended = EndedPacket { link, direction: down, length: 100, ..example::delivered(0, 1_000, 5_000) };
    summary.ended(&ended);
    let found_by = Some(packet::Check::TcpEnd);
    summary.ended(&EndedPacket {
        bits_flipped: 2,
        found_by,
        overtaken: 1,
        left: Time::from_nanos(10_000),
        ..ended
    });
    summary.ended(&EndedPacket { copy: true, congestion_marked: true, ..ended });
    summary.ended(&EndedPacket { outcome: Outcome::Lost(Loss::Outage), bits_flipped: 1, ..ended });
    let way = summary.way(link, down);
    assert_eq!((way.packets, way.bytes, way.delivered, way.delivered_bytes), (4, 400, 3, 300));
    assert_eq!(
        (way.lost, way.damaged, way.duplicated, way.reordered, way.congestion_marked),
        (1, 1, 1, 1, 1)
    );
    assert_eq!(way.lost_by_reason.iter().collect::<Vec<_>>(), [(Loss::Outage, 1)]);
    let nanos = |span: Option<Span>| span.map(Span::as_nanos);
    assert_eq!(nanos(way.delay.min()), Some(4_000));
    assert_eq!(nanos(way.delay.mean()), Some((4_000 + 9_000 + 4_000) / 3));
    assert_eq!(nanos(way.delay.max()), Some(9_000));
    assert_eq!(summary.way(LinkId(0), Direction::Up), Counters::default());
    assert_eq!(summary.total(down), way);
    insta::assert_snapshot!(serde_json::to_string_pretty(&way).expect("JSON"));
}

proptest! {
    #[test]
    fn merged_parts_are_the_whole(ends in prop::collection::vec((example::ended(), any::<bool>()), 0..60)) {
        let (mut whole, mut parts) = (Summary::default(), [Summary::default(), Summary::default()]);
        for (ended, second) in &ends {
            for summary in [&mut whole, &mut parts[usize::from(*second)]] {
                summary.entered(ended.link, ended.direction, ended.length);
                summary.ended(ended);
            }
        }
        let [mut first, second] = parts;
        first.merge(&second);
        prop_assert_eq!(first, whole);
    }
}

/// Totals are those of one direction of all links.
#[test]
fn totals_are_per_direction() {
    let mut summary = Summary::default();
    let ways = [(0, Direction::Up), (1, Direction::Up), (1, Direction::Down)];
    for (place, (link, direction)) in ways.into_iter().enumerate() {
        summary.entered(LinkId(link), direction, 10_u32.pow(place as u32));
    }
    assert_eq!(Direction::BOTH.map(|direction| summary.total(direction).bytes), [11, 100]);
    assert_eq!(summary.iter().count(), 3);
    assert_eq!(summary.way(LinkId(0), Direction::Down), Counters::default());
}

#[test]
fn lengths_of_nothing_and_of_a_long_time() {
    let mut spread = Spread::default();
    assert_eq!((spread.min(), spread.mean(), spread.max(), spread.count()), (None, None, None, 0));
    spread.add(Span::ZERO);
    assert_eq!((spread.min(), spread.max()), (Some(Span::ZERO), Some(Span::ZERO)));
    // The sum has more than 64 bits.
    spread.add(Span::from_nanos(u64::MAX));
    spread.add(Span::from_nanos(u64::MAX));
    assert_eq!(spread.mean(), Some(Span::from_nanos(u64::MAX / 3 * 2)));
    assert_eq!((spread.min(), spread.max()), (Some(Span::ZERO), Some(Span::from_nanos(u64::MAX))));
}
