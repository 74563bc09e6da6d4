//! The client's end of a measurement.

mod fetching;
mod light;

use crate::message::{Body, Data, End, Feedback, HEAVY, Key, LEAST_REQUEST, Message, Refusal};
use crate::plan::{Phase, Plan, PlanError};
use crate::receiver::Receiver;
use crate::recording::{Recording, RoundTrip, Sent, answers, downlink, uplink};
use crate::saturator::Saturator;
use crate::{MILLI, NEVER, SECOND};
use fetching::Fetching;
use light::Trains;

/// A server that says nothing for this time is gone.
const SILENCE: u64 = 30 * SECOND;
/// Time to wait for an answer to the first message.
const FIRST_ANSWER: u64 = 10 * SECOND;
/// First time to wait for an answer, before a round trip is known.
const FIRST_WAIT: u64 = 500 * MILLI;
const LONGEST_WAIT: u64 = 10 * SECOND;
/// Least time without arrivals after which a phase is over.
const LEAST_QUIET: u64 = 500 * MILLI;
/// First rate of a heavy phase if the trains say nothing, in bit/s.
const FIRST_RATE: u64 = 100_000;

/// The client's end. Call [`Client::send`] until it returns nothing, wait for a datagram or until
/// [`Client::due`], and so on until [`Client::is_done`].
#[derive(Debug)]
pub struct Client {
    key: Key,
    plan: Plan,
    phases: Vec<Phase>,
    nonce: [u8; 16],
    session: u64,
    state: State,
    retry: Retry,
    /// Time of the last datagram from the server.
    heard: u64,
    started: Option<u64>,
    /// Longest round trip of any packet so far.
    longest: u64,
    recording: Recording,
    failed: Option<ClientError>,
    closing: u8,
}

#[derive(Debug)]
enum State {
    /// Waiting for a cookie.
    Hello,
    /// Waiting for a session.
    Open([u8; 16]),
    /// Waiting for the server to begin the phase with this number.
    Begin(u8),
    Run(Box<Run>),
    Fetch(Box<Run>, Fetching),
    Done,
}

/// A phase that is in progress.
#[derive(Debug)]
struct Run {
    phase: u8,
    end: u64,
    receiver: Receiver,
    sent: Vec<Sent>,
    trains: Option<Trains>,
    flow: Option<Saturator>,
    /// Time of the last sign that packets still arrive at either end.
    news: u64,
    /// Longest time between two signs of packets at the server.
    longest_gap: u64,
    arrived: u32,
}

/// Repetition of a request with a doubling wait.
#[derive(Debug, Clone, Copy)]
struct Retry {
    due: u64,
    wait: u64,
}

/// Error of a measurement that cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    /// No server answered.
    #[error("no answer: is `lasthop record --serve` running there, with the same key, and may UDP reach it?")]
    NoAnswer,
    /// The server has another client.
    #[error("the server is measuring for another client: try again later")]
    Busy,
    /// The server refused the plan.
    #[error("the server does not accept this measurement: its --max-rate may be lower")]
    Refused,
    /// The server stopped answering.
    #[error("the server stopped answering")]
    Silent,
    /// The plan is wrong.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

/// Current activity of the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Connecting to the server.
    Connecting,
    /// Measuring in a phase.
    Measuring(Phase),
    /// Fetching the server's list of a phase.
    Fetching(Phase),
    /// At the end.
    Done,
}

impl Client {
    /// Creates a client with a random `nonce`.
    ///
    /// # Errors
    /// If the plan is wrong.
    pub fn new(key: Key, plan: Plan, nonce: [u8; 16]) -> Result<Self, ClientError> {
        plan.check()?;
        Ok(Self {
            key,
            plan,
            phases: plan.phases(),
            nonce,
            session: 0,
            state: State::Hello,
            retry: Retry { due: 0, wait: FIRST_WAIT },
            heard: 0,
            started: None,
            longest: 0,
            recording: Recording::new(plan),
            failed: None,
            closing: 0,
        })
    }

    /// Returns the current activity.
    #[must_use]
    pub fn progress(&self) -> Progress {
        match &self.state {
            State::Hello | State::Open(_) => Progress::Connecting,
            State::Begin(phase) => Progress::Measuring(self.phases[usize::from(*phase)]),
            State::Run(run) => Progress::Measuring(self.phases[usize::from(run.phase)]),
            State::Fetch(run, _) => Progress::Fetching(self.phases[usize::from(run.phase)]),
            State::Done => Progress::Done,
        }
    }

