//! Verdicts from a capture at the sender.

use super::conversation::{Packet, ack, data, handshake, sack, said, seen, stamped};
use capture_analysis::analysis::{self, AnalysisOptions, Unwatched};
use capture_analysis::retransmission::Cause;
use capture_analysis::spurious::Evidence::{
    Acknowledged, DuplicateSack, Forward, Gap, RoundTrip, Timestamps,
};
use capture_analysis::spurious::SpuriousVerdict::{Necessary, Spurious, Unknown};
use std::path::Path;

/// LL-34, RFC 3522: the first acknowledgment after a retransmission echoes the original's time
/// stamp, or the retransmission's.
#[test]
fn ll_34_an_older_echo_is_the_originals() {
    let packets = [
        stamped(data(100, 1001, 100), 100, 1),
        stamped(data(500, 1001, 100), 500, 1),
        stamped(ack(550, 1101), 2, 100),
        stamped(data(600, 1101, 100), 600, 2),
        stamped(data(1100, 1101, 100), 1100, 2),
        stamped(ack(1150, 1201), 3, 1100),
    ];
    let seen = seen(true, &packets);
    assert_eq!(said(&seen, Timestamps), [Spurious, Necessary]);
    assert_eq!((seen[0].verdict, seen[0].evidence), (Spurious, Some(Timestamps)));
    assert_eq!(seen[0].cause, Cause::Timeout);
}

/// A clock of 1 s: original and retransmission have the same time stamp, so the echo is ambiguous.
/// For a later retransmission it is not.
#[test]
fn ll_34_a_coarse_clock_tells_nothing() {
    let packets = [
        stamped(data(100, 1001, 100), 7, 1),
        stamped(data(500, 1001, 100), 7, 1),
        stamped(ack(550, 1101), 2, 7),
        stamped(data(600, 1101, 100), 7, 2),
        stamped(data(1000, 1101, 100), 7, 2),
        stamped(data(1600, 1101, 100), 8, 2),
        stamped(ack(1650, 1201), 3, 7),
    ];
    assert_eq!(said(&seen(true, &packets), Timestamps), [Unknown, Unknown, Spurious]);
}

/// One acknowledgment for two segments echoes the first of them. Both were retransmitted before it
/// came: if the second one's original had been lost, the first one's retransmission would have been
/// acknowledged separately.
#[test]
fn an_echo_tells_of_segments_behind_the_edge() {
    let spurious = [
        stamped(data(100, 1001, 100), 100, 1),
        stamped(data(101, 1101, 100), 101, 1),
        stamped(data(500, 1001, 100), 500, 1),
        stamped(data(501, 1101, 100), 501, 1),
        stamped(ack(530, 1201), 2, 100),
    ];
    assert_eq!(said(&seen(true, &spurious), Timestamps), [Spurious, Spurious]);
    // Both originals were lost.
    let mut necessary = spurious.clone();
    necessary[4] = stamped(ack(545, 1201), 2, 500);
    assert_eq!(said(&seen(true, &necessary), Timestamps), [Necessary, Necessary]);
    // Without SACK the second one may have arrived, and waited for the first.
    assert_eq!(said(&seen(false, &necessary), Timestamps), [Necessary, Unknown]);
    // The first one was not retransmitted: its late acknowledgment may answer the second one's
    // retransmission.
    let probe: Vec<Packet> = [0, 1, 3, 4].map(|at| spurious[at].clone()).into();
    assert_eq!(said(&seen(true, &probe), Timestamps), [Unknown]);
}

/// RFC 2883: a report is about the latest retransmission that can have been answered.
#[test]
fn a_duplicate_sack_tells_of_the_last_one_that_had_the_time() {
    let packets = [
        data(100, 1001, 100),
        ack(140, 1101),
        data(150, 1101, 100),
        data(500, 1101, 100),
        data(900, 1101, 100),
        data(1300, 1101, 100),
        // Ten milliseconds after the third one: it answers the second.
        sack(1310, 1201, &[(1101, 1201)]),
    ];
    let seen = seen(true, &packets);
    // After the second one the third must be spurious as well. There is no verdict on the first,
    // since it is not known what was lost.
    assert_eq!(said(&seen, DuplicateSack), [Unknown, Spurious, Spurious]);
    assert_eq!(seen.iter().map(|again| again.repeated).collect::<Vec<_>>(), [0, 1, 2]);
}

