//! Two ends of LLP on a link. Each direction is a server that sends one frame after the other, then
//! a delay, then errors (ReSoA thesis, 10.2.4: a lost frame has used the link).

use super::rlp_hop::other;
use super::{Exit, HopError, LlpHopSpec, OnAir};
use crate::Persistency;
use crate::llp::{Frame, Indication, Llp, Output, Parameters, Timing};
use std::collections::VecDeque;
use vocabulary::Direction;
use vocabulary::units::{BitRate, ByteCount, Span, Time};

/// The machine. In arrays, a direction has the same index as the end that sends in it.
#[derive(Debug)]
pub(super) struct LlpHop {
    ends: [Llp; 2],
    servers: [Option<Serving>; 2],
    rates: [BitRate; 2],
    /// Delay of each direction.
    delays: [Span; 2],
    /// Frames in transit; `frame` is `None` if it was lost.
    flying: [VecDeque<Flying>; 2],
    persistency: Persistency,
}

/// The frame that is being sent.
#[derive(Debug)]
struct Serving {
    frame: Frame,
    octets: ByteCount,
    start: Time,
    end: Time,
}

#[derive(Debug)]
struct Flying {
    at: Time,
    frame: Option<Frame>,
    octets: ByteCount,
}

impl LlpHop {
    pub fn new(spec: &LlpHopSpec) -> Result<Self, HopError> {
        if spec.window == 0 || spec.window > 32 {
            return Err(HopError::Window { given: spec.window, most: 32 });
        }
        let LlpHopSpec { rate_up, rate_down, delay_up, delay_down, window, persistency, order } = *spec;
        let end = |rate, return_rate| {
            let timing = Timing { rate, return_rate, propagation: delay_up + delay_down };
            Llp::new(Parameters { window, persistency, order, ..Parameters::thesis(timing) })
        };
        Ok(Self {
            ends: [end(rate_up, rate_down), end(rate_down, rate_up)],
            servers: [None, None],
            rates: [rate_up, rate_down],
            delays: [delay_up, delay_down],
            flying: Default::default(),
            persistency,
        })
    }

    pub fn is_ready(&self, direction: Direction) -> bool {
        self.ends[direction as usize].waiting() == 0
    }

    pub fn accept(&mut self, direction: Direction, number: u64, now: Time, exit: &mut Exit<'_>) {
        let place = direction as usize;
        if self.ends[place].has_ended() {
            exit.abandon(direction, number, self.persistency.then, now);
            return;
        }
        self.ends[place].offer(number, exit.around.frame(direction, number).len() as u32);
        self.serve(direction, now, exit);
    }

    pub fn due(&self) -> Time {
        let timers = self.ends.iter().map(Llp::due);
        let served = self.servers.iter().flatten().map(|serving| serving.end);
        let arrivals = self.flying.iter().filter_map(|flying| Some(flying.front()?.at));
        timers.chain(served).chain(arrivals).min().unwrap_or(Time::NEVER)
    }

    /// At one point in time, arrivals come first, so that an answer in time precedes the timer.
    /// Then come ends of transmissions, then timers.
    pub fn advance(&mut self, now: Time, exit: &mut Exit<'_>) {
        for way in Direction::BOTH {
            while self.flying[way as usize].front().is_some_and(|flying| flying.at <= now) {
                let Flying { frame, octets, .. } =
                    self.flying[way as usize].pop_front().expect("there is one");
                let mut said = Output::default();
                self.ends[other(way) as usize].receive(frame.as_ref(), octets, now, &mut said);
                self.say(other(way), said, now, exit);
            }
        }
        for way in Direction::BOTH {
            let place = way as usize;
            if let Some(Serving { frame, octets, start, end }) =
                self.servers[place].take_if(|serving| serving.end <= now)
            {
                let is_right = exit.carries(way, &OnAir { octets, start, end, judged: end });
                let frame = is_right.then_some(frame);
                self.flying[place].push_back(Flying { at: now + self.delays[place], frame, octets });
            }
        }
        for end in Direction::BOTH {
            if self.ends[end as usize].due() <= now {
                let mut said = Output::default();
                self.ends[end as usize].expire(now, &mut said);
                self.say(end, said, now, exit);
            }
        }
        for end in Direction::BOTH {
            self.serve(end, now, exit);
        }
    }

    /// Sends the next frame if no frame is being sent.
    fn serve(&mut self, end: Direction, now: Time, exit: &mut Exit<'_>) {
        let place = end as usize;
        if self.servers[place].is_some() {
            return;
        }
        let mut said = Output::default();
        if let Some(frame) = self.ends[place].next_frame(now, &mut said) {
            let octets = self.ends[place].octets(&frame);
            let end = now + self.rates[place].time_for(octets);
            self.servers[place] = Some(Serving { frame, octets, start: now, end });
        }
        self.say(end, said, now, exit);
    }

    /// Processes the output of an end.
    fn say(&mut self, end: Direction, said: Output, now: Time, exit: &mut Exit<'_>) {
        exit.records(end, said.records);
        let why = self.persistency.then;
        for indication in said.indications {
            match indication {
                Indication::Delivered(number) => {
                    exit.deliver(other(end), number, None, now);
                }
                Indication::Abandoned(number) => {
                    exit.abandon(end, number, why, now);
                }
                // The session has ended for both.
                Indication::Ended => {
                    let mut said = Output::default();
                    self.ends[other(end) as usize].end(&mut said);
                    self.say(other(end), said, now, exit);
                    for way in Direction::BOTH {
                        exit.abandon_all(way, why, now);
                    }
                }
            }
        }
    }
}
