//! RLP with 4 numbers and windows of up to 3, in place of 62 and 61. At each tick, either end's
//! frame may be lost, without limit.

use super::{all_ended, in_order};
use crate::rlp::{Abandoned, Indication, Output, Parameters, Recovery, Rlp, Role};
use crate::{Modulus, Persistency, Then};
use packet::rlp::{Body, Frame};
use stateright::{Checker, Model, Property};
use std::collections::VecDeque;
use vocabulary::units::Time;

/// The link to check.
struct Link {
    parameters: Parameters,
    /// Number of packets that each end offers. Each fills a frame.
    packets: [u16; 2],
    /// Whether packets come one by one at any tick, or all at the start.
    late: bool,
    /// Whether the network requests a missing frame at every tick, instead of every T1.
    impatient: bool,
    /// Number of ticks that a frame is in transit.
    delay: usize,
    fault: Fault,
}

/// A deliberate fault of a receiver, which the checker must detect.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    /// Answers to polls have an N(R) that is too small by one: arrived frames are retransmitted.
    Behind,
    /// Supervision has an N(R) that is too large by one: missing frames are acknowledged.
    Eager,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    ends: [Rlp; 2],
    /// Frames in transit to each end.
    air: [VecDeque<Option<Frame>>; 2],
    /// Packets delivered to each end, and indications of abandoned ones for each end's own packets.
    delivered: [Vec<u16>; 2],
    abandoned: [Vec<u16>; 2],
    /// Number of packets that each end has offered.
    offered: [u16; 2],
    wrong: bool,
}

/// Events of a tick.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Step {
    /// Whether the frame of each end is lost.
    losses: [bool; 2],
    /// Whether each end offers its next packet first.
    offer: bool,
}

const LENGTH: usize = 17;

fn packet(end: usize, number: u16) -> Vec<u8> {
    vec![(end as u8 + 1) << 4 | number as u8; LENGTH]
}

impl Link {
    fn step(&self, state: &mut State, step: Step) {
        if step.offer {
            self.offer(state, 1);
        }
        let now = Time::ZERO;
        let mut out = [Output::default(), Output::default()];
        // Frames that are due arrive first, then both ends send.
        for (end, out) in out.iter_mut().enumerate() {
            if state.air[end].len() == self.delay {
                let frame = state.air[end].pop_front().flatten();
                let frame = frame.map(|frame| self.broken(frame));
                state.ends[end].receive(frame.as_ref(), now, out);
            }
        }
        for (end, out) in out.iter_mut().enumerate() {
            let frame = state.ends[end].tick(now, out);
            state.air[1 - end].push_back(if step.losses[end] { None } else { Some(frame) });
        }
        for (end, out) in out.into_iter().enumerate() {
            for indication in out.indications {
                match indication {
                    Indication::Delivered { number, bytes } => {
                        state.wrong |= bytes != packet(1 - end, number);
                        state.delivered[end].push(number);
                    }
                    Indication::Abandoned { number, why } => {
                        state.wrong |= why == Abandoned::Disconnected;
                        if !state.abandoned[end].contains(&number) {
                            state.abandoned[end].push(number);
                            state.abandoned[end].sort_unstable();
                        }
                    }
                    Indication::Connected => {}
                    Indication::Disconnected => state.wrong = true,
                }
            }
        }
        state.ends.iter_mut().for_each(Rlp::forget);
    }

    /// Lets each end offer `count` more packets, as far as there are any.
    fn offer(&self, state: &mut State, count: u16) {
        for end in 0..2 {
            let first = state.offered[end];
            state.offered[end] = first.saturating_add(count).min(self.packets[end]);
            (first..state.offered[end])
                .for_each(|number| state.ends[end].offer(number, &packet(end, number)));
        }
    }

