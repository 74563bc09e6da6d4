//! The client: its table of sockets, the routing of messages to them, and the actions for the
//! driver.
//!
//! No socket can be made before the client is registered. When the server is lost, every socket
//! fails with ECONNRESET and stays until the program closes it; data that had arrived can still be
//! read (E5, A14). All sockets share one connection of the Last Hop Protocol. Credits prevent a
//! stalled socket from delaying the others.

mod dispatch;
pub(crate) mod lookup;
mod registering;
mod streaming;

pub use registering::Registration;

use crate::calls::{Action, CallId, SocketCall, Value};
use crate::lhp::{Indication, Statistics};
use crate::lsm::{Asked, Lsm};
use crate::message::{AddressMode, Create, Message};
use crate::schedule::Schedule;
use crate::settings::{Settings, Timers};
use crate::{Errno, RsockId, Target};
use lookup::LookUps;
use registering::Association;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// The client; see the [module](self).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Client {
    settings: Settings,
    timers: Timers,
    mode: AddressMode,
    association: Association,
    sockets: BTreeMap<RsockId, Lsm>,
    /// Sockets by the target that the server used before their connections were accepted. Late
    /// messages still use it.
    children: BTreeMap<Target, RsockId>,
    last_socket: u32,
    look_ups: LookUps,
    statistics: Statistics,
    /// The Last Hop Protocol takes no messages at the moment; messages wait in `held`.
    off: bool,
    held: VecDeque<Message>,
    heard: Duration,
    /// When an answer to STILL_ALIVE is overdue.
    probe: Option<Duration>,
    /// When a socket has something to do.
    schedule: Schedule<RsockId, Duration>,
}

impl Client {
    /// Creates a client that is not connected.
    #[must_use]
    pub fn new(mode: AddressMode, settings: Settings, timers: Timers) -> Self {
        Self {
            settings,
            timers,
            mode,
            association: Association::NotConnected,
            sockets: BTreeMap::new(),
            children: BTreeMap::new(),
            last_socket: 0,
            look_ups: LookUps::default(),
            statistics: Statistics { round_trip: None, healthy: true, retransmissions: 0 },
            off: false,
            held: VecDeque::new(),
            heard: Duration::ZERO,
            probe: None,
            schedule: Schedule::default(),
        }
    }

    /// Creates a socket. Nothing is sent for it before its first use (6.2.1).
    ///
    /// # Errors
    /// ENETDOWN before registration, and ENFILE beyond the server's limit.
    pub fn socket(&mut self, create: Create) -> Result<RsockId, Errno> {
        let limits = self.limits().ok_or(Errno::ENETDOWN)?;
        let send_space = limits.send_space;
        if self.sockets.len() >= limits.sockets as usize {
            return Err(Errno::ENFILE);
        }
        let id = RsockId(self.last_socket.checked_add(1).ok_or(Errno::ENFILE)?);
        self.last_socket = id.0;
        self.sockets.insert(id, Lsm::new(id, create, send_space, self.settings));
        Ok(id)
    }

    /// Executes a call on a socket. It returns with [`Action::Return`], now or later.
    pub fn call(
        &mut self,
        socket: RsockId,
        call: CallId,
        what: impl Into<SocketCall>,
        now: Duration,
        out: &mut Vec<Action>,
    ) {
        let mut actions = Vec::new();
        match self.sockets.get_mut(&socket) {
            Some(socket) => socket.call(call, what.into(), self.off, now, &mut actions),
            None => actions.push(Action::Return { call, result: Err(Errno::EBADF) }),
        }
        self.settle(socket, actions, now, out);
    }

    /// Interrupts a call, because a signal has arrived.
    pub fn interrupt(&mut self, socket: RsockId, call: CallId, now: Duration, out: &mut Vec<Action>) {
        self.at(socket, now, out, |socket, actions| socket.interrupt(call, now, actions));
    }

    /// Returns what `poll` reports for a socket; `None` if the socket does not exist (`POLLNVAL`).
    #[must_use]
    pub fn readiness(&self, socket: RsockId) -> Option<crate::calls::Readiness> {
        self.sockets.get(&socket).map(Lsm::readiness)
    }

    /// Returns the number of sockets, including closed ones that still deliver data.
    #[must_use]
    pub fn sockets(&self) -> usize {
        self.sockets.len()
    }

    /// Sets the state of the Last Hop Protocol, on which the timers of requests depend.
    pub fn statistics(&mut self, statistics: Statistics) {
        self.statistics = statistics;
    }

