//! One end, with frames of the other made by hand: the three rules, timers, resets.

use super::*;
use crate::arq::{Persistency, Then};
use packet::rlp::l2r::{Field, Item};
use packet::rlp::{Body, Function, Supervision};

/// T1 and T1 - T2 by default, in ticks.
const T1: usize = 24;
const ROUND_TRIP: usize = 20;

struct End {
    rlp: Rlp,
    said: Output,
}

/// What an end sends, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sent {
    /// N(S), with supervision.
    Numbered(u8, Supervision, u8),
    Supervision(Supervision, u8),
    /// With P.
    Poll(u8),
    /// With F.
    Final(u8),
    Other(Function),
}

use Supervision::{ReceiveNotReady as Rnr, ReceiveReady as Rr, Reject as Rej, SelectiveReject as Srej};

fn supervision(supervision: Supervision, nr: u8) -> Frame {
    Frame { command: false, poll_final: false, body: Body::Supervisory { supervision, nr } }
}

fn unnumbered(command: bool, function: Function, information: Vec<u8>) -> Frame {
    Frame { command, poll_final: true, body: Body::Unnumbered { function, information } }
}

fn numbered(ns: u8, nr: u8, stop: bool) -> Frame {
    let information = Field { stop, items: vec![] }.to_octets(INFORMATION_OCTETS);
    let body = Body::Information { supervision: Rr, ns, nr, information };
    Frame { command: false, poll_final: false, body }
}

fn persistent(retransmissions: u16, then: Then) -> Parameters {
    Parameters {
        persistency: Persistency { retransmissions: Some(retransmissions), then },
        ..Parameters::default()
    }
}

impl End {
    /// Connected, as the one that has set it up.
    fn connected(parameters: Parameters) -> Self {
        let mut end = Self { rlp: Rlp::new(Role::Mobile, parameters, None), said: Output::default() };
        end.rlp.connect();
        assert_eq!(end.tick(), Sent::Other(Function::SetMode));
        end.hears(&unnumbered(false, Function::Acknowledge, vec![]));
        assert_eq!(end.indications(), [Indication::Connected]);
        end
    }

    fn tick(&mut self) -> Sent {
        let Frame { command, poll_final, body } = self.rlp.tick(Time::ZERO, &mut self.said);
        match body {
            Body::Information { supervision, ns, nr, .. } => Sent::Numbered(ns, supervision, nr),
            Body::Supervisory { nr, .. } if poll_final && command => Sent::Poll(nr),
            Body::Supervisory { nr, .. } if poll_final => Sent::Final(nr),
            Body::Supervisory { supervision, nr } => Sent::Supervision(supervision, nr),
            Body::Unnumbered { function, .. } => Sent::Other(function),
        }
    }

    fn ticks(&mut self, count: usize) -> Vec<Sent> {
        (0..count).map(|_| self.tick()).collect()
    }

    fn hears(&mut self, frame: &Frame) {
        self.rlp.receive(Some(frame), Time::ZERO, &mut self.said);
    }

    fn indications(&mut self) -> Vec<Indication> {
        std::mem::take(&mut self.said.indications)
    }

    /// Sends `count` frames of a packet that takes more.
    fn sends(&mut self, count: u8) {
        self.rlp.offer(7, &[0; 600]);
        for ns in 0..count {
            assert_eq!(self.tick(), Sent::Numbered(ns, Rr, 0));
        }
    }

    /// Sends no more of it.
    fn stopped(&mut self, nr: u8) {
        self.hears(&numbered(0, nr, true));
    }
}

