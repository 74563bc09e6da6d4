//! One end of a connection, as a state machine: [`receiving`] processes packets of the other side,
//! [`sending`] writes packets, and [`waiting`] handles timers. The driver handles encryption, the
//! handshake and addresses.

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
use resoa_protocol::lhp::{DisconnectReason, Lost, Statistics};
use std::collections::VecDeque;
use std::time::Duration;

/// Bytes that may wait to be sent in any case. If twice the bytes that may be in flight is more,
/// that is the limit. These count only up to [`ROOM`], because the other side takes no more.
const WAITING: u64 = 128 << 10;

/// End of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Client,
    Server,
}

/// End of a connection, with its knowledge of the other one.
#[derive(Debug)]
enum Role {
    Client {
        /// Ticket that the welcome has brought.
        ticket: Option<[u8; TICKET]>,
    },
    Server {
        /// Ticket that the welcome will bring.
        ticket: [u8; TICKET],
        /// The client has confirmed its presence.
        has_client: bool,
    },
}

/// Times after which silence counts as an outage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Silence {
    /// Silence after which the other side is asked whether it is there.
    pub(crate) ask: Duration,
    /// Silence after which the connection ends.
    pub(crate) end: Duration,
}

/// Event for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    /// A client has connected.
    Connect,
    /// The server has accepted us.
    Connected,
    /// A message has arrived.
    Data(Vec<u8>),
    /// A message was lost.
    Lost(Lost),
    /// The connection has ended.
    Ended(DisconnectReason),
}

/// Stage of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// A client that was not welcomed yet, or a server that has not decided whether to accept the
    /// client.
    Opening,
    Up,
    /// Our user has closed the connection. The remaining messages are sent, then nothing more.
    Closing {
        /// Time at which any of the remaining data last arrived at the other side, or of our user's
        /// close.
        moved: Duration,
    },
    /// Only acknowledgements are still sent, and the notice of a reset.
    Over(End),
}

/// How a connection has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// Both sides know of the end.
    Known,
    /// This side has reset it. It sends one RESET, and another one if the other side has not
    /// received that.
    Reset { is_said: bool },
}

/// State of one end; see the [module](self).
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
    /// Frames without message data that are to be sent.
    words: Vec<Word>,
    ping: bool,
    /// Number of the next packet.
    next: u64,
    /// The last OLDEST that was sent: its packet number, and the number of the packet from which on
    /// it may be sent again.
    oldest: (u64, u64),
    /// Number of consecutive timeouts without an answer, and number of probes still to be sent.
    unanswered: u32,
    probes: u32,
    /// Times at which something last arrived and at which the other side was last asked.
    heard: Duration,
    asked: Duration,
    /// Time at which the other side was last asked for more room.
    blocked: Option<Duration>,
    /// Total number of the other side's messages, once it has closed.
    end: Option<u64>,
    /// The limit that was last announced.
    said_limit: u64,
}

impl Machine {
    /// Creates an end whose keys have just been agreed on. A client announces its presence. `short`
    /// is the number of frame bytes that fit a packet for certain, `long` the number that might
    /// fit.
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

    /// Accepts the client.
    pub(crate) fn accept(&mut self) {
        if self.stage == Stage::Opening {
            self.stage = Stage::Up;
            self.words.push(Word::Welcome);
        }
    }

    /// Sets the ticket for a server's welcome. Without it, the ticket is all zeros.
    pub(crate) fn give(&mut self, given: [u8; TICKET]) {
        if let Role::Server { ticket, .. } = &mut self.role {
            *ticket = given;
        }
    }

    /// Returns the ticket that the welcome has brought.
    pub(crate) fn ticket(&self) -> Option<&[u8; TICKET]> {
        match &self.role {
            Role::Client { ticket } => ticket.as_ref().filter(|_| !self.has_ended()),
            Role::Server { .. } => None,
        }
    }

    fn has_ended(&self) -> bool {
        matches!(self.stage, Stage::Over(_))
    }

