//! Tests of one end with hand-made frames of the other: retransmissions, the timer, and giving up.

use super::*;

/// 1 Mbit/s in both directions and no delay: a frame of 1520 octets takes 12.16 ms, one of 20 takes
/// 160 us.
fn end(retransmissions: u16, then: Then) -> Llp {
    let rate = BitRate::from_bits_per_second(1_000_000).expect("not 0");
    let timing = Timing { rate, return_rate: rate, propagation: Span::ZERO };
    let persistency = Persistency { retransmissions: Some(retransmissions), then };
    Llp::new(Parameters { persistency, ..Parameters::thesis(timing) })
}

fn patient() -> Llp {
    end(255, Then::Disconnect)
}

/// Sends at `now` until the end has nothing to send. Returns the numbers of the data frames, and
/// the other frames.
fn sent(end: &mut Llp, now: Time) -> (Vec<u16>, Vec<Frame>) {
    let (mut data, mut control) = (Vec::new(), Vec::new());
    while let Some(frame) = end.next_frame(now, &mut Output::default()) {
        match frame {
            Frame::Data { ns, .. } => data.push(ns),
            other => control.push(other),
        }
    }
    (data, control)
}

const NOTHING: [u16; 0] = [];

/// Returns the data frames that the end sends. It must not send others.
fn data(end: &mut Llp) -> Vec<u16> {
    let (data, control) = sent(end, Time::ZERO);
    assert_eq!(control, []);
    data
}

fn hears(end: &mut Llp, frame: Frame) -> Vec<Indication> {
    let mut out = Output::default();
    end.receive(Some(&frame), ByteCount::new(20), Time::ZERO, &mut out);
    out.indications
}

/// Creates an end that has sent this many packets.
fn with(mut end: Llp, packets: u64) -> Llp {
    (0..packets).for_each(|packet| end.offer(packet, 1500));
    assert_eq!(data(&mut end), (0..packets as u16).collect::<Vec<_>>());
    end
}

const fn fragment(packet: u64, place: u16, count: u16) -> Fragment {
    Fragment { packet, octets: 1500, place, count }
}

fn expired(end: &mut Llp) -> Vec<Indication> {
    let mut out = Output::default();
    end.expire(Time::ZERO, &mut out);
    out.indications
}

/// M9: after an expiration, the whole window is retransmitted, except for frames that the receiver
/// is known to hold.
#[test]
fn what_is_held_is_not_sent_again() {
    let mut end = with(patient(), 5);
    // 1 and 3 have arrived, so 0 and 2 are lost. Nothing is known of 4.
    hears(&mut end, Frame::Nak { next: 0, held: 0b101 });
    assert_eq!(data(&mut end), [0, 2]);
    expired(&mut end);
    assert_eq!(data(&mut end), [0, 2, 4]);
}

/// A frame is retransmitted again only when a frame has arrived that was sent after the
/// retransmission.
#[test]
fn a_hole_is_filled_again_when_it_is_known_to_be_lost_again() {
    let mut end = with(patient(), 4);
    hears(&mut end, Frame::Nak { next: 0, held: 0b1 });
    assert_eq!(data(&mut end), [0]);
    // 2 and 3 were sent before the retransmission of 0.
    hears(&mut end, Frame::Nak { next: 0, held: 0b11 });
    hears(&mut end, Frame::Nak { next: 0, held: 0b111 });
    assert_eq!(data(&mut end), NOTHING);
    end.offer(4, 1500);
    assert_eq!(data(&mut end), [4]);
    hears(&mut end, Frame::Nak { next: 0, held: 0b1111 });
    assert_eq!(data(&mut end), [0]);
}

/// Frames behind the last held one do not count as missing: they may be in transit.
#[test]
fn what_is_behind_is_not_missing() {
    let mut end = with(patient(), 3);
    let mut out = Output::default();
    end.receive(Some(&Frame::Nak { next: 0, held: 0b1 }), ByteCount::new(20), Time::ZERO, &mut out);
    let asked: Vec<_> =
        out.records.iter().filter(|r| r.event == Event::SelectiveReject).map(|r| r.ns).collect();
    assert_eq!(asked, [0]);
    assert_eq!(data(&mut end), [0]);
}

