//! Event loop of a server: one carrier, all sockets, look-ups, and their timers. The
//! [gate](crate::gate) checks every action for a client.

mod acknowledgements;
mod look_ups;
mod pace;

pub(crate) use pace::Stop;

use crate::gate::{Gate, Usage};
use crate::kernel::{Happened, KernelTcp, Source};
use crate::locals::Locals;
use crate::names::Names;
use crate::{Capabilities, FinHold};
use acknowledgements::Acknowledgements;
use resoa_carrier::{Carrier, Outbox};
use resoa_policy::{Client, Policy, Refusal};
use resoa_protocol::lhp::{Connection, Identity, Indication};
use resoa_protocol::{Endpoint, Errno, Message, Server, ServerAction, ServerSettings, TcpAction, TcpEvent};
use rustix::fd::BorrowedFd;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Interval between sweeps for held FINs that the server will not ask for again.
const SWEEP: Duration = Duration::from_mins(1);

/// Maximum connections taken from one listener per turn.
const ARRIVALS: usize = 16;

/// Sources besides sockets that end a wait: the carrier, a look-up, the owner's descriptors.
const CARRIER: Source = Source(0);
const NAMES: Source = Source(1);
const OWNER: Source = Source(2);

/// A running server; see the [module](self).
pub struct Host<C> {
    pub(crate) server: Server,
    pub(crate) tcp: KernelTcp,
    pub(crate) carrier: C,
    pub(crate) gate: Gate,
    locals: Locals,
    names: Names,
    outboxes: HashMap<Connection, Outbox>,
    pub(crate) origin: Instant,
    /// Silence after which a client is asked whether it is still there.
    silence: Duration,
    /// Lower bound on the earliest client deadline; `None` if no client has one. The server
    /// computes the deadline by going through all its clients. With 1000 of them that takes 13 us,
    /// as much as a turn. So it is asked when this time has come, and not each turn.
    watchdog: Option<Duration>,
    /// Lower bound on the time at which a client that is not read from has stood still for too
    /// long.
    standstill: Option<Duration>,
    acknowledgements: Acknowledgements,
    pub(crate) incidents: Incidents,
    /// Time of the next sweep, which happens at the first turn after it.
    sweep: Duration,
}

/// Counters of events that should not happen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Incidents {
    /// Clients that were turned away.
    pub turned_away: u64,
    /// Connections that were reset because they delivered something that is no message.
    pub malformed: u64,
    /// Connections that were reset because the client did not register.
    pub unregistered: u64,
    /// Number of times that a listener found no file descriptor left.
    pub starved: u64,
}

impl<C: Carrier> Host<C> {
    /// Creates a server without clients. Any client may connect and do what a program of this host
    /// may. `carrier` accepts connections already.
    ///
    /// # Errors
    /// If the kernel has no file descriptor left.
    pub fn new(settings: ServerSettings, carrier: C) -> io::Result<Self> {
        let mut anybody = Client::local("anybody");
        anybody.grant = resoa_protocol::server::Grant::of(&settings);
        anybody.buffers = u64::MAX;
        let mut policy = Policy::anybody(anybody);
        policy.most = settings.clients;
        Self::with_policy(settings, carrier, Arc::new(policy))
    }

    /// Like [`new`](Self::new), for the clients of a policy and with its permissions. The policy
    /// also defines the maximum number of clients.
    ///
    /// # Errors
    /// If the kernel has no file descriptor left.
    pub fn with_policy(mut settings: ServerSettings, carrier: C, policy: Arc<Policy>) -> io::Result<Self> {
        settings.clients = policy.most;
        let silence = settings.timers.watchdog;
        let tcp = KernelTcp::new()?;
        tcp.wait_for(carrier.descriptor(), CARRIER)?;
        let names = Names::new()?;
        tcp.wait_for(names.descriptor(), NAMES)?;
        Ok(Self {
            server: Server::new(settings),
            tcp,
            carrier,
            gate: Gate::new(policy),
            locals: Locals::default(),
            names,
            outboxes: HashMap::new(),
            origin: Instant::now(),
            silence,
            watchdog: None,
            standstill: None,
            acknowledgements: Acknowledgements::default(),
            incidents: Incidents::default(),
            sweep: SWEEP,
        })
    }