    /// Returns whether the measurement is over.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.failed.is_some() || (matches!(self.state, State::Done) && self.closing == 0)
    }

    /// Returns the recording at the end.
    ///
    /// # Errors
    /// If the measurement failed.
    pub fn into_recording(self) -> Result<Recording, ClientError> {
        self.failed.map_or(Ok(self.recording), Err)
    }

    /// Returns the time at which [`Client::send`] has something to do.
    #[must_use]
    pub fn due(&self) -> u64 {
        match &self.state {
            State::Hello | State::Open(_) | State::Begin(_) => self.retry.due,
            State::Run(run) => run.due(self.quiet(run)),
            State::Fetch(_, fetching) => fetching.due(),
            State::Done => 0,
        }
        .min(if self.started.is_some() { self.gives_up() } else { NEVER })
    }

    fn gives_up(&self) -> u64 {
        match self.state {
            State::Hello => self.started.unwrap_or(0).saturating_add(FIRST_ANSWER),
            _ => self.heard.saturating_add(SILENCE),
        }
    }

    /// Returns the next datagram to send at `now`, if there is one.
    pub fn send(&mut self, now: u64) -> Option<Vec<u8>> {
        self.started.get_or_insert(now);
        if self.failed.is_some() {
            return None;
        }
        if now >= self.gives_up() && !matches!(self.state, State::Done) {
            let first = matches!(self.state, State::Hello);
            self.failed = Some(if first { ClientError::NoAnswer } else { ClientError::Silent });
            return None;
        }
        let quiet = if let State::Run(run) = &self.state { self.quiet(run) } else { 0 };
        let nonce = self.nonce;
        match &mut self.state {
            State::Hello => self.retry(now, Body::Hello { nonce }, LEAST_REQUEST),
            State::Open(cookie) => {
                let body = Body::Open { nonce, cookie: *cookie, plan: self.plan };
                self.retry(now, body, LEAST_REQUEST)
            }
            State::Begin(phase) => {
                let phase = *phase;
                let rate = self.first_rate(1);
                self.retry(now, Body::Begin { phase, rate }, 0)
            }
            State::Run(run) => {
                if let Some(feedback) = run.receiver.feedback(now) {
                    return Some(self.seal(Body::Feedback(feedback), 0));
                }
                if let Some((data, payload)) = run.send(&self.plan, now) {
                    return Some(self.seal(Body::Data(data), payload));
                }
                if run.is_over(now, quiet) {
                    self.fetch(now);
                    return self.send(now);
                }
                None
            }
            State::Fetch(run, fetching) => {
                let part = fetching.request(now)?;
                let body = Body::Request { phase: run.phase, part };
                Some(self.seal(body, 0))
            }
            State::Done if self.closing > 0 => {
                self.closing -= 1;
                Some(self.seal(Body::Close, 0))
            }
            State::Done => None,
        }
    }

    /// Takes a datagram that arrived at `now`.
    pub fn receive(&mut self, now: u64, datagram: &[u8]) {
        let Some(message) = Message::open(datagram, &self.key, End::Server) else { return };
        let payload = u16::try_from(datagram.len()).unwrap_or(u16::MAX);
        let known = message.session == self.session;
        match (&mut self.state, message.body) {
            (State::Hello, Body::Cookie { nonce, cookie }) if nonce == self.nonce => {
                self.enter(State::Open(cookie), now);
            }
            (State::Open(_), Body::Opened { nonce }) if nonce == self.nonce => {
                self.session = message.session;
                self.enter(State::Begin(0), now);
            }
            (State::Open(_), Body::Refused { nonce, refusal }) if nonce == self.nonce => {
                self.failed = Some(match refusal {
                    Refusal::Busy => ClientError::Busy,
                    Refusal::Plan => ClientError::Refused,
                });
            }
            (State::Begin(phase), Body::Began { phase: begun }) if known && begun == *phase => {
                let run = self.run(begun, now);
                self.enter(State::Run(Box::new(run)), now);
            }
            // The answer to `Begin` can be lost or late.
            (State::Begin(phase), Body::Data(data)) if known && data.phase == *phase => {
                let mut run = self.run(data.phase, now);
                run.receiver.take(data, payload, now);
                self.enter(State::Run(Box::new(run)), now);
            }
            (State::Run(run), Body::Data(data)) if known && data.phase == run.phase => {
                run.receiver.take(data, payload, now);
                run.news = now;
                if let Some(round_trip) =
                    run.trains.as_mut().and_then(|trains| trains.answer(&data, payload, now))
                {
                    self.longest = self.longest.max(round_trip.time);
                    self.recording.round_trips.push(round_trip);
                }
            }
            (State::Run(run), Body::Feedback(feedback)) if known && feedback.phase == run.phase => {
                run.learn(&feedback, now);
            }
            (State::Fetch(run, fetching), Body::Report(report)) if known && report.phase == run.phase => {
                fetching.take(report, now);
                if fetching.is_complete() {
                    self.keep(now);
                }
            }
            (_, Body::Data(_) | Body::Feedback(_)) if known && self.session != 0 => {}
            _ => return,
        }
        self.heard = now;
    }

    fn enter(&mut self, state: State, now: u64) {
        self.state = state;
        self.retry = Retry { due: now, wait: self.wait() };
    }

    /// Returns the first time to wait for an answer.
    fn wait(&self) -> u64 {
        FIRST_WAIT.max(self.longest.saturating_mul(2)).min(LONGEST_WAIT)
    }

    fn retry(&mut self, now: u64, body: Body, least: usize) -> Option<Vec<u8>> {
        if now < self.retry.due {
            return None;
        }
        self.retry.due = now.saturating_add(self.retry.wait);
        self.retry.wait = self.retry.wait.saturating_mul(2).min(LONGEST_WAIT);
        Some(self.seal(body, least))
    }

    fn seal(&self, body: Body, least: usize) -> Vec<u8> {
        Message { session: self.session, body }.seal(&self.key, End::Client, least)
    }

    /// Returns a time without news after which a phase is over.
    fn quiet(&self, run: &Run) -> u64 {
        let gap = run.receiver.quiet().max(run.longest_gap.saturating_mul(3));
        LEAST_QUIET.max(gap).max(self.longest.saturating_mul(2)).min(LONGEST_WAIT)
    }

    /// Returns the first rate of a heavy flow in a direction (0 is up): half of that of the trains.
    fn first_rate(&self, direction: usize) -> u64 {
        crate::fit::train_rate(&self.recording.light[direction]).map_or(FIRST_RATE, |rate| rate as u64 / 2)
    }

    /// Prepares the phase with this number, which begins now.
    fn run(&self, number: u8, now: u64) -> Run {
        let phase = self.phases[usize::from(number)];
        let end = now.saturating_add(self.plan.length(phase));
        let flow = |rate| {
            let bytes = self.plan.ip_bytes(self.plan.size);
            Saturator::new(bytes, rate, self.plan.max_rate, now, end)
        };
        let (trains, flow) = match phase {
            Phase::Light => (Some(Trains::new(&self.plan, now)), None),
            Phase::Heavy { up: true, .. } => (None, Some(flow(self.first_rate(0)))),
            Phase::Heavy { up: false, .. } => (None, None),
        };
        Run {
            phase: number,
            end,
            receiver: Receiver::new(number, false),
            sent: Vec::new(),
            trains,
            flow,
            news: now,
            longest_gap: 0,
            arrived: 0,
        }
    }

    /// Ends a phase and begins to fetch the server's list.
    fn fetch(&mut self, now: u64) {
        let wait = self.wait();
        if let State::Run(run) = std::mem::replace(&mut self.state, State::Done) {
            self.state = State::Fetch(run, Fetching::new(now, wait));
        }
    }

    /// Keeps the packets of a phase, and goes on to the next one.
    fn keep(&mut self, now: u64) {
        let State::Fetch(run, fetching) = std::mem::replace(&mut self.state, State::Done) else { return };
        let (sent, arrivals) = fetching.into_list();
        let answers = match self.phases[usize::from(run.phase)] {
            Phase::Light => answers(&self.plan, &run.sent, &arrivals),
            Phase::Heavy { .. } => Vec::new(),
        };
        let packets = [
            uplink(&self.plan, &run.sent, &arrivals),
            downlink(&self.plan, run.receiver.arrivals(), sent, &answers),
        ];
        let kept = match self.phases[usize::from(run.phase)] {
            Phase::Light => &mut self.recording.light,
            Phase::Heavy { .. } => &mut self.recording.heavy,
        };
        for (kept, packets) in kept.iter_mut().zip(packets) {
            if !packets.is_empty() {
                *kept = packets;
            }
        }
        if usize::from(run.phase) + 1 < self.phases.len() {
            self.enter(State::Begin(run.phase + 1), now);
        } else {
            // The server does not answer it, so it is sent more than once.
            self.closing = 3;
        }
    }
}