/// RFC 3708: a receiver that reports duplicates does not report this one, although later data was
/// acknowledged.
#[test]
fn the_want_of_a_duplicate_sack_is_a_sign_only_where_reports_are_sent() {
    let first = [data(100, 1001, 100), data(500, 1001, 100), ack(540, 1101)];
    let second = [
        data(600, 1101, 100),
        data(1000, 1101, 100),
        ack(1040, 1201),
        data(1100, 1201, 100),
        ack(1140, 1301),
    ];
    let with = [first.to_vec(), vec![sack(541, 1101, &[(1001, 1101)])], second.to_vec()].concat();
    assert_eq!(said(&seen(true, &with), DuplicateSack), [Spurious, Necessary]);
    let without = [first.to_vec(), second.to_vec()].concat();
    assert_eq!(said(&seen(true, &without), DuplicateSack), [Unknown, Unknown]);
}

/// RFC 5682 section 2.1: after the timeout the acknowledgments advance over data that was sent just
/// once.
#[test]
fn ll_27_forward_acknowledgments_after_a_timeout() {
    let window =
        |from: u64| (0..4).map(|n| data(from + u64::from(n), 1001 + n * 100, 100)).collect::<Vec<_>>();
    let late = |tail: Vec<Packet>| [window(100), vec![data(500, 1001, 100)], tail].concat();
    // Step 2, at the first acknowledgment, since it also covers the second segment.
    let first = seen(false, &late(vec![ack(900, 1201), ack(901, 1401)]));
    assert_eq!(said(&first, Forward), [Spurious]);
    assert_eq!((first[0].cause, first[0].evidence), (Cause::Timeout, Some(Forward)));
    // Step 3: at the second one.
    assert_eq!(said(&seen(false, &late(vec![ack(900, 1101), ack(901, 1201)])), Forward), [Spurious]);
    // A real loss: duplicate acknowledgments had reported that the others were there.
    let lost =
        [window(100), vec![ack(145, 1001), ack(146, 1001), data(500, 1001, 100), ack(540, 1401)]].concat();
    assert_eq!(said(&seen(false, &lost), Forward), [Necessary]);
    // The same with SACK.
    let lost = [
        window(100)[..3].to_vec(),
        vec![
            sack(145, 1001, &[(1101, 1301)]),
            data(500, 1001, 100),
            ack(540, 1301),
            data(541, 1301, 100),
            ack(581, 1401),
        ],
    ]
    .concat();
    assert_eq!(said(&seen(true, &lost), Forward), [Necessary]);
    // All were lost, and all are retransmitted: there is no evidence.
    let go_back = vec![
        ack(540, 1101),
        data(541, 1101, 100),
        data(541, 1201, 100),
        ack(581, 1301),
        data(582, 1301, 100),
        ack(622, 1401),
    ];
    assert_eq!(said(&seen(false, &late(go_back)), Forward), [Unknown; 4]);
}

/// RFC 5682 section 3: with SACK a new block shows the originals, although one of them was lost.
#[test]
fn ll_27_a_new_block_after_a_timeout() {
    let packets = [
        data(100, 1001, 100),
        data(101, 1101, 100),
        data(102, 1201, 100),
        data(500, 1001, 100),
        ack(900, 1101),
        sack(901, 1101, &[(1201, 1301)]),
    ];
    assert_eq!(said(&seen(true, &packets), Forward), [Spurious]);
}

/// LL-28: reordering alone. There are three duplicates, the segment is retransmitted, and its
/// acknowledgment comes ten milliseconds later.
#[test]
fn ll_28_sooner_than_any_round_trip() {
    let mut packets: Vec<_> = (0..6).map(|n| data(100 + u64::from(n), 1001 + n * 100, 100)).collect();
    packets.extend((0..3).map(|n| ack(142 + n, 1001)));
    packets.push(data(144, 1001, 100));
    let late = |at| [packets.clone(), vec![ack(at, 1601)]].concat();
    let spurious = seen(false, &late(154));
    assert_eq!((spurious[0].cause, said(&spurious, RoundTrip)[0]), (Cause::Fast, Spurious));
    assert_eq!(said(&seen(false, &late(184)), RoundTrip), [Necessary]);
    // Nine tenths of the 40 ms: times in a capture are not exactly those on the wire.
    assert_eq!(said(&seen(false, &late(181)), RoundTrip), [Necessary]);
    assert_eq!(said(&seen(false, &late(179)), RoundTrip), [Spurious]);
}