/// Rule 1: a frame that was sent once is sent again as soon as it is asked for; after that, only when no copy can be under way.
#[test]
fn an_srej_is_followed_unless_a_copy_is_under_way() {
    let mut end = End::connected(Parameters::default());
    end.sends(3);
    end.hears(&supervision(Srej, 1));
    assert_eq!(end.tick(), Sent::Numbered(1, Rr, 0), "at once, before new ones");
    assert_eq!(end.tick(), Sent::Numbered(3, Rr, 0));
    end.stopped(1);
    end.ticks(ROUND_TRIP - 2);
    end.hears(&supervision(Srej, 1));
    assert_eq!(end.tick(), Sent::Supervision(Rr, 1), "sent again {} ticks ago", ROUND_TRIP - 1);
    end.hears(&supervision(Srej, 1));
    assert_eq!(end.tick(), Sent::Numbered(1, Rr, 1));
    // One that is not outstanding is nobody's.
    end.hears(&supervision(Srej, 0));
    end.hears(&supervision(Srej, 4));
    assert_eq!(end.tick(), Sent::Supervision(Rr, 1));
}

/// Rule 2: between P and F nothing numbered is sent and no SREJ followed. N(R) of the answer is sent again then, and the newest.
#[test]
fn a_poll_and_its_answer() {
    let mut end = End::connected(Parameters::default());
    end.sends(4);
    end.stopped(0);
    // T1 runs from the first frame on, and nothing that came has acknowledged any.
    assert_eq!(end.ticks(T1 - 4), vec![Sent::Supervision(Rr, 1); T1 - 4]);
    assert_eq!(end.tick(), Sent::Poll(1));
    end.hears(&numbered(1, 0, false));
    end.hears(&supervision(Srej, 2));
    // A command with P is no answer, nor is a response without F.
    end.hears(&Frame { command: true, poll_final: true, body: Body::Supervisory { supervision: Rr, nr: 1 } });
    assert_eq!(end.ticks(2), [Sent::Final(2), Sent::Supervision(Rr, 2)]);
    end.hears(&Frame {
        command: false,
        poll_final: true,
        body: Body::Supervisory { supervision: Rr, nr: 1 },
    });
    let again = [1, 3, 4].map(|ns| Sent::Numbered(ns, Rr, 2));
    assert_eq!(end.ticks(3), again);
}

/// An answer that nobody waits for is an acknowledgement and no more.
#[test]
fn an_answer_without_a_poll() {
    let mut end = End::connected(Parameters::default());
    end.sends(3);
    end.hears(&Frame {
        command: false,
        poll_final: true,
        body: Body::Supervisory { supervision: Rr, nr: 1 },
    });
    assert_eq!(end.tick(), Sent::Numbered(3, Rr, 0));
}

/// LL-05: N2 polls without an answer, T1 apart, and the link is reset T1 after the last one.
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

/// LL-05: a frame that was asked for N2 + 1 times resets the link.
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

/// After N2 without success a checkpoint ends a frame as well, and the newest one is spared if it was sent as often.
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

/// REJ: all from that one on, and everything before has arrived.
#[test]
fn go_back() {
    let mut end = End::connected(Parameters { recovery: Recovery::GoBack, ..Parameters::default() });
    end.sends(4);
    end.hears(&supervision(Rej, 1));
    assert_eq!(end.ticks(4), [1, 2, 3, 4].map(|ns| Sent::Numbered(ns, Rr, 0)));
    assert_eq!(end.rlp.send.oldest(), 1);
    // Where frames are asked for one by one, this asks for one.
    let mut end = End::connected(Parameters::default());
    end.sends(4);
    end.hears(&supervision(Rej, 1));
    assert_eq!(end.ticks(2), [1, 4].map(|ns| Sent::Numbered(ns, Rr, 0)));
}

/// What is missing is asked for once, one a block, and again after T1 if it has not come.
#[test]
fn asks_for_what_is_missing() {
    let mut end = End::connected(Parameters::default());
    end.hears(&numbered(0, 0, false));
    end.hears(&numbered(3, 0, false));
    let asked = [Sent::Supervision(Srej, 1), Sent::Supervision(Srej, 2)];
    assert_eq!(end.ticks(3), [asked[0], asked[1], Sent::Supervision(Rr, 1)]);
    end.hears(&numbered(1, 0, false));
    assert_eq!(end.ticks(T1 - 2), vec![Sent::Supervision(Rr, 2); T1 - 2]);
    assert_eq!(end.tick(), asked[1]);
}

