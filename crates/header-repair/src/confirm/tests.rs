use super::*;
use crate::detect::Arrival;
use crate::options::PLAUSIBLE_STAMPS;
use crate::sample::{ACKED, FIRST, S, Sample, hit, stamps};
use crate::{Handshake, Parameters, Policy, SocketView, salvage};

const OLDER: u32 = 1 << 20;
/// Bytes that the receiving host has sent and that are not acknowledged yet.
const IN_FLIGHT: u32 = 100;

/// Returns a track with an older acknowledgment number, window and time stamps than the segments
/// that the tests call `newer`.
fn track() -> Track {
    let options = Some(stamps(OLDER));
    let handshake = Handshake { rcv_nxt: FIRST, ack: ACKED, window: 502, options, unsupported: false };
    let track = Track::established(&handshake, true, &Parameters::default());
    Track { payload: S, ..track }
}

/// Returns a segment in order whose other fields equal the template.
fn same() -> Sample {
    Sample { options: stamps(OLDER).to_vec(), ..Sample::default() }
}

/// Returns the result of `confirm` for a segment with these bits wrong.
fn of(sample: &Sample, track: &Track, bits: &[usize]) -> Result<Option<Header>, Reason> {
    let packet = bits.iter().fold(sample.build(), |packet, bit| hit(&packet, 20, *bit));
    let received = Header::read(&packet[20..], 32).expect("a header");
    let settings = crate::sample::on(Policy::Normal);
    let view = SocketView {
        rcv_nxt: track.contiguous,
        bytes_received: 0,
        snd_una: ACKED,
        snd_nxt: ACKED + IN_FLIGHT,
        settings,
    };
    let damaged = Localized {
        connection: sample.tuple(),
        is_approximate: false,
        header: received.fixed,
        segment: &packet[20..],
        arrival: &Arrival::read(&packet, false).expect("a segment"),
        view,
    };
    let bases = Bases {
        rcv_nxt: track.contiguous,
        contiguous: track.contiguous,
        highest: track.highest,
        payload: track.payload,
        window: 1 << 20,
    };
    confirm(&damaged, &salvage::base(&received, &sample.tuple()), track, &bases)
}

/// Returns the header of a segment as sent.
fn sent(sample: &Sample) -> Header {
    Header::read(&sample.build()[20..], 32).expect("a header")
}

/// Returns whether a number with one bit flipped, counted from the most significant one, is at most
/// `most` above the number.
fn is_near(number: u32, bit: usize, most: u32) -> bool {
    (number ^ 1 << (31 - bit)).wrapping_sub(number) <= most
}

#[test]
fn damage_that_makes_a_header_impossible_is_confirmed() {
    let sample = same();
    let mut unconfirmed = 0;
    for bit in 0..256 {
        let is_possible = match bit {
            64..96 => is_near(ACKED, bit - 64, IN_FLIGHT),
            // 0 is padding as well as 1.
            167 | 175 => true,
            192..224 => is_near(OLDER, bit - 192, PLAUSIBLE_STAMPS),
            224.. => is_near(0x3039, bit - 224, PLAUSIBLE_STAMPS),
            _ => matches!(
                Field::at(bit),
                Some(Field::Checksum | Field::Psh | Field::Fin | Field::Ece | Field::Cwr)
            ),
        };
        let expected = (!is_possible).then(|| sent(&sample));
        assert_eq!(of(&sample, &track(), &[bit]), Ok(expected), "bit {bit}");
        unconfirmed += usize::from(is_possible);
    }
    // Bits that give a plausible value: 5 of the acknowledgment number, 2 of the padding, 17 and 11
    // of the time stamps. The last 20 are the fields that are never confirmed.
    assert_eq!(unconfirmed, 5 + 2 + 17 + 11 + 20);
}

