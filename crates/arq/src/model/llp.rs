//! LLP with a window of 2 and 4 numbers. The channel keeps the order of frames; it delivers, loses
//! or duplicates them at any time. While there is room on the channel, a timer may expire at any
//! time, however early.

use super::{all_ended, in_order, once};
use crate::llp::{Frame, Indication, Llp, Output, Parameters, Timing};
use crate::{Modulus, Order, Persistency, Then};
use stateright::{Checker, Model, Property};
use std::collections::VecDeque;
use vocabulary::units::{BitRate, ByteCount, Span, Time};

struct Link {
    parameters: Parameters,
    /// Number of packets that each end offers at the start.
    packets: [u64; 2],
    /// Lengths of the even and of the odd packets, in octets. A frame carries 100.
    octets: [u32; 2],
    /// Maximum number of frames in transit in a direction.
    room: usize,
    /// Whether receivers acknowledge one frame too many, which the checker must detect.
    eager: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    ends: [Llp; 2],
    /// Frames in transit to each end.
    air: [VecDeque<Frame>; 2],
    /// Packets delivered to each end, and indications of abandoned ones for each end's own packets.
    delivered: [Vec<u64>; 2],
    abandoned: [Vec<u64>; 2],
}

/// A possible event. The number is that of the end at which it happens.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Send(usize),
    Deliver(usize),
    Lose(usize),
    Double(usize),
    Expire(usize),
}

const NOW: Time = Time::ZERO;

impl Link {
    fn take(&self, state: &mut State, step: Step) {
        let mut out = Output::default();
        let (Step::Send(end) | Step::Deliver(end) | Step::Lose(end) | Step::Double(end) | Step::Expire(end)) =
            step;
        match step {
            Step::Send(_) => {
                let frame = state.ends[end].next_frame(NOW, &mut out);
                state.air[1 - end].extend(frame.map(|frame| self.broken(frame)));
            }
            Step::Lose(_) => drop(state.air[end].pop_front()),
            Step::Deliver(_) | Step::Double(_) => {
                let frame = match step {
                    Step::Double(_) => state.air[end].front().copied(),
                    _ => state.air[end].pop_front(),
                };
                state.ends[end].receive(frame.as_ref(), ByteCount::new(20), NOW, &mut out);
            }
            Step::Expire(_) => state.ends[end].expire(NOW, &mut out),
        }
        for indication in out.indications {
            match indication {
                Indication::Delivered(packet) => state.delivered[end].push(packet),
                Indication::Abandoned(packet) => state.abandoned[end].push(packet),
                Indication::Ended => unreachable!("not configured"),
            }
        }
        // Answers are sent at once.
        while state.ends[end].has_control() {
            let frame = state.ends[end].next_frame(NOW, &mut Output::default());
            state.air[1 - end].extend(frame.map(|frame| self.broken(frame)));
        }
        state.ends.iter_mut().for_each(Llp::forget);
    }

    fn broken(&self, frame: Frame) -> Frame {
        match frame {
            Frame::Ack { next } if self.eager => Frame::Ack { next: self.parameters.modulus.after(next, 1) },
            frame => frame,
        }
    }

    fn is_right(&self, state: &State) -> bool {
        let lossless = self.parameters.persistency.retransmissions.is_none();
        state.delivered.iter().all(|delivered| match self.parameters.order {
            Order::InSequence => in_order(delivered, lossless),
            Order::AsReceived => once(delivered),
        })
    }

    fn is_done(&self, state: &State) -> bool {
        (0..2).all(|end| all_ended(self.packets[end], &state.delivered[1 - end], &state.abandoned[end]))
    }

    /// Tells whether every packet ends on a channel without losses. Timers expire when nothing else
    /// can happen.
    fn recovers(&self, state: &State) -> bool {
        let mut state = state.clone();
        for _ in 0..1000 {
            if self.is_done(&state) {
                return self.is_right(&state);
            }
            let ends = [0, 1].into_iter();
            let next = ends
                .clone()
                .find(|&end| !state.air[end].is_empty())
                .map(Step::Deliver)
                .or_else(|| ends.clone().find(|&end| state.ends[end].has_frame()).map(Step::Send))
                .or_else(|| ends.clone().find(|&end| state.ends[end].due() != Time::NEVER).map(Step::Expire));
            match next {
                Some(step) => self.take(&mut state, step),
                None => return false,
            }
        }
        false
    }
}