    /// Replaces the policy. Clients that it does not have are reset. For the others, the new
    /// permissions apply to later actions. If more clients are connected than it allows, they all
    /// stay.
    pub fn reload(&mut self, policy: Arc<Policy>) {
        self.server.take_at_most(policy.most);
        for connection in self.gate.reload(policy) {
            self.turn_out(connection);
        }
        for (connection, visitor) in self.gate.visitors() {
            self.server.regrant(connection, visitor.client.grant.clone());
        }
    }

    /// Adds a FIN hold. Call it before there are clients, because the hold would not know their
    /// sockets.
    #[must_use]
    pub fn with_fin_hold(mut self, hold: FinHold) -> Self {
        self.tcp = self.tcp.with_fin_hold(hold);
        self
    }

    /// The FIN hold, which counts held FINs.
    #[must_use]
    pub fn fin_hold(&self) -> Option<&FinHold> {
        self.tcp.fin_hold()
    }

    /// Features of this machine's kernel.
    #[must_use]
    pub fn capabilities(&self) -> Capabilities {
        self.tcp.capabilities()
    }

    /// Number of kernel sockets that clients have.
    #[must_use]
    pub fn sockets(&self) -> usize {
        self.tcp.sockets()
    }

    /// Totals of all clients since the server started.
    #[must_use]
    pub fn counts(&self) -> Usage {
        self.gate.total()
    }

    /// Counters of events that should not have happened.
    #[must_use]
    pub fn incidents(&self) -> Incidents {
        Incidents { starved: self.tcp.starvations(), ..self.incidents }
    }

    /// Makes [`turn`](Self::turn) also end when this descriptor becomes readable, and return so.
    /// The caller of `turn` reads it.
    ///
    /// # Errors
    /// If epoll cannot wait for the descriptor.
    pub fn wait_for(&self, descriptor: BorrowedFd) -> io::Result<()> {
        self.tcp.wait_for(descriptor, OWNER)
    }

    /// Resets every socket and every client's connection, which informs the client (E5).
    pub fn stop(&mut self) {
        for connection in self.server.connections() {
            self.turn_out(connection);
        }
    }

    /// Waits for events, at most `longest`, and processes them. Returns whether one of the owner's
    /// descriptors is readable.
    ///
    /// # Errors
    /// Errors of epoll, none of which can be recovered from.
    pub fn turn(&mut self, longest: Option<Duration>) -> io::Result<bool> {
        let now = self.origin.elapsed();
        let acknowledgements = self.acknowledgements_due();
        let deadlines =
            [acknowledgements, self.watchdog, self.standstill, self.gate.deadline(), self.names.deadline()];
        let next = deadlines.into_iter().flatten().min().map(|next| next.saturating_sub(now));
        let carrier = self.carrier.deadline().map(|due| due.saturating_duration_since(Instant::now()));
        let wait = next.into_iter().chain(carrier).chain(longest).min();
        let Happened { endpoints, sources } = self.tcp.wait(wait)?;
        let now = self.origin.elapsed();
        // Messages of this turn are sent together at its end.
        self.carrier.gather();
        if sources.contains(&CARRIER) || self.carrier.deadline().is_some_and(|due| due <= Instant::now()) {
            self.hear(now);
        }
        for endpoint in endpoints {
            let mut events = Vec::new();
            self.tcp.look(endpoint, &mut events);
            self.tell(endpoint, events);
            self.accept(endpoint);
        }
        self.look_at_acknowledgements(now);
        if sources.contains(&NAMES) || self.names.deadline().is_some_and(|deadline| deadline <= now) {
            self.tell_what_was_found(now);
        }
        for connection in self.gate.overdue(now) {
            if self.gate.visitor(connection).is_some() && !self.server.is_registered(connection) {
                self.incidents.unregistered += 1;
                self.turn_out(connection);
            }
        }
        if self.sweep <= now {
            self.sweep = now + SWEEP;
            self.tcp.sweep();
        }
        self.end_standstill(now);
        self.ask_the_silent(now);
        self.carrier.flush();
        Ok(sources.contains(&OWNER))
    }