    /// Processes an indication of the Last Hop Protocol. Bytes that are not a message are dropped,
    /// because the other side is no server of this version.
    pub fn indication(&mut self, indication: Indication, now: Duration, out: &mut Vec<Action>) {
        match indication {
            Indication::Connect { .. } => {}
            Indication::Connected => self.connected(now, out),
            Indication::Data(octets) => {
                if let Ok(message) = Message::decode(&octets) {
                    self.message(message, now, out);
                }
            }
            Indication::Lost(lost) => {
                if let Ok(message) = Message::decode_lost(&lost) {
                    self.lost_datagram(message, now, out);
                }
            }
            Indication::Off => self.off = true,
            Indication::On => {
                self.off = false;
                out.extend(self.held.drain(..).map(Action::Send));
            }
            Indication::Disconnected(why) => self.lost(why, now, out),
        }
    }

    /// Returns when [`expire`](Self::expire) has something to do.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        let sockets = self.schedule.next();
        sockets.into_iter().chain(self.association_deadline()).chain(self.look_ups.deadline()).min()
    }

    /// Does what is due. Update the [`statistics`](Self::statistics) of the Last Hop Protocol
    /// before this.
    pub fn expire(&mut self, now: Duration, out: &mut Vec<Action>) {
        while let Some(id) = self.schedule.due(now) {
            let (statistics, timers) = (self.statistics, self.timers);
            let mut asked = Asked::Waiting;
            self.at(id, now, out, |socket, actions| {
                socket.expire(now, actions);
                asked = socket.ask_after_request(&statistics, &timers, now, actions);
            });
            if asked == Asked::GivenUp {
                self.give_up(now, out);
                return;
            }
        }
        self.expire_look_up(now, out);
        self.expire_association(now, out);
    }

    fn at(
        &mut self,
        id: RsockId,
        now: Duration,
        out: &mut Vec<Action>,
        event: impl FnOnce(&mut Lsm, &mut Vec<Action>),
    ) {
        if let Some(socket) = self.sockets.get_mut(&id) {
            let mut actions = Vec::new();
            event(socket, &mut actions);
            self.settle(id, actions, now, out);
        }
    }

    /// Carries out the actions of an event at a socket, and updates the tables.
    fn settle(&mut self, id: RsockId, actions: Vec<Action>, now: Duration, out: &mut Vec<Action>) {
        for action in actions {
            if let Action::Return { result: Ok(Value::Accepted { socket: child, .. }), .. } = action
                && let Some(child) = self.sockets.get_mut(&child)
            {
                child.target = Target::Socket(child.id);
            }
            self.carry_out(action, out);
        }
        let timeout = self.request_timeout();
        let Some(socket) = self.sockets.get_mut(&id) else { return };
        socket.start_request_timer(timeout, now);
        let unacceptable = socket.unacceptable();
        let (deadline, origin) = (socket.deadline(), socket.origin);
        if socket.is_closed() {
            self.sockets.remove(&id);
            origin.and_then(|origin| self.children.remove(&origin));
            self.schedule.set(id, None);
        } else {
            self.schedule.set(id, deadline);
        }
        for child in unacceptable {
            if let Some(origin) = self.sockets.remove(&child).and_then(|child| child.origin) {
                self.children.remove(&origin);
            }
            self.schedule.set(child, None);
        }
    }

    fn carry_out(&mut self, action: Action, out: &mut Vec<Action>) {
        match action {
            // Messages that are useless when late wait in the carrier, where their age is known,
            // unless they would overtake messages that they must follow.
            Action::Send(message)
                if self.off && !(message.may_be_lost() && message.may_overtake(&self.held)) =>
            {
                self.held.push_back(message);
            }
            action => out.push(action),
        }
    }

    /// Returns a multiple of the round-trip time, within bounds (6.1.3).
    fn request_timeout(&self) -> Duration {
        let Timers { request_round_trips, request_shortest, request_longest, .. } = self.timers;
        let timeout = self.statistics.round_trip.map(|round_trip| round_trip * request_round_trips);
        timeout.unwrap_or(request_longest).clamp(request_shortest, request_longest)
    }

    /// Returns how many bytes a socket has for its program, and whether the end of the stream is
    /// behind them.
    #[cfg(test)]
    pub(crate) fn holds(&self, socket: RsockId) -> Option<(usize, bool)> {
        self.sockets.get(&socket).map(Lsm::holds)
    }

    /// Returns how many bytes of a socket the server has, as far as this side knows, and how many
    /// it has received and not reported as read.
    #[cfg(test)]
    pub(crate) fn counts(&self, socket: RsockId) -> Option<(u32, u32)> {
        self.sockets.get(&socket).map(Lsm::counts)
    }

    /// Returns the number of connections that no program has accepted.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.sockets.values().filter(|socket| matches!(socket.target, Target::Child { .. })).count()
    }
}