/// A NAK is ignored if a later answer has already arrived, whatever its mask says of the frames
/// behind.
#[test]
fn a_nak_of_the_past() {
    let mut end = with(patient(), 4);
    hears(&mut end, Frame::Ack { next: 2 });
    let mut out = Output::default();
    end.receive(Some(&Frame::Nak { next: 0, held: 0b101 }), ByteCount::new(20), Time::ZERO, &mut out);
    assert!(out.records.iter().all(|record| record.event == Event::Right), "{:?}", out.records);
    assert_eq!(data(&mut end), NOTHING);
}

/// M9: the timer doubles with each of the first four expirations in a row, and any progress ends
/// the row. The minimum is 12.16 ms for a full frame of the other end and 160 us for a control
/// frame; the link is idle by now. With a tenth more, that is 13.552 ms.
#[test]
fn the_timer_doubles_four_times() {
    let mut end = with(patient(), 2);
    let later = |ms| Time::ZERO + Span::from_secs(1) + Span::from_millis(ms);
    let span = |factor: u64| Span::from_micros(13_552 * factor);
    let mut out = Output::default();
    for factor in [2, 4, 8, 16, 16, 16] {
        end.expire(later(0), &mut out);
        assert_eq!(end.due(), later(0) + span(factor));
    }
    end.receive(Some(&Frame::Ack { next: 1 }), ByteCount::new(20), later(5), &mut out);
    assert_eq!(end.due(), later(5) + span(1), "and restarts it");
    end.expire(later(6), &mut out);
    assert_eq!(end.due(), later(6) + span(2));
    // A NAK without new information restarts it as well. Without outstanding frames, it does not
    // run.
    end.receive(Some(&Frame::Nak { next: 1, held: 0 }), ByteCount::new(20), later(7), &mut out);
    assert_eq!(end.due(), later(7) + span(2));
    end.receive(Some(&Frame::Ack { next: 2 }), ByteCount::new(20), later(8), &mut out);
    assert_eq!(end.due(), Time::NEVER);
}

/// Control frames go before retransmissions, and those before new data.
#[test]
fn what_goes_first() {
    let mut end = with(patient(), 2);
    hears(&mut end, Frame::Nak { next: 0, held: 0b1 });
    end.offer(2, 1500);
    hears(&mut end, Frame::Data { ns: 0, fragment: fragment(0, 0, 1) });
    let mut out = Output::default();
    let mut next = || end.next_frame(Time::ZERO, &mut out).expect("a frame");
    assert_eq!(next(), Frame::Ack { next: 1 });
    assert!(matches!(next(), Frame::Data { ns: 0, .. }));
    assert!(matches!(next(), Frame::Data { ns: 2, .. }));
}

/// A frame that arrives again is answered with everything that is known; one before V(R) with V(R).
#[test]
fn answers() {
    let mut end = patient();
    let mut answer = |ns| {
        hears(&mut end, Frame::Data { ns, fragment: fragment(u64::from(ns), 0, 1) });
        sent(&mut end, Time::ZERO).1
    };
    assert_eq!(answer(0), [Frame::Ack { next: 1 }]);
    assert_eq!(answer(2), [Frame::Nak { next: 1, held: 0b1 }]);
    assert_eq!(answer(2), [Frame::Nak { next: 1, held: 0b1 }]);
    assert_eq!(answer(0), [Frame::Ack { next: 1 }]);
    assert_eq!(answer(1), [Frame::Ack { next: 3 }]);
}

