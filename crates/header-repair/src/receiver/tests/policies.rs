//! Policies, byte windows and the limit of guesses on constructed segments (TL-41, TL-05, TL-31,
//! TL-34).

use super::*;

/// Three kinds of doubtful segments. `verdict` damages their payload too, so that nothing is
/// confirmed.
fn doubtful() -> [Sample; 3] {
    let second = next(&Sample::default());
    let wrong_port = Sample { local_port: second.local_port ^ 4, ..second.clone() };
    let behind = Sample { seq: second.seq + 2 * u32::from(S), ..second.clone() };
    let wrong_seq = Sample { seq: second.seq ^ 1 << 30, ..second };
    [wrong_port, behind, wrong_seq]
}

fn verdict(sample: &Sample, policy: Policy) -> SegmentVerdict {
    let mut packet = sample.build();
    *packet.last_mut().expect("payload") ^= 0x21;
    Line::after(&Sample::default(), policy).take(&mut packet)
}

#[test]
fn policies_decide_as_the_specification_says() {
    let accept = |approximate, out_of_order, guess| {
        SegmentVerdict::Accept(Acceptance { confirmed: false, approximate, guess, out_of_order, bytes: 536 })
    };
    let (policy, position) =
        (SegmentVerdict::Discard(Reason::Policy), SegmentVerdict::Discard(Reason::Position));
    // A damaged port is restored, which is a guess as well.
    let (port, behind, seq) =
        (accept(true, false, true), accept(false, true, false), accept(false, false, true));
    for (set, expected) in [
        (Policy::Strict, [policy, policy, position]),
        (Policy::Normal, [port, behind, position]),
        (Policy::Bold, [port, behind, seq]),
    ] {
        assert_eq!(doubtful().map(|sample| verdict(&sample, set)), expected, "{set:?}");
    }
}

#[test]
fn a_bold_repair_puts_the_segment_where_it_belongs() {
    let [.., wrong_seq] = doubtful();
    let mut packet = wrong_seq.build();
    *packet.last_mut().expect("payload") ^= 0x21;
    let mut line = Line::after(&Sample::default(), Policy::Bold);
    let _ = line.take(&mut packet);
    let header = TcpHeader::read(&packet[20..]).expect("20 bytes");
    assert_eq!(header.get(Field::Sequence), FIRST + 536);
    assert_eq!(line.receiver.track(&wrong_seq.tuple()).expect("open").contiguous, FIRST + 1072);
    let ranges = line.receiver.ranges(&wrong_seq.tuple()).expect("open");
    assert_eq!(ranges.held(), std::slice::from_ref(&(536..1072)));
}

#[test]
fn a_bold_position_must_still_lie_in_the_window() {
    let mut line = Line::new(Parameters { window: 535, ..Parameters::default() });
    line.open(&Sample::default(), Policy::Bold);
    let mut packet = Sample { seq: FIRST ^ 1 << 30, ..Sample::default() }.build();
    packet[60] ^= 1;
    assert_eq!(line.take(&mut packet), SegmentVerdict::Discard(Reason::Position));
}

#[test]
fn the_socket_s_own_policy_counts() {
    let mut line = Line::after(&Sample::default(), Policy::Bold);
    let [wrong_port, ..] = doubtful();
    line.view(&Sample::default().tuple()).settings = on(Policy::Strict);
    assert_eq!(line.take(&mut hit(&wrong_port.build(), 20, 4000)), SegmentVerdict::Discard(Reason::Policy));
}

#[test]
fn random_sequence_numbers_hit_nothing_but_the_discrete_places() {
    // TL-34: every number in a part of the window, with a wrong checksum.
    let line = Line::after(&Sample::default(), Policy::Normal);
    let expected = FIRST + u32::from(S);
    for offset in 0..3000 {
        let mut packet = Sample { seq: expected + offset, ..Sample::default() }.build();
        packet[100] ^= 0x55;
        packet[101] ^= 0x55;
        let verdict = line.clone().take(&mut packet);
        let is_place = offset % u32::from(S) == 0;
        assert_eq!(matches!(verdict, SegmentVerdict::Accept(_)), is_place, "{offset}: {verdict:?}");
    }
}

