//! The server's end of a measurement: one client at a time.

use crate::message::{Body, Data, End, Feedback, HEAVY, Key, Message, Refusal};
use crate::plan::{Phase, Plan};
use crate::receiver::{Arrival, Receiver};
use crate::saturator::Saturator;
use crate::{NEVER, SECOND};
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

/// A client that says nothing for this time is gone.
const SILENCE: u64 = 30 * SECOND;
/// A cookie is right for at least this time, and at most twice as long.
const COOKIE: u64 = 60 * SECOND;

/// The server's end. Call [`Server::send`] until it returns nothing, wait for a datagram or until
/// [`Server::due`], and so on.
#[derive(Debug)]
pub struct Server {
    key: Key,
    secret: Key,
    max_rate: u64,
    session: Option<Session>,
    /// Answers that are not sent yet.
    answers: VecDeque<(SocketAddr, Vec<u8>)>,
    sessions: u64,
}

#[derive(Debug)]
struct Session {
    client: SocketAddr,
    nonce: [u8; 16],
    number: u64,
    plan: Plan,
    phases: Vec<Phase>,
    /// The last phase that began; `None` before the first.
    phase: Option<u8>,
    /// Packets that arrived and were sent, by phase.
    runs: BTreeMap<u8, Run>,
    heard: u64,
}

/// A phase that began.
#[derive(Debug)]
struct Run {
    receiver: Receiver,
    flow: Option<Saturator>,
    /// Answers to trains: packets to send, in order.
    row: VecDeque<Answer>,
    /// The last train that was answered.
    answered: Option<u32>,
    sent: u32,
}

/// A packet of the answer to a train.
#[derive(Debug, Clone, Copy)]
struct Answer {
    /// The packet that is answered.
    to: Arrival,
    place: u16,
}

impl Server {
    /// Creates a server with a random `secret`. It sends at most `max_rate` bit/s.
    #[must_use]
    pub fn new(key: Key, secret: [u8; 32], max_rate: u64) -> Self {
        let secret = Key::new(secret);
        Self { key, secret, max_rate, session: None, answers: VecDeque::new(), sessions: 0 }
    }

    /// Returns the number of sessions that were opened and have ended.
    #[must_use]
    pub fn ended(&self) -> u64 {
        self.sessions - u64::from(self.session.is_some())
    }

    /// Returns the client's address while a session is open.
    #[must_use]
    pub fn client(&self) -> Option<SocketAddr> {
        self.session.as_ref().map(|session| session.client)
    }

    /// Returns the time at which [`Server::send`] has something to do.
    #[must_use]
    pub fn due(&self) -> u64 {
        if !self.answers.is_empty() {
            return 0;
        }
        let Some(session) = &self.session else { return NEVER };
        let run = session.phase.and_then(|phase| session.runs.get(&phase));
        let run = run.map_or(NEVER, |run| {
            let row = if run.row.is_empty() { NEVER } else { 0 };
            row.min(run.receiver.due()).min(run.flow.as_ref().map_or(NEVER, Saturator::due))
        });
        run.min(session.heard.saturating_add(SILENCE))
    }

    /// Returns the next datagram to send at `now` and its destination, if there is one.
    pub fn send(&mut self, now: u64) -> Option<(SocketAddr, Vec<u8>)> {
        if let Some(answer) = self.answers.pop_front() {
            return Some(answer);
        }
        let session = self.session.as_mut()?;
        if now >= session.heard.saturating_add(SILENCE) {
            self.session = None;
            return None;
        }
        let phase = session.phase?;
        let (body, least) = session.runs.get_mut(&phase)?.send(&session.plan, phase, now)?;
        let message = Message { session: session.number, body };
        Some((session.client, message.seal(&self.key, End::Server, least)))
    }

    /// Takes a datagram that arrived at `now`.
    pub fn receive(&mut self, now: u64, from: SocketAddr, datagram: &[u8]) {
        let Some(message) = Message::open(datagram, &self.key, End::Client) else { return };
        match message.body {
            Body::Hello { nonce } => {
                let cookie = self.cookie(from, &nonce, now / COOKIE);
                self.answer(from, 0, Body::Cookie { nonce, cookie });
            }
            Body::Open { nonce, cookie, plan } => {
                let time = now / COOKIE;
                let times = [time, time.saturating_sub(1)];
                if times.into_iter().any(|time| self.cookie(from, &nonce, time) == cookie) {
                    self.open(now, from, nonce, plan);
                }
            }
            body => self.go_on(now, from, message.session, &body, datagram.len()),
        }
    }

    fn cookie(&self, client: SocketAddr, nonce: &[u8; 16], time: u64) -> [u8; 16] {
        self.secret.hash(&[b"cookie", client.to_string().as_bytes(), nonce, &time.to_le_bytes()])
    }

    fn answer(&mut self, to: SocketAddr, session: u64, body: Body) {
        self.answers.push_back((to, Message { session, body }.seal(&self.key, End::Server, 0)));
    }