/// LL-05: a NAK does not cause a retransmission of a frame that has reached the limit. The timer
/// gives up this frame alone, and announces this until the other end has passed it. Meanwhile no
/// new data are sent.
#[test]
fn a_frame_is_given_up() {
    let mut end = with(end(1, Then::GiveUp), 3);
    hears(&mut end, Frame::Nak { next: 0, held: 0b1 });
    assert_eq!(data(&mut end), [0]);
    hears(&mut end, Frame::Nak { next: 0, held: 0b11 });
    assert_eq!(data(&mut end), NOTHING);
    end.offer(3, 1500);
    assert_eq!(data(&mut end), [3]);
    hears(&mut end, Frame::Nak { next: 0, held: 0b111 });
    assert_eq!(data(&mut end), NOTHING, "once is all that it may be sent again");
    end.offer(4, 1500);
    expired(&mut end);
    assert_eq!(sent(&mut end, Time::ZERO), (vec![], vec![Frame::Skip { next: 1 }]));
    expired(&mut end);
    expired(&mut end);
    assert_eq!(sent(&mut end, Time::ZERO), (vec![], vec![Frame::Skip { next: 1 }]), "one at a time");
    // One indication, only for the packet that was given up. Then new data continue.
    assert_eq!(hears(&mut end, Frame::Ack { next: 4 }), [Indication::Abandoned(0)]);
    assert_eq!(data(&mut end), [4]);
}

/// If the other end reports that it holds a frame that was given up, this changes nothing.
#[test]
fn what_was_given_up_stays_so() {
    let mut end = with(end(0, Then::Reset), 2);
    expired(&mut end);
    assert_eq!(sent(&mut end, Time::ZERO).1, [Frame::Skip { next: 2 }]);
    hears(&mut end, Frame::Nak { next: 0, held: 0b1 });
    let abandoned = [Indication::Abandoned(0), Indication::Abandoned(1)];
    assert_eq!(hears(&mut end, Frame::Ack { next: 2 }), abandoned);
}

/// The other end has given up the missing frames before a number. Packets held behind it are
/// delivered. A packet with a part in the missing frames is not, even if it ends with a frame that
/// has arrived.
#[test]
fn numbers_are_passed_over() {
    let mut end = patient();
    hears(&mut end, Frame::Data { ns: 0, fragment: fragment(0, 0, 3) });
    hears(&mut end, Frame::Data { ns: 2, fragment: fragment(0, 2, 3) });
    hears(&mut end, Frame::Data { ns: 3, fragment: fragment(1, 0, 1) });
    assert_eq!(hears(&mut end, Frame::Skip { next: 2 }), [Indication::Delivered(1)]);
    assert_eq!(sent(&mut end, Time::ZERO).1.last(), Some(&Frame::Ack { next: 4 }));
    // A repeated Skip, or an old one, skips no number.
    assert_eq!(hears(&mut end, Frame::Skip { next: 2 }), []);
    assert_eq!(hears(&mut end, Frame::Skip { next: 4 }), []);
    assert_eq!(sent(&mut end, Time::ZERO).1, [Frame::Ack { next: 4 }; 2]);
}

/// The end of a packet whose beginning was skipped belongs to no packet, not even to one that has
/// begun.
#[test]
fn parts_of_different_packets_make_none() {
    let mut end = patient();
    hears(&mut end, Frame::Data { ns: 0, fragment: fragment(0, 0, 2) });
    assert_eq!(hears(&mut end, Frame::Data { ns: 1, fragment: fragment(1, 1, 2) }), []);
}

/// Out of order, a packet is delivered with the last of its fragments, whatever is missing before
/// it. Each is delivered once.
#[test]
fn packets_overtake_each_other() {
    let parameters = Parameters { order: Order::AsReceived, ..patient().parameters };
    let mut end = Llp::new(parameters);
    let mut data = |ns, fragment| hears(&mut end, Frame::Data { ns, fragment });
    assert_eq!(data(1, fragment(1, 1, 2)), []);
    assert_eq!(data(2, fragment(2, 0, 1)), [Indication::Delivered(2)]);
    assert_eq!(data(2, fragment(2, 0, 1)), [], "it was there");
    assert_eq!(data(0, fragment(1, 0, 2)), [Indication::Delivered(1)]);
    assert_eq!(data(1, fragment(1, 1, 2)), [], "it was there");
    // Number 4 is given up. The part of its packet is dropped, and the number will be used again
    // for another packet.
    assert_eq!(data(3, fragment(3, 0, 2)), []);
    assert_eq!(hears(&mut end, Frame::Skip { next: 5 }), []);
    assert_eq!(end.reassembly, Reassembly::new(parameters.modulus));
}
