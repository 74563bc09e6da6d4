//! One end of a connection: what it is told, and what its user is told; [`receiving`] is what it
//! hears, [`sending`] what it sends, [`waiting`] what it does when nothing happens. The seal, the
//! handshake and addresses are its driver's.

mod receiving;
mod sending;
mod waiting;

use super::flight::{Flight, Word};
use super::incoming::{Incoming, ROOM};
use super::length::Length;
use super::outgoing::Outgoing;
use super::rate::Rate;
use super::received::Received;
use super::rtt::Rtt;
use crate::came::Came;
use crate::datagram::TICKET;
use crate::outage::Outage;
use resoa_protocol::lhp::{Ended, Lost, Statistics};
use std::collections::VecDeque;
use std::time::Duration;

/// Octets that may wait to be sent in any case; else twice of what may be under way, of which no
/// other side takes more than [`ROOM`].
const WAITING: u64 = 128 << 10;

/// Which end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Client,
    Server,
}

/// Which end, with what it knows of the other.
#[derive(Debug)]
enum Role {
    Client {
        /// What the welcome has brought.
        ticket: Option<[u8; TICKET]>,
    },
    Server {
        /// What the welcome is to bring.
        ticket: [u8; TICKET],
        /// The client has said that it is there.
        has_client: bool,
    },
}

/// How an outage is found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Silence {
    /// After so long without a word the other side is asked whether it is there.
    pub(crate) ask: Duration,
    /// After so long it is not.
    pub(crate) end: Duration,
}

/// What the user is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    /// A client is there.
    Connect,
    /// The server takes us.
    Connected,
    /// A message.
    Data(Vec<u8>),
    /// Instead of one.
    Lost(Lost),
    /// The connection has ended.
    Ended(Ended),
}

/// How far an end has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// A client that was not welcomed yet, or a server that has not said whether it takes the
    /// client.
    Opening,
    Up,
    /// Our user has closed it: what is left is sent, and then nothing more is said.
    Closing {
        /// When the other side last got anything of what is left, or our user closed it.
        moved: Duration,
    },
    /// Only acknowledgements are still sent, and the word of a reset.
    Over(End),
}

/// How a connection has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The other side was told, or has told us.
    Known,
    /// This side has reset it, and says so once, and again to one who has not heard it.
    Reset { is_said: bool },
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Machine {
    role: Role,
    stage: Stage,
    silence: Silence,
    events: VecDeque<Event>,
    outgoing: Outgoing,
    incoming: Incoming,
    received: Received,
    flight: Flight,
    rate: Rate,
    rtt: Rtt,
    outage: Outage,
    length: Length,
    /// Words that are to be said, and say nothing else.
    words: Vec<Word>,
    ping: bool,
    /// Number of the next packet.
    next: u64,
    /// What was last said of settled packets, and when that is to be said again.
    oldest: (u64, u64),
    /// Questions in a row without an answer, and how many of the last are still to be sent.
    unanswered: u32,
    probes: u32,
    /// What was last heard and last asked.
    heard: Duration,
    asked: Duration,
    /// When the other side was last asked for more room.
    blocked: Option<Duration>,
    /// Messages of the other side, when it has closed.
    end: Option<u64>,
    /// The limit that was last said.
    said_limit: u64,
}

impl Machine {
    /// One whose keys have just been agreed on; a client says that it is there. `short` is how many
    /// octets of frames fit a packet for certain, `long` how many might.
    pub(crate) fn new(side: Side, (short, long): (usize, usize), silence: Silence, now: Duration) -> Self {
        let (role, words) = match side {
            Side::Client => (Role::Client { ticket: None }, vec![Word::Hello]),
            Side::Server => (Role::Server { ticket: [0; TICKET], has_client: false }, Vec::new()),
        };
        Self {
            role,
            stage: Stage::Opening,
            silence,
            events: VecDeque::new(),
            outgoing: Outgoing::new(ROOM),
            incoming: Incoming::default(),
            received: Received::default(),
            flight: Flight::default(),
            rate: Rate::new(short),
            rtt: Rtt::default(),
            outage: Outage::default(),
            length: Length::new(short, long, now),
            words,
            ping: false,
            next: 0,
            oldest: (0, 0),
            unanswered: 0,
            probes: 0,
            heard: now,
            asked: now,
            blocked: None,
            end: None,
            said_limit: ROOM,
        }
    }

    /// The server takes the client.
    pub(crate) fn accept(&mut self) {
        if self.stage == Stage::Opening {
            self.stage = Stage::Up;
            self.words.push(Word::Welcome);
        }
    }

    /// What a server's welcome is to bring. Without it, it brings zeros.
    pub(crate) fn give(&mut self, given: [u8; TICKET]) {
        if let Role::Server { ticket, .. } = &mut self.role {
            *ticket = given;
        }
    }

    /// What the welcome has brought.
    pub(crate) fn ticket(&self) -> Option<&[u8; TICKET]> {
        match &self.role {
            Role::Client { ticket } => ticket.as_ref().filter(|_| !self.has_ended()),
            Role::Server { .. } => None,
        }
    }