/// Asserts that putting an older value into a field that changed by itself never compensates for a
/// wrong bit in the payload, although for some bits it would make the checksum right.
fn no_wrong_bit_of_the_payload_is_undone(changed: &Sample, older: impl Fn(&Header) -> Header) {
    let mut tempting = 0;
    for bit in 256..(32 + usize::from(S)) * 8 {
        assert_eq!(of(changed, &track(), &[bit]), Ok(None), "bit {bit}");
        let packet = hit(&changed.build(), 20, bit);
        let arrival = Arrival::read(&packet, false).expect("a segment");
        let header = older(&Header::read(&packet[20..], 32).expect("a header"));
        tempting += usize::from(arrival.is_right(checksum::add(header.sum(), checksum::sum(&packet[52..]))));
    }
    assert!(tempting > usize::from(S) / 8, "only {tempting} bits would be undone");
}

#[test]
fn a_time_stamp_that_advances_by_one_undoes_no_payload_bit_of_weight_one() {
    for ahead in [1, 4, 1 << 10, PLAUSIBLE_STAMPS] {
        let newer = Sample { options: stamps(OLDER + ahead).to_vec(), ..same() };
        no_wrong_bit_of_the_payload_is_undone(&newer, |header| header.with_template_options(&track()));
    }
    let mut options = stamps(OLDER);
    options[11] += 1;
    let echoing = Sample { options: options.to_vec(), ..same() };
    no_wrong_bit_of_the_payload_is_undone(&echoing, |header| header.with_template_options(&track()));
}

#[test]
fn an_acknowledgment_that_advances_undoes_no_payload_bit() {
    for ahead in [1, 64] {
        let newer = Sample { ack: ACKED + ahead, ..same() };
        no_wrong_bit_of_the_payload_is_undone(&newer, |header| header.with(Field::Acknowledgment, ACKED));
    }
}

#[test]
fn a_window_that_changes_by_a_power_of_two_and_several_bits_undoes_no_payload_bit() {
    // 502 and 512 differ in more than one bit; so do 502 and 504.
    let wider = Sample { window: 504, ..same() };
    assert_eq!((0x1f6_u16 ^ 0x1f8).count_ones(), 3);
    no_wrong_bit_of_the_payload_is_undone(&wider, |header| header.with(Field::Window, 502));
}

#[test]
fn a_fin_or_ecn_bit_that_was_meant_undoes_no_payload_bit() {
    for (flag, field) in [(crate::sample::FIN, Field::Fin), (0x40, Field::Ece), (0x80, Field::Cwr)] {
        let meant = Sample { flags: crate::sample::ACK | flag, ..same() };
        no_wrong_bit_of_the_payload_is_undone(&meant, |header| header.with(field, 0));
    }
}

#[test]
fn damage_to_payload_is_confirmed_by_nothing() {
    for bit in 256..(32 + usize::from(S)) * 8 {
        assert_eq!(of(&same(), &track(), &[bit]), Ok(None), "bit {bit}");
    }
}

#[test]
fn several_fields_are_replaced_together_only_by_the_template() {
    // One wrong bit each in the acknowledgment number, the window and the echoed time stamp.
    assert_eq!(of(&same(), &track(), &[64, 113, 255]), Ok(Some(sent(&same()))));
    // With two impossible fields, any change of the window is replaced.
    assert_eq!(of(&same(), &track(), &[64, 113, 114]), Ok(Some(sent(&same()))));
    assert_eq!(of(&same(), &track(), &[113, 255]), Ok(Some(sent(&same()))));
    // The window alone may have changed by itself if more than one bit differs.
    assert_eq!(of(&same(), &track(), &[113, 114]), Ok(None));
    // The last bit of the acknowledgment number gives a plausible value.
    assert_eq!(of(&same(), &track(), &[95, 113]), Ok(None));
    // Sequence number and window: no replacement covers both.
    assert_eq!(of(&same(), &track(), &[32, 112]), Ok(None));
}