impl Run {
    fn due(&self, quiet: u64) -> u64 {
        let trains = self.trains.as_ref().map_or(NEVER, Trains::due);
        let trains = if trains >= self.end { NEVER } else { trains };
        let flow = self.flow.as_ref().map_or(NEVER, Saturator::due);
        let over = self.end.max(self.news.saturating_add(quiet));
        self.receiver.due().min(trains).min(flow).min(over)
    }

    /// Returns the next probe packet and its payload, if one is due.
    fn send(&mut self, plan: &Plan, now: u64) -> Option<(Data, usize)> {
        let sequence = u32::try_from(self.sent.len()).ok()?;
        let (train, place, count, payload) = match (&mut self.trains, &mut self.flow) {
            (Some(trains), _) => trains.next(now, self.end)?,
            (None, Some(flow)) => {
                flow.send(now)?;
                (0, 0, HEAVY, plan.size)
            }
            (None, None) => return None,
        };
        let data = Data {
            phase: self.phase,
            sequence,
            sent: now,
            train,
            place,
            count,
            echo_place: 0,
            echo_sent: 0,
            held: 0,
        };
        self.sent.push(Sent { data, payload });
        Some((data, payload.into()))
    }

    /// Takes the server's feedback on the phase.
    fn learn(&mut self, feedback: &Feedback, now: u64) {
        if feedback.packets > self.arrived {
            self.arrived = feedback.packets;
            self.longest_gap = self.longest_gap.max(now.saturating_sub(self.news));
            self.news = now;
        }
        if let Some(flow) = &mut self.flow {
            flow.feedback(feedback, now);
        }
        if let Some(trains) = &mut self.trains {
            trains.drained(feedback.train, now);
        }
    }

    fn is_over(&self, now: u64, quiet: u64) -> bool {
        now >= self.end && now >= self.news.saturating_add(quiet)
    }
}
