//! The special segments of the specification's section 8 (TL-32), time stamps, SACK blocks, partial
//! checksums.

use super::*;

/// Returns the verdict on a second segment with a damaged checksum field, and its bytes.
fn after_first(sample: &Sample) -> (SegmentVerdict, Vec<u8>) {
    let mut line = Line::after(&Sample::default(), Policy::Normal);
    let mut packet = hit(&sample.build(), 20, 130);
    (line.take(&mut packet), packet)
}

#[test]
fn data_with_fin_lose_the_fin_and_are_accepted() {
    let second = next(&Sample { flags: ACK | FIN, ..Sample::default() });
    let (verdict, packet) = after_first(&second);
    assert_eq!(verdict, accepted(false, 536));
    assert_eq!(packet, Sample { flags: ACK, ..second }.build(), "FIN will come again");
}

#[test]
fn a_cleared_fin_takes_no_sequence_number() {
    let first = Sample::default();
    let mut line = Line::after(&first, Policy::Normal);
    let second = next(&Sample { flags: ACK | FIN, ..first });
    assert_eq!(line.take(&mut hit(&second.build(), 20, 130)), accepted(false, 536));
    let contiguous = line.receiver.track(&second.tuple()).expect("open").contiguous;
    assert_eq!(contiguous, FIRST + 1072);
    // The sender retransmits the FIN. It arrives undamaged and ends the stream.
    let again = Sample { seq: contiguous, payload: Vec::new(), ..second };
    assert_eq!(line.take(&mut again.build()), SegmentVerdict::Pass);
    assert_eq!(line.receiver.track(&again.tuple()).expect("open").contiguous, FIRST + 1073);
}

#[test]
fn data_with_syn_or_rst_lose_it_and_are_accepted_as_a_guess() {
    for flags in [ACK | 2, ACK | 4, ACK | 0x20] {
        let second = next(&Sample { flags, ..Sample::default() });
        let (verdict, packet) = after_first(&second);
        let guessed = Acceptance { guess: true, bytes: 536, ..Acceptance::default() };
        assert_eq!(verdict, SegmentVerdict::Accept(guessed));
        assert_eq!(packet, Sample { flags: ACK, ..second }.build());
    }
}

#[test]
fn segments_without_payload_are_discarded() {
    for flags in [ACK, 2, 2 | ACK, ACK | FIN, 4, 4 | ACK] {
        let empty = next(&Sample { flags, ..Sample::default() });
        let (verdict, packet) = after_first(&Sample { payload: Vec::new(), ..empty.clone() });
        assert_eq!(verdict, SegmentVerdict::Discard(Reason::Empty));
        assert_eq!(packet, hit(&Sample { payload: Vec::new(), ..empty }.build(), 20, 130));
    }
}

#[test]
fn a_segment_shorter_than_its_header_is_discarded() {
    let mut packet = Sample { payload: Vec::new(), ..Sample::default() }.build();
    packet[3] -= 1;
    let mut line = Line::after(&Sample::default(), Policy::Normal);
    assert_eq!(line.take(&mut packet), SegmentVerdict::Discard(Reason::Short));
}

#[test]
fn a_damaged_ipv4_header_forbids_repair() {
    let mut packet = hit(&next(&Sample::default()).build(), 20, 130);
    packet[8] ^= 1;
    let mut line = Line::after(&Sample::default(), Policy::Normal);
    assert_eq!(line.take(&mut packet), SegmentVerdict::Discard(Reason::Ip));
}

#[test]
fn a_partial_checksum_is_left_alone_and_counted() {
    let second = next(&Sample::default());
    let mut packet = second.build();
    let arrival = Arrival::read(&packet, false).expect("a segment");
    packet[36..38].copy_from_slice(&arrival.pseudo.to_be_bytes());
    let before = packet.clone();
    let mut line = Line::after(&Sample::default(), Policy::Normal);
    assert_eq!(line.take(&mut packet), SegmentVerdict::Unverifiable);
    assert_eq!(packet, before);
    assert_eq!(line.receiver.counters().unverifiable, 1);
}

#[test]
fn merged_segments_are_learnt_from_without_a_look_at_their_checksum() {
    let first = Sample::default();
    let merged = Sample { payload: text(20_000), ..first.clone() };
    let mut packet = hit(&merged.build(), 20, 130);
    let before = packet.clone();
    let mut line = Line::new(Parameters::default());
    line.open(&first, Policy::Normal);
    assert_eq!(line.receiver.packet(&mut packet, Some(1000), 0, &line.host), SegmentVerdict::Pass);
    assert_eq!(packet, before);
    let track = *line.receiver.track(&first.tuple()).expect("open");
    assert_eq!((track.contiguous, track.payload), (FIRST + 20_000, 1000));
    // For an unknown connection it is left alone.
    let mut other = Sample { local_port: 40001, ..merged }.build();
    assert_eq!(line.receiver.packet(&mut other, Some(1000), 0, &line.host), SegmentVerdict::NotOurs);
}

