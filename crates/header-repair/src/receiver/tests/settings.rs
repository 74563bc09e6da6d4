//! Opening, switching and closing connections (TL-04), and which counters count (TL-27).

use super::*;

#[test]
fn switched_on_late_nothing_known_before_is_believed() {
    let first = Sample::default();
    let mut line = Line::new(Parameters::default());
    line.open(&first, Policy::Normal);
    line.receiver.switch(first.tuple(), false, FIRST);
    // These segments pass unseen.
    assert_eq!(line.take(&mut first.build()), SegmentVerdict::NotOurs);
    line.receive(&first.tuple(), 536);
    line.receiver.switch(first.tuple(), true, FIRST + 536);
    let track = *line.receiver.track(&first.tuple()).expect("open");
    assert_eq!((track.known, track.contiguous, track.highest), (false, FIRST + 536, FIRST + 536));
    let second = next(&first);
    assert_eq!(line.take(&mut hit(&second.build(), 20, 130)), SegmentVerdict::Discard(Reason::Template));
    // One right segment is enough.
    assert_eq!(line.take(&mut second.build()), SegmentVerdict::Pass);
    assert_eq!(line.take(&mut hit(&next(&second).build(), 20, 130)), accepted(false, 536));
}

#[test]
fn switched_on_before_any_data_the_handshake_is_enough() {
    let first = Sample::default();
    let mut line = Line::new(Parameters::default());
    line.open(&first, Policy::Normal);
    line.receiver.switch(first.tuple(), false, FIRST);
    line.receiver.switch(first.tuple(), true, FIRST);
    assert_eq!(line.take(&mut hit(&first.build(), 20, 130)), accepted(false, 536));
}

#[test]
fn switched_on_again_nothing_is_forgotten() {
    let first = Sample::default();
    let mut line = Line::after(&first, Policy::Normal);
    line.receiver.switch(first.tuple(), true, FIRST + 536);
    let track = line.receiver.track(&first.tuple()).expect("open");
    assert_eq!((track.known, track.payload), (true, S));
}

#[test]
fn a_connection_may_become_known_by_being_switched() {
    let first = Sample::default();
    let mut line = Line::new(Parameters::default());
    line.open(&first, Policy::Normal);
    line.receiver.close(&first.tuple());
    line.receiver.switch(first.tuple(), true, FIRST);
    assert_eq!(line.take(&mut hit(&first.build(), 20, 130)), SegmentVerdict::Discard(Reason::Template));
    assert_eq!(line.take(&mut first.build()), SegmentVerdict::Pass);
    assert_eq!(line.take(&mut hit(&next(&first).build(), 20, 130)), accepted(false, 536));
}

#[test]
fn options_that_cannot_be_restored_twice_in_a_row_end_repair_until_others_come() {
    let first = Sample::default();
    let mut line = Line::after(&first, Policy::Bold);
    let connection = first.tuple();
    let second = next(&first);
    let third = next(&second).build();
    let damaged = || hit(&third, 20, 130);
    let take_right = |line: &mut Line, options: &[u8]| {
        assert_eq!(
            line.take(&mut Sample { options: options.to_vec(), ..second.clone() }.build()),
            SegmentVerdict::Pass
        );
    };
    take_right(&mut line, &[30, 4, 0, 0]);
    line.receive(&connection, 536);
    assert_eq!(line.clone().take(&mut damaged()), accepted(false, 536), "one may have been damaged");
    take_right(&mut line, &[30, 4, 0, 0]);
    assert_eq!(line.take(&mut damaged()), SegmentVerdict::Discard(Reason::Options));
    take_right(&mut line, &[]);
    assert_eq!(line.take(&mut damaged()), accepted(false, 536));
}