    /// Returns the number of consecutive timeouts without an answer.
    pub(crate) fn unanswered(&self) -> u32 {
        self.unanswered
    }

    /// Ends the connection because the other side has lost its state. Nothing more is sent.
    pub(crate) fn forgotten(&mut self) {
        self.ended(DisconnectReason::Reset);
    }

    /// Queues a message.
    pub(crate) fn send(&mut self, message: &[u8]) {
        if self.stage == Stage::Up {
            self.outgoing.push(message, None);
        }
    }

    /// Queues a message that may be lost; `handed_over` is the time of its hand-over.
    pub(crate) fn send_or_lose(&mut self, message: &[u8], handed_over: Duration) {
        if self.stage == Stage::Up {
            self.outgoing.push(message, Some(handed_over));
        }
    }

    /// Returns the number of bytes that may wait. Acknowledgements can claim any rate, so the
    /// window counts only up to [`ROOM`].
    fn most_waiting(&self) -> u64 {
        WAITING.max(2 * self.rate.window().min(ROOM))
    }

    /// Returns whether so much waits that no more messages should be taken.
    pub(crate) fn is_full(&self) -> bool {
        self.outgoing.waiting() as u64 >= self.most_waiting()
    }

    /// Returns whether messages are taken and less than half of the permitted bytes wait.
    pub(crate) fn has_room(&self) -> bool {
        self.stage == Stage::Up && (self.outgoing.waiting() as u64) < self.most_waiting() / 2
    }

    /// Ends the connection after all messages were sent.
    pub(crate) fn close(&mut self, now: Duration) {
        if matches!(self.stage, Stage::Opening | Stage::Up) {
            self.stage = Stage::Closing { moved: now };
            self.words.push(Word::Close);
        }
    }

    /// Ends the connection at once.
    pub(crate) fn reset(&mut self) {
        if !self.has_ended() {
            self.over(End::Reset { is_said: false });
        }
    }

    /// Ends the connection because the other side violates the protocol.
    pub(crate) fn fail(&mut self) {
        self.ended(DisconnectReason::Reset);
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

    fn ended(&mut self, why: DisconnectReason) {
        // A user that has closed the connection, or was never told of it, gets no event for its
        // end.
        let is_known = !matches!(self.role, Role::Server { has_client: false, .. });
        let is_told = self.stage == Stage::Up || (self.stage == Stage::Opening && is_known);
        if !self.has_ended() {
            self.over(End::Known);
            if is_told {
                self.events.push_back(Event::Ended(why));
            }
        }
    }

    /// Returns whether everything was sent, so that only packets of the other side may still need
    /// an answer.
    pub(crate) fn is_over(&self) -> bool {
        let is_said = matches!(self.stage, Stage::Over(End::Known | End::Reset { is_said: true }));
        is_said && self.events.is_empty()
    }

    /// Returns whether a client has announced its presence.
    pub(crate) fn has_said_hello(&self) -> bool {
        matches!(self.role, Role::Server { has_client: true, .. })
    }

    /// Returns the number of frame bytes that are known to arrive in a packet. Only probes of the
    /// packet length are longer.
    pub(crate) fn packet_octets(&self) -> usize {
        self.length.octets()
    }

    /// Returns whether our user has closed the connection and the other side does not have
    /// everything yet.
    pub(crate) fn is_closing(&self) -> bool {
        matches!(self.stage, Stage::Closing { .. })
    }

    /// Returns the next event for the user. Messages, and the end after them, are returned only if
    /// they are `wanted`.
    pub(crate) fn take(&mut self, wanted: bool, now: Duration) -> Option<Event> {
        // An end of the connection discards all messages that have arrived but were not taken.
        if let Some(event) = self.events.pop_front() {
            return Some(event);
        }
        let came = match self.stage {
            Stage::Up if wanted => self.incoming.take(),
            Stage::Closing { .. } => {
                // The messages are dropped. If they stayed, the other side, which may be closing as
                // well, would have no room to send the rest.
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
            return closed.then_some(Event::Ended(DisconnectReason::Closed));
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
