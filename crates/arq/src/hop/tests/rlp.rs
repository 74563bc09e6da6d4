//! Tests of RLP: rates, flow control, erasures, persistency (LL-03 to LL-06).

use super::*;
use crate::rlp::{Parameters, Recovery, Throttle, relay};
use proptest::prelude::*;
use vocabulary::link_layer::{Event, Way};

const UP: Direction = Direction::Up;
const DOWN: Direction = Direction::Down;

fn call(parameters: Parameters) -> HopSpec {
    let spec = RlpHopSpec { parameters, ..RlpHopSpec::default() };
    HopSpec::without_errors(Protocol::Rlp(spec))
}

fn persistent(retransmissions: Option<u16>, then: Then) -> Parameters {
    Parameters { persistency: Persistency { retransmissions, then }, ..Parameters::default() }
}

fn of(records: &[EndRecord], end: Direction, way: Way, event: Event) -> Vec<Record> {
    let wanted =
        |record: &&EndRecord| record.end == end && record.record.way == way && record.record.event == event;
    records.iter().filter(wanted).map(|record| record.record).collect()
}

/// LL-03: on a clean channel, L2R carries 1200 octets a second in both directions at once. No frame
/// is retransmitted, and a window of 61 never stalls.
#[test]
fn clean_channel() {
    let mut drive = Drive::new(&call(Parameters::default()));
    drive.run(secs(5), [Some(500), Some(200)]);
    let before = drive.ended.octets.map(|octets| octets as f64);
    drive.run(secs(65), [Some(500), Some(200)]);
    drive.check();
    for (way, length) in [(0, 500.0), (1, 200.0)] {
        let packets = (drive.ended.octets[way] as f64 - before[way]) / length;
        let rate = packets * (length + relay::OVERHEAD as f64) / 60.0;
        assert!((rate - 1200.0).abs() < 12.0, "{rate}");
    }
    let records = drive.hop.take_records();
    assert!(
        !records.iter().any(|record| matches!(record.record.event, Event::Again | Event::SelectiveReject))
    );
    assert_eq!((drive.hop.stalls(UP), drive.hop.stalls(DOWN)), (0, 0));
}

/// LL-03: numbers go up to 61 and start again at 0.
#[test]
fn numbers_wrap() {
    let mut drive = Drive::new(&call(Parameters::default()));
    drive.run(secs(10), [Some(500), None]);
    let numbers: Vec<_> =
        of(&drive.hop.take_records(), UP, Way::Sent, Event::First).iter().map(|r| r.ns).collect();
    assert!(numbers.len() > 400);
    assert!(numbers.iter().enumerate().all(|(place, ns)| usize::from(*ns) == place % 62));
}

/// LL-03: a window smaller than the round trip stalls, and the stalls are counted.
#[test]
fn a_small_window_stalls() {
    let small = Parameters { send_window: 5, ..Parameters::default() };
    let mut drive = Drive::new(&call(small));
    drive.run(secs(20), [Some(500), Some(500)]);
    assert!(drive.hop.stalls(UP) > 400, "{}", drive.hop.stalls(UP));
    assert_eq!(drive.hop.stalls(DOWN), 0);
}

/// LL-04: a receiver with a line of 960 octets a second gets 960 on average and about 1200 while
/// data flow, with gaps of 950 to 1300 ms.
#[test]
fn throttled_receiver() {
    let mut spec = call(Parameters::default());
    let Protocol::Rlp(rlp) = &mut spec.protocol else { unreachable!() };
    rlp.throttle_down = Some(Throttle::ASYNCHRONOUS);
    let mut drive = Drive::new(&spec);
    drive.run(secs(10), [None, Some(512)]);
    let before = drive.ended.octets[1];
    drive.run(secs(130), [None, Some(512)]);
    drive.check();
    let user = (drive.ended.octets[1] - before) / 512 * (512 + relay::OVERHEAD);
    assert!((user as f64 / 120.0 - 960.0).abs() < 9.6, "{user}");

    let records = drive.hop.take_records();
    let times: Vec<_> = of(&records, DOWN, Way::Sent, Event::First).iter().map(|record| record.at).collect();
    let gap = |pair: &[Time]| (pair[1] - pair[0]).as_secs_f64() * 1000.0;
    let gaps: Vec<_> = times.windows(2).map(gap).filter(|ms| *ms > 100.0).collect();
    assert!(gaps.len() > 20, "{}", gaps.len());
    assert!(gaps.iter().all(|ms| (950.0..=1300.0).contains(ms)), "{gaps:?}");
    let flowing = (times[times.len() - 1] - times[0]).as_secs_f64() - gaps.iter().sum::<f64>() / 1000.0;
    let rate = times.len() as f64 * 24.0 / flowing;
    assert!((rate - 1200.0).abs() < 24.0, "{rate}");
    let off = of(&records, DOWN, Way::Received, Event::XOff).len();
    assert_eq!(off, of(&records, UP, Way::Sent, Event::XOff).len());
    assert!(off.abs_diff(gaps.len()) <= 1, "{off} {}", gaps.len());
}

