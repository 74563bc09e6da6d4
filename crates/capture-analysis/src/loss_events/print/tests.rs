use super::*;
use crate::loss_events::tests::ENDS;
use crate::loss_events::{Cause, Change, Judged, LossDetection, Truth};
use capture::Time;
use loss_differentiation::{LossVerdict, Reason};

fn sample() -> Vec<LossEvent> {
    let event = |at_us: u64, kind, cwnd, ssthresh, judged, segments, cause| LossEvent {
        change: Change {
            at: Time::from_nanos(at_us * 1000),
            seen: Time::from_nanos(at_us * 1000 + 1),
            kind,
            cwnd: [cwnd, cwnd],
            ssthresh: [None, ssthresh],
            snd_una: 0,
            snd_nxt: 0,
            judged,
        },
        truth: Truth { packets: segments, segments, cause },
    };
    let judged = |n, verdict, reason| {
        Some(Judged { n, verdict: Some(verdict), reason: Some(reason), ..Judged::default() })
    };
    let (wireless, congestion) = (LossVerdict::Wireless, LossVerdict::Congestion);
    vec![
        event(
            76_000_250,
            LossDetection::Recovery,
            105,
            Some(84),
            judged(1, wireless, Reason::Detector),
            1,
            Cause::Wireless,
        ),
        event(
            181_500_000,
            LossDetection::Recovery,
            69,
            Some(34),
            judged(7, congestion, Reason::Detector),
            6,
            Cause::Mixed,
        ),
        event(
            182_000_000,
            LossDetection::Timeout,
            34,
            Some(17),
            judged(1, congestion, Reason::Timeout),
            3,
            Cause::Outage,
        ),
        event(190_000_000, LossDetection::Cwr, 5, Some(INFINITE_SSTHRESH), None, 0, Cause::None),
        event(191_000_000, LossDetection::Recovery, 5, None, None, 1, Cause::Congestion),
    ]
}

#[test]
fn a_line_an_event() {
    let expected = "\
10.0.0.1:5000 -> 10.0.0.2:80: 5 loss events
    time [s]  event      n  lost  cause       verdict     reason    cwnd  ssthresh
   76.000250  recovery   1     1  wireless    wireless    detector   105        84
  181.500000  recovery   7     6  mixed       congestion  detector    69        34
  182.000000  timeout    1     3  outage      congestion  timeout     34        17
  190.000000  reduction  -     0  none        -           -            5  infinite
  191.000000  recovery   -     1  congestion  -           -            5         -
";
    assert_eq!(events(ENDS, &sample()), expected);
    assert_eq!(events(ENDS, &[]), "10.0.0.1:5000 -> 10.0.0.2:80: 0 loss events\n");
    assert!(events(ENDS, &sample()[..1]).starts_with("10.0.0.1:5000 -> 10.0.0.2:80: 1 loss event\n"));
}