/// Without SACK a timeout repeats the data above the hole. The acknowledgment that fills the hole
/// covers that data, so it was there.
#[test]
fn what_lies_beyond_a_filled_hole_was_there() {
    let mut packets: Vec<_> = (0..4).map(|n| data(100 + u64::from(n), 1001 + n * 100, 100)).collect();
    packets.extend([ack(141, 1001), ack(142, 1001)]);
    packets.extend([data(500, 1001, 100), data(501, 1101, 100), ack(545, 1401)]);
    let seen_now = seen(false, &packets);
    assert_eq!(said(&seen_now, Gap), [Unknown, Spurious]);
    assert_eq!(seen_now[1].evidence, Some(Gap));
    // With SACK the receiver would have reported it, so there is no verdict.
    assert_eq!(said(&seen(true, &packets), Gap), [Unknown, Unknown]);
    // Nothing shows that data is held above the hole: one acknowledgment may answer both.
    let lost: Vec<Packet> =
        [0, 1, 6, 7].map(|at| packets[at].clone()).into_iter().chain([ack(545, 1201)]).collect();
    assert_eq!(said(&seen(false, &lost), Gap), [Unknown, Unknown]);
    // The hole was filled by a transmission that was sent later.
    let mut later = packets.clone();
    later[8] = data(502, 1001, 100);
    later.extend([ack(590, 1401)]);
    later[8].at = 503 * super::conversation::MS;
    let refilled = [packets[..8].to_vec(), vec![data(505, 1001, 100), ack(545, 1401)]].concat();
    assert_eq!(said(&seen(false, &refilled), Gap)[1], Unknown);
}

/// Acknowledgment and retransmission crossed on the way, or SACK had reported the data.
#[test]
fn what_was_told_before_need_not_be_sent_again() {
    let told = [
        data(100, 1001, 100),
        data(101, 1101, 100),
        sack(141, 1001, &[(1101, 1201)]),
        data(500, 1101, 100),
        ack(545, 1201),
    ];
    assert_eq!(said(&seen(true, &told), Acknowledged), [Spurious]);
    let acknowledged =
        [data(100, 1001, 100), data(101, 1101, 100), ack(141, 1201), data(142, 1001, 100), ack(182, 1201)];
    assert_eq!(said(&seen(true, &acknowledged), Acknowledged), [Spurious]);
    let open = [data(100, 1001, 100), data(500, 1001, 100), ack(545, 1101)];
    assert_eq!(said(&seen(true, &open), Acknowledged), [Unknown]);
}

/// RFC 8985: SACK of two later segments and time, where RFC 6675 requires more than two.
#[test]
fn two_segments_told_of_and_time_make_it_rack() {
    let packets = |blocks: &[(u32, u32)]| {
        let mut packets: Vec<_> = (0..5).map(|n| data(100 + u64::from(n), 1001 + n * 100, 100)).collect();
        packets.extend([sack(142, 1001, blocks), data(152, 1001, 100), ack(192, 1501)]);
        packets
    };
    assert_eq!(seen(true, &packets(&[(1101, 1301)]))[0].cause, Cause::Rack);
    assert_eq!(seen(true, &packets(&[(1101, 1401)]))[0].cause, Cause::Fast);
    // Lost once more, and sent a third time during the recovery, before the timer expires: RFC 6675
    // does not do that.
    let mut again = packets(&[(1101, 1401)]);
    again.insert(7, data(200, 1001, 100));
    again[8].at += 50 * super::conversation::MS;
    let causes: Vec<_> = seen(true, &again).iter().map(|again| again.cause).collect();
    assert_eq!(causes, [Cause::Fast, Cause::Rack]);
}

