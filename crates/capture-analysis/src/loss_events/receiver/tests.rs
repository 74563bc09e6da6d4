use super::*;
use crate::loss_events::Cause::{self, Congestion, None as Nothing, Wireless};
use crate::loss_events::tests::{ENDS, fate, lost, lost_packets};
use capture::{Direction, Fate, LinkId, Loss as Dropped};
use loss_differentiation::{Algorithm, Form, LossVerdict, Reason};

/// Nanoseconds in a microsecond.
const US: u64 = 1000;

/// Returns the fate with these times in microseconds.
fn from_to(fate: Fate, arrived: u64, left: u64) -> Fate {
    Fate { arrived: Time::from_nanos(arrived * US), left: Time::from_nanos(left * US), ..fate }
}

fn arrivals(fates: &[Fate]) -> Vec<Arrived> {
    let mut passages = Passages::default();
    for fate in fates {
        passages.add(fate);
    }
    passages.arrivals(ENDS)
}

fn originals(algorithms: &[Algorithm]) -> Vec<Detector> {
    algorithms.iter().map(|algorithm| Detector::new(*algorithm, Form::Original)).collect()
}

/// Segments of 100 bytes that reach the link every 100 us and leave it 1000 us later, except those
/// that a queue or an error drops.
fn paced(count: u32, taken: &[(u32, Dropped)]) -> Vec<Fate> {
    let of = |number: u32| {
        let (sequence, at) = (number * 100, u64::from(number) * 100);
        let dropped = taken.iter().find(|(lost, _)| *lost == number);
        let fate = dropped.map_or_else(|| fate(0, sequence), |(_, loss)| lost(0, sequence, *loss));
        from_to(fate, at, at + 1000)
    };
    (0..count).map(of).collect()
}

/// Eq. 5.1 over a log: a gap exactly as long as the two lost packets need means random loss, and
/// the minimum ROTT is not a spike.
#[test]
fn a_hole_of_two_on_an_empty_link() {
    let fates = paced(10, &[(5, Dropped::Error), (6, Dropped::Error)]);
    let detectors = originals(&[Algorithm::Biaz, Algorithm::MBiaz, Algorithm::Spike, Algorithm::ZigZag]);
    let holes = replay(&arrivals(&fates), lost_packets(&fates), &detectors);
    assert_eq!(holes.len(), 1);
    let hole = &holes[0];
    assert_eq!((hole.at.as_nanos(), hole.n), (1700 * US, 2));
    assert_eq!(hole.truth, Truth { packets: 2, segments: 2, cause: Wireless });
    // ZigZag: every ROTT is 1000 us, so their deviation is 0, and no ROTT is below the mean.
    let verdicts: Vec<LossVerdict> = hole.judged.iter().map(|judged| judged.verdict).collect();
    assert_eq!(
        verdicts,
        [LossVerdict::Wireless, LossVerdict::Wireless, LossVerdict::Wireless, LossVerdict::Congestion]
    );
    let biaz = hole.judged[0];
    assert_eq!((biaz.floor, biaz.measured, biaz.limit), (Some(300.0), Some(300.0), Some(400.0)));
    assert_eq!((hole.judged[2].measured, hole.judged[2].limit), (Some(1000.0), Some(21_000.0)));
}

/// A queue grows to 30 ms and drops a packet: the packet after the hole arrives right after the one
/// before it, with a ROTT in a spike.
#[test]
fn a_hole_made_by_a_full_queue() {
    let mut fates = paced(5, &[]);
    fates.push(from_to(fate(0, 500), 500, 31_000));
    fates.push(from_to(lost(0, 600, Dropped::QueueFull), 600, 600));
    fates.push(from_to(fate(0, 700), 700, 31_100));
    let holes =
        replay(&arrivals(&fates), lost_packets(&fates), &originals(&[Algorithm::Biaz, Algorithm::Spike]));
    assert_eq!((holes.len(), holes[0].n, holes[0].truth.cause), (1, 1, Congestion));
    let verdicts: Vec<LossVerdict> = holes[0].judged.iter().map(|judged| judged.verdict).collect();
    assert_eq!(verdicts, [LossVerdict::Congestion; 2]);
    // It arrives 100 us after the packet before it; two packets need 200 us.
    assert_eq!((holes[0].judged[0].measured, holes[0].judged[0].floor), (Some(100.0), Some(200.0)));
}

