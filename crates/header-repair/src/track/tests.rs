use super::*;
use crate::Policy;
use crate::sample::{ACK, ACKED, FIN, FIRST, Sample, sack, stamps};

const PARAMETERS: Parameters = Parameters {
    mode: crate::Mode::Recovery,
    localization: crate::Localization::Exact,
    window: 100_000,
    guess_interval_ns: 1,
    guess_burst: 1,
};

fn track(options: Option<[u8; 12]>) -> Track {
    let handshake = Handshake { rcv_nxt: FIRST, ack: ACKED, window: 502, options, unsupported: false };
    Track::established(&handshake, true, &PARAMETERS)
}

/// Returns a socket that has sent nothing since the handshake.
fn view(rcv_nxt: u32) -> SocketView {
    let settings = crate::sample::on(Policy::Normal);
    SocketView { rcv_nxt, bytes_received: 0, snd_una: ACKED, snd_nxt: ACKED, settings }
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
    assert!(!Track::unknown(5, true, &PARAMETERS).known);
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
    behind.catch_up(&view(u32::MAX));
    assert_eq!(behind, after, "a socket that is behind changes nothing");
    behind.catch_up(&view(1000));
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
fn the_first_segment_with_and_without_time_stamps_shows_the_length_of_the_header() {
    let unknown = Track::unknown(FIRST, true, &PARAMETERS);
    assert_eq!((unknown.header_len, unknown.known, unknown.template()), (0, false, &[][..]));
    let plain = unknown.after(&Sample::default());
    assert_eq!((plain.header_len, plain.known, plain.contiguous), (20, true, FIRST + 536));
    let stamped = unknown.after(&with_options(&stamps(1 << 31)));
    assert_eq!((stamped.header_len, stamped.known, stamped.template()), (32, true, &stamps(1 << 31)[..]));
    // SACK blocks alone do not show it.
    for options in [sack().to_vec(), [stamps(3), sack()].concat()] {
        let after = unknown.after(&with_options(&options));
        assert_eq!(after, Track { sack_seen: true, ..unknown });
    }
    let other = unknown.after(&with_options(&[1, 1, 1, 1]));
    assert_eq!(other, Track { others: 1, ..unknown });
}

#[test]
fn one_segment_with_damaged_options_changes_nothing_but_the_count_of_others() {
    let mut damaged = stamps(9);
    damaged[2] ^= 1;
    let stamped = track(Some(stamps(7)));
    for other in [&damaged[..], &[], &sack(), &[1; 4]] {
        let other = Sample { ack: ACKED + 9, window: 9, ..with_options(other) };
        let after = stamped.after(&other);
        assert_eq!(after, Track { others: 1, ..stamped }, "not even its end");
        assert!(!after.has_others());
        // Without payload it does not even count.
        assert_eq!(stamped.after(&Sample { payload: Vec::new(), ..other.clone() }), stamped);
        // The next one that fits and has payload resets the count.
        let empty = Sample { payload: Vec::new(), ..with_options(&stamps(8)) };
        assert_eq!(after.after(&empty).others, 1);
        assert_eq!(after.after(&with_options(&stamps(8))).others, 0);
        // A second one in a row is taken as meant.
        let second = after.after(&other);
        assert!(second.has_others());
        assert_eq!((second.others, second.after(&other).others), (2, 2));
        assert!(!second.after(&with_options(&stamps(8))).has_others());
    }
    let plain = track(None);
    for other in [&stamps(9)[..], &[stamps(9), sack()].concat(), &[1; 4]] {
        assert_eq!(plain.after(&with_options(other)), Track { others: 1, ..plain });
    }
}

#[test]
fn options_of_the_handshake_that_cannot_be_restored_are_for_ever() {
    let handshake =
        Handshake { rcv_nxt: FIRST, ack: ACKED, window: 502, options: Some(stamps(7)), unsupported: true };
    let signed = Track::established(&handshake, true, &PARAMETERS);
    assert!(signed.has_others());
    for segment in [with_options(&stamps(8)), Sample::default()] {
        assert_eq!(signed.after(&segment).others, 3);
    }
}

#[test]
fn a_far_time_stamp_is_taken_when_a_second_one_agrees() {
    const FAR: u32 = 1 << 30;
    let held = track(Some(stamps(7)));
    let once = held.after(&Sample { ack: ACKED + 9, window: 9, ..with_options(&stamps(FAR)) });
    assert_eq!((once.template(), once.suspect), (&stamps(7)[..], Some(FAR)));
    assert_eq!((once.ack, once.window, once.contiguous), (ACKED, 502, FIRST + 536), "nor its acknowledgment");
    // Time stamps near the last ones arrive, and the far one is forgotten.
    let on = once.after(&with_options(&stamps(8)));
    assert_eq!((on.template(), on.suspect), (&stamps(8)[..], None));
    // An older one that was overtaken does not end the suspicion.
    assert_eq!(once.after(&with_options(&stamps(6))), once);
    // A second one agrees, up to a minute later.
    for later in [0, 1, PLAUSIBLE_STAMPS] {
        let taken = once.after(&Sample { ack: ACKED + 9, ..with_options(&stamps(FAR + later)) });
        assert_eq!((taken.template(), taken.suspect), (&stamps(FAR + later)[..], None));
        assert_eq!(taken.ack, ACKED + 9);
    }
    for other in [FAR - 1, FAR + PLAUSIBLE_STAMPS + 1, 5 * (FAR / 2)] {
        let after = once.after(&with_options(&stamps(other)));
        assert_eq!((after.template(), after.suspect), (&stamps(7)[..], Some(other)), "{other}");
    }
    // SACK blocks behind them make no difference.
    let both = once.after(&with_options(&[stamps(FAR + 1), sack()].concat()));
    assert_eq!((both.template(), both.suspect), (&stamps(FAR + 1)[..], None));
    // One from far below is far too: PAWS would refuse what is older by more than a minute.
    let back = track(Some(stamps(FAR))).after(&with_options(&stamps(7)));
    assert_eq!(back.suspect, Some(7));
}

#[test]
fn time_stamps_a_minute_apart_are_near() {
    let held = track(Some(stamps(1 << 20)));
    let after = |ahead: i32| held.after(&with_options(&stamps((1u32 << 20).wrapping_add_signed(ahead))));
    assert_eq!(after(1 << 16).template(), stamps((1 << 20) + (1 << 16)));
    assert_eq!(after((1 << 16) + 1).suspect, Some((1 << 20) + (1 << 16) + 1));
    assert_eq!((after(-1 << 16).suspect, after((-1 << 16) - 1).suspect.is_some()), (None, true));
    assert_eq!(after(-1 << 16).template(), stamps(1 << 20));
    // Time stamps from before Lite was switched on are not compared with.
    let unknown = Track { known: false, ..held };
    assert_eq!(unknown.after(&with_options(&stamps(1 << 30))).template(), stamps(1 << 30));
}

#[test]
fn an_acknowledgment_that_cannot_be_is_replaced_by_what_the_socket_knows() {
    let injected = track(None).after(&Sample { ack: ACKED + (1 << 30), ..Sample::default() });
    assert_eq!(injected.ack, ACKED + (1 << 30), "nobody could tell");
    // While it stays, genuine ones look old.
    assert_eq!(injected.after(&Sample { ack: ACKED + 5, ..Sample::default() }).ack, ACKED + (1 << 30));
    let mut told = injected;
    told.catch_up(&SocketView { snd_una: ACKED + 5, snd_nxt: ACKED + 50, ..view(FIRST) });
    assert_eq!(told.ack, ACKED + 5);
    for (held, left) in [(4, 5), (5, 5), (20, 20), (50, 50), (51, 5)] {
        let mut track = Track { ack: ACKED + held, ..track(None) };
        track.catch_up(&SocketView { snd_una: ACKED + 5, snd_nxt: ACKED + 50, ..view(FIRST) });
        assert_eq!(track.ack, ACKED + left);
    }
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
    assert!(track(None).after(&with_options(&sack())).sack_seen);
    assert!(!Track { known: false, ..track(None) }.after(&both).known);
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