#[test]
fn options_of_the_handshake_that_cannot_be_restored_forbid_repair_for_ever() {
    let first = Sample::default();
    let mut line = Line::new(Parameters::default());
    let handshake = Handshake {
        rcv_nxt: first.seq,
        ack: first.ack,
        window: first.window,
        options: None,
        unsupported: true,
    };
    line.open(&first, Policy::Normal);
    line.receiver.open(first.tuple(), handshake, true);
    assert_eq!(line.take(&mut first.build()), SegmentVerdict::Pass);
    assert_eq!(line.take(&mut hit(&next(&first).build(), 20, 130)), SegmentVerdict::Discard(Reason::Options));
}

#[test]
fn an_injected_acknowledgment_does_not_stall_repairs() {
    let first = Sample { options: stamps(7).to_vec(), ..Sample::default() };
    let mut line = Line::after(&first, Policy::Normal);
    // Right ports and a right checksum, all else made up. The socket refuses it, but is not asked
    // about right segments.
    let injected = Sample { ack: first.ack.wrapping_add(1 << 30), seq: FIRST + 7, ..first.clone() };
    assert_eq!(line.take(&mut injected.build()), SegmentVerdict::Pass);
    let second = next(&first).build();
    let mut damaged = hit(&second, 20, (second.len() - 21) * 8);
    assert_eq!(line.take(&mut damaged), accepted(false, 536));
    let header = TcpHeader::read(&damaged[20..]).expect("20 bytes");
    assert_eq!(header.get(Field::Acknowledgment), first.ack, "with the other number TCP would drop it");
}

#[test]
fn a_socket_further_on_than_the_track_is_caught_up_with() {
    let first = Sample::default();
    let mut line = Line::after(&first, Policy::Normal);
    line.receive(&first.tuple(), 100);
    let ahead = Sample { seq: FIRST + 636, ..first.clone() };
    assert_eq!(line.take(&mut hit(&ahead.build(), 20, 130)), accepted(false, 536));
    assert_eq!(line.receiver.track(&first.tuple()).expect("open").contiguous, FIRST + 636 + 536);
}

#[test]
fn outcomes_are_counted_for_the_whole_and_for_the_connection() {
    let first = Sample::default();
    let mut line = Line::after(&first, Policy::Normal);
    let second = next(&first).build();
    let _ = line.take(&mut hit(&second, 20, 3));
    line.receive(&first.tuple(), 536);
    let _ = line.take(&mut hit(&second, 20, 2000));
    let _ = line.take(&mut Sample { seq: 5, local_port: 1, ..first.clone() }.build());
    let _ = line.take(&mut hit(&Sample { seq: 5, local_port: 1, ..first.clone() }.build(), 20, 130));
    let whole = *line.receiver.counters();
    assert_eq!((whole.right, whole.damaged, whole.accepted, whole.approximate), (2, 3, 1, 1));
    assert_eq!(whole.discarded(Reason::NoConnection), 1);
    assert_eq!(whole.discarded(Reason::Position), 1, "the same bytes a second time are an old duplicate");
    let own = line.receiver.connection_counters(&first.tuple()).expect("open");
    assert_eq!((own.right, own.damaged, own.accepted, own.confirmed), (1, 2, 1, 1));
}

#[test]
fn a_connection_that_ended_unseen_is_forgotten_when_its_socket_is_asked_for() {
    let first = Sample::default();
    let mut line = Line::after(&first, Policy::Normal);
    let damaged = || hit(&next(&first).build(), 20, 130);
    line.view(&first.tuple()).settings.on = false;
    assert_eq!(line.take(&mut damaged()), SegmentVerdict::Discard(Reason::NoConnection));
    assert!(line.receiver.track(&first.tuple()).is_some(), "its socket is there");
    line.host.0.remove(&first.tuple());
    assert_eq!(line.take(&mut damaged()), SegmentVerdict::Discard(Reason::NoConnection));
    assert_eq!(line.receiver.track(&first.tuple()), None);
    assert_eq!(line.take(&mut damaged()), SegmentVerdict::NotOurs);
}