#[test]
fn restored_time_stamps_are_never_newer_than_the_last_good_ones() {
    let first = Sample { options: stamps(1_000_000).to_vec(), ..Sample::default() };
    // A later TSval with each bit wrong in turn: an impossible value from the future would break
    // PAWS for the connection.
    let second = Sample { options: stamps(1_000_007).to_vec(), ..next(&first) };
    let packet = second.build();
    for bit in (160..256).chain([130, 2000]) {
        let mut damaged = hit(&packet, 20, bit);
        let verdict = Line::after(&first, Policy::Normal).take(&mut damaged);
        assert!(matches!(verdict, SegmentVerdict::Accept(_)), "bit {bit}: {verdict:?}");
        assert_eq!(damaged[40..52], stamps(1_000_000), "bit {bit}");
    }
    // If another field was damaged, the received time stamps are confirmed, and rightly newer.
    let mut damaged = hit(&packet, 20, 64);
    assert_eq!(Line::after(&first, Policy::Normal).take(&mut damaged), accepted(true, 0));
    assert_eq!(damaged, packet);
}

#[test]
fn what_is_repaired_after_a_confirmed_segment_is_not_older() {
    let first = Sample { options: stamps(1_000_000).to_vec(), ..Sample::default() };
    let second = Sample { options: stamps(1_000_007).to_vec(), ..next(&first) };
    let third = Sample { options: stamps(1_000_008).to_vec(), ..next(&second) }.build();
    let mut line = Line::after(&first, Policy::Normal);
    assert_eq!(line.take(&mut hit(&second.build(), 20, 64)), accepted(true, 0));
    let mut damaged = hit(&third, 20, 2000);
    assert_eq!(line.take(&mut damaged), accepted(false, 536));
    assert_eq!(damaged[40..52], stamps(1_000_007), "PAWS would refuse 1 000 000 now");
    // Unconfirmed time stamps teach nothing. A far one that is confirmed becomes a suspect, as it
    // would in a right segment.
    assert_eq!(line.receiver.track(&second.tuple()).expect("open").template(), stamps(1_000_007));
    let far = Sample { options: stamps(1 << 30).to_vec(), ..next(&first) };
    let mut line = Line::after(&first, Policy::Normal);
    assert_eq!(line.take(&mut hit(&far.build(), 20, 100)), accepted(true, 0));
    let track = line.receiver.track(&far.tuple()).expect("open");
    assert_eq!((track.template(), track.suspect), (&stamps(1_000_000)[..], Some(1 << 30)));
}

#[test]
fn segments_with_sack_blocks_keep_their_longer_header() {
    let first = Sample { options: stamps(1_000_000).to_vec(), ..Sample::default() };
    let blocks = Sample { options: [stamps(1_000_000), sack()].concat(), ..next(&first) };
    let data = blocks.data();
    let packet = blocks.build();
    let line = Line::after(&first, Policy::Normal);
    // Confirmed: the blocks stay.
    let mut damaged = hit(&packet, 20, 64);
    assert_eq!(line.clone().take(&mut damaged), accepted(true, 0));
    assert_eq!(damaged, packet);
    // Unconfirmed: the blocks become padding, and the payload stays where it is.
    let mut damaged = hit(&packet, 20, (data.start - 20) * 8 + 5);
    let received = damaged.clone();
    assert_eq!(line.clone().take(&mut damaged), accepted(false, 536));
    assert_eq!(damaged[data.clone()], received[data]);
    assert_eq!(damaged[52..64], [1; 12]);
    assert_eq!(TcpHeader::read(&damaged[20..]).expect("20 bytes").header_len(), 44);
}

#[test]
fn once_sack_blocks_occur_a_doubtful_header_length_is_discarded() {
    let first = Sample { options: stamps(1_000_000).to_vec(), ..Sample::default() };
    let blocks = Sample { options: [stamps(1_000_000), sack()].concat(), ..next(&first) };
    let mut line = Line::after(&first, Policy::Normal);
    assert_eq!(line.take(&mut blocks.build()), SegmentVerdict::Pass);
    let third = next(&blocks);
    for bit in 96..100 {
        let verdict = line.clone().take(&mut hit(&third.build(), 20, bit));
        assert_eq!(verdict, SegmentVerdict::Discard(Reason::HeaderLength), "bit {bit}");
    }
}
