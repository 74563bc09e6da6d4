use super::*;

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
fn each_event_is_counted_in_one_place() {
    use capture::senders::Reason;
    let judged = event(Cause::Wireless, Taken::Congestion);
    let events = [
        (0, LossEvent { verdict: Some(Taken::Wireless), ..judged.clone() }),
        (1, judged.clone()),
        (2, LossEvent { reason: Some(Reason::NoSample), ..judged.clone() }),
        (2, LossEvent { verdict: None, reason: None, ..judged.clone() }),
        (3, LossEvent { kind: LossKind::Timeout, reason: Some(Reason::Timeout), ..judged.clone() }),
        (4, LossEvent { kind: LossKind::Reduction, reason: Some(Reason::Local), ..judged.clone() }),
    ];
    for (expected, event) in &events {
        assert_eq!(place(event), *expected, "{event:?}");
    }
    let events = events.map(|(_, event)| event);
    let tally = tally(&events);
    assert_eq!(tally.causes, [(Cause::Wireless, [1, 1, 2, 1, 1])].into());
    let row = OfCause::of(Cause::Wireless, tally.causes[&Cause::Wireless]);
    assert_eq!((row.wireless.of, row.wireless.all, row.wireless.value), (1, 2, Some(0.5)));
    assert_eq!((row.unjudged, row.timeouts, row.reductions), (2, 1, 1));
}

/// Newcombe 1998, table I, method 3.
#[test]
fn shares_have_wilsons_interval() {
    let share = Share::of(81, 263);
    let interval = share.interval.expect("an interval");
    assert!((interval.low - 0.2553).abs() < 5e-5 && (interval.high - 0.3662).abs() < 5e-5, "{interval:?}");
    let nothing = Share::of(0, 0);
    assert_eq!((nothing.value, nothing.interval), (None, None));
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
