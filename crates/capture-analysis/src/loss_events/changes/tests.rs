use super::*;
use crate::loss_events::tests::row;
use CongestionState::{Cwr, Disorder, Loss, Open, Recovery};
use loss_differentiation::{LossVerdict, Reason};

/// Returns kind, time, time of the first row that shows it, and the range that was outstanding.
fn found(rows: &[Seen]) -> Vec<(LossDetection, u64, u64, u32, u32)> {
    let of = |change: &Change| {
        (change.kind, change.at.as_nanos(), change.seen.as_nanos(), change.snd_una, change.snd_nxt)
    };
    changes(rows).iter().map(of).collect()
}

/// tcp_probe shows the state before a segment: the recovery that row 30 shows began at the segment
/// of row 20. The outstanding data is that of row 20, because the additional data in row 30 was
/// sent later. The acknowledged data is that of row 30.
#[test]
fn recovery_begins_at_the_segment_before() {
    let rows = [
        row(10, 1000, 2000),
        row(20, 1000, 2000).in_state(Disorder),
        row(30, 1100, 2300).in_state(Recovery).windows(9, 5),
        row(40, 1100, 2400).in_state(Recovery).windows(8, 5),
        row(50, 2000, 2500).windows(5, 5),
    ];
    assert_eq!(found(&rows), [(LossDetection::Recovery, 20, 30, 1100, 2000)]);
    let change = changes(&rows)[0];
    assert_eq!((change.cwnd, change.ssthresh), ([10, 9], [Some(8), Some(5)]));
}

/// A timer expires between two segments, after the sender has sent all that the earlier one
/// triggered.
#[test]
fn a_timeout_lies_between_two_segments() {
    let rows = [
        row(10, 1000, 2000),
        row(900, 1000, 2500).in_state(Loss).windows(1, 5),
        row(950, 1100, 2500).in_state(Loss),
    ];
    assert_eq!(found(&rows), [(LossDetection::Timeout, 10, 900, 1000, 2500)]);
}

#[test]
fn every_way_into_a_state_is_an_event_and_no_way_out() {
    let rows = [Open, Cwr, Recovery, Loss, Recovery, Open, Disorder, Open];
    let rows: Vec<Seen> =
        rows.into_iter().zip(0..).map(|(state, at)| row(at, 1000, 2000).in_state(state)).collect();
    let kinds: Vec<LossDetection> = changes(&rows).iter().map(|change| change.kind).collect();
    assert_eq!(
        kinds,
        [LossDetection::Cwr, LossDetection::Recovery, LossDetection::Timeout, LossDetection::Recovery]
    );
}

/// There is no event if no row shows its beginning, or if the sender's state is not recorded.
#[test]
fn what_the_rows_do_not_show() {
    assert_eq!(found(&[row(10, 1000, 2000).in_state(Recovery), row(20, 1500, 2000).in_state(Recovery)]), []);
    assert_eq!(found(&[row(10, 1000, 2000), Seen { state: None, ..row(20, 1000, 2000) }]), []);
    assert_eq!(found(&[]), []);
}

/// The ACK that ends a recovery can reveal the next loss: then the state is the same in both rows.
#[test]
fn a_recovery_right_behind_another() {
    let begun = [row(10, 1000, 2000), row(20, 1000, 2200).in_state(Recovery).windows(8, 5)];
    let with = |una, ssthresh| {
        let next = row(30, una, 2600).in_state(Recovery).windows(5, ssthresh);
        found(&[begun[0], begun[1], next])
    };
    assert_eq!(with(1900, 5).len(), 1, "a partial ACK");
    assert_eq!(with(1900, 3).len(), 1, "the threshold alone says nothing");
    assert_eq!(with(2000, 5).len(), 1, "without SACK it stays in recovery here");
    assert_eq!(with(2000, 3)[1..], [(LossDetection::Recovery, 20, 30, 2000, 2200)]);
    assert_eq!(with(2100, 2)[1..], [(LossDetection::Recovery, 20, 30, 2100, 2200)]);
    // The numbers of the current recovery count, not those of the first.
    let rows = [row(1, 100, 500), begun[0], begun[1], row(30, 1900, 2600).in_state(Recovery)];
    assert_eq!(found(&rows), [(LossDetection::Recovery, 10, 20, 1000, 2000)]);
}