/// LL-03: a lost frame is retransmitted as soon as the SREJ arrives that the next frame causes: a
/// round trip of 240 ms and a block after it was sent. If it is lost again, the receiver notices
/// this after T1, when it repeats the request.
#[test]
fn a_lost_frame_is_sent_again_after_a_round_trip() {
    let mut spec = call(Parameters::default());
    // Block 100, which begins at 2 s, and the block of its retransmission, at 2.26 s.
    for (lost, again_ms) in [("100", vec![2260]), ("100,113", vec![2260, 2740])] {
        spec.errors_up = Some(listed(lost));
        let mut drive = Drive::new(&spec);
        drive.run(secs(10), [Some(300), None]);
        drive.check();
        let records = drive.hop.take_records();
        let sent = |event| of(&records, UP, Way::Sent, event);
        let lost = sent(Event::First).into_iter().find(|record| record.at == Time::ZERO + Span::from_secs(2));
        let lost = lost.expect("a frame is sent in every block").ns;
        let again: Vec<_> = sent(Event::Again).iter().map(|r| (r.ns, r.at.as_nanos() / 1_000_000)).collect();
        assert_eq!(again, again_ms.into_iter().map(|ms| (lost, ms)).collect::<Vec<_>>());
    }
}

/// LL-03: on a busy link, retransmissions cost only the blocks that they take, as long as the
/// window lasts for the time of a recovery. The rate is what the channel carries intact.
/// `cargo test -p arq recovery_costs -- --nocapture` shows the delays.
#[test]
fn recovery_costs_what_is_sent_again() {
    const LENGTH: usize = 576;
    const SECS: u64 = 2000;
    for percent in [0.0, 1.0, 5.0, 10.0] {
        let mut spec = call(persistent(None, Then::Reset));
        spec.errors_down = (percent > 0.0).then(|| at_random(percent / 100.0));
        let mut drive = Drive::new(&spec);
        drive.run(secs(SECS), [None, Some(LENGTH)]);
        drive.check();
        let delays = drive.delays_ms(DOWN);
        let rate = (delays.len() * (LENGTH + relay::OVERHEAD)) as f64 / SECS as f64;
        let (mean, most) =
            (delays.iter().sum::<f64>() / delays.len() as f64, delays[delays.len() * 95 / 100]);
        println!("{percent} % erased: {rate:.0} octets/s, delay {mean:.0} ms, 95 % within {most:.0} ms");
        let right = 1200.0 * (1.0 - percent / 100.0);
        assert!((rate / right - 1.0).abs() < 0.01, "{rate} of {right}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// LL-03: whatever is erased, packets of both directions are delivered once, in order and
    /// intact (`Drive` compares bytes).
    #[test]
    fn intact_whatever_is_erased(
        up in 0.0..0.5, down in 0.0..0.5, lengths in proptest::collection::vec(1usize..700, 1..30), window in 1u16..=61,
        go_back: bool, throttled: bool,
    ) {
        let recovery = if go_back { Recovery::GoBack } else { Recovery::Selective };
        let parameters = Parameters { send_window: window, recovery, ..persistent(None, Then::Reset) };
        let mut spec = call(parameters);
        let Protocol::Rlp(rlp) = &mut spec.protocol else { unreachable!() };
        rlp.throttle_down = throttled.then_some(Throttle::ASYNCHRONOUS);
        spec.errors_up = Some(at_random(up));
        spec.errors_down = Some(at_random(down));
        let mut drive = Drive::new(&spec);
        for &length in &lengths {
            drive.offer(UP, length);
            drive.offer(DOWN, length / 2 + 1);
        }
        drive.run(secs(3600), [None, None]);
        drive.check();
        prop_assert_eq!((drive.delivered(UP), drive.delivered(DOWN)), (lengths.len(), lengths.len()));
    }

    /// LL-05: with a limit, each packet is delivered intact, or lost for the configured reason. The
    /// hop continues, also with flow control: an XON in a frame that was given up is repeated.
    #[test]
    fn nothing_disappears_where_frames_are_given_up(
        loss in 0.2..0.6, n2 in 0u16..3, reset: bool, count in 1usize..30, throttled: bool,
    ) {
        all_end(loss, n2, if reset { Then::Reset } else { Then::GiveUp }, count, throttled);
    }
}

/// Sends packets in both directions over a bad channel. Each ends, and `then` is the only reason.
fn all_end(loss: f64, n2: u16, then: Then, count: usize, throttled: bool) {
    let mut spec = call(persistent(Some(n2), then));
    let Protocol::Rlp(rlp) = &mut spec.protocol else { unreachable!() };
    let throttle = throttled.then_some(Throttle { rate: 500, low: 50, high: 100 });
    (rlp.throttle_up, rlp.throttle_down) = (throttle, throttle);
    spec.errors_up = Some(at_random(loss));
    spec.errors_down = Some(at_random(loss));
    let mut drive = Drive::new(&spec);
    for number in 0..count {
        drive.offer(UP, 50 + 10 * number);
        drive.offer(DOWN, 50 + 5 * number);
    }
    drive.run(secs(3600), [None, None]);
    drive.check();
    assert_eq!((drive.hop.inside(UP), drive.hop.inside(DOWN)), (0, 0));
    assert!(drive.losses(UP).iter().chain(&drive.losses(DOWN)).all(|why| *why == then));
}

/// LL-05: an outage of 3 s with N2 of 3 leads to the configured action and to no other.
#[test]
fn small_n2() {
    let run = |then| {
        let mut spec = call(persistent(Some(3), then));
        for errors in [&mut spec.errors_up, &mut spec.errors_down] {
            *errors = Some(traced("5000,8000"));
        }
        let mut drive = Drive::new(&spec);
        drive.run(secs(30), [Some(300), None]);
        drive.check();
        let resets = of(&drive.hop.take_records(), UP, Way::Sent, Event::Reset).len();
        let late = drive.ended.delivered[0].iter().filter(|(_, at)| *at > secs(20)).count();
        (drive.losses(UP), resets, late)
    };
    let (lost, resets, late) = run(Then::Reset);
    assert!((1..=10).contains(&lost.len()) && lost.iter().all(|why| *why == Then::Reset), "{lost:?}");
    assert!(resets >= 1 && late > 30, "{resets} {late}");
    let (lost, resets, late) = run(Then::GiveUp);
    assert!((1..=2).contains(&lost.len()) && lost.iter().all(|why| *why == Then::GiveUp), "{lost:?}");
    assert!(resets == 0 && late > 30, "{resets} {late}");
    let (lost, resets, late) = run(Then::Disconnect);
    assert!(lost.len() >= 100 && lost.iter().all(|why| *why == Then::Disconnect), "{lost:?}");
    assert_eq!((resets, late), (0, 0));
}

/// LL-05: N2 = 12 + n behaves like no limit if no frame is retransmitted more than 12 times (Ludwig
/// 3.1.2, footnote 2).
#[test]
fn n2_above_what_is_needed_is_for_ever() {
    let run = |retransmissions, then| {
        let mut spec = call(persistent(retransmissions, then));
        spec.errors_up = Some(at_random(0.3));
        spec.errors_down = Some(at_random(0.1));
        let mut drive = Drive::new(&spec);
        drive.run(secs(300), [Some(500), Some(500)]);
        drive.hop.take_records()
    };
    let records = run(None, Then::Reset);
    let most = records
        .iter()
        .filter(|r| r.record.event == Event::Again)
        .map(|r| r.record.aux)
        .max()
        .expect("there are some");
    assert!((5..=12).contains(&most), "{most}");
    for then in [Then::Reset, Then::GiveUp, Then::Disconnect] {
        assert_eq!(run(Some(14), then), records);
    }
    assert_ne!(run(Some(2), Then::GiveUp), records);
}

/// LL-03: if one end drops the call, the other end does so, too.
#[test]
fn both_ends_are_dropped() {
    let mut spec = call(persistent(Some(2), Then::Disconnect));
    spec.errors_up = Some(traced("3000,inf"));
    let mut drive = Drive::new(&spec);
    drive.run(secs(60), [Some(300), Some(300)]);
    let Machine::Rlp(hop) = &drive.hop.machine else { unreachable!() };
    assert!(hop.ends().iter().all(crate::rlp::Rlp::has_ended));
    drive.check();
}

/// LL-03: with XID both ends take the smaller window of each direction, the longer T1 and the
/// larger N2.
#[test]
fn parameters_are_negotiated() {
    let wanted = Parameters { negotiate: true, send_window: 20, receive_window: 40, ..Parameters::default() };
    let mut spec = call(wanted);
    spec.errors_up = Some(at_random(0.5));
    let mut drive = Drive::new(&spec);
    drive.run(secs(20), [Some(300), Some(300)]);
    let Machine::Rlp(hop) = &drive.hop.machine else { unreachable!() };
    let [mobile, network] = hop.ends().each_ref().map(crate::rlp::Rlp::parameters);
    assert_eq!((mobile.send_window, mobile.receive_window), (20, 40));
    assert_eq!((network.send_window, network.receive_window), (40, 20));
    assert!(drive.delivered(UP) > 3 && drive.delivered(DOWN) > 3);
}

/// A hop that would retransmit frames too soon is rejected (see [`crate::rlp`]).
#[test]
fn t1_must_be_longer_than_the_round_trip() {
    let mut spec = call(Parameters { t1_ticks: 16, ..Parameters::default() });
    assert!(Hop::new(&spec.protocol).is_ok());
    spec = call(Parameters { t1_ticks: 15, ..Parameters::default() });
    let error = Hop::new(&spec.protocol).expect_err("refused").to_string();
    assert_eq!(error, "T1 300 ms less T2 80 ms must be at least the round trip of 240ms; make T1 longer");
}
