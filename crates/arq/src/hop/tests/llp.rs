//! Tests of LLP: repair, timer, fragments, window (M9, M10, M15).

use super::*;
use proptest::prelude::*;
use vocabulary::link_layer::{Event, Way};

const UP: Direction = Direction::Up;

/// 384 kbit/s in both directions and 100 ms: 1520 octets take 31.67 ms, 20 take 0.417 ms.
fn link() -> LlpHopSpec {
    let rate: BitRate = "384kbit".parse().expect("a rate");
    LlpHopSpec::thesis(rate, rate, Span::from_millis(100))
}

fn hop(spec: LlpHopSpec, errors_up: Option<Channel>) -> HopSpec {
    HopSpec { errors_up, ..HopSpec::without_errors(Protocol::Llp(spec)) }
}

fn sent(records: &[EndRecord], event: Event) -> Vec<Record> {
    let wanted = |r: &&EndRecord| r.end == UP && r.record.way == Way::Sent && r.record.event == event;
    records.iter().filter(wanted).map(|r| r.record).collect()
}

/// M10: 4000 octets are sent in frames of 1500, 1500 and 1000 with 20 octets of header each, and
/// are complete with the last one.
#[test]
fn fragments() {
    let mut drive = Drive::new(&hop(link(), None));
    drive.offer(UP, 4000);
    drive.run(secs(1), [None, None]);
    drive.check();
    // Each frame takes its octets x 8 / 384 kbit/s, rounded up: 2 x 31.666667 ms and 21.25 ms. Then
    // come 100 ms.
    let at = Time::from_nanos(2 * 31_666_667 + 21_250_000 + 100_000_000);
    assert_eq!(drive.ended.delivered[0], [(0, at)]);
    let records = drive.hop.take_records();
    assert_eq!(sent(&records, Event::First).len(), 3);
    let right = |end, event| records.iter().filter(move |r| r.end == end && r.record.event == event);
    let octets: Vec<_> = right(Direction::Down, Event::Right).map(|r| r.record.aux).collect();
    assert_eq!(octets, [1520, 1520, 1020]);
    // Each frame gets an ACK, which is as long as a header.
    let answers: Vec<_> = right(UP, Event::Right).map(|r| r.record.aux).collect();
    assert_eq!(answers, [20, 20, 20]);
}

/// M10: at most 32 frames are sent without an acknowledgement. M15: packets wait above the hop; it
/// takes one ahead.
#[test]
fn window() {
    let spec = LlpHopSpec { delay_up: Span::from_secs(5), delay_down: Span::from_secs(5), ..link() };
    let mut drive = Drive::new(&hop(spec, None));
    drive.run(secs(5), [Some(1500), None]);
    assert_eq!(sent(&drive.hop.take_records(), Event::First).len(), 32);
    assert_eq!(drive.hop.inside(UP), 33);
    assert!(!drive.hop.is_ready(UP));
}

/// M9: a lost frame is retransmitted once, however many NAKs report it, and no other frame is.
/// Go-Back-N is only for expirations.
#[test]
fn one_hole_is_filled_once() {
    let mut drive = Drive::new(&hop(link(), Some(listed("10"))));
    (0..60).for_each(|_| drive.offer(UP, 1500));
    drive.run(secs(20), [None, None]);
    drive.check();
    assert_eq!(drive.delivered(UP), 60);
    let records = drive.hop.take_records();
    let again: Vec<_> = sent(&records, Event::Again).iter().map(|r| r.ns).collect();
    assert_eq!(again, [10]);
    let naks =
        records.iter().filter(|r| r.record.event == Event::SelectiveReject && r.record.way == Way::Sent);
    assert!(naks.count() > 5);
}

/// M9: if the retransmission is lost, the NAKs of later frames report it, without an expiration.
#[test]
fn a_hole_is_filled_until_it_is() {
    // The list counts frames on the air: frame 10 is retransmitted as about the 18th, after those
    // in transit.
    let mut drive = Drive::new(&hop(link(), Some(listed("10, 17-19"))));
    (0..60).for_each(|_| drive.offer(UP, 1500));
    drive.run(secs(20), [None, None]);
    drive.check();
    assert_eq!(drive.delivered(UP), 60);
    let again = sent(&drive.hop.take_records(), Event::Again);
    assert!((4..=5).contains(&again.len()), "{again:?}");
    assert_eq!(again.iter().filter(|r| r.ns == 10).map(|r| r.aux).max(), Some(2));
}