#[test]
fn numbers_wrap() {
    let high = u32::MAX - 99;
    let begun = [row(10, high, 100), row(20, high, 300).in_state(Recovery)];
    let with = |una| found(&[begun[0], begun[1], row(30, una, 400).in_state(Recovery)]);
    assert_eq!(with(50).len(), 1);
    assert_eq!(with(150)[1..], [(LossDetection::Recovery, 20, 30, 150, 300)]);
}

/// A timeout during recovery from another one keeps the state and reduces the window again.
#[test]
fn a_second_timeout() {
    let rows = [
        row(10, 1000, 2000),
        row(500, 1000, 2000).in_state(Loss).windows(1, 5),
        row(510, 1100, 2000).in_state(Loss).windows(2, 5),
        row(900, 1100, 2000).in_state(Loss).windows(1, 5),
    ];
    assert_eq!(found(&rows)[1..], [(LossDetection::Timeout, 510, 900, 1100, 2000)]);
}

fn judged(events: u32, timeouts: u32, local: u32) -> Judged {
    let verdict = Some(LossVerdict::Wireless);
    Judged {
        n: 1,
        verdict,
        reason: Some(Reason::Detector),
        base: 10,
        events,
        timeouts,
        local,
        ..Judged::default()
    }
}

fn counting(row: Seen, events: u32, timeouts: u32, local: u32) -> Seen {
    Seen { judged: Some(judged(events, timeouts, local)), ..row }
}

/// A recovery right after a reduction does not reduce the window again and is not judged: the
/// recorded verdict is that of the earlier event.
#[test]
fn a_verdict_belongs_to_the_event_that_was_counted() {
    let rows = [
        counting(row(10, 1000, 2000), 0, 0, 0),
        counting(row(20, 1000, 2000).in_state(Cwr), 0, 0, 1),
        counting(row(30, 1000, 2000).in_state(Recovery), 0, 0, 1),
        counting(row(40, 2000, 3000), 0, 0, 1),
        counting(row(50, 2000, 3000).in_state(Recovery), 1, 0, 1),
        counting(row(60, 2000, 3000).in_state(Loss), 1, 1, 1),
    ];
    let changes = changes(&rows);
    let verdicts: Vec<_> = changes.iter().map(|change| (change.kind, change.judged)).collect();
    // Without earlier counters the recorded verdict is used as it is.
    let first = [row(10, 1000, 2000), counting(row(20, 1000, 2000).in_state(Recovery), 4, 0, 1)];
    assert_eq!(super::changes(&first)[0].judged, Some(judged(4, 0, 1)));
    assert_eq!(
        verdicts,
        [
            (LossDetection::Cwr, Some(judged(0, 0, 1))),
            (LossDetection::Recovery, None),
            (LossDetection::Recovery, Some(judged(1, 0, 1))),
            (LossDetection::Timeout, Some(judged(1, 1, 1))),
        ]
    );
}

/// Counters reveal what the states do not: a reduction that ended at once, a recovery right after
/// another one, a timeout with the window already at 1.
#[test]
fn counters_tell_more_than_states() {
    let rows = [
        counting(row(10, 1000, 2000), 0, 0, 0),
        counting(row(20, 1000, 2000), 0, 0, 1),
        counting(row(30, 1000, 2000).in_state(Recovery), 1, 0, 1),
        counting(row(40, 1500, 2000).in_state(Recovery), 1, 0, 1),
        counting(row(50, 2000, 2500).in_state(Recovery), 2, 0, 1),
        counting(row(60, 2000, 2500).in_state(Loss).windows(1, 2), 2, 1, 1),
        counting(row(70, 2000, 2500).in_state(Loss).windows(1, 2), 2, 2, 1),
    ];
    let kinds: Vec<_> = found(&rows).iter().map(|change| (change.0, change.1)).collect();
    let (recovery, timeout) = (LossDetection::Recovery, LossDetection::Timeout);
    assert_eq!(
        kinds,
        [(LossDetection::Cwr, 10), (recovery, 20), (recovery, 40), (timeout, 50), (timeout, 60)]
    );
}