    /// Processes the indications of the carrier.
    fn hear(&mut self, now: Duration) {
        let mut indications = Vec::new();
        self.carrier.poll(&mut indications);
        if !indications.is_empty() {
            // The silence of a client that sends something starts anew, and that of a new client
            // starts.
            let over = now + self.silence;
            self.watchdog = Some(self.watchdog.map_or(over, |watchdog| watchdog.min(over)));
        }
        for (connection, indication) in indications {
            let mut actions = Vec::new();
            match indication {
                Indication::Connect { identity } => self.come(connection, identity, now),
                Indication::Data(_) | Indication::Lost(_) if self.gate.visitor(connection).is_none() => {}
                Indication::Data(octets) => match Message::decode(&octets) {
                    Ok(message) => self.server.message(connection, message, now, &mut actions),
                    Err(_) => self.malformed(connection),
                },
                Indication::Lost(lost) => match Message::decode_lost(&lost) {
                    Ok(message) => self.server.lost_datagram(connection, message, now, &mut actions),
                    Err(_) => self.malformed(connection),
                },
                Indication::Off => self.server.flow(connection, false, &mut actions),
                Indication::On => {
                    let outbox = self.outboxes.get_mut(&connection);
                    if outbox.is_none_or(|outbox| outbox.on(&mut self.carrier, connection)) {
                        self.server.flow(connection, true, &mut actions);
                    }
                }
                Indication::Disconnected(_) => {
                    self.server.disconnected(connection, &mut actions);
                    self.forget(connection);
                }
                Indication::Connected => {}
            }
            self.carry_out(actions);
            self.regulate(connection);
        }
    }

    /// Admits a client that connects, or turns it away.
    fn come(&mut self, connection: Connection, identity: Identity, now: Duration) {
        if let Some(grant) = self.gate.come(connection, &identity, now) {
            self.carrier.accept(connection);
            self.outboxes.insert(connection, Outbox::default());
            self.server.connected_with(connection, identity, grant, now);
        } else {
            self.incidents.turned_away += 1;
            self.carrier.reject(connection);
        }
    }

    /// Ends the connection of a peer that is no client of this version, although it has the
    /// client's key. Reading on would cost other clients time.
    fn malformed(&mut self, connection: Connection) {
        self.incidents.malformed += 1;
        self.turn_out(connection);
    }

    /// Disconnects a client and releases all that it has.
    fn turn_out(&mut self, connection: Connection) {
        let mut actions = Vec::new();
        self.server.disconnected(connection, &mut actions);
        actions.push(ServerAction::Reset(connection));
        self.carry_out(actions);
    }

    /// Forgets a connection that carries no more messages in either direction.
    fn forget(&mut self, connection: Connection) {
        self.outboxes.remove(&connection);
        self.gate.gone(connection);
        self.names.forget(connection);
    }

    fn tell(&mut self, endpoint: Endpoint, events: Vec<TcpEvent>) {
        let owner = self.gate.owner(endpoint);
        for event in events {
            let from = match &event {
                TcpEvent::Datagram { from, .. } => Some(Some(*from)),
                TcpEvent::Undelivered { .. } => Some(None),
                _ => None,
            };
            if let Some(from) = from {
                let is_unheard = owner.is_some_and(|owner| self.is_unheard(owner));
                if is_unheard || from.is_some_and(|from| !self.gate.hears(endpoint, from)) {
                    continue;
                }
            }
            let mut actions = Vec::new();
            self.gate.happened(endpoint, &event);
            self.server.tcp(endpoint, event, &mut actions);
            self.carry_out(actions);
        }
        if let Some(connection) = owner {
            self.regulate(connection);
        }
    }