    fn broken(&self, mut frame: Frame) -> Frame {
        let is_answer = frame.poll_final && !frame.command;
        if let Body::Supervisory { nr, .. } = &mut frame.body {
            let steps = match self.fault {
                Fault::Behind if is_answer => self.parameters.modulus.numbers() as usize - 1,
                Fault::Eager => 1,
                Fault::None | Fault::Behind => 0,
            };
            *nr = self.parameters.modulus.after(u16::from(*nr), steps) as u8;
        }
        frame
    }

    /// Tells whether each packet is delivered once and in order. Without abandoning, none may be
    /// missing in between.
    fn is_right(&self, state: &State) -> bool {
        let lossless = self.parameters.persistency.retransmissions.is_none();
        !state.wrong && state.delivered.iter().all(|delivered| in_order(delivered, lossless))
    }

    /// Tells whether every packet was delivered or abandoned.
    fn is_done(&self, state: &State) -> bool {
        (0..2)
            .all(|end| all_ended(self.packets[end].into(), &state.delivered[1 - end], &state.abandoned[end]))
    }

    /// Tells whether every packet ends within some ticks on a channel without losses.
    fn recovers(&self, state: &State) -> bool {
        let mut state = state.clone();
        for _ in 0..RECOVERY_TICKS {
            if self.is_done(&state) {
                return self.is_right(&state);
            }
            self.step(&mut state, Step { losses: [false; 2], offer: self.late });
        }
        false
    }
}

/// Several times T1 for each of a few packets.
const RECOVERY_TICKS: usize = 200;

impl Model for Link {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        let t1_ticks = if self.impatient { 1 } else { self.parameters.t1_ticks };
        let network = Parameters { t1_ticks, ..self.parameters };
        let ends = [(Role::Mobile, self.parameters), (Role::Network, network)];
        let mut ends = ends.map(|(role, parameters)| Rlp::new(role, parameters, None));
        ends[0].connect();
        let (air, delivered, abandoned, offered) = Default::default();
        let mut state = State { ends, air, delivered, abandoned, offered, wrong: false };
        if !self.late {
            self.offer(&mut state, u16::MAX);
        }
        vec![state]
    }

    fn actions(&self, state: &State, steps: &mut Vec<Step>) {
        if self.is_done(state) {
            return;
        }
        for losses in [[false, false], [false, true], [true, false], [true, true]] {
            steps.push(Step { losses, offer: false });
            if self.late && state.offered != self.packets {
                steps.push(Step { losses, offer: true });
            }
        }
    }

    fn next_state(&self, state: &State, step: Step) -> Option<State> {
        let mut state = state.clone();
        self.step(&mut state, step);
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("once, in order, intact", |link: &Self, state| link.is_right(state)),
            Property::always("recovers when losses end", |link: &Self, state| link.recovers(state)),
            Property::sometimes("comes to its end", |link: &Self, state| link.is_done(state)),
        ]
    }
}

fn parameters(window: u16, recovery: Recovery, persistency: Persistency) -> Parameters {
    Parameters {
        modulus: Modulus::new(4),
        send_window: window,
        receive_window: window,
        t1_ticks: 4,
        t2_ticks: 1,
        persistency,
        recovery,
        negotiate: false,
    }
}

fn check(name: &str, link: Link) -> impl Checker<Link> {
    let checker = link.checker().threads(2).spawn_bfs().join();
    println!("{name}: {} states, {} transitions", checker.unique_state_count(), checker.state_count());
    checker
}

fn link(parameters: Parameters, packets: [u16; 2], delay: usize) -> Link {
    Link { parameters, packets, late: false, impatient: false, delay, fault: Fault::None }
}

/// LL-03: with the largest possible window and more packets than numbers, packets arrive exactly
/// once, in order and intact.
#[test]
fn selective_reject() {
    let selective = parameters(3, Recovery::Selective, Persistency::FOR_EVER);
    check("RLP, SREJ, one way", link(selective, [7, 0], 1)).assert_properties();
    check("RLP, SREJ, both ways", link(selective, [3, 3], 1)).assert_properties();
    let longer = Parameters { t1_ticks: 6, ..selective };
    check("RLP, SREJ, longer delay", link(longer, [6, 0], 2)).assert_properties();
}

