//! The association with one server: the carrier's connection and the registration on it. When it is
//! lost, the sockets have failed, and the agent retries with growing pauses.

use resoa_calls::Connected;
use resoa_carrier::{Carrier, Outbox, wait_for};
use resoa_protocol::lhp::{Connection, DisconnectReason, Indication, Provider, Service};
use resoa_protocol::message::Refusal;
use resoa_protocol::{
    Action, CallId, Client, Errno, Message, Registration, RsockId, SocketCall, Stream, Target, Value,
};
use std::io;
use std::time::{Duration, Instant};

/// Pause before the first retry after a loss. It doubles each time.
const SHORTEST: Duration = Duration::from_millis(100);
/// Maximum pause between retries.
const LONGEST: Duration = Duration::from_secs(10);

/// An association with a server; see the [module](self).
pub(crate) struct Association {
    client: Client,
    pub(super) carrier: Box<dyn Carrier<Error = io::Error>>,
    /// Where the carrier finds it.
    address: Vec<u8>,
    link: Connection,
    outbox: Outbox,
    connected: Connected,
    /// Time of the next retry.
    again: Option<Duration>,
    pause: Duration,
    end: End,
    happened: Vec<Happened>,
}

/// Progress of the end of an association.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// It continues.
    Not,
    /// Its end has been requested.
    Asked,
    Over,
}

/// Events of calls and sockets that the client reports.
#[derive(Debug)]
pub(crate) enum Happened {
    /// A call has returned.
    Returned { call: CallId, result: Result<Value, Errno> },
    /// A socket has something to process.
    Ready(RsockId),
    /// The server is lost: every socket has failed.
    Lost,
}

impl Association {
    pub(super) fn new(
        client: Client,
        carrier: impl Carrier<Error = io::Error> + 'static,
        address: Vec<u8>,
    ) -> Self {
        Self {
            client,
            carrier: Box::new(carrier),
            address,
            link: Connection(0),
            outbox: Outbox::default(),
            connected: Connected::No("the server has not answered yet".into()),
            again: None,
            pause: SHORTEST,
            end: End::Not,
            happened: Vec::new(),
        }
    }

    /// Returns the time until [`poll`](Self::poll) has something to do even if nothing comes.
    pub(super) fn time_left(&self) -> Option<Duration> {
        self.carrier.deadline().map(|due| due.saturating_duration_since(Instant::now()))
    }

    /// Waits until [`poll`](Self::poll) has something to do, and returns whether it has within
    /// `longest`.
    pub(crate) fn wait(&self, longest: Duration) -> bool {
        wait_for(&[&*self.carrier], longest)
    }

    /// Returns the round-trip time of the last hop, if it is known.
    pub(crate) fn round_trip(&self) -> Option<Duration> {
        self.carrier.statistics(self.link).round_trip
    }

    pub(crate) fn connected(&self) -> Connected {
        self.connected.clone()
    }

    pub(crate) fn is_registered(&self) -> bool {
        matches!(self.connected, Connected::Yes { .. })
    }

    pub(crate) fn is_over(&self) -> bool {
        self.end == End::Over
    }

    /// Returns when [`expire`](Self::expire) has something to do.
    pub(super) fn deadline(&self) -> Option<Duration> {
        self.client.deadline().into_iter().chain(self.again).min()
    }

    pub(super) fn expire(&mut self, now: Duration) {
        if self.client.deadline().is_some_and(|deadline| deadline <= now) {
            self.client.statistics(self.carrier.statistics(self.link));
            self.at(now, |client, out| client.expire(now, out));
        }
        if self.again.is_some_and(|again| again <= now) {
            self.register(now);
        }
    }

    /// Connects and registers.
    pub(crate) fn register(&mut self, now: Duration) {
        self.again = None;
        self.at(now, Client::start);
    }

    /// Ends the registration: see [`Agent::stop`](crate::Agent::stop).
    pub(crate) fn stop(&mut self, now: Duration) {
        self.end = End::Asked;
        if self.is_registered() {
            let graceful = self.client.sockets() == 0;
            self.at(now, |client, out| client.stop(graceful, now, out));
        } else {
            self.end = End::Over;
        }
    }

    pub(crate) fn cut(&mut self, now: Duration) {
        self.carrier.reset(self.link);
        self.indication(Indication::Disconnected(DisconnectReason::Unreachable), now);
    }

    /// What the carrier reports, to be [heard](Self::hear) one by one.
    pub(crate) fn poll(&mut self) -> Vec<(Connection, Indication)> {
        let mut happened = Vec::new();
        self.carrier.poll(&mut happened);
        happened
    }