impl Model for Link {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        let mut ends = [Llp::new(self.parameters), Llp::new(self.parameters)];
        for (end, llp) in ends.iter_mut().enumerate() {
            (0..self.packets[end]).for_each(|number| llp.offer(number, self.octets[(number % 2) as usize]));
        }
        let (air, delivered, abandoned) = Default::default();
        vec![State { ends, air, delivered, abandoned }]
    }

    fn actions(&self, state: &State, steps: &mut Vec<Step>) {
        for end in 0..2 {
            let has_room = state.air[1 - end].len() < self.room;
            if !state.air[end].is_empty() {
                steps.push(Step::Lose(end));
            }
            if has_room && state.ends[end].has_frame() {
                steps.push(Step::Send(end));
            }
            if has_room && !state.air[end].is_empty() {
                steps.extend([Step::Deliver(end), Step::Double(end)]);
            }
            if has_room && state.ends[end].due() != Time::NEVER {
                steps.push(Step::Expire(end));
            }
        }
    }

    fn next_state(&self, state: &State, step: Step) -> Option<State> {
        let mut state = state.clone();
        self.take(&mut state, step);
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("once, and in order if it is to be", |link: &Self, state| link.is_right(state)),
            Property::always("recovers when losses end", |link: &Self, state| link.recovers(state)),
            Property::sometimes("comes to its end", |link: &Self, state| link.is_done(state)),
            Property::sometimes("packets overtake each other, if they may", |link: &Self, state: &State| {
                link.parameters.order == Order::InSequence || !state.delivered[1].is_sorted()
            }),
        ]
    }
}

fn link(packets: [u64; 2], persistency: Persistency) -> Link {
    let rate = BitRate::from_bits_per_second(1_000_000).expect("not 0");
    let timing = Timing { rate, return_rate: rate, propagation: Span::ZERO };
    let parameters = Parameters {
        modulus: Modulus::new(4),
        window: 2,
        payload: 100,
        persistency,
        ..Parameters::thesis(timing)
    };
    Link { parameters, packets, octets: [100; 2], room: 2, eager: false }
}

fn check(name: &str, link: Link) -> impl Checker<Link> {
    let checker = link.checker().threads(2).spawn_bfs().join();
    println!("{name}: {} states, {} transitions", checker.unique_state_count(), checker.state_count());
    checker
}

/// M9: exactly once and in order, with more packets than numbers.
#[test]
fn one_way() {
    check("LLP, one way", link([6, 0], Persistency::FOR_EVER)).assert_properties();
}

/// M9: the same with data in both directions.
#[test]
fn both_ways() {
    check("LLP, both ways", link([2, 1], Persistency::FOR_EVER)).assert_properties();
}

/// Packets that are given up are missing; there is no other effect.
#[test]
fn given_up() {
    let persistency = Persistency { retransmissions: Some(0), then: Then::GiveUp };
    check("LLP, giving up", link([3, 0], persistency)).assert_properties();
}

/// The same for resets.
#[test]
fn reset() {
    let persistency = Persistency { retransmissions: Some(0), then: Then::Reset };
    check("LLP, resets", link([3, 0], persistency)).assert_properties();
}

/// The same if packets are delivered as they arrive. Each is in one frame, or every other one in
/// two. With fragments, the window has to be larger by one, and there have to be enough numbers to
/// distinguish a number behind the window from one before it.
#[test]
fn out_of_order() {
    let as_received = |packets, persistency| {
        let mut link = link([packets, 0], persistency);
        link.parameters.order = Order::AsReceived;
        link
    };
    let fragments = |packets, persistency| {
        let mut link = Link { octets: [200, 100], ..as_received(packets, persistency) };
        (link.parameters.modulus, link.parameters.window) = (Modulus::new(8), 3);
        link
    };
    check("LLP, out of order", as_received(6, Persistency::FOR_EVER)).assert_properties();
    check("LLP, out of order, fragments", fragments(3, Persistency::FOR_EVER)).assert_properties();
    let giving_up = Persistency { retransmissions: Some(1), then: Then::GiveUp };
    check("LLP, out of order, giving up", as_received(3, giving_up)).assert_properties();
    check("LLP, out of order, fragments, giving up", fragments(2, giving_up)).assert_properties();
}

/// The checker finds a receiver that acknowledges frames that have not arrived.
#[test]
fn an_eager_receiver_is_found() {
    let checker = check("LLP, eager receiver", Link { eager: true, ..link([3, 0], Persistency::FOR_EVER) });
    assert!(checker.discovery("recovers when losses end").is_some());
}

/// Four numbers are too few for a window of 3, which `Llp::new` rejects.
#[test]
#[should_panic(expected = "a window of 3")]
fn a_window_above_half_of_the_numbers_is_refused() {
    let Link { parameters, .. } = link([1, 0], Persistency::FOR_EVER);
    let _ = Llp::new(Parameters { window: 3, ..parameters });
}
