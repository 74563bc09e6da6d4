//! Each bit of a segment wrong in turn (TL-30): the verdict, and that everything except the payload
//! is restored.

use super::*;

/// Returns the expected verdict on a segment in order with this bit of its header wrong, and all
/// else as in the previous segments.
///
/// It is confirmed if the restored field makes the received checksum right. That excludes the
/// checksum itself, and damaged fields whose value the sender may have meant (see
/// [`crate::confirm`]): PSH, FIN and ECN, other padding, and time stamps slightly ahead. Those show
/// nothing about the payload. The socket has nothing in flight, so only one acknowledgment number
/// is plausible.
fn expected(bit: usize, len: u32, options: &[u8]) -> SegmentVerdict {
    match Field::at(bit) {
        Some(Field::SourcePort | Field::DestinationPort) => {
            SegmentVerdict::Accept(Acceptance { confirmed: true, approximate: true, ..Acceptance::default() })
        }
        Some(Field::Cwr | Field::Ece) => {
            SegmentVerdict::Accept(Acceptance { guess: true, bytes: len, ..Acceptance::default() })
        }
        Some(Field::Checksum | Field::Psh | Field::Fin) => accepted(false, len),
        None if is_possible_option(bit - 160, options) => accepted(false, len),
        _ => accepted(true, 0),
    }
}

/// Returns whether the next segment may carry the options with this bit wrong: a NOP becomes an end
/// option (0), or a time stamp is later by at most 2^16.
fn is_possible_option(bit: usize, options: &[u8]) -> bool {
    let is_clear = options[bit / 8] & (0x80 >> (bit % 8)) == 0;
    match bit {
        7 | 15 => true,
        32.. => is_clear && bit % 32 >= 15,
        _ => false,
    }
}

/// Tests every header bit of the segment after `first`, and returns how many are confirmed.
/// `policy` has no influence here.
fn every_header_bit(first: &Sample, policy: Policy) -> usize {
    let line = Line::after(first, policy);
    let second = next(first);
    let packet = second.build();
    let header_bits = (20 + second.options.len()) * 8;
    let mut confirmed = 0;
    for bit in 0..header_bits {
        let mut line = line.clone();
        let mut damaged = hit(&packet, second.transport(), bit);
        let verdict = line.take(&mut damaged);
        assert_eq!(verdict, expected(bit, u32::from(S), &second.options), "bit {bit}, {:?}", Field::at(bit));
        assert_eq!(damaged, packet, "bit {bit}: restored to the bit");
        let track = line.receiver.track(&second.tuple()).expect("open");
        assert_eq!((track.contiguous, track.highest), (FIRST + 1072, FIRST + 1072));
        confirmed +=
            usize::from(matches!(verdict, SegmentVerdict::Accept(Acceptance { confirmed: true, .. })));
    }
    confirmed
}

#[test]
fn all_160_bits_of_a_header_without_options() {
    assert_eq!(every_header_bit(&Sample::default(), Policy::Normal), 140);
    assert_eq!(every_header_bit(&Sample { ipv6: true, ..Sample::default() }, Policy::Bold), 140);
}

#[test]
fn all_256_bits_of_a_header_with_time_stamps() {
    let stamped = Sample { options: stamps(7_000_000).to_vec(), ..Sample::default() };
    assert_eq!(every_header_bit(&stamped, Policy::Normal), 214);
    // With these time stamps, no single wrong bit makes the checksum look like a partial one.
    let stamped = Sample { ipv6: true, options: stamps(7_000_001).to_vec(), ..stamped };
    assert_eq!(every_header_bit(&stamped, Policy::Normal), 215);
}

#[test]
fn a_push_that_was_meant_is_lost_only_with_the_checksum() {
    let first = Sample { flags: ACK | PSH, ..Sample::default() };
    let second = next(&first);
    let packet = second.build();
    for bit in 0..160 {
        let mut damaged = hit(&packet, 20, bit);
        let mut without = Sample { flags: ACK, ..second.clone() }.build();
        let verdict = Line::after(&first, Policy::Normal).take(&mut damaged);
        let is_confirmed = matches!(verdict, SegmentVerdict::Accept(Acceptance { confirmed: true, .. }));
        let expected = expected(bit, u32::from(S), &[]);
        assert_eq!(
            is_confirmed,
            matches!(expected, SegmentVerdict::Accept(Acceptance { confirmed: true, .. })),
            "bit {bit}"
        );
        assert_eq!(&damaged, if is_confirmed { &packet } else { &mut without }, "bit {bit}");
    }
}