/// REJ is sent once, and again after T1; a frame in sequence ends that.
#[test]
fn asks_to_go_back() {
    let mut end = End::connected(Parameters { recovery: Recovery::GoBack, ..Parameters::default() });
    end.hears(&numbered(1, 0, false));
    assert_eq!(end.tick(), Sent::Supervision(Rej, 0));
    end.hears(&numbered(2, 0, false));
    assert_eq!(end.ticks(T1 - 1), vec![Sent::Supervision(Rr, 0); T1 - 1]);
    assert_eq!(end.tick(), Sent::Supervision(Rej, 0));
    end.hears(&numbered(0, 0, false));
    end.hears(&numbered(2, 0, false));
    assert_eq!(end.tick(), Sent::Supervision(Rej, 1), "at once: it is another one");
}

/// RNR holds up what is new and not what is sent again; RR lets it go on.
#[test]
fn receive_not_ready() {
    let mut end = End::connected(Parameters::default());
    end.sends(2);
    end.hears(&supervision(Rnr, 0));
    end.hears(&supervision(Srej, 0));
    assert_eq!(end.ticks(2), [Sent::Numbered(0, Rr, 0), Sent::Supervision(Rr, 0)]);
    end.hears(&supervision(Rr, 2));
    assert_eq!(end.tick(), Sent::Numbered(2, Rr, 0));
}

/// LL-05: a reset while a packet is half sent and no frame of it is under way. What is left of it must not follow without its beginning, and it is
/// told to be lost, or it would be neither delivered nor lost.
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
    // Nothing numbered until the other end is known to be connected: it would be lost to a second SABM.
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

/// The other end resets the link; `end` answers, and hears that it is connected.
fn reset(end: &mut End) {
    end.hears(&unnumbered(true, Function::SetMode, vec![]));
    assert_eq!(end.tick(), Sent::Other(Function::Acknowledge));
    end.hears(&supervision(Rr, 0));
    end.indications();
}

/// A reset forgets flow control and what was half received.
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

/// It forgets what was asked for, too: polls and their number, REJ, word of frames given up, and answers that are due.
#[test]
fn a_reset_forgets_what_was_asked_for() {
    let poll =
        || Frame { command: true, poll_final: true, body: Body::Supervisory { supervision: Rr, nr: 0 } };
    // A poll that is due while an answer is.
    let mut end = End::connected(persistent(2, Then::Reset));
    end.sends(1);
    end.stopped(0);
    end.ticks(T1 - 1);
    end.hears(&poll());
    assert_eq!(end.tick(), Sent::Final(1));
    reset(&mut end);
    assert_eq!(end.tick(), Sent::Supervision(Rr, 0));
    // There are two polls again.
    end.rlp.offer(8, &[1; 10]);
    assert_eq!(end.tick(), Sent::Numbered(0, Rr, 0));
    let sent = end.ticks(3 * T1);
    assert_eq!(sent.iter().filter(|sent| matches!(sent, Sent::Poll(_))).count(), 2);
    assert_eq!(sent.last(), Some(&Sent::Other(Function::SetMode)));

    // REJ that is due, and the time until the next one.
    let mut end = End::connected(Parameters { recovery: Recovery::GoBack, ..Parameters::default() });
    end.hears(&numbered(3, 0, false));
    assert_eq!(end.tick(), Sent::Supervision(Rej, 0));
    end.hears(&numbered(4, 0, false));
    reset(&mut end);
    assert_eq!(end.tick(), Sent::Supervision(Rr, 0));
    end.hears(&numbered(3, 0, false));
    assert_eq!(end.tick(), Sent::Supervision(Rej, 0));

    // Until a frame given up is told of again.
    let mut end = End::connected(persistent(0, Then::GiveUp));
    end.sends(1);
    end.hears(&supervision(Srej, 0));
    assert_eq!(end.tick(), Sent::Other(Function::Information));
    reset(&mut end);
    end.rlp.offer(8, &[1; 10]);
    assert_eq!(end.tick(), Sent::Numbered(0, Rr, 0));
    end.hears(&supervision(Srej, 0));
    assert_eq!(end.tick(), Sent::Other(Function::Information));

    // An answer to a poll that was sent before this end's own reset.
    let mut end = End::connected(persistent(0, Then::Reset));
    end.sends(1);
    end.hears(&poll());
    end.hears(&supervision(Srej, 0));
    assert_eq!(end.tick(), Sent::Other(Function::SetMode));
}

