//! With the server: the carrier's connection, the registration on it, and what follows when it is
//! lost: sockets have failed, and it is tried again, later each time.

use crate::agent::{Agent, BETWEEN_CALLS};
use crate::socket::Half;
use crate::stack::Stack;
use resoa_calls::Connected;
use resoa_carrier::{Carrier, Outbox};
use resoa_protocol::lhp::{Connection, Ended, Indication, Provider, Service};
use resoa_protocol::message::Refusal;
use resoa_protocol::{Client, Message, Registration, Target};
use std::io;
use std::time::Duration;

/// Until the first try after a loss; twice as long each time.
const SHORTEST: Duration = Duration::from_millis(100);
/// At most.
const LONGEST: Duration = Duration::from_secs(10);

/// What there is with the server; see the [module](self).
pub(crate) struct Association {
    pub(crate) client: Client,
    pub(crate) carrier: Box<dyn Carrier<Error = io::Error>>,
    /// Where the carrier finds it.
    address: Vec<u8>,
    link: Connection,
    outbox: Outbox,
    connected: Connected,
    /// When it is tried again, and how long that was waited for.
    again: Option<Duration>,
    pause: Duration,
    /// It is to end.
    stopping: bool,
    ended: bool,
}

impl Association {
    pub(crate) fn new(
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
            stopping: false,
            ended: false,
        }
    }

    /// Of the last hop, if it is known.
    pub(crate) fn round_trip(&self) -> Option<Duration> {
        self.carrier.statistics(self.link).round_trip
    }

    /// When [`expire_association`](Agent::expire_association) has something to do.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        self.client.deadline().into_iter().chain(self.again).min()
    }

    pub(crate) fn close(&mut self) {
        self.carrier.close(self.link);
    }

    pub(crate) fn reset(&mut self) {
        self.carrier.reset(self.link);
    }

    pub(crate) fn connected(&self) -> Connected {
        self.connected.clone()
    }

    pub(crate) fn is_registered(&self) -> bool {
        matches!(self.connected, Connected::Yes { .. })
    }
}

impl Agent {
    pub(crate) fn association(&self, stack: Stack) -> &Association {
        match (stack, &self.local) {
            (Stack::Local, Some(local)) => &local.association,
            _ => &self.remote,
        }
    }

    pub(crate) fn association_mut(&mut self, stack: Stack) -> &mut Association {
        match (stack, &mut self.local) {
            (Stack::Local, Some(local)) => &mut local.association,
            _ => &mut self.remote,
        }
    }

    /// Connects and registers.
    pub(crate) fn register(&mut self, stack: Stack) {
        let now = self.now();
        self.association_mut(stack).again = None;
        self.at_client(stack, now, Client::start);
    }

    /// Ends the registration: gracefully if no socket is open, and otherwise sockets are reset
    /// (C08).
    pub fn stop(&mut self) {
        let now = self.now();
        self.sweep(now);
        self.remote.stopping = true;
        if self.remote.is_registered() {
            let graceful = self.remote.client.sockets() == 0;
            self.at_client(Stack::Remote, now, |client, out| client.stop(graceful, now, out));
        } else {
            self.remote.ended = true;
        }
    }

    /// Ends the carrier's connection at once, as a loss of the link does.
    pub fn cut(&mut self) {
        let now = self.now();
        self.remote.reset();
        self.indication(Stack::Remote, Indication::Disconnected(Ended::Unreachable), now);
    }