#[test]
fn a_field_that_is_newer_than_the_template_cannot_be_confirmed_when_it_is_hit() {
    let newer = Sample { ack: ACKED + 77, window: 600, options: stamps(OLDER + 99).to_vec(), ..same() };
    // In each of these, the difference from the template is not the one that the wrong bit makes.
    for bit in [64, 112, 200] {
        assert_eq!(of(&newer, &track(), &[bit]), Ok(None));
    }
    // Damage to other fields is confirmed: the newer values are right and stay.
    assert_eq!(of(&newer, &track(), &[0]), Ok(Some(sent(&newer))));
    assert_eq!(of(&newer, &track(), &[32]), Ok(Some(sent(&newer))));
}

#[test]
fn a_hit_sequence_number_is_the_furthest_one_behind_a_hole() {
    let highest = FIRST + 7 * u32::from(S);
    let track = Track { highest, ..track() };
    let sample = Sample { seq: highest, ..same() };
    assert_eq!(of(&sample, &track, &[32]), Ok(Some(sent(&sample))));
}

#[test]
fn a_segment_behind_a_hole_is_not_moved_into_it() {
    // S is a power of two: a bit of the checksum field or of the payload may have just the weight
    // of the distance to the next place.
    let track = Track { payload: 512, ..track() };
    let sample = Sample { seq: FIRST + 512, ..same() };
    let of_weight_512 = |word: usize| word * 16 + 6;
    let ambiguous = (8..16 + usize::from(S) / 2).filter(|word| {
        let found = of(&sample, &track, &[of_weight_512(*word)]);
        assert!(found == Ok(None) || found == Err(Reason::Ambiguous) || *word < 16, "word {word}: {found:?}");
        found == Err(Reason::Ambiguous)
    });
    assert!(ambiguous.count() > 10, "about half of them flip in the direction that fits");
    // From an impossible place the segment is moved.
    let damaged = Sample { seq: FIRST, ..same() };
    assert_eq!(of(&damaged, &track, &[32 + 4]), Ok(Some(sent(&damaged))));
    assert_eq!(of(&damaged, &track, &[32 + 31 - 3]), Ok(Some(sent(&damaged))), "8 bytes behind");
    // From a possible place it is not, although here the sequence number was damaged.
    let bit = (0..20).rev().find(|bit| FIRST >> bit & 1 == 0 && *bit >= 9).expect("a clear bit");
    assert_eq!(of(&damaged, &track, &[32 + 31 - bit]), Err(Reason::Ambiguous));
}

#[test]
fn an_old_duplicate_is_not_moved_to_the_next_place() {
    let track = Track { payload: 512, ..track() };
    let sample = Sample { seq: FIRST - 512, ..same() };
    // A payload bit of weight 512 compensates for one segment if it flips in the right direction.
    let found: Vec<_> =
        (16..16 + usize::from(S) / 2).map(|word| of(&sample, &track, &[word * 16 + 6])).collect();
    assert!(found.iter().all(|found| matches!(found, Ok(None) | Err(Reason::Ambiguous))), "{found:?}");
    assert!(found.contains(&Err(Reason::Ambiguous)), "or the test tests nothing");
    // A wrong bit made the sequence number an old one, which cannot be told from an old duplicate.
    let damaged = Sample { seq: FIRST, ..same() };
    let bit = (9..20).find(|bit| FIRST >> bit & 1 == 1).expect("a set bit");
    assert_eq!(of(&damaged, &track, &[32 + 31 - bit]), Err(Reason::Ambiguous));
    // If S is unknown, or the old place is further away than the window, it is not a place.
    let unknown = Track { payload: 0, ..track };
    assert_eq!(of(&damaged, &unknown, &[32 + 31 - bit]), Ok(Some(sent(&damaged))));
    let bit = (21..32).find(|bit| FIRST >> bit & 1 == 1).expect("a set bit");
    assert_eq!(of(&damaged, &track, &[32 + 31 - bit]), Ok(Some(sent(&damaged))));
}