/// To the receiver, reordering is a hole although nothing was lost. A segment that fills a hole
/// makes no new one, and the loss of the last packet makes none.
#[test]
fn holes_without_a_loss_and_losses_without_a_hole() {
    let mut fates = paced(8, &[(7, Dropped::Error)]);
    fates[3] = from_to(fate(0, 300), 300, 1450);
    let holes = replay(&arrivals(&fates), lost_packets(&fates), &originals(&[Algorithm::Biaz]));
    let found: Vec<_> =
        holes.iter().map(|hole| (hole.at.as_nanos() / US, hole.n, hole.truth.cause)).collect();
    assert_eq!(found, [(1400, 1, Nothing)]);
}

#[test]
fn numbers_wrap() {
    let base = u32::MAX - 249;
    let mut fates = paced(6, &[(2, Dropped::Error), (4, Dropped::Error)]);
    for fate in &mut fates {
        let flow = fate.flow.as_mut().expect("a flow");
        flow.tcp_sequence = flow.tcp_sequence.map(|sequence| sequence.wrapping_add(base));
    }
    let holes = replay(&arrivals(&fates), lost_packets(&fates), &originals(&[Algorithm::Biaz]));
    let found: Vec<_> = holes.iter().map(|hole| (hole.n, hole.truth.segments, hole.truth.cause)).collect();
    assert_eq!(found, [(1, 1, Wireless); 2]);
}

/// Returns the holes (time, packets, lost segments) if one of the segments of these sizes is lost.
fn holes_of(sizes: &[u32], taken: usize) -> Vec<(u64, u32, u32)> {
    let mut sequence = 0_u32;
    let mut fates = paced(sizes.len() as u32, &[(taken as u32, Dropped::Error)]);
    for (fate, size) in fates.iter_mut().zip(sizes) {
        let flow = fate.flow.as_mut().expect("a flow");
        (flow.tcp_sequence, flow.payload) = (Some(sequence), Some(*size));
        sequence = sequence.wrapping_add(*size);
    }
    let holes = replay(&arrivals(&fates), lost_packets(&fates), &[]);
    holes.iter().map(|hole| (hole.at.as_nanos() / US, hole.n, hole.truth.segments)).collect()
}

/// The receiver assumes the size of the largest segment so far, which the segment after a hole need
/// not have. A stream can be longer than 4 GiB.
#[test]
fn segments_of_any_size() {
    assert_eq!(holes_of(&[40, 40, 40, 20], 2), [(1300, 1, 1)]);
    assert_eq!(holes_of(&[40, 20, 120, 20], 2), [(1300, 3, 1)]);
    assert_eq!(holes_of(&[1 << 30; 7], 5), [(1600, 1, 1)]);
}

/// A packet is late, not lost, and its retransmission is lost afterwards: when the hole was seen,
/// nothing had been lost.
#[test]
fn what_is_lost_later_made_no_hole() {
    let mut fates = paced(8, &[]);
    fates[3] = from_to(fate(0, 300), 300, 1450);
    fates.push(from_to(lost(0, 300, Dropped::Error), 1410, 1420));
    let holes = replay(&arrivals(&fates), lost_packets(&fates), &[]);
    assert_eq!(holes.iter().map(|hole| (hole.n, hole.truth.cause)).collect::<Vec<_>>(), [(1, Nothing)]);
}

