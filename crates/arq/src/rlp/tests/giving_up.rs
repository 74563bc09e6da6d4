//! The limit of retransmissions, and what happens to a frame that reaches it (LL-05).

use super::*;

fn gives_up(ns: u8) -> Frame {
    Frame {
        command: true,
        poll_final: false,
        body: Body::Unnumbered { function: Function::Information, information: vec![ns; 25] },
    }
}

/// LL-05: N2 polls without an answer are T1 apart, and the link is reset T1 after the last one.
#[test]
fn polls_without_an_answer() {
    let mut end = End::connected(persistent(2, Then::Reset));
    end.sends(1);
    end.stopped(0);
    let heard = end.ticks(3 * T1 + 1);
    let at = |wanted: Sent| {
        heard.iter().enumerate().filter(move |(_, sent)| **sent == wanted).map(|(at, _)| at + 1)
    };
    assert_eq!(at(Sent::Poll(1)).collect::<Vec<_>>(), [T1, 2 * T1]);
    assert_eq!(at(Sent::Other(Function::SetMode)).collect::<Vec<_>>(), [3 * T1]);
}

/// LL-05: a frame that was requested N2 + 1 times resets the link.
#[test]
fn a_frame_that_was_sent_too_often() {
    let mut end = End::connected(persistent(1, Then::Reset));
    end.sends(2);
    end.stopped(0);
    end.hears(&supervision(Srej, 0));
    assert_eq!(end.tick(), Sent::Numbered(0, Rr, 1));
    end.ticks(ROUND_TRIP);
    end.hears(&supervision(Srej, 0));
    assert_eq!(end.tick(), Sent::Other(Function::SetMode));
}

/// A checkpoint also ends a frame after N2 unsuccessful retransmissions. It does not retransmit the
/// newest frame if that has reached the limit.
#[test]
fn a_checkpoint_goes_by_persistency() {
    let answer =
        |nr| Frame { command: false, poll_final: true, body: Body::Supervisory { supervision: Rr, nr } };
    let poll = |end: &mut End| while !matches!(end.tick(), Sent::Poll(_)) {};
    let mut end = End::connected(persistent(1, Then::GiveUp));
    end.sends(3);
    end.stopped(0);
    poll(&mut end);
    end.hears(&answer(0));
    assert_eq!(end.ticks(3), [Sent::Numbered(0, Rr, 1), Sent::Numbered(2, Rr, 1), Sent::Supervision(Rr, 1)]);
    end.hears(&supervision(Rr, 1));
    poll(&mut end);
    // 1 was sent once and 2 twice.
    end.hears(&answer(1));
    assert_eq!(end.ticks(2), [Sent::Numbered(1, Rr, 1), Sent::Supervision(Rr, 1)]);
    poll(&mut end);
    end.hears(&answer(1));
    assert_eq!(end.tick(), Sent::Other(Function::Information), "1 is given up, and the other end told so");
}

/// Rule 3: the other end skips a number only if it is the one that it waits for.
#[test]
fn a_number_is_passed_over_in_its_turn() {
    let mut end = End::connected(Parameters::default());
    end.hears(&numbered(2, 0, false));
    end.hears(&gives_up(1));
    assert_eq!(end.tick(), Sent::Supervision(Srej, 0));
    end.hears(&gives_up(0));
    assert_eq!(end.tick(), Sent::Supervision(Srej, 1));
    end.hears(&gives_up(1));
    assert_eq!(end.tick(), Sent::Supervision(Rr, 3));
}

/// LL-05: no packet is reassembled across a gap, even if the octets of the next one, which has lost
/// its beginning, would fit.
#[test]
fn nothing_is_put_together_over_a_gap() {
    let mut sender = End::connected(Parameters::default());
    // Frame 0 has all of the first packet except 7 octets. Frame 1 has those, and the second packet
    // without its last 7 octets. These are in frame 2 and look the same.
    sender.rlp.offer(7, &[5; 24]);
    sender.rlp.offer(8, &[5; 17]);
    let frames: Vec<_> = (0..3).map(|_| sender.rlp.tick(Time::ZERO, &mut sender.said)).collect();
    let mut end = End::connected(Parameters::default());
    end.hears(&frames[0]);
    end.hears(&frames[2]);
    end.hears(&gives_up(1));
    assert_eq!(end.tick(), Sent::Supervision(Rr, 3));
    assert_eq!(end.indications(), []);
}

/// The number of a frame that was given up is announced at once, and again every T1 until the other
/// end has passed it. The rest of the packet is not sent. X may have been in that frame and is
/// repeated once, in one frame.
#[test]
fn word_of_a_frame_that_was_given_up() {
    let mut end = End::connected(persistent(0, Then::GiveUp));
    end.sends(2);
    end.hears(&supervision(Srej, 0));
    let told = Sent::Other(Function::Information);
    assert_eq!(end.ticks(3), [told, Sent::Numbered(2, Rr, 0), Sent::Supervision(Rr, 0)]);
    assert!(!end.ticks(T1 - 3).contains(&told));
    assert_eq!(end.tick(), told);
    end.hears(&supervision(Rr, 3));
    let lost = Indication::Abandoned { number: 7, why: Abandoned::GivenUp };
    assert_eq!(end.indications(), [lost]);
}

/// A frame of one packet is given up while the next packet is being sent, which continues.
#[test]
fn the_next_packet_goes_on() {
    let mut end = End::connected(persistent(0, Then::GiveUp));
    // It fills a frame.
    end.rlp.offer(6, &[0; 17]);
    end.sends(2);
    end.hears(&supervision(Srej, 0));
    assert_eq!(end.tick(), Sent::Other(Function::Information));
    assert_eq!(end.ticks(3), [2, 3, 4].map(|ns| Sent::Numbered(ns, Rr, 0)));
}

/// Polls without an answer give up only the oldest frame. Then there are N2 polls again.
#[test]
fn polls_are_counted_anew() {
    let mut end = End::connected(persistent(1, Then::GiveUp));
    end.sends(2);
    end.stopped(0);
    end.ticks(T1 - 2);
    assert_eq!(end.tick(), Sent::Poll(1));
    end.ticks(T1 - 1);
    assert_eq!(end.tick(), Sent::Other(Function::Information));
    end.hears(&supervision(Rr, 1));
    let sent = end.ticks(T1 + 1);
    assert!(!sent.contains(&Sent::Other(Function::Information)), "{sent:?}");
    assert!(sent.contains(&Sent::Poll(1)), "{sent:?}");
}

/// Both ends send XOFF, and this one does so in the middle of a packet, in a frame without other
/// data. If this frame is given up, the packet is incomplete.
#[test]
fn a_frame_without_characters() {
    let mut end = End::throttled(persistent(0, Then::GiveUp), Some(SLOW));
    end.sends(2);
    end.hears(&characters(0, 2, true));
    assert_eq!(end.ticks(2), [Sent::Numbered(2, Rr, 1), Sent::Supervision(Rr, 1)]);
    end.hears(&supervision(Srej, 2));
    assert_eq!(end.tick(), Sent::Other(Function::Information));
    end.hears(&supervision(Rr, 3));
    assert_eq!(end.indications(), [Indication::Abandoned { number: 7, why: Abandoned::GivenUp }]);
}