/// RFC 5682 covers only timeouts, round-trip times say nothing about them and, without SACK,
/// nothing about data above a hole.
#[test]
fn evidence_keeps_to_what_it_can_tell_of() {
    // A fast retransmission whose acknowledgment covers data that was sent just once: F-RTO gives
    // no verdict.
    let mut packets: Vec<_> = (0..6).map(|n| data(100 + u64::from(n), 1001 + n * 100, 100)).collect();
    packets.extend((0..3).map(|n| ack(142 + n, 1001)));
    packets.extend([data(144, 1001, 100), ack(184, 1101), ack(185, 1201)]);
    assert_eq!(said(&seen(false, &packets), Forward), [Unknown]);
    // A timeout that is acknowledged a round trip later may have been a stall.
    let stall = [data(100, 1001, 100), data(500, 1001, 100), ack(545, 1101)];
    assert_eq!(said(&seen(false, &stall), RoundTrip), [Unknown]);
    // A fast retransmission above a hole that is filled a round trip later: it may have been there
    // all the time.
    let mut behind = packets[..10].to_vec();
    behind.extend([data(145, 1101, 100), ack(200, 1601)]);
    assert_eq!(said(&seen(false, &behind), RoundTrip), [Necessary, Unknown]);
    // SACK would have reported it.
    assert_eq!(said(&seen(true, &behind), RoundTrip), [Necessary, Necessary]);
    // At the edge itself a filled hole says nothing.
    assert_eq!(said(&seen(false, &behind), Gap)[0], Unknown);
    // F-RTO does not call data necessary that waited above the hole of a timeout.
    let timeout = [
        data(100, 1001, 100),
        data(101, 1101, 100),
        data(102, 1201, 100),
        ack(145, 1001),
        data(500, 1001, 100),
        data(501, 1101, 100),
        ack(545, 1301),
    ];
    assert_eq!(said(&seen(false, &timeout), Forward)[1], Unknown);
}

/// RFC 9293 section 3.8.4: a byte below what was acknowledged asks whether the other end is there.
/// It repairs nothing.
#[test]
fn keep_alives_are_no_retransmissions() {
    assert!(seen(true, &[data(100, 1001, 100), ack(140, 1101), data(60_000, 1100, 1)]).is_empty());
}

/// The counts of `lasthop analyze --long`, which stores no packets, beside the verdicts: they agree
/// where the counts can be known, and never exceed the verdicts.
#[test]
fn counts_without_packets_follow_the_same_rules() {
    let counted = |packets: &[Packet]| {
        let bytes = super::conversation::capture(&[handshake(true), packets.to_vec()].concat());
        let reader = capture::packets::Reader::new(&bytes[..]).expect("a capture");
        let trace = analysis::analyse(reader, Path::new("x"), &AnalysisOptions::default(), &mut Unwatched)
            .expect("no I/O error");
        let causes = trace.interfaces[0].connections.all()[0].halves[0].retransmissions();
        (causes.spurious_by_timestamps, causes.spurious_by_dsack)
    };
    let told = |packets: &[Packet]| {
        let seen = seen(true, packets);
        let count = |evidence| said(&seen, evidence).iter().filter(|said| **said == Spurious).count() as u64;
        (count(Timestamps), count(DuplicateSack))
    };
    // A stall: each original is acknowledged separately.
    let mut stall: Vec<_> =
        (0..3).map(|n| stamped(data(100 + u64::from(n), 1001 + n * 100, 100), 100 + n, 1)).collect();
    stall.extend([
        stamped(data(500, 1001, 100), 500, 1),
        stamped(ack(900, 1101), 2, 100),
        stamped(data(901, 1101, 100), 901, 2),
        stamped(ack(902, 1201), 3, 101),
    ]);
    assert_eq!((counted(&stall), told(&stall)), ((2, 0), (2, 0)));
    // The hole was lost, and its retransmission is echoed. The data above it had arrived, but the
    // echo says nothing about that.
    let behind = [
        stamped(data(100, 1001, 100), 100, 1),
        stamped(data(101, 1101, 100), 101, 1),
        stamped(data(500, 1001, 100), 500, 1),
        stamped(data(501, 1101, 100), 501, 1),
        stamped(ack(545, 1201), 2, 500),
    ];
    assert_eq!((counted(&behind), told(&behind)), ((0, 0), (0, 0)));
    // Time stamps show that the second retransmission was spurious. The report that follows is
    // about the same one; the first was necessary.
    let once = [
        stamped(data(100, 1001, 100), 100, 1),
        stamped(data(500, 1001, 100), 500, 1),
        stamped(data(900, 1001, 100), 900, 1),
        stamped(ack(945, 1101), 2, 500),
        stamped(sack(950, 1101, &[(1001, 1101)]), 3, 500),
    ];
    assert_eq!((counted(&once), told(&once)), ((1, 0), (1, 1)));
    // A report one round trip after the retransmission, and one that comes too soon, since the link
    // made a copy.
    for (at, count) in [(940, 1), (901, 0)] {
        let twice = sack(at, 1101, &[(1001, 1101)]);
        let reported = [data(100, 1001, 100), data(890, 1001, 100), ack(900, 1101), twice];
        assert_eq!((counted(&reported), told(&reported)), ((0, count), (0, count)));
    }
}
