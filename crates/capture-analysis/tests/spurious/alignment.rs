//! Acknowledgments and transmissions in the same order: a sender without SACK, a bottleneck, and a
//! receiver that answers at once.

use super::conversation::{MS, Packet, ack, data, examined, handshake};
use capture_analysis::spurious::{Evidence, Retransmission, SpuriousVerdict};
use proptest::prelude::*;

/// Data of a segment in bytes, and the bottleneck's time for one segment.
const SEGMENT: u32 = 100;
const SERVICE: u64 = 3 * MS;

/// Fate of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Arrives,
    /// Lost behind the bottleneck, whose time it took.
    Lost,
    /// Dropped before the bottleneck.
    Dropped,
}

use Fate::{Arrives, Dropped, Lost};

/// Returns the sender's capture of these segments, and the truth about each retransmission. `sent`
/// has times in ms, segment numbers and fates.
fn capture(sent: &[(u64, u32, Fate)]) -> (Vec<Packet>, Vec<SpuriousVerdict>) {
    let mut packets = handshake(false);
    let mut there = vec![false; 1 + sent.iter().map(|sent| sent.1).max().unwrap_or(0) as usize];
    let mut known = vec![false; there.len()];
    let (mut gone, mut truth) = (0, Vec::new());
    for &(at, number, fate) in sent {
        packets.push(data(at, 1001 + number * SEGMENT, SEGMENT as usize));
        let number = number as usize;
        if std::mem::replace(&mut known[number], true) {
            truth.push(if there[number] { SpuriousVerdict::Spurious } else { SpuriousVerdict::Necessary });
        }
        if fate == Dropped {
            continue;
        }
        gone = (at * MS + 20 * MS).max(gone) + SERVICE;
        if fate == Arrives {
            there[number] = true;
            let next = there.iter().position(|there| !there).unwrap_or(there.len());
            let answer = ack(0, 1001 + next as u32 * SEGMENT);
            packets.push(Packet { at: gone + 17 * MS, ..answer });
        }
    }
    (packets, truth)
}

/// Returns alignment's verdict on each retransmission, with the truth.
fn said(sent: &[(u64, u32, Fate)]) -> Vec<(SpuriousVerdict, SpuriousVerdict)> {
    let (packets, truth) = capture(sent);
    let examined = examined(&[packets]);
    let alignment = |again: &Retransmission| again.signs.of(Evidence::Alignment);
    examined.retransmissions.iter().map(alignment).zip(truth).collect()
}

/// Segments in a row, some of which are lost behind the bottleneck.
fn row(from: u64, numbers: std::ops::Range<u32>, lost: &[u32]) -> Vec<(u64, u32, Fate)> {
    let fate = |number| if lost.contains(&number) { Lost } else { Arrives };
    numbers
        .clone()
        .map(|number| (from + u64::from(number - numbers.start) * 3, number, fate(number)))
        .collect()
}

/// Segment 0 is lost twice, and 7 and 12 once; all segments above the hole are retransmitted. The
/// only clues are the number of duplicates and their times.
#[test]
fn which_of_many_was_lost_behind_a_hole_is_told_by_the_gap_it_leaves() {
    let first = row(100, 0..20, &[0, 7, 12]);
    let again = row(400, 0..20, &[0]);
    let sent = [first, again, row(700, 0..1, &[]), row(800, 20..24, &[])].concat();
    let said = said(&sent);
    assert_eq!(said.len(), 21);
    for (number, (said, truth)) in said.into_iter().enumerate() {
        assert_eq!(said, truth, "retransmission {number}");
        assert_eq!(said == SpuriousVerdict::Necessary, [0, 7, 12, 20].contains(&number));
    }
}

/// Two truths give one capture: two segments are sent at once, and one of them does not reach the
/// bottleneck. Nothing shows which one.
#[test]
fn what_leaves_no_gap_cannot_be_told() {
    let sent = |one: Fate, other: Fate| {
        let mut first = row(100, 0..14, &[0]);
        first[8].2 = one;
        first[9] = (first[8].0, 9, other);
        [first, row(400, 0..14, &[0]), row(700, 0..1, &[]), row(800, 14..18, &[])].concat()
    };
    let (eight, nine) = (sent(Dropped, Arrives), sent(Arrives, Dropped));
    let written = |sent: &[_]| super::conversation::capture(&capture(sent).0);
    assert_eq!(written(&eight), written(&nine));
    assert_ne!(capture(&eight).1, capture(&nine).1);
    let said = said(&eight);
    assert_eq!([said[8].0, said[9].0], [SpuriousVerdict::Unknown; 2]);
    assert_eq!([said[7].0, said[10].0], [SpuriousVerdict::Spurious; 2]);
}