/// Both ends have sent SABM: each answers, and sends nothing numbered before it has heard more.
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

/// SABM is repeated every T1, with NULL between.
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

/// Rule 3: the other end passes over a number only if it is the one that it waits for.
#[test]
fn a_number_is_passed_over_in_its_turn() {
    let mut end = End::connected(Parameters::default());
    end.hears(&numbered(2, 0, false));
    let given_up = |ns| Frame {
        command: true,
        poll_final: false,
        body: Body::Unnumbered { function: Function::Information, information: vec![ns; 25] },
    };
    end.hears(&given_up(1));
    assert_eq!(end.tick(), Sent::Supervision(Srej, 0));
    end.hears(&given_up(0));
    assert_eq!(end.tick(), Sent::Supervision(Srej, 1));
    end.hears(&given_up(1));
    assert_eq!(end.tick(), Sent::Supervision(Rr, 3));
}

/// T1 runs while something is outstanding: an end that has nothing to say asks for nothing.
#[test]
fn an_idle_end_does_not_poll() {
    let idle = vec![Sent::Supervision(Rr, 0); 3 * T1];
    let answer =
        Frame { command: false, poll_final: true, body: Body::Supervisory { supervision: Rr, nr: 1 } };
    // All was acknowledged by a frame, by the answer to a poll, and with a reset.
    let one_frame = || {
        let mut end = End::connected(Parameters::default());
        end.rlp.offer(7, &[0; 10]);
        assert_eq!(end.tick(), Sent::Numbered(0, Rr, 0));
        end
    };
    let mut end = one_frame();
    end.hears(&supervision(Rr, 1));
    assert_eq!(end.ticks(3 * T1), idle);
    let mut end = one_frame();
    end.ticks(T1 - 1);
    assert_eq!(end.tick(), Sent::Poll(0));
    end.hears(&answer);
    assert_eq!(end.ticks(3 * T1), idle);
    let mut end = one_frame();
    end.hears(&unnumbered(true, Function::SetMode, vec![]));
    assert_eq!(end.tick(), Sent::Other(Function::Acknowledge));
    assert_eq!(end.ticks(3 * T1), idle);
}

/// LL-05: a packet is not put together over a gap, even if what follows would fit: octets of the next one, which has lost its beginning.
#[test]
fn nothing_is_put_together_over_a_gap() {
    let mut sender = End::connected(Parameters::default());
    // 31 octets with framing, and 40 of the second: frames 0 and 1 have the first, 1 the beginning of the second.
    sender.rlp.offer(7, &[5; 24]);
    sender.rlp.offer(8, &[5; 40]);
    let frames: Vec<_> = (0..3).map(|_| sender.rlp.tick(Time::ZERO, &mut sender.said)).collect();
    let mut end = End::connected(Parameters::default());
    end.hears(&frames[0]);
    end.hears(&frames[2]);
    end.hears(&Frame {
        command: true,
        poll_final: false,
        body: Body::Unnumbered { function: Function::Information, information: vec![1; 25] },
    });
    assert_eq!(end.tick(), Sent::Supervision(Rr, 3));
    assert_eq!(end.indications(), []);
}
