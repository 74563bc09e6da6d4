use super::*;
use crate::sample::{ACK, ACKED, FIN, FIRST, Sample, sack, stamps};

const PARAMETERS: Parameters = Parameters {
    mode: crate::Mode::Recovery,
    localization: crate::Localization::Exact,
    window: 100_000,
    guess_interval_ns: 1,
    guess_burst: 1,
};

fn track(options: Option<[u8; 12]>) -> Track {
    let handshake = Handshake { rcv_nxt: FIRST, ack: ACKED, window: 502, options };
    Track::established(&handshake, true, Policy::Normal, &PARAMETERS)
}

impl Track {
    fn after(mut self, sample: &Sample) -> Self {
        self.learn(&sample.build()[sample.transport()..], None, &PARAMETERS);
        self
    }
}

fn with_options(options: &[u8]) -> Sample {
    Sample { options: options.to_vec(), ..Sample::default() }
}

#[test]
fn a_handshake_is_a_template() {
    let plain = track(None);
    assert_eq!((plain.known, plain.header_len, plain.template()), (true, 20, &[][..]));
    let stamped = track(Some(stamps(7)));
    assert_eq!((stamped.header_len, stamped.template()), (32, &stamps(7)[..]));
    assert!(!Track::unknown(5, true, Policy::Bold, &PARAMETERS).known);
}

#[test]
fn data_in_order_moves_both_ends_data_behind_a_hole_the_furthest() {
    let (first, len) = (Sample::default(), 536);
    let after = track(None).after(&first);
    assert_eq!((after.contiguous, after.highest, after.payload), (FIRST + len, FIRST + len, 536));
    let third = Sample { seq: FIRST + 2 * len, ..first.clone() };
    let after = after.after(&third);
    assert_eq!((after.contiguous, after.highest), (FIRST + len, FIRST + 3 * len));
    let second = Sample { seq: FIRST + len, flags: ACK | FIN, ..first.clone() };
    let after = after.after(&second);
    assert_eq!(after.contiguous, FIRST + 2 * len + 1, "FIN takes a number");
    assert_eq!(after.after(&first), after, "old duplicates teach nothing");
}

#[test]
fn an_end_beyond_the_window_is_not_believed() {
    for (seq, highest) in
        [(FIRST + 99_464, FIRST + 100_000), (FIRST + 99_465, FIRST), (FIRST - 200_000, FIRST)]
    {
        let after = track(None).after(&Sample { seq, ..Sample::default() });
        assert_eq!((after.contiguous, after.highest), (FIRST, highest));
    }
}

#[test]
fn the_numbers_wrap() {
    let mut track = track(None);
    track.restart(u32::MAX - 99);
    track.known = true;
    let after = track.after(&Sample { seq: u32::MAX - 99, ..Sample::default() });
    assert_eq!((after.contiguous, after.highest), (436, 436));
    let mut behind = after;
    behind.catch_up(u32::MAX);
    assert_eq!(behind, after, "a socket that is behind changes nothing");
    behind.catch_up(1000);
    assert_eq!((behind.contiguous, behind.highest), (1000, 1000));
}

#[test]
fn the_newest_acknowledgment_and_its_window_are_kept() {
    let newer = Sample { ack: ACKED + 1, window: 7, ..Sample::default() };
    let after = track(None).after(&newer);
    assert_eq!((after.ack, after.window), (ACKED + 1, 7));
    let after = after.after(&Sample { window: 9, ..Sample::default() });
    assert_eq!((after.ack, after.window), (ACKED + 1, 7), "an older one");
    let after = after.after(&Sample { ack: ACKED + 9, flags: PSH_ONLY, ..Sample::default() });
    assert_eq!(after.ack, ACKED + 1, "without ACK the number means nothing");
    let mut unknown = after;
    unknown.known = false;
    assert_eq!(unknown.after(&Sample::default()).ack, ACKED, "nothing held is believed");
}

const PSH_ONLY: u8 = crate::sample::PSH;

#[test]
fn the_largest_payload_is_s_and_a_merged_one_counts_by_its_parts() {
    let small = Sample { payload: vec![0; 10], ..Sample::default() };
    assert_eq!(track(None).after(&Sample::default()).after(&small).payload, 536);
    let mut merged = track(None);
    let packet = Sample { payload: vec![0; 3000], ..Sample::default() }.build();
    merged.learn(&packet[20..], Some(1000), &PARAMETERS);
    assert_eq!((merged.payload, merged.contiguous), (1000, FIRST + 3000));
    merged.learn(&packet[20..], Some(500), &PARAMETERS);
    assert_eq!(merged.payload, 1000);
}

#[test]
fn the_newest_time_stamps_are_kept_wherever_they_stand() {
    let after = track(Some(stamps(u32::MAX))).after(&with_options(&stamps(3)));
    assert_eq!(after.template(), stamps(3));
    assert_eq!(after.after(&with_options(&stamps(2))).template(), stamps(3));
    let mut moved = stamps(4);
    moved.rotate_left(2);
    let after = after.after(&with_options(&moved));
    assert_eq!(after.template(), moved, "padding behind");
    assert_eq!(after.after(&with_options(&stamps(3))).template(), moved);
    assert_eq!(after.after(&with_options(&stamps(4))).template(), stamps(4), "as new is new enough");
}

#[test]
fn options_come_and_go_with_right_segments() {
    let plain = track(Some(stamps(9))).after(&Sample::default());
    assert_eq!((plain.header_len, plain.known), (20, true));
    let stamped = plain.after(&with_options(&stamps(5)));
    assert_eq!((stamped.header_len, stamped.template()), (32, &stamps(5)[..]), "what was held is void");
}

#[test]
fn sack_blocks_are_noticed_and_bring_new_time_stamps() {
    let both = with_options(&[stamps(8), sack()].concat());
    let after = track(Some(stamps(7))).after(&both);
    assert_eq!((after.sack_seen, after.header_len, after.template()), (true, 32, &stamps(8)[..]));
    assert_eq!(track(Some(stamps(9))).after(&both).template(), stamps(9));
    let mut padded_behind = stamps(7);
    padded_behind.rotate_left(2);
    assert_eq!(track(Some(padded_behind)).after(&both).template(), padded_behind);
    let without = track(None).after(&both);
    assert_eq!((without.header_len, without.sack_seen), (20, true), "they are no template by themselves");
    assert!(track(None).after(&with_options(&sack())).sack_seen);
    assert!(!Track { known: false, ..track(None) }.after(&both).known);
}

#[test]
fn other_options_with_data_cannot_be_restored() {
    let other = with_options(&[1, 1, 1, 1]);
    assert!(track(None).after(&other).unsupported);
    assert!(!track(None).after(&Sample { payload: Vec::new(), ..other }).unsupported);
}

#[test]
fn syn_rst_and_headers_that_contradict_themselves_teach_nothing() {
    for flags in [ACK | 2, ACK | 4] {
        let segment = Sample { flags, ack: ACKED + 5, ..Sample::default() };
        assert_eq!(track(None).after(&segment), track(None));
    }
    for offset in [0, 4, 15] {
        let mut segment = Sample { payload: vec![1; 8], ..Sample::default() }.build().split_off(20);
        TcpHeader::read(&segment).expect("20 bytes").with(Field::DataOffset, offset).write(&mut segment);
        let mut after = track(None);
        after.learn(&segment, None, &PARAMETERS);
        assert_eq!(after, track(None), "data offset {offset}");
    }
}
