//! Tests of one end with hand-made frames of the other: the rules, the timer, and requests.

mod giving_up;
mod resets;

use super::*;
use crate::{Persistency, Then};
use packet::rlp::l2r::{Field, Item};
use packet::rlp::{Body, Function, Supervision};

/// T1 and T1 - T2 by default, in ticks.
const T1: usize = 24;
const ROUND_TRIP: usize = 20;

struct End {
    rlp: Rlp,
    said: Output,
}

/// A sent frame, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sent {
    /// N(S), supervision and N(R).
    Numbered(u8, Supervision, u8),
    Supervision(Supervision, u8),
    /// With P, and N(R).
    Poll(u8),
    /// With F, and N(R).
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

/// A slow line whose buffer is above its upper mark with 24 characters.
const SLOW: Throttle = Throttle { rate: 10, low: 10, high: 20 };

/// A frame with 24 characters, with or without XOFF.
fn characters(ns: u8, nr: u8, stop: bool) -> Frame {
    let items = vec![Item::Characters(vec![0; 24])];
    let information = Field { stop, items }.to_octets(INFORMATION_OCTETS);
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
    /// Creates an end that has set up a connection.
    fn connected(parameters: Parameters) -> Self {
        Self::throttled(parameters, None)
    }

    /// The same, with a slower line behind it.
    fn throttled(parameters: Parameters, throttle: Option<Throttle>) -> Self {
        let mut end = Self { rlp: Rlp::new(Role::Mobile, parameters, throttle), said: Output::default() };
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

    /// Makes the end stop sending new frames, by XOFF.
    fn stopped(&mut self, nr: u8) {
        self.hears(&numbered(0, nr, true));
    }
}

/// Rule 1: a frame that was sent once is retransmitted as soon as it is requested. After that, it
/// is retransmitted only when no copy can be in transit.
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
    // A request for a frame that is not outstanding is ignored.
    end.hears(&supervision(Srej, 0));
    end.hears(&supervision(Srej, 4));
    assert_eq!(end.tick(), Sent::Supervision(Rr, 1));
}

/// Rule 2: between P and F, no numbered frame is sent and no SREJ obeyed. Then N(R) of the answer
/// is retransmitted, and the newest frame.
#[test]
fn a_poll_and_its_answer() {
    let mut end = End::connected(Parameters::default());
    end.sends(4);
    end.stopped(0);
    // T1 runs from the first frame on, and no arriving frame has acknowledged any.
    assert_eq!(end.ticks(T1 - 4), vec![Sent::Supervision(Rr, 1); T1 - 4]);
    assert_eq!(end.tick(), Sent::Poll(1));
    end.hears(&numbered(1, 0, false));
    end.hears(&supervision(Srej, 2));
    // A command with P is no answer, and neither is a response without F.
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

/// An answer without a poll is only an acknowledgement.
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

/// REJ requests all frames from a number on. All frames before it have arrived.
#[test]
fn go_back() {
    let mut end = End::connected(Parameters { recovery: Recovery::GoBack, ..Parameters::default() });
    end.sends(4);
    end.hears(&supervision(Rej, 1));
    assert_eq!(end.ticks(4), [1, 2, 3, 4].map(|ns| Sent::Numbered(ns, Rr, 0)));
    assert_eq!(end.rlp.send.oldest(), 1);
    // With SREJ as the configured recovery, REJ requests one frame.
    let mut end = End::connected(Parameters::default());
    end.sends(4);
    end.hears(&supervision(Rej, 1));
    assert_eq!(end.ticks(2), [1, 4].map(|ns| Sent::Numbered(ns, Rr, 0)));
}

/// Each missing frame is requested once, one a block, and again after T1 if it has not arrived.
#[test]
fn asks_for_what_is_missing() {
    let mut end = End::connected(Parameters::default());
    end.hears(&numbered(0, 0, false));
    end.hears(&numbered(3, 0, false));
    let asked = [Sent::Supervision(Srej, 1), Sent::Supervision(Srej, 2)];
    assert_eq!(end.ticks(3), [asked[0], asked[1], Sent::Supervision(Rr, 1)]);
    // The second copy is outside the window and causes no request.
    for _ in 0..2 {
        end.hears(&numbered(1, 0, false));
    }
    assert_eq!(end.ticks(T1 - 2), vec![Sent::Supervision(Rr, 2); T1 - 2]);
    assert_eq!(end.tick(), asked[1]);
}

/// REJ is sent once, and again after T1, until a frame in sequence arrives.
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

/// RNR stops new frames, but not retransmissions. RR lets new frames continue.
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

/// T1 runs only while frames are outstanding: an idle end does not poll.
#[test]
fn an_idle_end_does_not_poll() {
    let idle = vec![Sent::Supervision(Rr, 0); 3 * T1];
    let answer =
        Frame { command: false, poll_final: true, body: Body::Supervisory { supervision: Rr, nr: 1 } };
    // The frame is acknowledged by RR, by the answer to a poll, or with a reset.
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

/// T1 runs from the last transmission. Neither many retransmissions nor an SREJ just before the end
/// of T1 let it expire.
#[test]
fn retransmissions_restart_t1() {
    let mut end = End::connected(Parameters { recovery: Recovery::GoBack, ..Parameters::default() });
    end.rlp.offer(7, &[0; 1500]);
    (0..20).for_each(|ns| assert_eq!(end.tick(), Sent::Numbered(ns, Rr, 0)));
    end.hears(&supervision(Rr, 1));
    (20..40).for_each(|ns| assert_eq!(end.tick(), Sent::Numbered(ns, Rr, 0)));
    end.hears(&supervision(Rej, 1));
    (1..40).for_each(|ns| assert_eq!(end.tick(), Sent::Numbered(ns, Rr, 0)));

    let mut end = End::connected(Parameters::default());
    end.sends(2);
    end.stopped(0);
    end.ticks(T1 - 2);
    end.hears(&supervision(Srej, 0));
    assert_eq!(end.tick(), Sent::Numbered(0, Rr, 1));
}

/// A poll that is due again when the answer arrives is not sent.
#[test]
fn an_answer_in_the_last_instant() {
    let poll = Frame { command: true, poll_final: true, body: Body::Supervisory { supervision: Rr, nr: 0 } };
    let answer =
        Frame { command: false, poll_final: true, body: Body::Supervisory { supervision: Rr, nr: 1 } };
    let mut end = End::connected(Parameters::default());
    end.rlp.offer(7, &[0; 10]);
    assert_eq!(end.tick(), Sent::Numbered(0, Rr, 0));
    end.ticks(T1 - 1);
    assert_eq!(end.tick(), Sent::Poll(0));
    end.ticks(T1 - 1);
    end.hears(&poll);
    assert_eq!(end.tick(), Sent::Final(0), "T1 has expired, and the answer is first");
    end.hears(&answer);
    assert_eq!(end.ticks(3), vec![Sent::Supervision(Rr, 0); 3]);
}