    /// Whether nothing is left to be done after [`stop`](Self::stop).
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.remote.ended
    }

    pub(crate) fn expire_association(&mut self, stack: Stack, now: Duration) {
        let association = self.association_mut(stack);
        if association.client.deadline().is_some_and(|deadline| deadline <= now) {
            let statistics = association.carrier.statistics(association.link);
            association.client.statistics(statistics);
            self.at_client(stack, now, |client, out| client.expire(now, out));
        }
        if self.association(stack).again.is_some_and(|again| again <= now) {
            self.register(stack);
        }
    }

    pub(crate) fn connect_carrier(&mut self, stack: Stack) {
        let association = self.association_mut(stack);
        if association.link != Connection(0) {
            let _ = association.carrier.unregister(association.link);
        }
        association.outbox = Outbox::default();
        match association.carrier.register(Service::Reliable, Provider { id: 0, protocol: 0 }) {
            Ok(link) => {
                association.link = link;
                association.carrier.connect(link, &association.address);
            }
            Err(error) => {
                let now = self.now();
                self.indication(stack, Indication::Disconnected(Ended::Unreachable), now);
                self.association_mut(stack).connected = Connected::No(error.to_string());
            }
        }
    }

    pub(crate) fn send(&mut self, stack: Stack, message: &Message) {
        let Association { outbox, link, carrier, .. } = self.association_mut(stack);
        if outbox.send(&mut **carrier, *link, message.encode()) {
            let now = self.now();
            self.indication(stack, Indication::Off, now);
        }
    }

    /// What is said from now on goes together, at [`flush`](Self::flush): in one segment or packet,
    /// whatever it is about.
    pub(crate) fn gather(&mut self) {
        self.remote.carrier.gather();
        if let Some(local) = &mut self.local {
            local.association.carrier.gather();
        }
    }

    /// See [`gather`](Self::gather).
    pub(crate) fn flush(&mut self) {
        self.remote.carrier.flush();
        if let Some(local) = &mut self.local {
            local.association.carrier.flush();
        }
    }

    fn indication(&mut self, stack: Stack, indication: Indication, now: Duration) {
        self.at_client(stack, now, |client, out| client.indication(indication, now, out));
    }

    /// What the carrier tells.
    pub(crate) fn hear(&mut self, stack: Stack, now: Duration) {
        let mut happened = Vec::new();
        self.association_mut(stack).carrier.poll(&mut happened);
        for (count, (link, indication)) in (1..).zip(happened) {
            if count % BETWEEN_CALLS == 0 {
                self.take_calls(now);
            }
            let association = self.association_mut(stack);
            if link != association.link {
                continue;
            }
            match indication {
                // Octets that are no message come from no server of this version.
                Indication::Data(octets) => {
                    if let Ok(message) = Message::decode(&octets) {
                        self.message(stack, message, now);
                    }
                }
                Indication::On => {
                    let Association { outbox, carrier, .. } = association;
                    if outbox.on(&mut **carrier, link) {
                        self.indication(stack, Indication::On, now);
                    }
                }
                other => self.indication(stack, other, now),
            }
        }
    }

    fn message(&mut self, stack: Stack, message: Message, now: Duration) {
        let target = message.target;
        self.at_client(stack, now, |client, out| client.message(message, now, out));
        let socket = self.association(stack).client.socket_of(target);
        let has_program = socket.is_some_and(|id| self.halves.contains_key(&Half { stack, id }));
        // One that nobody has accepted is its listener's affair.
        let id = match target {
            Target::Child { listener, .. } if !has_program => Some(listener),
            _ => socket,
        };
        if let Some(id) = id {
            self.progress_half(Half { stack, id }, now);
        }
    }

    pub(crate) fn registration(&mut self, stack: Stack, registration: Registration, now: Duration) {
        let association = self.association_mut(stack);
        match registration {
            Registration::Registered(accepted) => {
                association.pause = SHORTEST;
                association.connected =
                    Connected::Yes { address: accepted.address, sockets: accepted.sockets };
            }
            Registration::Refused(refusal) => {
                self.retry(stack, why_refused(&refusal), wait_of(&refusal), now);
            }
            Registration::Lost(why) => self.retry(stack, why_ended(why).to_owned(), Duration::ZERO, now),
            Registration::Ended => {
                association.connected = Connected::No("stopped".into());
                association.ended = true;
            }
            Registration::SocketsOpen => {
                if association.stopping {
                    self.at_client(stack, now, |client, out| client.stop(false, now, out));
                }
            }
        }
    }

    fn retry(&mut self, stack: Stack, why: String, at_least: Duration, now: Duration) {
        let association = self.association_mut(stack);
        association.connected = Connected::No(why);
        if association.stopping {
            association.ended = true;
            return;
        }
        association.again = Some(now + association.pause.max(at_least));
        association.pause = (2 * association.pause).min(LONGEST);
        // Each socket has failed, and says so to its program.
        let halves: Vec<Half> = self.halves.keys().filter(|half| half.stack == stack).copied().collect();
        for half in halves {
            self.progress_half(half, now);
        }
    }
}

fn why_ended(why: Ended) -> &'static str {
    match why {
        Ended::Closed => "the server has closed the connection",
        Ended::Reset => "nobody serves there, or this agent is not among those that it takes",
        Ended::Unreachable => "the server cannot be reached",
    }
}

fn why_refused(refusal: &Refusal) -> String {
    match refusal {
        Refusal::Version(version) => format!("the server speaks version {version} of the protocol"),
        Refusal::Mode(_) => "the server gives no address in the way that was asked for (--address)".into(),
        Refusal::Resources { .. } => "the server has no room for one more".into(),
        Refusal::StillRegistered { .. } => "the server is still freeing what this agent had before".into(),
        Refusal::NoResumption => "the server resumes no sockets".into(),
    }
}

fn wait_of(refusal: &Refusal) -> Duration {
    match refusal {
        Refusal::StillRegistered { retry_after } => *retry_after,
        _ => Duration::ZERO,
    }
}
