//! With the server: the carrier's connection, the registration on it, and what follows when it is lost: sockets have failed, and it is tried again, later each time.

use crate::agent::Agent;
use resoa_calls::Connected;
use resoa_carrier::{Carrier, Outbox};
use resoa_protocol::lhp::{Connection, Ended, Indication, Provider, Service};
use resoa_protocol::message::Refusal;
use resoa_protocol::{Client, Message, Registration, RsockId, Target};
use std::io;
use std::time::Duration;

/// Until the first try after a loss; twice as long each time.
const SHORTEST: Duration = Duration::from_millis(100);
/// At most.
const LONGEST: Duration = Duration::from_secs(10);

/// What there is with the server; see the [module](self).
#[derive(Debug)]
pub(crate) struct Association {
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
    pub(crate) fn new(address: Vec<u8>) -> Self {
        Self {
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

    pub(crate) fn link(&self) -> Connection {
        self.link
    }

    pub(crate) fn connected(&self) -> Connected {
        self.connected.clone()
    }

    pub(crate) fn is_registered(&self) -> bool {
        matches!(self.connected, Connected::Yes { .. })
    }
}

impl<C: Carrier<Error = io::Error>> Agent<C> {
    /// Connects and registers.
    pub(crate) fn register(&mut self) {
        let now = self.now();
        self.association.again = None;
        self.at_client(now, Client::start);
    }

    /// Ends the registration: gracefully if no socket is open, and otherwise sockets are reset (C08).
    pub fn stop(&mut self) {
        let now = self.now();
        self.sweep(now);
        self.association.stopping = true;
        if self.association.is_registered() {
            let graceful = self.client.sockets() == 0;
            self.at_client(now, |client, out| client.stop(graceful, now, out));
        } else {
            self.association.ended = true;
        }
    }

    /// Ends the carrier's connection at once, as a loss of the link does.
    pub fn cut(&mut self) {
        let now = self.now();
        self.carrier.reset(self.association.link);
        self.at_client(now, |client, out| {
            client.indication(Indication::Disconnected(Ended::Unreachable), now, out);
        });
    }

    /// Whether nothing is left to be done after [`stop`](Self::stop).
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.association.ended
    }

    pub(crate) fn association_deadline(&self) -> Option<Duration> {
        self.association.again
    }

    pub(crate) fn expire_association(&mut self, now: Duration) {
        if self.association.again.is_some_and(|again| again <= now) {
            self.register();
        }
    }

    pub(crate) fn connect_carrier(&mut self) {
        let old = self.association.link;
        if old != Connection(0) {
            let _ = self.carrier.unregister(old);
        }
        self.association.outbox = Outbox::default();
        match self.carrier.register(Service::Reliable, Provider { id: 0, protocol: 0 }) {
            Ok(link) => {
                self.association.link = link;
                self.carrier.connect(link, &self.association.address);
            }
            Err(error) => {
                let now = self.now();
                self.at_client(now, |client, out| {
                    client.indication(Indication::Disconnected(Ended::Unreachable), now, out);
                });
                self.association.connected = Connected::No(error.to_string());
            }
        }
    }

    pub(crate) fn close_carrier(&mut self) {
        self.carrier.close(self.association.link);
    }

    pub(crate) fn reset_carrier(&mut self) {
        self.carrier.reset(self.association.link);
    }

    pub(crate) fn send(&mut self, message: &Message) {
        let Association { outbox, link, .. } = &mut self.association;
        if outbox.send(&mut self.carrier, *link, message.encode()) {
            let now = self.now();
            self.at_client(now, |client, out| client.indication(Indication::Off, now, out));
        }
    }

    /// What the carrier tells.
    pub(crate) fn hear(&mut self, now: Duration) {
        let mut happened = Vec::new();
        self.carrier.poll(&mut happened);
        for (link, indication) in happened {
            if link != self.association.link {
                continue;
            }
            match indication {
                // Octets that are no message come from no server of this version.
                Indication::Data(octets) => {
                    if let Ok(message) = Message::decode(&octets) {
                        let target = message.target;
                        self.at_client(now, |client, out| client.message(message, now, out));
                        // One that nobody has accepted is its listener's affair.
                        let half = match target {
                            Target::Child { listener, .. } if self.is_unaccepted(target) => Some(listener),
                            target => self.client.socket_of(target),
                        };
                        if let Some(half) = half {
                            self.progress_half(half, now);
                        }
                    }
                }
                Indication::On => {
                    if self.association.outbox.on(&mut self.carrier, link) {
                        self.at_client(now, |client, out| client.indication(Indication::On, now, out));
                    }
                }
                other => self.at_client(now, |client, out| client.indication(other, now, out)),
            }
        }
    }

    fn is_unaccepted(&self, target: Target) -> bool {
        self.client.socket_of(target).is_none_or(|child| !self.halves.contains_key(&child))
    }

    pub(crate) fn registration(&mut self, registration: Registration, now: Duration) {
        let association = &mut self.association;
        match registration {
            Registration::Registered(accepted) => {
                association.pause = SHORTEST;
                association.connected =
                    Connected::Yes { address: accepted.address, sockets: accepted.sockets };
            }
            Registration::Refused(refusal) => self.retry(why_refused(&refusal), wait_of(&refusal), now),
            Registration::Lost(why) => self.retry(why_ended(why).to_owned(), Duration::ZERO, now),
            Registration::Ended => {
                association.connected = Connected::No("stopped".into());
                association.ended = true;
            }
            Registration::SocketsOpen => {
                if association.stopping {
                    self.at_client(now, |client, out| client.stop(false, now, out));
                }
            }
        }
    }

    fn retry(&mut self, why: String, at_least: Duration, now: Duration) {
        let association = &mut self.association;
        association.connected = Connected::No(why);
        if association.stopping {
            association.ended = true;
            return;
        }
        association.again = Some(now + association.pause.max(at_least));
        association.pause = (2 * association.pause).min(LONGEST);
        // Each socket has failed, and says so to its program.
        let halves: Vec<RsockId> = self.halves.keys().copied().collect();
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
