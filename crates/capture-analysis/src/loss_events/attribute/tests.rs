use super::*;
use crate::loss_events::Cause::{self, Congestion, Mixed, None as Nothing, Wireless};
use crate::loss_events::tests::{fate, lost, lost_packets, row};
use capture::senders::CongestionState::{Loss as TimedOut, Open, Recovery};
use capture::{Fate, Loss};
use loss_differentiation::LossVerdict;

/// Returns packets, segments and cause of each event, and the number of packets without an event.
fn truths(rows: &[Seen], fates: &[Fate]) -> (Vec<(u32, u32, Cause)>, u64) {
    let (events, without) = attribute(rows, lost_packets(fates));
    (
        events.iter().map(|LossEvent { truth, .. }| (truth.packets, truth.segments, truth.cause)).collect(),
        without,
    )
}

/// Ten segments of 100 bytes from `base` on are outstanding; recovery begins at 20 and ends at 60.
fn one_recovery(base: u32) -> [Seen; 4] {
    let at = |offset: u32| base.wrapping_add(offset);
    [
        row(10, at(0), at(1000)),
        row(20, at(0), at(1000)),
        row(30, at(0), at(1300)).in_state(Recovery),
        row(60, at(1000), at(2000)),
    ]
}

#[test]
fn what_was_outstanding_and_lost_before() {
    let fates = [
        lost(5, 1000, Loss::Error),
        lost(6, 1300, Loss::Error),
        lost(7, 900, Loss::Error),      // acknowledged already: repaired earlier
        lost(8, 2000, Loss::QueueFull), // sent later than what recovery is about
        lost(21, 1500, Loss::Error),    // not lost yet when recovery began
        fate(9, 1400),
    ];
    assert_eq!(truths(&one_recovery(1000), &fates), (vec![(2, 2, Wireless)], 3));
}

/// A segment that is only partly acknowledged is outstanding, and so is the last one.
#[test]
fn at_the_edges() {
    assert_eq!(truths(&one_recovery(1000), &[lost(5, 901, Loss::Error)]).0, [(1, 1, Wireless)]);
    assert_eq!(truths(&one_recovery(1000), &[lost(5, 900, Loss::Error)]).0, [(0, 0, Nothing)]);
    assert_eq!(truths(&one_recovery(1000), &[lost(20, 1999, Loss::Error)]).0, [(1, 1, Wireless)]);
    assert_eq!(truths(&one_recovery(1000), &[lost(20, 2000, Loss::Error)]).0, [(0, 0, Nothing)]);
}

/// Damage counts as loss; together with a queue drop the cause is mixed; reordering alone is no
/// loss.
#[test]
fn causes_of_one_event() {
    let damaged = Fate { bits_flipped: 1, ..fate(5, 1000) };
    let full = lost(6, 1100, Loss::QueueFull);
    assert_eq!(truths(&one_recovery(1000), std::slice::from_ref(&damaged)).0, [(1, 1, Wireless)]);
    assert_eq!(truths(&one_recovery(1000), std::slice::from_ref(&full)).0, [(1, 1, Congestion)]);
    assert_eq!(truths(&one_recovery(1000), &[damaged, full]).0, [(2, 2, Mixed)]);
    assert_eq!(truths(&one_recovery(1000), &[]).0, [(0, 0, Nothing)]);
}

#[test]
fn numbers_wrap() {
    let base = u32::MAX - 449;
    let at = |offset: u32| base.wrapping_add(offset);
    let fates = [
        lost(5, at(0), Loss::Error),
        lost(6, at(400), Loss::Error), // across the end of the numbers
        lost(7, at(900), Loss::Error),
        lost(8, at(1000), Loss::Error),
        lost(9, at(0).wrapping_sub(100), Loss::Error),
    ];
    assert_eq!(truths(&one_recovery(base), &fates), (vec![(3, 3, Wireless)], 2));
}

