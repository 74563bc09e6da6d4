use super::*;
use crate::loss_events::{Change, Judged, Truth};
use capture::Time;
use proptest::prelude::*;

fn event(kind: Kind, cause: TrueCause, verdict: Option<Verdict>, n: u32, segments: u32) -> LossEvent {
    LossEvent {
        change: Change {
            at: Time::ZERO,
            seen: Time::ZERO,
            kind,
            cwnd: [0, 0],
            ssthresh: [None, None],
            snd_una: 0,
            snd_nxt: 0,
            judged: verdict.map(|verdict| Judged { n, verdict: Some(verdict), ..Judged::default() }),
        },
        truth: Truth { packets: segments, segments, cause },
    }
}

/// Three wireless losses of which two are recognised, two of congestion of which one is, and what has no right verdict.
#[test]
fn shares_of_what_was_judged() {
    use Verdict::{Congestion, Wireless};
    let mut confusion = Confusion::default();
    for (cause, verdict) in [
        (TrueCause::Wireless, Some(Wireless)),
        (TrueCause::Wireless, Some(Wireless)),
        (TrueCause::Wireless, Some(Congestion)),
        (TrueCause::Wireless, None),
        (TrueCause::Congestion, Some(Congestion)),
        (TrueCause::Congestion, Some(Wireless)),
        (TrueCause::Outage, Some(Congestion)),
        (TrueCause::Mixed, Some(Wireless)),
        (TrueCause::None, None),
    ] {
        confusion.add(cause, verdict);
    }
    assert_eq!(confusion.share(TrueCause::Wireless, Wireless), Share { of: 2, all: 3 });
    assert_eq!(confusion.share(TrueCause::Congestion, Wireless), Share { of: 1, all: 2 });
    assert_eq!(confusion.right(), Share { of: 3, all: 5 });
    assert_eq!(confusion.judged_wireless(), Share { of: 4, all: 7 });
    assert_eq!((confusion.total(), confusion.count(TrueCause::None, None)), (9, 1));
    assert_eq!(confusion.share(TrueCause::None, Wireless).value(), None);
    assert_eq!(confusion.right().value(), Some(0.6));
}

#[test]
fn each_kind_counts_for_itself() {
    let wireless = Some(Verdict::Wireless);
    let events = [
        event(Kind::Recovery, TrueCause::Wireless, wireless, 1, 1),
        event(Kind::Recovery, TrueCause::Wireless, wireless, 2, 4),
        event(Kind::Recovery, TrueCause::Wireless, None, 0, 1),
        event(Kind::Timeout, TrueCause::Outage, Some(Verdict::Congestion), 1, 9),
        event(Kind::Cwr, TrueCause::None, Some(Verdict::Congestion), 1, 0),
    ];
    let tally: Tally = events.iter().collect();
    let totals = Kind::ALL.map(|kind| tally.of(kind).total());
    assert_eq!(totals, [3, 1, 1]);
    assert_eq!(tally.timeout.count(TrueCause::Outage, Some(Verdict::Congestion)), 1);
    assert_eq!(tally.differences.0, BTreeMap::from([(-2, 1), (0, 1)]));
    assert_eq!(tally.differences.right(), Share { of: 1, all: 2 });
}

fn events() -> impl Strategy<Value = Vec<LossEvent>> {
    let one = (0_usize..3, 0_usize..5, 0_usize..3, 0_u32..5, 0_u32..5).prop_map(
        |(kind, cause, verdict, n, lost)| {
            event(Kind::ALL[kind], TrueCause::ALL[cause], Verdict::ALL.get(verdict).copied(), n, lost)
        },
    );
    prop::collection::vec(one, 0..40)
}

proptest! {
    /// Runs counted one by one and added up are all their events counted at once.
    #[test]
    fn counts_add_up(runs in prop::collection::vec(events(), 0..5)) {
        let mut sum = Tally::default();
        for run in &runs {
            sum += &run.iter().collect::<Tally>();
        }
        let all: Tally = runs.iter().flatten().collect();
        prop_assert_eq!(&sum, &all);
        let totals: u64 = Kind::ALL.iter().map(|kind| sum.of(*kind).total()).sum();
        prop_assert_eq!(totals, runs.iter().flatten().count() as u64);
    }
}
