use super::*;
use capture::Cause;
use capture::senders::LossVerdict as Taken;
use results::LossKind;

/// A recovery that a detector judged, with one segment lost.
fn event(cause: Cause, verdict: Taken) -> LossEvent {
    LossEvent {
        at_ns: 5,
        kind: LossKind::Recovery,
        n: Some(1),
        lost: 1,
        cause,
        verdict: Some(verdict),
        reason: Some(capture::senders::Reason::Detector),
        rtt_us: None,
        mean_ns: None,
        dev_ns: None,
        cwnd: 20,
        ssthresh: Some(16),
    }
}

fn tally(events: &[LossEvent]) -> Tally {
    let mut tally = Tally::default();
    tally.add(events);
    tally
}

#[test]
fn differences_beyond_the_edges_are_in_the_last_places() {
    let counted = |n, lost| LossEvent { n: Some(n), lost, ..event(Cause::Congestion, Taken::Congestion) };
    let mut events = vec![counted(1, 1), counted(1, 1), counted(3, 1), counted(1, 60), counted(7, 2)];
    events.push(LossEvent { n: None, ..counted(1, 9) });
    events.push(LossEvent { kind: LossKind::Timeout, ..counted(1, 9) });
    let counts = Counts::of(&tally(&events).differences).expect("counts");
    assert_eq!(counts.bins, [1, 0, 0, 0, 0, 2, 0, 1, 0, 0, 1]);
    assert_eq!((counts.right.of, counts.right.all), (2, 5));
    assert_eq!((counts.least, counts.greatest), (-59, 5));
    assert!((counts.mean - (-59.0 + 2.0 + 5.0) / 5.0).abs() < 1e-12);
    assert!((counts.shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    assert_eq!(Counts::of(&BTreeMap::new()), None);
}
