//! Tests of setup and reset: what is forgotten, and what is not.

use super::*;

/// LL-05: a reset while a packet is half sent and none of its frames is in transit. The rest of the
/// packet must not follow without its beginning. It is indicated as lost; otherwise it would be
/// neither delivered nor lost.
#[test]
fn a_reset_between_two_frames_of_a_packet() {
    let mut end = End::connected(Parameters::default());
    end.sends(2);
    end.hears(&supervision(Rnr, 2));
    assert_eq!(end.tick(), Sent::Supervision(Rr, 0));
    assert_eq!(end.rlp.send.outstanding(), 0);
    end.rlp.offer(8, &[1; 20]);
    end.hears(&unnumbered(true, Function::SetMode, vec![]));
    let lost = Indication::Abandoned { number: 7, why: Abandoned::Reset };
    assert_eq!(end.indications(), [lost, Indication::Connected]);
    assert_eq!(end.tick(), Sent::Other(Function::Acknowledge));
    // No numbered frame is sent until the other end is known to be connected: it would be lost to a
    // second SABM.
    assert_eq!(end.tick(), Sent::Supervision(Rr, 0));
    end.hears(&supervision(Rr, 0));
    let Body::Information { ns, information, .. } = end.rlp.tick(Time::ZERO, &mut end.said).body else {
        panic!("the next packet")
    };
    let field = Field::parse(&information).expect("a field");
    assert_eq!((ns, &field.items[0]), (0, &Item::Start));
    assert_eq!(end.tick(), Sent::Numbered(1, Rr, 0), "27 octets take two frames");
    assert_eq!(end.tick(), Sent::Supervision(Rr, 0));
}

/// The other end resets the link; `end` answers, and learns that the other end is connected.
fn reset(end: &mut End) {
    end.hears(&unnumbered(true, Function::SetMode, vec![]));
    assert_eq!(end.tick(), Sent::Other(Function::Acknowledge));
    end.hears(&supervision(Rr, 0));
    end.indications();
}

/// A reset clears flow control and half-received packets.
#[test]
fn a_reset_forgets() {
    let mut end = End::connected(Parameters::default());
    end.sends(2);
    end.stopped(2);
    end.hears(&numbered(2, 2, true));
    end.hears(&supervision(Rnr, 2));
    assert_eq!(end.tick(), Sent::Supervision(Srej, 1));
    reset(&mut end);
    end.rlp.offer(8, &[1; 20]);
    assert_eq!(end.tick(), Sent::Numbered(0, Rr, 0), "neither XOFF nor RNR, and nothing is missing");
}

/// A reset also clears requests and responses: polls and their number, REJ, announcements of frames
/// that were given up, and answers that are due.
#[test]
fn a_reset_forgets_what_was_asked_for() {
    let poll =
        || Frame { command: true, poll_final: true, body: Body::Supervisory { supervision: Rr, nr: 0 } };
    // A poll is due at the same time as an answer.
    let mut end = End::connected(persistent(2, Then::Reset));
    end.sends(1);
    end.stopped(0);
    end.ticks(T1 - 1);
    end.hears(&poll());
    assert_eq!(end.tick(), Sent::Final(1));
    reset(&mut end);
    assert_eq!(end.tick(), Sent::Supervision(Rr, 0));
    // Two polls are possible again.
    end.rlp.offer(8, &[1; 10]);
    assert_eq!(end.tick(), Sent::Numbered(0, Rr, 0));
    let sent = end.ticks(3 * T1);
    assert_eq!(sent.iter().filter(|sent| matches!(sent, Sent::Poll(_))).count(), 2);
    assert_eq!(sent.last(), Some(&Sent::Other(Function::SetMode)));

    // A REJ is due, and the time until the next one runs.
    let mut end = End::connected(Parameters { recovery: Recovery::GoBack, ..Parameters::default() });
    end.hears(&numbered(3, 0, false));
    assert_eq!(end.tick(), Sent::Supervision(Rej, 0));
    end.hears(&numbered(4, 0, false));
    reset(&mut end);
    assert_eq!(end.tick(), Sent::Supervision(Rr, 0));
    end.hears(&numbered(3, 0, false));
    assert_eq!(end.tick(), Sent::Supervision(Rej, 0));

    // The time until the next announcement of a frame that was given up.
    let mut end = End::connected(persistent(0, Then::GiveUp));
    end.sends(1);
    end.hears(&supervision(Srej, 0));
    assert_eq!(end.tick(), Sent::Other(Function::Information));
    reset(&mut end);
    assert_eq!(end.tick(), Sent::Supervision(Rr, 0), "nor is X to be said");
    end.rlp.offer(8, &[1; 10]);
    assert_eq!(end.tick(), Sent::Numbered(0, Rr, 0));
    end.hears(&supervision(Srej, 0));
    assert_eq!(end.tick(), Sent::Other(Function::Information));

    // A poll arrives before this end's own reset. Its answer is not sent.
    let mut end = End::connected(persistent(0, Then::Reset));
    end.sends(1);
    end.hears(&poll());
    end.hears(&supervision(Srej, 0));
    assert_eq!(end.tick(), Sent::Other(Function::SetMode));
}

/// Both ends have sent SABM. Each answers, and sends no numbered frame before it has heard more.
#[test]
fn two_resets_meet() {
    let mut end = End { rlp: Rlp::new(Role::Mobile, Parameters::default(), None), said: Output::default() };
    end.rlp.connect();
    assert_eq!(end.tick(), Sent::Other(Function::SetMode));
    end.hears(&unnumbered(true, Function::SetMode, vec![]));
    assert_eq!(end.tick(), Sent::Other(Function::Acknowledge));
    end.rlp.offer(7, &[0; 20]);
    end.hears(&unnumbered(false, Function::Acknowledge, vec![]));
    assert_eq!(end.tick(), Sent::Supervision(Rr, 0));
    end.hears(&supervision(Rr, 0));
    assert_eq!(end.tick(), Sent::Numbered(0, Rr, 0));
}

/// SABM is repeated every T1, with NULL in between.
#[test]
fn setting_up_is_repeated() {
    let mut end = End { rlp: Rlp::new(Role::Mobile, Parameters::default(), None), said: Output::default() };
    end.rlp.connect();
    let sent = end.ticks(2 * T1 + 1);
    for (tick, sent) in sent.into_iter().enumerate() {
        let wanted = if tick % T1 == 0 { Function::SetMode } else { Function::Null };
        assert_eq!(sent, Sent::Other(wanted), "{tick}");
    }
}

/// After its own reset, an end may send at once: an earlier RNR is void.
#[test]
fn receive_not_ready_is_over() {
    let mut end = End::connected(persistent(0, Then::Reset));
    end.sends(1);
    end.hears(&supervision(Rnr, 0));
    end.hears(&supervision(Srej, 0));
    assert_eq!(end.tick(), Sent::Other(Function::SetMode));
    end.hears(&unnumbered(false, Function::Acknowledge, vec![]));
    end.rlp.offer(8, &[1; 10]);
    assert_eq!(end.tick(), Sent::Numbered(0, Rr, 0));
}

/// LL-04: the other end forgets an XOFF from before the reset, so it is sent again.
#[test]
fn xoff_is_said_again() {
    let mut end = End::throttled(Parameters::default(), Some(SLOW));
    end.hears(&characters(0, 0, false));
    assert_eq!(end.ticks(2), [Sent::Numbered(0, Rr, 1), Sent::Supervision(Rr, 1)]);
    reset(&mut end);
    assert_eq!(end.ticks(2), [Sent::Numbered(0, Rr, 0), Sent::Supervision(Rr, 0)]);
}