/// M9: on a dead link the timer grows by the factors 1, 2, 4, 8, 16, 16. Each expiration
/// retransmits the window from its oldest frame.
#[test]
fn factors() {
    let mut drive = Drive::new(&hop(link(), Some(traced("0,inf"))));
    drive.offer(UP, 1500);
    drive.offer(UP, 1500);
    drive.run(secs(30), [None, None]);
    let records = drive.hop.take_records();
    let ends: Vec<_> = sent(&records, Event::First).into_iter().chain(sent(&records, Event::Again)).collect();
    let numbers: Vec<_> = ends.iter().map(|r| r.ns).collect();
    assert_eq!(numbers[..12], [0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1]);
    // The timer starts with the second frame, which takes 31.67 ms. The timeout is that, 31.67 +
    // 0.42 ms of the other end and 200 ms, plus a tenth.
    let base: f64 = (2.0 * 1520.0 + 20.0) * 8.0 / 384_000.0 + 0.2;
    let spans =
        ends.windows(2).skip(1).step_by(2).map(|pair| (pair[1].at - pair[0].at).as_secs_f64() / (1.1 * base));
    for (span, factor) in spans.zip([1.0, 2.0, 4.0, 8.0, 16.0, 16.0, 16.0]) {
        assert!((span - factor).abs() < 1e-6, "{span} {factor}");
    }
}

/// M9: the factor is 1 again after a valid acknowledgement.
#[test]
fn an_acknowledgement_resets_the_factor() {
    // The second packet comes at 10 s, and its only frame is lost once.
    let mut drive = Drive::new(&hop(link(), Some(traced("0,3000\n10000,10050"))));
    drive.offer(UP, 1000);
    drive.run(secs(10), [None, None]);
    assert_eq!(drive.delivered(UP), 1);
    drive.hop.take_records();
    drive.offer(UP, 1500);
    drive.run(secs(20), [None, None]);
    drive.check();
    assert_eq!(drive.delivered(UP), 2);
    let records = drive.hop.take_records();
    let [first, again] = [Event::First, Event::Again].map(|event| sent(&records, event));
    assert_eq!((first.len(), again.len()), (1, 1));
    let base = (2.0 * 1520.0 + 20.0) * 8.0 / 384_000.0 + 0.2;
    let factor = (again[0].at - first[0].at).as_secs_f64() / (1.1 * base);
    assert!((factor - 1.0).abs() < 1e-6, "{factor}");
}

/// M9: without errors, no frame is retransmitted.
#[test]
fn nothing_is_sent_again_on_a_clean_link() {
    let mut drive = Drive::new(&hop(link(), None));
    drive.run(secs(30), [Some(1500), Some(1500)]);
    drive.check();
    assert!(drive.delivered(UP) > 900, "{}", drive.delivered(UP));
    assert!(!drive.hop.take_records().iter().any(|r| r.record.event == Event::Again));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// M9: exactly once and in order under any loss below 100 %, in both directions at once.
    #[test]
    fn once_and_in_order(
        up in 0.0..0.7, down in 0.0..0.7, lengths in proptest::collection::vec(1usize..5000, 1..50), window in 1u16..=32,
        rate_down in prop::sample::select(vec!["9600bit", "384kbit", "11Mbit"]),
    ) {
        let rate_down = rate_down.parse().expect("a rate");
        let spec = LlpHopSpec { window, rate_down, persistency: Persistency::FOR_EVER, ..link() };
        let mut spec = hop(spec, Some(at_random(up)));
        spec.errors_down = Some(at_random(down));
        let mut drive = Drive::new(&spec);
        for &length in &lengths {
            drive.offer(UP, length);
            drive.offer(Direction::Down, length / 3 + 1);
        }
        drive.run(secs(36_000), [None, None]);
        drive.check();
        prop_assert_eq!(drive.delivered(UP), lengths.len());
        prop_assert_eq!(drive.delivered(Direction::Down), lengths.len());
        prop_assert_eq!(drive.hop.due(), Time::NEVER);
    }

    /// With a limit, each packet is delivered, or lost for the configured reason.
    #[test]
    fn nothing_disappears_where_frames_are_given_up(
        loss in 0.3..0.7, most in 0u16..3, which in 0usize..3, count in 1usize..40,
    ) {
        let then = [Then::GiveUp, Then::Reset, Then::Disconnect][which];
        let persistency = Persistency { retransmissions: Some(most), then };
        let mut drive = Drive::new(&hop(LlpHopSpec { persistency, ..link() }, Some(at_random(loss))));
        (0..count).for_each(|number| drive.offer(UP, 100 * number + 1));
        drive.run(secs(36_000), [None, None]);
        drive.check();
        prop_assert_eq!(drive.hop.inside(UP), 0);
        prop_assert!(drive.losses(UP).iter().all(|why| *why == then));
    }
}

/// Out of order, a packet is delivered as soon as its frames have arrived, so only packets with
/// lost frames are late. In order, the packets behind them are late, too.
#[test]
fn out_of_order_only_lost_packets_are_late() {
    let late = |order| {
        let mut drive = Drive::new(&hop(LlpHopSpec { order, ..link() }, Some(listed("10,11"))));
        drive.run(secs(2), [Some(1500), None]);
        drive.run(secs(4), [None, None]);
        drive.check_once();
        let delivered: Vec<_> = drive.ended.delivered[0].iter().map(|(number, _)| *number).collect();
        let overtaken = (0..).zip(&delivered).filter(|(place, number)| **number < *place).count();
        (delivered.len(), overtaken, delivered.is_sorted())
    };
    let (count, none, sorted) = late(crate::Order::InSequence);
    assert_eq!((none, sorted), (0, true));
    assert_eq!(late(crate::Order::AsReceived), (count, 2, false));
}