    /// Opens a session for a client that receives packets at its address.
    fn open(&mut self, now: u64, client: SocketAddr, nonce: [u8; 16], plan: Plan) {
        if let Some(session) = &self.session
            && now < session.heard.saturating_add(SILENCE)
        {
            let (same, number) = (session.client == client && session.nonce == nonce, session.number);
            let refusal = Refusal::Busy;
            let body = if same { Body::Opened { nonce } } else { Body::Refused { nonce, refusal } };
            return self.answer(client, if same { number } else { 0 }, body);
        }
        if plan.check().is_err() || plan.max_rate > self.max_rate {
            return self.answer(client, 0, Body::Refused { nonce, refusal: Refusal::Plan });
        }
        self.sessions += 1;
        let hash = self.secret.hash(&[b"session", &nonce, &self.sessions.to_le_bytes()]);
        let number = hash.iter().take(8).fold(0, |number, &byte| number << 8 | u64::from(byte)) | 1;
        let phases = plan.phases();
        let runs = BTreeMap::new();
        self.session = Some(Session { client, nonce, number, plan, phases, phase: None, runs, heard: now });
        self.answer(client, number, Body::Opened { nonce });
    }

    /// Takes a message of the session.
    fn go_on(&mut self, now: u64, from: SocketAddr, number: u64, body: &Body, length: usize) {
        let Some(session) = &mut self.session else { return };
        if session.number != number || session.client != from {
            return;
        }
        session.heard = now;
        match *body {
            Body::Begin { phase, rate } if session.begin(phase, rate, now) => {
                self.answer(from, number, Body::Began { phase });
            }
            Body::Data(data) => {
                if let Some(run) = session.runs.get_mut(&data.phase) {
                    run.take(data, u16::try_from(length).unwrap_or(u16::MAX), now, session.plan.train);
                }
            }
            Body::Feedback(ref feedback) => session.learn(feedback, now),
            Body::Request { phase, part } => {
                if let Some(run) = session.runs.get(&phase) {
                    let report = run.receiver.report(part, run.sent);
                    self.answer(from, number, Body::Report(report));
                }
            }
            Body::Close => self.session = None,
            _ => {}
        }
    }
}

impl Session {
    /// Begins a phase if it is the next one; returns whether it began now or before.
    fn begin(&mut self, phase: u8, rate: u64, now: u64) -> bool {
        if self.phase == Some(phase) {
            return true;
        }
        let next = self.phase.map_or(0, |phase| phase + 1);
        let Some(&kind) = self.phases.get(usize::from(phase)).filter(|_| phase == next) else { return false };
        let flow = match kind {
            Phase::Heavy { down: true, .. } => {
                let (plan, end) = (&self.plan, now.saturating_add(self.plan.heavy));
                Some(Saturator::new(plan.ip_bytes(plan.size), rate, plan.max_rate, now, end))
            }
            _ => None,
        };
        let receiver = Receiver::new(phase, true);
        self.runs.insert(phase, Run { receiver, flow, row: VecDeque::new(), answered: None, sent: 0 });
        self.phase = Some(phase);
        true
    }

    fn learn(&mut self, feedback: &Feedback, now: u64) {
        if let Some(flow) = self.runs.get_mut(&feedback.phase).and_then(|run| run.flow.as_mut()) {
            flow.feedback(feedback, now);
        }
    }
}

impl Run {
    /// Takes a probe packet, and answers its train if it is the first of it that arrives.
    fn take(&mut self, data: Data, payload: u16, received: u64, most: u16) {
        self.receiver.take(data, payload, received);
        let is_train = data.count != HEAVY && data.count <= most;
        if is_train && self.answered.is_none_or(|train| train < data.train) {
            self.answered = Some(data.train);
            let to = Arrival { data, payload, received };
            self.row.extend((0..data.count).map(|place| Answer { to, place }));
        }
    }

    fn send(&mut self, plan: &Plan, phase: u8, now: u64) -> Option<(Body, usize)> {
        let sequence = self.sent;
        if let Some(Answer { to: Arrival { data, payload, received }, place }) = self.row.pop_front() {
            self.sent += 1;
            let answer = Data {
                sequence,
                sent: now,
                place,
                echo_place: data.place,
                echo_sent: data.sent,
                held: now.saturating_sub(received),
                ..data
            };
            return Some((Body::Data(answer), payload.into()));
        }
        if let Some(feedback) = self.receiver.feedback(now) {
            return Some((Body::Feedback(feedback), 0));
        }
        self.flow.as_mut()?.send(now)?;
        self.sent += 1;
        let data = Data {
            phase,
            sequence,
            sent: now,
            train: 0,
            place: 0,
            count: HEAVY,
            echo_place: 0,
            echo_sent: 0,
            held: 0,
        };
        Some((Body::Data(data), plan.size.into()))
    }
}