#[test]
fn all_bits_of_the_payload_are_delivered_as_they_came() {
    let first = Sample { options: stamps(7_000_000).to_vec(), ..Sample::default() };
    let second = next(&first);
    let packet = second.build();
    let line = Line::after(&first, Policy::Normal);
    for bit in 256..(packet.len() - 20) * 8 {
        let mut line = line.clone();
        let received = hit(&packet, 20, bit);
        let mut damaged = received.clone();
        assert_eq!(line.take(&mut damaged), accepted(false, u32::from(S)), "bit {bit}");
        assert_eq!(damaged[second.data()], received[second.data()], "bit {bit}");
        // Apart from the payload, only the checksum differs from what was sent: it is right for the
        // damaged payload.
        assert_eq!(damaged[..36], packet[..36]);
        assert_eq!(damaged[38..second.data().start], packet[38..second.data().start]);
        assert_eq!(Line::after(&first, Policy::Normal).take(&mut damaged), SegmentVerdict::Pass);
        let offset = u64::from(S);
        assert_eq!(
            line.receiver.ranges(&second.tuple()).expect("open").held(),
            std::slice::from_ref(&(offset..offset + u64::from(S))),
            "TL-06: what is reported is what was hit"
        );
    }
}

/// A single wrong bit anywhere in a 556-byte segment (end of spec 8).
#[test]
fn the_split_of_single_bit_errors_is_that_of_the_specification() {
    let first = Sample::default();
    let second = next(&first);
    let packet = second.build();
    let bits = (packet.len() - 20) * 8;
    assert_eq!(bits, 556 * 8);
    // The paper does not confirm by the checksum: it discards a segment with a damaged sequence
    // number, which is restored here.
    let (mut header, mut sequence, mut ports, mut others) = (0, 0, 0, 0);
    let mut confirmed = [0; 2];
    let line = Line::after(&first, Policy::Normal);
    for bit in 0..bits {
        let mut damaged = hit(&packet, 20, bit);
        let received = TcpHeader::read(&damaged[20..]).expect("20 bytes").get(Field::Sequence);
        let mut line = line.clone();
        let SegmentVerdict::Accept(acceptance) = line.take(&mut damaged) else {
            panic!("bit {bit} is discarded")
        };
        let is_header = bit < 160;
        header += usize::from(is_header);
        let is_placed = received == second.seq;
        sequence += usize::from(!is_placed);
        ports += usize::from(acceptance.approximate);
        others += usize::from(is_header && is_placed && !acceptance.approximate);
        confirmed[usize::from(acceptance.confirmed)] += 1;
    }
    let percent = |count: usize| count as f64 * 100.0 / bits as f64;
    let near = |count, expected: f64| (percent(count) - expected).abs() < 0.05;
    assert!(near(header, 3.6), "header: {} %", percent(header));
    assert!(near(sequence, 0.72), "sequence number: {} %", percent(sequence));
    assert!(near(ports, 0.72), "ports: {} %", percent(ports));
    assert!(near(others, 2.2), "others, all salvageable: {} %", percent(others));
    // The payload is known to be intact for all header bits except those of the checksum (16), PSH,
    // FIN and ECN (2).
    assert_eq!(confirmed, [bits - 140, 140]);
}

/// As in the paper: the checksum field is damaged too, so that nothing can be confirmed.
#[test]
fn without_confirmation_a_hit_sequence_number_is_discarded_and_all_else_is_salvaged() {
    let first = Sample::default();
    let second = next(&first);
    let packet = second.build();
    let line = Line::after(&first, Policy::Normal);
    for bit in (0..(packet.len() - 20) * 8).filter(|bit| Field::at(*bit) != Some(Field::Checksum)) {
        // Three wrong bits for which no other single bit compensates.
        let mut damaged =
            [bit, 129, 131, 134].iter().fold(packet.clone(), |packet, bit| hit(&packet, 20, *bit));
        let before = damaged.clone();
        match line.clone().take(&mut damaged) {
            SegmentVerdict::Accept(acceptance) => {
                assert!(!acceptance.confirmed && Field::at(bit) != Some(Field::Sequence), "bit {bit}");
                assert_eq!((&damaged[..36], &damaged[38..40]), (&packet[..36], &packet[38..40]), "bit {bit}");
            }
            verdict => {
                assert_eq!(verdict, SegmentVerdict::Discard(Reason::Position), "bit {bit}");
                assert_eq!((Field::at(bit), damaged), (Some(Field::Sequence), before));
            }
        }
    }
}