/// The first packets are lost before any arrives: there is no hole, since the receiver does not
/// know where the stream begins.
#[test]
fn what_is_lost_first_is_not_seen() {
    let fates = paced(4, &[(0, Dropped::Error)]);
    assert_eq!(replay(&arrivals(&fates), lost_packets(&fates), &originals(&[Algorithm::Biaz])), []);
    assert_eq!(replay(&[], Vec::new(), &[]), []);
}

/// NewZag uses round-trip times, which a receiver does not have.
#[test]
fn a_senders_detector_hears_nothing() {
    let fates = paced(5, &[(3, Dropped::Error)]);
    let detectors = [Algorithm::NewZag, Algorithm::Biaz, Algorithm::ZigZag];
    let detectors = detectors.map(|algorithm| Detector::new(algorithm, Form::SenderOnly));
    let holes = replay(&arrivals(&fates), lost_packets(&fates), &detectors);
    assert_eq!(holes[0].judged.iter().map(|judged| judged.reason).collect::<Vec<_>>(), [Reason::NoSample; 3]);
}

/// Two links, and a retransmission that reaches the first link before the original leaves the
/// second: each arrival gets its own entry time. Link 3 precedes link 1, by time and not by number.
#[test]
fn the_way_over_two_links() {
    let first =
        |sequence, arrived, left| Fate { link: LinkId(3), ..from_to(fate(0, sequence), arrived, left) };
    let second = |sequence, arrived, left| Fate {
        link: LinkId(1),
        direction: Direction::Up,
        ..from_to(fate(0, sequence), arrived, left)
    };
    let fates = [
        first(100, 0, 10),
        first(200, 5, 20),
        second(100, 11, 100),
        second(200, 21, 110),
        first(200, 90, 95), // sent again
        second(200, 96, 120),
        Fate { checksum_spoiled: true, ..first(300, 130, 140) },
        second(300, 141, 150),
        first(400, 160, 170),
        Fate { bits_flipped: 1, ..second(400, 171, 180) },
        second(500, 200, 210), // its entry was not seen
        second(600, 220, 230), // nor this one's, but that of the same bytes later
        first(600, 240, 250),
        second(600, 260, 270),
        first(700, 280, 290),
        first(700, 285, 295),
        second(700, 310, 390), // overtakes the one before it
        second(700, 300, 400),
    ];
    let found: Vec<_> = arrivals(&fates)
        .iter()
        .map(|arrived| {
            let entered = arrived.entered.map(|time| time.as_nanos() / US);
            (arrived.sequence, entered, arrived.at.as_nanos() / US)
        })
        .collect();
    assert_eq!(
        found[..4],
        [(100, Some(0), 100), (200, Some(5), 110), (200, Some(90), 120), (500, None, 210)]
    );
    assert_eq!(
        found[4..],
        [(600, None, 230), (600, Some(240), 270), (700, Some(285), 390), (700, Some(280), 400)]
    );
}

/// Acknowledgements, the other direction, and packets without a flow are not data of this flow.
#[test]
fn only_data_of_the_flow() {
    let mut fates = paced(6, &[(2, Dropped::Listed)]);
    let mut acknowledgement = fates[4].clone();
    acknowledgement.flow.as_mut().expect("a flow").payload = Some(0);
    let mut back = fates[4].clone();
    back.flow.as_mut().expect("a flow").ports = Some((80, 5000));
    fates.extend([acknowledgement, back, Fate { flow: None, ..fate(0, 0) }]);
    let mut passages = Passages::default();
    for fate in &fates {
        passages.add(fate);
    }
    assert_eq!((passages.flows().len(), passages.arrivals(ENDS).len()), (2, 5));
    let other = Ends { from: ENDS.to, to: ENDS.from };
    assert_eq!(passages.arrivals(other), []);
    let cause = |hole: &Hole| -> Cause { hole.truth.cause };
    let holes = replay(&passages.arrivals(ENDS), lost_packets(&fates), &originals(&[Algorithm::Biaz]));
    assert_eq!(holes.iter().map(cause).collect::<Vec<_>>(), [Wireless]);
}
