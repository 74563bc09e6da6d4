use super::*;
use proptest::prelude::*;

const CONGESTION: Judgement = Judgement::congestion(Reason::Detector);

fn wireless() -> Judgement {
    Judgement { verdict: LossVerdict::Wireless, ..CONGESTION }
}

/// Returns a sender in additive increase with this window.
fn sender(cwnd: u32, options: SenderOptions) -> Sender {
    Sender { window: Window::new(cwnd, 2), ..Sender::new(options) }
}

fn third_duplicate(sender: &mut Sender) -> bool {
    [sender.duplicate(), sender.duplicate(), sender.duplicate()] == [false, false, true]
}

/// N10, section 5.3.2: the window was 133 at its peak and 105 at the reduction; the loss is random,
/// so 84.
#[test]
fn the_vector_of_the_thesis() {
    let mut sender =
        sender(133, SenderOptions { base: BaseWindow::InFlightPlusThree, ..SenderOptions::STANDARD });
    assert!(third_duplicate(&mut sender));
    let event = sender.lose(1, wireless(), 133, 102).expect("a new event");
    assert_eq!((event.base, event.ssthresh, sender.window.cwnd), (105, 84, 87));
    // More in flight than the window: the window counts.
    let mut held =
        self::sender(105, SenderOptions { base: BaseWindow::InFlightPlusThree, ..SenderOptions::STANDARD });
    assert_eq!(held.lose(1, wireless(), 105, 200).map(|event| event.base), Some(105));
    let mut held = self::sender(133, SenderOptions::STANDARD);
    assert_eq!(held.lose(1, CONGESTION, 133, 102).map(|event| (event.base, event.ssthresh)), Some((133, 66)));
}

/// N11, spec 3.5: recovery step by step, with two of ten segments lost (0 and 4).
#[test]
fn recovery_with_a_partial_acknowledgement() {
    let mut sender = sender(10, SenderOptions::STANDARD);
    assert!(third_duplicate(&mut sender));
    let event = sender.lose(2, CONGESTION, 10, 10).expect("a new event");
    assert_eq!((event.n, event.base, event.ssthresh), (2, 10, 5));
    assert_eq!(sender.window.cwnd, 8, "ssthresh + 3");
    for cwnd in [9, 10, 11, 12, 13] {
        assert!(!sender.duplicate());
        assert_eq!(sender.window.cwnd, cwnd);
    }
    assert_eq!(sender.lose(1, wireless(), 13, 8), None, "the same event");
    assert_eq!(sender.acknowledge(4, Usage::FULL), Progress::Partial { retransmit: 4 });
    assert_eq!(sender.window.cwnd, 10, "13 - 4 + 1");
    assert_eq!(sender.acknowledge(4, Usage::FULL), Progress::Nothing);
    assert_eq!(sender.acknowledge(10, Usage::FULL), Progress::Full);
    assert_eq!((sender.window.cwnd, sender.in_recovery()), (5, false));
    assert_eq!(sender.acknowledge(15, Usage::FULL), Progress::Forward);
    assert_eq!(sender.window.cwnd, 6);
}

/// N11, AMB-N5, AMB-N8: the thesis's initial values; after a timeout 2 segments (thesis) or 1, and
/// no detector is asked.
#[test]
fn timeouts_are_congestion_and_start_slowly() {
    let mut thesis = Sender::new(SenderOptions::thesis(1448));
    assert_eq!((thesis.window.cwnd, thesis.window.ssthresh), (1, 45));
    for una in 1..=4 {
        thesis.acknowledge(una, Usage::FULL);
    }
    assert_eq!(thesis.window.cwnd, 5);
    thesis.lose(1, wireless(), 9, 5);
    let event = thesis.time_out(0, 9);
    assert_eq!((event.n, event.judgement.reason, event.base, event.ssthresh), (1, Reason::Timeout, 7, 3));
    assert_eq!((thesis.window.cwnd, thesis.in_recovery()), (2, false));
    // Duplicates for data from before the timeout indicate no new loss; later ones do.
    assert_eq!([thesis.duplicate(), thesis.duplicate(), thesis.duplicate()], [false; 3]);
    assert_eq!(thesis.acknowledge(9, Usage::FULL), Progress::Forward);
    assert!(third_duplicate(&mut thesis));

    let mut standard = sender(40, SenderOptions::STANDARD);
    standard.window.counter = 20;
    standard.time_out(1, 40);
    assert_eq!((standard.window.cwnd, standard.window.ssthresh, standard.window.counter), (1, 20, 0));
}

/// N26, AMB-N5: a full transmit queue halves the window at most once per round trip.
#[test]
fn a_full_queue_halves_once_a_round_trip() {
    let mut sender = sender(40, SenderOptions::STANDARD);
    let event = sender.queue_full(40).expect("the first");
    assert_eq!((event.judgement.reason, event.judgement.verdict), (Reason::Local, LossVerdict::Congestion));
    assert_eq!((sender.window.cwnd, sender.window.ssthresh), (20, 20));
    assert_eq!(sender.acknowledge(39, Usage::FULL), Progress::Forward);
    assert_eq!(sender.queue_full(60), None);
    sender.acknowledge(40, Usage::FULL);
    assert!(sender.queue_full(60).is_some());
    sender.acknowledge(60, Usage::FULL);
    sender.lose(1, CONGESTION, 80, 10);
    assert_eq!(sender.queue_full(81), None, "recovery has reduced it");
}

/// Only the third duplicate indicates a loss, not the fourth.
#[test]
fn only_the_third_duplicate_tells() {
    let mut sender = sender(10, SenderOptions::STANDARD);
    assert!(third_duplicate(&mut sender));
    assert!(!sender.duplicate());
    sender.acknowledge(1, Usage::FULL);
    assert!(third_duplicate(&mut sender));
}

#[derive(Debug, Clone)]
enum Step {
    Acknowledge(u64),
    Duplicate,
    Lose(bool),
    TimeOut,
    QueueFull,
}

proptest! {
    /// N10: after any steps, the window is at least 1, the threshold is at least 2, and recovery
    /// ends at the threshold.
    #[test]
    fn there_is_always_a_window(steps in prop::collection::vec(prop_oneof![
        (1_u64..5).prop_map(Step::Acknowledge),
        Just(Step::Duplicate),
        any::<bool>().prop_map(Step::Lose),
        Just(Step::TimeOut),
        Just(Step::QueueFull),
    ], 1..200)) {
        let mut sender = Sender::new(SenderOptions::STANDARD);
        let mut una = 0;
        for step in steps {
            let next = una + u64::from(sender.window.cwnd);
            let before = sender.window;
            match step {
                Step::Acknowledge(more) => {
                    una += more;
                    if sender.acknowledge(una, Usage::FULL) == Progress::Full {
                        prop_assert_eq!(sender.window.cwnd, sender.window.ssthresh);
                    }
                }
                Step::Duplicate => { sender.duplicate(); }
                Step::Lose(random) => {
                    let judgement = if random { wireless() } else { CONGESTION };
                    if let Some(event) = sender.lose(1, judgement, next, before.cwnd) {
                        prop_assert_eq!(event.base, before.cwnd);
                        prop_assert!(sender.in_recovery());
                    }
                }
                Step::TimeOut => { sender.time_out(1, next); }
                Step::QueueFull => { sender.queue_full(next); }
            }
            prop_assert!(sender.window.cwnd >= 1 && sender.window.ssthresh >= 2, "{:?}", sender);
        }
    }
}
