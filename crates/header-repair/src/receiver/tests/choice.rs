//! Several connections of one pair (TL-28, TL-29).

use super::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Returns a line with two connections on neighbouring ports, and each one's second segment.
fn two() -> (Line, [Sample; 2]) {
    let first = Sample::default();
    let other = Sample { local_port: 40003, seq: FIRST.wrapping_add(1 << 28) + 77, ..first.clone() };
    let mut line = Line::new(Parameters::default());
    for sample in [&first, &other] {
        line.open(sample, Policy::Normal);
        assert_eq!(line.take(&mut sample.build()), SegmentVerdict::Pass);
        line.receive(&sample.tuple(), 536);
    }
    (line, [next(&first), next(&other)])
}

#[test]
fn a_port_between_two_connections_is_decided_by_the_sequence_number() {
    let (line, seconds) = two();
    for second in seconds {
        let packet = second.build();
        // 40001 and 40002 are one bit from either port.
        for between in [40001u16, 40002] {
            let mut damaged = packet.clone();
            damaged[22..24].copy_from_slice(&between.to_be_bytes());
            let verdict = line.clone().take(&mut damaged);
            let found = Acceptance { confirmed: true, approximate: true, ..Acceptance::default() };
            assert_eq!(verdict, SegmentVerdict::Accept(found));
            assert_eq!(damaged, packet);
        }
    }
}

#[test]
fn a_port_that_became_the_other_connection_s_delivers_nothing_to_it() {
    let (line, [second, other]) = two();
    let mut damaged = second.build();
    damaged[22..24].copy_from_slice(&other.local_port.to_be_bytes());
    let before = damaged.clone();
    assert_eq!(line.clone().take(&mut damaged), SegmentVerdict::Discard(Reason::Position));
    assert_eq!(damaged, before);
}

#[test]
fn two_connections_at_the_same_place_are_a_tie() {
    let first = Sample::default();
    let mut line = Line::new(Parameters::default());
    line.open(&first, Policy::Bold);
    line.open(&Sample { local_port: 40003, ..first.clone() }, Policy::Bold);
    let mut damaged = Sample { local_port: 40001, ..first }.build();
    damaged[100] ^= 1;
    assert_eq!(line.take(&mut damaged), SegmentVerdict::Discard(Reason::Ambiguous));
}

#[test]
fn a_connection_without_lite_takes_no_part() {
    let (mut line, [second, other]) = two();
    line.receiver.switch(other.tuple(), false, 0);
    assert_eq!(line.take(&mut hit(&other.build(), 20, 130)), SegmentVerdict::NotLite);
    let between = Sample { local_port: 40001, ..other };
    assert_eq!(line.take(&mut hit(&between.build(), 20, 130)), SegmentVerdict::Discard(Reason::NoConnection));
    line.receiver.close(&second.tuple());
    assert_eq!(
        line.take(&mut hit(&between.build(), 20, 130)),
        SegmentVerdict::NotOurs,
        "no Lite connection is left"
    );
}

#[test]
fn a_socket_that_is_gone_or_off_takes_nothing() {
    let (mut line, [second, other]) = two();
    line.view(&second.tuple()).settings.on = false;
    line.host.0.remove(&other.tuple());
    for sample in [second, other] {
        let verdict = line.take(&mut hit(&sample.build(), 20, 130));
        assert_eq!(verdict, SegmentVerdict::Discard(Reason::NoConnection));
    }
}

/// Eight connections from one server to consecutive ports, each at a random place in its stream.
/// Segments have one to three wrong bits in the ports, and one in the payload so that nothing can
/// be confirmed.
#[test]
fn consecutive_ports_100_000_times_without_a_misdelivery() {
    const CONNECTIONS: u16 = 8;
    const S: u16 = 1448;
    let mut random = ChaCha8Rng::seed_from_u64(0x4c54);
    let (mut delivered, mut discarded, mut undetected) = (0, 0, 0);
    for _ in 0..1000 {
        let mut line = Line::new(Parameters { guess_interval_ns: 0, ..Parameters::default() });
        let samples: Vec<_> = (0..CONNECTIONS)
            .map(|n| Sample {
                local_port: 40000 + n,
                seq: random.random(),
                ack: random.random(),
                payload: text(usize::from(S)),
                ..Sample::default()
            })
            .collect();
        for sample in &samples {
            line.open(sample, Policy::Normal);
            let _ = line.take(&mut sample.build());
            line.receive(&sample.tuple(), usize::from(S));
        }
        for _ in 0..100 {
            let at = random.random_range(0..samples.len());
            let behind = random.random_range(0..8) * u32::from(S);
            let sent = Sample { seq: next(&samples[at]).seq.wrapping_add(behind), ..samples[at].clone() };
            let mut damaged = sent.build();
            damaged[20 + random.random_range(20..usize::from(S))] ^= 1 << random.random_range(0..8);
            for _ in 0..random.random_range(1..=3) {
                damaged = hit(&damaged, 20, random.random_range(0..32));
            }
            // Each starts from the same state, with the same S and places.
            match line.clone().take(&mut damaged) {
                SegmentVerdict::Accept(_) => {
                    delivered += 1;
                    let header = TcpHeader::read(&damaged[20..]).expect("20 bytes");
                    assert_eq!(header.get(Field::SourcePort), u32::from(sent.remote_port));
                    assert_eq!(header.get(Field::DestinationPort), u32::from(sent.local_port));
                    assert_eq!(header.get(Field::Sequence), sent.seq);
                }
                // One in 65 536 wrong checksums looks like a partial one. It is left alone, and TCP
                // drops it.
                SegmentVerdict::Discard(_) | SegmentVerdict::Unverifiable => discarded += 1,
                // Wrong bits that compensate for each other in the sum: TCP itself takes this one
                // for undamaged.
                SegmentVerdict::Pass => undetected += 1,
                verdict => panic!("damaged, and yet {verdict:?}"),
            }
        }
    }
    assert_eq!(delivered + discarded + undetected, 100_000);
    assert!(delivered > 75_000, "only {delivered} found their connection, {undetected} undetected");
}

/// R12: the list of a pair's connections is incomplete once there were too many for it.
#[test]
fn a_crowd_stays_one_until_all_have_ended() {
    let mut line = Line::new(Parameters::default());
    let of = |n: u16| Sample { local_port: 40000 + 64 * n, ..Sample::default() };
    let two_bits_off = || hit(&Sample { local_port: 40003, ..of(0) }.build(), 20, 130);
    (0..33).for_each(|n| line.open(&of(n), Policy::Normal));
    (1..33).for_each(|n| line.receiver.close(&of(n).tuple()));
    assert_eq!(line.take(&mut two_bits_off()), SegmentVerdict::Discard(Reason::NoConnection));
    line.receiver.close(&of(0).tuple());
    line.open(&of(0), Policy::Normal);
    assert!(matches!(line.take(&mut two_bits_off()), SegmentVerdict::Accept(_)));
}