/// After 4 GiB the same number is another byte: an old lost packet without an event is not mistaken
/// for it.
#[test]
fn numbers_that_come_again_are_others() {
    let mut rows = vec![row(1, 1000, 2000)];
    rows.extend((1..=8_u32).map(|step| {
        let una = 1000_u32.wrapping_add(step.wrapping_mul(1 << 29));
        row(10 * u64::from(step), una, una.wrapping_add(1000))
    }));
    rows.push(row(90, 1000, 2300).in_state(Recovery));
    assert_eq!(rows[8].snd_una, 1000);
    assert_eq!(truths(&rows, &[lost(1, 1500, Loss::Error)]), (vec![(0, 0, Nothing)], 1));
    assert_eq!(truths(&rows, &[lost(79, 1500, Loss::Error)]), (vec![(1, 1, Wireless)], 0));
}

/// Two events share no losses, and a loss after both belongs to neither.
#[test]
fn two_events_share_nothing() {
    let rows = [
        row(10, 1000, 2000),
        row(20, 1000, 2300).in_state(Recovery),
        row(30, 2000, 3000),
        row(40, 2000, 3300).in_state(Recovery),
        row(50, 3000, 3500),
    ];
    let fates = [
        lost(5, 1100, Loss::Error),
        lost(15, 2200, Loss::QueueFull),
        lost(16, 2300, Loss::QueueFull),
        lost(45, 3200, Loss::Error),
    ];
    assert_eq!(truths(&rows, &fates), (vec![(1, 1, Wireless), (2, 2, Congestion)], 1));
}

/// Recovery retransmits a segment, and the link drops it again: the first loss belongs to the
/// recovery, the second one to the timeout, with its own cause.
#[test]
fn a_retransmission_that_is_lost_again() {
    let rows = [
        row(10, 1000, 2000),
        row(20, 1000, 2300).in_state(Recovery),
        row(500, 1000, 2300).in_state(TimedOut).windows(1, 5),
        row(510, 2300, 2600),
    ];
    let fates = [lost(5, 1000, Loss::Error), lost(25, 1000, Loss::QueueFull)];
    assert_eq!(truths(&rows, &fates), (vec![(1, 1, Wireless), (1, 1, Congestion)], 0));
    // Lost again and again while the timer backs off: three packets, one segment.
    let fates = [
        fates[0].clone(),
        fates[1].clone(),
        lost(150, 1000, Loss::QueueFull),
        lost(300, 1000, Loss::QueueFull),
    ];
    assert_eq!(truths(&rows, &fates).0[1], (3, 1, Congestion));
}

/// Data that the last segment before a timeout triggered can be among the losses.
#[test]
fn a_timeout_is_about_all_that_was_lost_until_it_shows() {
    let rows =
        [row(10, 1000, 1000), row(900, 1000, 1300).in_state(TimedOut), row(910, 1300, 1300).in_state(Open)];
    let fates = [0, 100, 200].map(|offset| lost(15, 1000 + offset, Loss::Outage));
    assert_eq!(truths(&rows, &fates), (vec![(3, 3, Cause::Outage)], 0));
}

/// The sender's count of lost segments is kept beside the true one, for timeouts as well.
#[test]
fn n_beside_what_was_lost() {
    let judged = |n, events, timeouts| {
        let verdict = Some(LossVerdict::Wireless);
        Some(Judged { n, verdict, events, timeouts, ..Judged::default() })
    };
    let mut rows = one_recovery(1000);
    rows[1].judged = judged(0, 0, 0);
    rows[2].judged = judged(3, 1, 0);
    let event = attribute(&rows, lost_packets(&[lost(5, 1000, Loss::Error)])).0[0];
    assert_eq!((event.judged().map(|judged| judged.n), event.truth.segments), (Some(3), 1));
    rows[2] = Seen { judged: judged(3, 0, 1), ..rows[2].in_state(TimedOut) };
    let event = attribute(&rows, Vec::new()).0[0];
    assert_eq!((event.change.kind, event.judged().is_some()), (LossDetection::Timeout, true));
    rows[2] = Seen { judged: None, ..one_recovery(1000)[2] };
    assert_eq!(attribute(&rows, Vec::new()).0[0].judged(), None);
}