#[test]
fn damage_is_accepted_only_inside_the_byte_window() {
    let first = Sample::default();
    let (second, len) = (next(&first), u64::from(S));
    for (from, length, inside) in [
        (len, len, true),
        (0, 2 * len, true),
        (len + 1, len, false),
        (len, len - 1, false),
        (2 * len, 99, false),
    ] {
        let mut line = Line::after(&first, Policy::Normal);
        line.view(&first.tuple()).settings.window = Some(ByteWindow { from, len: length });
        let verdict = line.take(&mut hit(&second.build(), 20, 130));
        let expected = if inside { accepted(false, 536) } else { SegmentVerdict::Discard(Reason::Window) };
        assert_eq!(verdict, expected, "{length} from {from}");
        // A confirmed segment is undamaged, but the window applies to it too.
        let mut line = Line::after(&first, Policy::Normal);
        line.view(&first.tuple()).settings.window = Some(ByteWindow { from, len: length });
        let verdict = line.take(&mut hit(&second.build(), 20, 33));
        let expected = if inside { accepted(true, 0) } else { SegmentVerdict::Discard(Reason::Window) };
        assert_eq!(verdict, expected, "{length} from {from}");
    }
}

#[test]
fn byte_windows_count_across_the_end_of_the_sequence_numbers() {
    let first = Sample { seq: u32::MAX - 99, ..Sample::default() };
    let mut line = Line::after(&first, Policy::Normal);
    let second = next(&first);
    assert_eq!(second.seq, 436);
    line.view(&first.tuple()).bytes_received = 1 << 33;
    line.view(&first.tuple()).settings.window = Some(ByteWindow { from: 1 << 33, len: 3 * 536 });
    let third = next(&second);
    let behind =
        SegmentVerdict::Accept(Acceptance { out_of_order: true, bytes: 536, ..Acceptance::default() });
    assert_eq!(line.take(&mut hit(&third.build(), 20, 130)), behind);
    assert_eq!(line.take(&mut hit(&second.build(), 20, 130)), accepted(false, 536));
    let from = 1u64 << 33;
    let ranges = line.receiver.ranges(&first.tuple()).expect("open");
    assert_eq!(ranges.held(), [from + 536..from + 1072, from..from + 536]);
}

#[test]
fn a_stream_that_wraps_is_repaired_on_both_sides_of_zero() {
    // In turn, 0 is the first byte of the second segment, its second byte, in its middle, and the
    // first byte of the first segment.
    for start in [0u32.wrapping_sub(536), 0u32.wrapping_sub(537), 0u32.wrapping_sub(800), 0] {
        let first = Sample { seq: start, ..Sample::default() };
        let packet = next(&first).build();
        for bit in [33, 50, 63] {
            let mut damaged = hit(&packet, 20, bit);
            assert_eq!(Line::after(&first, Policy::Normal).take(&mut damaged), accepted(true, 0));
            assert_eq!(damaged, packet);
        }
    }
}

#[test]
fn guesses_are_limited_and_come_back_with_time() {
    let parameters = Parameters { guess_interval_ns: 100, guess_burst: 2, ..Parameters::default() };
    let mut line = Line::new(parameters);
    line.open(&Sample::default(), Policy::Normal);
    let [wrong_port, ..] = doubtful();
    let mut take = |now| {
        // At the next expected place of the stream.
        let seq = line.receiver.track(&Sample::default().tuple()).expect("open").contiguous;
        let mut packet = Sample { seq, ..wrong_port.clone() }.build();
        packet[60] ^= 1;
        line.receiver.packet(&mut packet, None, now, &line.host)
    };
    let is_taken = |verdict| matches!(verdict, SegmentVerdict::Accept(_));
    assert!(is_taken(take(1000)) && is_taken(take(1000)));
    assert_eq!(take(1099), SegmentVerdict::Discard(Reason::Rate));
    assert!(is_taken(take(1100)));
    assert_eq!(take(1100), SegmentVerdict::Discard(Reason::Rate));
}