    /// Processes one report of the carrier. Returns the target of a message.
    pub(crate) fn hear(
        &mut self,
        (link, indication): (Connection, Indication),
        now: Duration,
    ) -> Option<Target> {
        if link != self.link {
            return None;
        }
        match indication {
            // Data that does not decode comes from no server of this version.
            Indication::Data(octets) => {
                let message = Message::decode(&octets).ok()?;
                let target = message.target;
                self.at(now, |client, out| client.message(message, now, out));
                return Some(target);
            }
            Indication::On => {
                if self.outbox.on(&mut *self.carrier, link) {
                    self.indication(Indication::On, now);
                }
            }
            other => self.indication(other, now),
        }
        None
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    pub(super) fn take_happened(&mut self) -> Vec<Happened> {
        std::mem::take(&mut self.happened)
    }

    /// A pass over a socket has seen to all that had happened to it.
    pub(crate) fn is_seen_to(&mut self, socket: RsockId) {
        self.happened.retain(|happened| !matches!(happened, Happened::Ready(ready) if *ready == socket));
    }

    /// Does something at the client, and carries out what follows from it.
    pub(crate) fn at<T>(
        &mut self,
        now: Duration,
        event: impl FnOnce(&mut Client, &mut Vec<Action>) -> T,
    ) -> T {
        let mut out = Vec::new();
        let result = event(&mut self.client, &mut out);
        self.carry_out(out, now);
        result
    }

    /// Carries out actions, messages first and in their order. Messages that result from the other
    /// actions come after them.
    fn carry_out(&mut self, actions: Vec<Action>, now: Duration) {
        let mut others = Vec::new();
        for action in actions {
            match action {
                Action::Send(message) => self.send(&message, now),
                Action::Return { call, result } => self.happened.push(Happened::Returned { call, result }),
                Action::Ready { socket, .. } => self.happened.push(Happened::Ready(socket)),
                // Data goes over the descriptor, and so do the signals that it causes.
                Action::Signal { .. } => {}
                other => others.push(other),
            }
        }
        for action in others {
            match action {
                Action::Connect => self.connect(now),
                Action::Close => self.carrier.close(self.link),
                Action::Reset => self.carrier.reset(self.link),
                Action::Registration(registration) => self.registration(registration, now),
                Action::Send(_) | Action::Return { .. } | Action::Ready { .. } | Action::Signal { .. } => {}
            }
        }
    }

    fn connect(&mut self, now: Duration) {
        if self.link != Connection(0) {
            let _ = self.carrier.unregister(self.link);
        }
        self.outbox = Outbox::default();
        match self.carrier.register(Service::Reliable, Provider { id: 0, protocol: 0 }) {
            Ok(link) => {
                self.link = link;
                self.carrier.connect(link, &self.address);
            }
            Err(error) => {
                self.indication(Indication::Disconnected(DisconnectReason::Unreachable), now);
                self.connected = Connected::No(error.to_string());
            }
        }
    }

    fn send(&mut self, message: &Message, now: Duration) {
        if self.outbox.send(&mut *self.carrier, self.link, message.encode()) {
            self.indication(Indication::Off, now);
        }
    }

    fn indication(&mut self, indication: Indication, now: Duration) {
        self.at(now, |client, out| client.indication(indication, now, out));
    }

    fn registration(&mut self, registration: Registration, now: Duration) {
        match registration {
            Registration::Registered(accepted) => {
                self.pause = SHORTEST;
                self.connected = Connected::Yes { address: accepted.address, sockets: accepted.sockets };
            }
            Registration::Refused(refusal) => self.retry(why_refused(&refusal), wait_of(&refusal), now),
            Registration::Lost(why) => self.retry(why_ended(why).to_owned(), Duration::ZERO, now),
            Registration::Ended => {
                self.connected = Connected::No("stopped".into());
                self.end = End::Over;
            }
            Registration::SocketsOpen => {
                if self.end != End::Not {
                    self.at(now, |client, out| client.stop(false, now, out));
                }
            }
        }
    }

    fn retry(&mut self, why: String, at_least: Duration, now: Duration) {
        self.connected = Connected::No(why);
        if self.end != End::Not {
            self.end = End::Over;
            return;
        }
        self.again = Some(now + self.pause.max(at_least));
        self.pause = (2 * self.pause).min(LONGEST);
        self.happened.push(Happened::Lost);
    }
}

/// The half of a socket at its client, at an instant.
pub(crate) struct AtHalf<'a> {
    association: &'a mut Association,
    id: RsockId,
    now: Duration,
}

impl<'a> AtHalf<'a> {
    pub(super) fn new(association: &'a mut Association, id: RsockId, now: Duration) -> Self {
        Self { association, id, now }
    }

    pub(crate) fn now(&self) -> Duration {
        self.now
    }

    /// Does something at the half, and carries out what follows from it.
    pub(crate) fn at<T>(
        &mut self,
        event: impl FnOnce(&mut Client, RsockId, Duration, &mut Vec<Action>) -> T,
    ) -> T {
        let (id, now) = (self.id, self.now);
        self.association.at(now, |client, out| event(client, id, now, out))
    }

    /// Returns the state of the half; `None` if it does not exist.
    pub(crate) fn stream(&self) -> Option<Stream> {
        self.association.client.stream(self.id)
    }

    /// Makes a call of a program.
    pub(crate) fn call(&mut self, call: CallId, what: impl Into<SocketCall>) {
        self.at(|client, id, now, out| client.call(id, call, what, now, out));
    }
}

fn why_ended(why: DisconnectReason) -> &'static str {
    match why {
        DisconnectReason::Closed => "the server has closed the connection",
        DisconnectReason::Reset => "no server listens there, or it does not accept this agent",
        DisconnectReason::Unreachable => "the server cannot be reached",
        DisconnectReason::MtuTooSmall => "the path's MTU is too small for this carrier: use udp: instead",
    }
}

fn why_refused(refusal: &Refusal) -> String {
    match refusal {
        Refusal::Version(version) => {
            format!("the server uses version {version} of the protocol: run the same release on both")
        }
        Refusal::Mode(_) => "the server does not provide addresses in the requested way (--address)".into(),
        Refusal::Resources { .. } => "the server has no room for another agent".into(),
        Refusal::StillRegistered { .. } => "the server is still freeing this agent's previous sockets".into(),
        Refusal::NoResumption => "the server does not resume sockets".into(),
    }
}

fn wait_of(refusal: &Refusal) -> Duration {
    match refusal {
        Refusal::StillRegistered { retry_after } => *retry_after,
        _ => Duration::ZERO,
    }
}
