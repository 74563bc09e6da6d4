use super::*;
use crate::sample::{ACKED, FIRST, S, Sample, hit, stamps};
use crate::{Handshake, Parameters, Policy, salvage};

const OLDER: u32 = 1 << 20;

/// Knows an older acknowledgment, window and time stamps than the segments of [`newer`] carry.
fn track() -> Track {
    let handshake = Handshake { rcv_nxt: FIRST, ack: ACKED, window: 502, options: Some(stamps(OLDER)) };
    let track = Track::established(&handshake, true, Policy::Normal, &Parameters::default());
    Track { payload: S, ..track }
}

/// The segment in order, all else as the template.
fn same() -> Sample {
    Sample { options: stamps(OLDER).to_vec(), ..Sample::default() }
}

/// What is confirmed of a segment with these bits wrong.
fn of(sample: &Sample, track: &Track, bits: &[usize]) -> Result<Option<Header>, Reason> {
    let packet = bits.iter().fold(sample.build(), |packet, bit| hit(&packet, 20, *bit));
    let arrival = Arrival::read(&packet, false).expect("a segment");
    let received = Header::read(&packet[20..], 32).expect("a header");
    let bases = Bases {
        rcv_nxt: track.contiguous,
        contiguous: track.contiguous,
        highest: track.highest,
        payload: track.payload,
        window: 1 << 20,
    };
    confirm(&salvage::base(&received, &sample.tuple()), &packet[52..], track, &bases, &arrival)
}

/// The header of a segment as sent.
fn sent(sample: &Sample) -> Header {
    Header::read(&sample.build()[20..], 32).expect("a header")
}

#[test]
fn damage_to_constants_acknowledgment_window_options_and_sequence_number_is_confirmed() {
    let sample = same();
    for bit in 0..256 {
        let expected = match Field::at(bit) {
            Some(Field::Checksum | Field::Psh) => None,
            _ => Some(sent(&sample)),
        };
        assert_eq!(of(&sample, &track(), &[bit]), Ok(expected), "bit {bit}");
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
    // One bit each in acknowledgment, window and the echoed time stamp.
    assert_eq!(of(&same(), &track(), &[64, 113, 255]), Ok(Some(sent(&same()))));
    // Sequence number and window: no substitution does both.
    assert_eq!(of(&same(), &track(), &[32, 112]), Ok(None));
}

#[test]
fn a_field_that_is_newer_than_the_template_cannot_be_confirmed_when_it_is_hit() {
    let newer = Sample { ack: ACKED + 77, window: 600, options: stamps(OLDER + 99).to_vec(), ..same() };
    // In none of these is the difference to the template the one that the wrong bit makes.
    for bit in [64, 112, 200] {
        assert_eq!(of(&newer, &track(), &[bit]), Ok(None));
    }
    // Other fields do not care: what they carry is right and stays.
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
    // S is a power of two: a bit of the checksum field or the payload may weigh just what the next place is away.
    let track = Track { payload: 512, ..track() };
    let sample = Sample { seq: FIRST + 512, ..same() };
    let of_weight_512 = |word: usize| word * 16 + 6;
    let ambiguous = (8..16 + usize::from(S) / 2).filter(|word| {
        let found = of(&sample, &track, &[of_weight_512(*word)]);
        assert!(found == Ok(None) || found == Err(Reason::Ambiguous) || *word < 16, "word {word}: {found:?}");
        found == Err(Reason::Ambiguous)
    });
    assert!(ambiguous.count() > 10, "about half of them flip in the direction that fits");
    // From an impossible place it is moved.
    let damaged = Sample { seq: FIRST, ..same() };
    assert_eq!(of(&damaged, &track, &[32 + 4]), Ok(Some(sent(&damaged))));
    assert_eq!(of(&damaged, &track, &[32 + 31 - 3]), Ok(Some(sent(&damaged))), "8 bytes behind");
    // From a possible one it is not, though here the sequence number was hit.
    let bit = (0..20).rev().find(|bit| FIRST >> bit & 1 == 0 && *bit >= 9).expect("a clear bit");
    assert_eq!(of(&damaged, &track, &[32 + 31 - bit]), Err(Reason::Ambiguous));
}

#[test]
fn an_old_duplicate_is_not_moved_to_the_next_place() {
    let track = Track { payload: 512, ..track() };
    let sample = Sample { seq: FIRST - 512, ..same() };
    // A bit of the payload that weighs 512 makes up for one segment where it flips in the right direction.
    let found: Vec<_> =
        (16..16 + usize::from(S) / 2).map(|word| of(&sample, &track, &[word * 16 + 6])).collect();
    assert!(found.iter().all(|found| matches!(found, Ok(None) | Err(Reason::Ambiguous))), "{found:?}");
    assert!(found.contains(&Err(Reason::Ambiguous)), "or the test tests nothing");
    // A sequence number that a wrong bit made an old one: nobody can tell.
    let damaged = Sample { seq: FIRST, ..same() };
    let bit = (9..20).find(|bit| FIRST >> bit & 1 == 1).expect("a set bit");
    assert_eq!(of(&damaged, &track, &[32 + 31 - bit]), Err(Reason::Ambiguous));
    // Where S is not known, or the old place is further off than the window, it is no place.
    let unknown = Track { payload: 0, ..track };
    assert_eq!(of(&damaged, &unknown, &[32 + 31 - bit]), Ok(Some(sent(&damaged))));
    let bit = (21..32).find(|bit| FIRST >> bit & 1 == 1).expect("a set bit");
    assert_eq!(of(&damaged, &track, &[32 + 31 - bit]), Ok(Some(sent(&damaged))));
}