/// A path that changes the order leaves acknowledgments over: nothing sent after what was answered
/// can have caused them.
#[test]
fn nothing_is_said_of_a_path_that_changes_the_order() {
    let mut packets = handshake(false);
    for block in 0..12 {
        let (at, first) = (100 + 100 * u64::from(block), 1001 + 600 * block);
        packets.extend((0..6).map(|n| data(at + 3 * u64::from(n), first + 100 * n, 100)));
        // The first of six arrives last; the sender retransmits it before it knows.
        packets.extend((0..5).map(|n| ack(at + 46 + 3 * n, first)));
        packets.push(data(at + 53, first, 100));
        packets.push(ack(at + 61, first + 600));
        packets.push(ack(at + 93, first + 600));
    }
    // Then one segment is lost, and all of 40 are retransmitted in order.
    let first = 1001 + 7200;
    packets.extend((0..40).map(|n| data(3000 + 3 * u64::from(n), first + 100 * n, 100)));
    packets.extend((1..40).map(|n| ack(3043 + 3 * n, first)));
    packets.extend((0..40).map(|n| data(3400 + 3 * u64::from(n), first + 100 * n, 100)));
    packets.extend((0..40).map(|n| ack(3443 + 3 * n, first + 4000)));
    packets.extend((40..44).map(|n| data(3700 + 3 * u64::from(n), first + 100 * n, 100)));
    packets.extend((40..44).map(|n| ack(3743 + 3 * u64::from(n), first + 100 * n + 100)));
    let said = |packets: &[Packet]| -> Vec<_> {
        let alignment = |again: &Retransmission| (again.signs.of(Evidence::Alignment), again.verdict);
        examined(&[packets.to_vec()]).retransmissions.iter().map(alignment).collect()
    };
    let all = said(&packets);
    assert_eq!(all.len(), 12 + 40);
    assert!(all.iter().all(|said| said.0 == SpuriousVerdict::Unknown));
    assert!(all[..12].iter().all(|said| said.1 == SpuriousVerdict::Spurious), "sooner than any round trip");
    // The last part alone is sufficient for verdicts.
    let mut alone = handshake(false);
    alone.extend(packets.iter().filter(|packet| packet.at >= 3000 * MS).cloned().map(|packet| Packet {
        seq: if packet.back { packet.seq } else { packet.seq - 7200 },
        ack: if packet.back { packet.ack - 7200 } else { packet.ack },
        ..packet
    }));
    assert!(said(&alone)[1..].iter().all(|said| said.0 == SpuriousVerdict::Spurious));
}

proptest! {
    /// The clock is set, forwards or back, during the conversation. No verdict can be expected to
    /// be true, but the analysis must end.
    #[test]
    fn a_clock_that_is_set_does_no_harm(
        first in prop::collection::vec(prop::bool::weighted(0.2), 30),
        set in prop::collection::vec((any::<prop::sample::Index>(), 0..2_000_000_000_u32), 1..8),
    ) {
        let lost: Vec<u32> = (0..30).filter(|number| *number == 0 || first[*number as usize]).collect();
        let sent = [row(100, 0..30, &lost), row(400, 0..30, &[0]), row(700, 0..30, &[])].concat();
        let mut bytes = super::conversation::capture(&capture(&sent).0);
        let mut records = Vec::new();
        let mut at = 24;
        while at < bytes.len() {
            records.push(at);
            let length = bytes[at + 8..at + 12].try_into().expect("four bytes");
            at += 16 + u32::from_le_bytes(length) as usize;
        }
        for (record, seconds) in set {
            let at = records[record.index(records.len())];
            bytes[at..at + 4].copy_from_slice(&seconds.to_le_bytes());
        }
        capture_analysis::fuzz::directions(&bytes);
    }

    /// Whatever is lost behind the bottleneck, of originals and of retransmissions: every verdict
    /// is true.
    #[test]
    fn what_is_said_of_a_path_that_keeps_the_order_is_true(
        first in prop::collection::vec(prop::bool::weighted(0.2), 30),
        again in prop::collection::vec(prop::bool::weighted(0.2), 30),
    ) {
        let lost = |lost: &[bool]| (0..30).filter(|number| *number == 0 || lost[*number as usize]).collect::<Vec<u32>>();
        let sent = [
            row(100, 0..30, &lost(&first)),
            row(400, 0..30, &lost(&again)),
            row(700, 0..30, &[]),
            row(1000, 30..34, &[]),
        ]
        .concat();
        let said = said(&sent);
        prop_assert_eq!(said.len(), 60);
        for (number, (said, truth)) in said.iter().enumerate() {
            prop_assert!(said == truth || *said == SpuriousVerdict::Unknown, "retransmission {}: {:?}", number, (said, truth));
        }
        let open = said.iter().filter(|(said, _)| *said == SpuriousVerdict::Unknown).count();
        prop_assert!(open <= 6, "{} of 60 are unknown", open);
    }
}