    fn has_ended(&self) -> bool {
        matches!(self.stage, Stage::Over(_))
    }

    /// Questions in a row that have no answer.
    pub(crate) fn unanswered(&self) -> u32 {
        self.unanswered
    }

    /// The other side has lost the connection: nothing need be said to it any more.
    pub(crate) fn forgotten(&mut self) {
        self.ended(Ended::Reset);
    }

    /// Takes a message.
    pub(crate) fn send(&mut self, message: &[u8]) {
        if self.stage == Stage::Up {
            self.outgoing.push(message, None);
        }
    }

    /// The same for one that was handed over then, and may be lost.
    pub(crate) fn send_or_lose(&mut self, message: &[u8], handed_over: Duration) {
        if self.stage == Stage::Up {
            self.outgoing.push(message, Some(handed_over));
        }
    }

    /// Octets that may wait. What acknowledgements say of the rate is bounded by nothing but what
    /// may be under way.
    fn most_waiting(&self) -> u64 {
        WAITING.max(2 * self.rate.window().min(ROOM))
    }

    /// Whether so much waits that no more should be taken.
    pub(crate) fn is_full(&self) -> bool {
        self.outgoing.waiting() as u64 >= self.most_waiting()
    }

    /// Whether hardly anything waits, and it takes messages.
    pub(crate) fn has_room(&self) -> bool {
        self.stage == Stage::Up && (self.outgoing.waiting() as u64) < self.most_waiting() / 2
    }

    /// Ends it behind everything that was sent.
    pub(crate) fn close(&mut self, now: Duration) {
        if matches!(self.stage, Stage::Opening | Stage::Up) {
            self.stage = Stage::Closing { moved: now };
            self.words.push(Word::Close);
        }
    }

    /// Ends it at once.
    pub(crate) fn reset(&mut self) {
        if !self.has_ended() {
            self.over(End::Reset { is_said: false });
        }
    }

    /// The other side does not keep to the protocol.
    pub(crate) fn fail(&mut self) {
        self.ended(Ended::Reset);
        self.stage = Stage::Over(End::Reset { is_said: false });
    }

    fn over(&mut self, end: End) {
        self.stage = Stage::Over(end);
        self.outgoing = Outgoing::new(0);
        self.flight = Flight::default();
        self.words.clear();
        self.probes = 0;
        self.ping = false;
    }

    fn ended(&mut self, why: Ended) {
        // A user that has closed it, or was never told of it, is not told of the end.
        let is_known = !matches!(self.role, Role::Server { has_client: false, .. });
        let is_told = self.stage == Stage::Up || (self.stage == Stage::Opening && is_known);
        if !self.has_ended() {
            self.over(End::Known);
            if is_told {
                self.events.push_back(Event::Ended(why));
            }
        }
    }

    /// Whether everything has been said, so that only packets of the other side need still be
    /// answered.
    pub(crate) fn is_over(&self) -> bool {
        let is_said = matches!(self.stage, Stage::Over(End::Known | End::Reset { is_said: true }));
        is_said && self.events.is_empty()
    }

    /// Whether a client has said that it is there.
    pub(crate) fn has_said_hello(&self) -> bool {
        matches!(self.role, Role::Server { has_client: true, .. })
    }

    /// Octets of frames that are known to arrive in a packet; only what is tried is longer.
    pub(crate) fn packet_octets(&self) -> usize {
        self.length.octets()
    }

    /// Whether our user has closed it, and the other side does not know everything yet.
    pub(crate) fn is_closing(&self) -> bool {
        matches!(self.stage, Stage::Closing { .. })
    }

    /// What the user is to be told next; messages, and an end behind them, only if they are
    /// `wanted`.
    pub(crate) fn take(&mut self, wanted: bool, now: Duration) -> Option<Event> {
        // A loss of the connection loses what is here as well.
        if let Some(event) = self.events.pop_front() {
            return Some(event);
        }
        let came = match self.stage {
            Stage::Up if wanted => self.incoming.take(),
            Stage::Closing { .. } => {
                // Nobody wants it; but while it is here the other side, which may be closing as
                // well, has no room for the rest.
                while self.incoming.take().is_some() {}
                None
            }
            _ => return None,
        };
        if self.incoming.limit() >= self.said_limit + ROOM / 4 {
            self.received.hurry(now);
        }
        if let Some(came) = came {
            return Some(match came {
                Came::Whole(message) => Event::Data(message),
                Came::Lost(lost) => Event::Lost(lost),
            });
        }
        if self.end.is_some_and(|messages| self.incoming.is_through(messages)) {
            let closed = self.stage == Stage::Up;
            self.over(End::Known);
            return closed.then_some(Event::Ended(Ended::Closed));
        }
        None
    }

    pub(crate) fn statistics(&self) -> Statistics {
        Statistics {
            round_trip: self.rtt.smoothed(),
            healthy: self.stage == Stage::Up && self.unanswered < 2,
            retransmissions: self.outgoing.repeated,
        }
    }
}