/// LL-03: packets come at any time, so there may be new data to send while an answer to a poll is
/// in transit.
#[test]
fn packets_that_come_late() {
    let selective = parameters(3, Recovery::Selective, Persistency::FOR_EVER);
    let longer = Parameters { t1_ticks: 6, ..selective };
    // Six packets: a frame that is mistaken for a later one shows when that one's turn comes.
    let late = Link { late: true, ..link(longer, [6, 0], 2) };
    check("RLP, SREJ, packets that come late", late).assert_properties();
}

/// LL-03: the protocol does not depend on how often the receiver repeats requests, since other
/// implementations may have another interval.
#[test]
fn a_receiver_that_asks_all_the_time() {
    let selective = parameters(3, Recovery::Selective, Persistency::FOR_EVER);
    let impatient = |link| Link { impatient: true, ..link };
    check("RLP, SREJ at every tick", impatient(link(selective, [7, 0], 1))).assert_properties();
    let longer = Parameters { t1_ticks: 6, ..selective };
    check("RLP, SREJ at every tick, longer delay", impatient(link(longer, [6, 0], 2))).assert_properties();
    let reject = parameters(3, Recovery::GoBack, Persistency::FOR_EVER);
    check("RLP, REJ at every tick", impatient(link(reject, [6, 0], 1))).assert_properties();
}

/// LL-03: the same if the receiver sends REJ.
#[test]
fn reject() {
    let reject = parameters(3, Recovery::GoBack, Persistency::FOR_EVER);
    check("RLP, REJ, one way", link(reject, [6, 0], 1)).assert_properties();
}

/// LL-05: resets. Delivered packets are in order and intact, all others are abandoned.
#[test]
fn resets() {
    let persistency = Persistency { retransmissions: Some(1), then: Then::Reset };
    let parameters = parameters(3, Recovery::Selective, persistency);
    check("RLP, resets, one way", link(parameters, [4, 0], 1)).assert_properties();
    check("RLP, resets, both ways", link(parameters, [1, 1], 1)).assert_properties();
}

/// LL-05: frames that are given up.
#[test]
fn given_up() {
    let persistency = Persistency { retransmissions: Some(1), then: Then::GiveUp };
    let parameters = parameters(3, Recovery::Selective, persistency);
    check("RLP, giving up, one way", link(parameters, [2, 0], 1)).assert_properties();
    let persistency = Persistency { retransmissions: Some(0), then: Then::GiveUp };
    let parameters = Parameters { persistency, ..parameters };
    check("RLP, giving up at once, one way", link(parameters, [5, 0], 1)).assert_properties();
}

/// The checker finds a receiver that acknowledges missing frames, and one that requests frames that
/// have arrived.
#[test]
fn broken_receivers_are_found() {
    let selective = parameters(3, Recovery::Selective, Persistency::FOR_EVER);
    let found = |fault| {
        let checker = check("RLP, broken receiver", Link { fault, ..link(selective, [6, 0], 1) });
        checker
            .discovery("once, in order, intact")
            .or(checker.discovery("recovers when losses end"))
            .is_some()
    };
    assert!(found(Fault::Eager));
    assert!(found(Fault::Behind));
}

/// The second half of rule 1 of [`crate::rlp`]: with a T1 that is shorter than the round trip, an
/// old frame is taken for a new one.
#[test]
fn a_short_t1_is_found() {
    let short = Parameters { t1_ticks: 3, ..parameters(3, Recovery::Selective, Persistency::FOR_EVER) };
    let checker = check("RLP, T1 too short", link(short, [6, 0], 2));
    assert!(checker.discovery("once, in order, intact").is_some());
}