    /// Takes connections from a listener one by one: after each the server decides whether there is
    /// room for another (8.3).
    ///
    /// Messages about them leave at the end of the turn. If a turn took many, the program would
    /// wait long for the first of them, and the kernel's queue would be full with those behind.
    fn accept(&mut self, listener: Endpoint) {
        for taken in 0.. {
            if taken == ARRIVALS {
                return self.tcp.look_again(listener);
            }
            let Some(arrived) = self.tcp.accept(listener) else { return };
            if !self.gate.admits(listener, arrived.local, arrived.peer) {
                self.tcp.unwanted(listener, &arrived);
                continue;
            }
            let mut actions = Vec::new();
            match self.server.incoming(listener, arrived.local, arrived.peer, &mut actions) {
                Some(endpoint) => {
                    self.gate.adopted(listener, endpoint);
                    if self.tcp.adopt(endpoint, arrived).is_err() {
                        self.server.tcp(endpoint, TcpEvent::Failed(Errno::ENOBUFS), &mut actions);
                    }
                }
                None => self.tcp.unwanted(listener, &arrived),
            }
            self.carry_out(actions);
        }
    }

    /// Carries out actions in the order of the requests: the consequences of an action follow all
    /// actions that were queued before.
    fn carry_out(&mut self, actions: Vec<ServerAction>) {
        let mut queue = VecDeque::from(actions);
        let mut more = Vec::new();
        while let Some(action) = queue.pop_front() {
            match action {
                ServerAction::Send { connection, message } => self.send(connection, &message, &mut more),
                ServerAction::Tcp { endpoint, action } => self.act(endpoint, action, &mut more),
                ServerAction::Resolve { connection, xid, query } => {
                    self.look_up(connection, xid, query, &mut more);
                }
                ServerAction::Reset(connection) => {
                    self.forget(connection);
                    self.carrier.reset(connection);
                }
            }
            queue.extend(more.drain(..));
        }
    }

    /// Passes an action to the TCP stack if the client's policy permits it.
    fn act(&mut self, endpoint: Endpoint, action: TcpAction, more: &mut Vec<ServerAction>) {
        let mut events = Vec::new();
        if matches!(action, TcpAction::Close | TcpAction::Abort) {
            self.gate.closed(endpoint);
        } else if let Some(connection) = self.gate.owner(endpoint).or_else(|| self.server.owner(endpoint)) {
            if let Err(refusal) = self.may(connection, endpoint, &action) {
                self.tcp.refuse(endpoint, &action, refusal.errno(), &mut events);
                return self.happened(endpoint, events, more);
            }
            self.gate.does(connection, endpoint, &action);
        } else {
            // The socket was never created.
            return;
        }
        let chooses = self.gate.chooses_port(endpoint, &action);
        let is_new = matches!(action, TcpAction::Create { .. });
        self.tcp.act(endpoint, action, &mut events);
        if is_new && self.gate.owner(endpoint).is_some_and(|owner| !self.gate.hears_all_groups(owner)) {
            self.tcp.hear_own_groups_alone(endpoint);
        }
        if let Some(local) = chooses.then(|| self.tcp.local(endpoint)).flatten() {
            self.gate.port_chosen(endpoint, local);
        }
        self.happened(endpoint, events, more);
    }

    /// Checks an action against the client's policy and the host's ports.
    fn may(&mut self, connection: Connection, endpoint: Endpoint, action: &TcpAction) -> Result<(), Refusal> {
        let (locals, now) = (&mut self.locals, self.origin.elapsed());
        self.gate.ask(connection, endpoint, action, |address| locals.has(address, now))?;
        if !self.gate.shares_ports(connection) && self.tcp.takes_from_host(endpoint, action) {
            self.gate.count(connection, Refusal::HostPort);
            return Err(Refusal::HostPort);
        }
        Ok(())
    }

    fn happened(&mut self, endpoint: Endpoint, events: Vec<TcpEvent>, more: &mut Vec<ServerAction>) {
        for event in events {
            self.gate.happened(endpoint, &event);
            self.server.tcp(endpoint, event, more);
        }
    }

    fn send(&mut self, connection: Connection, message: &Message, more: &mut Vec<ServerAction>) {
        let Some(outbox) = self.outboxes.get_mut(&connection) else { return };
        if outbox.send(&mut self.carrier, connection, message.encode()) {
            self.server.flow(connection, false, more);
        }
    }
}
