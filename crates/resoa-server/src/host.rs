//! The loop of a server: one carrier, all sockets, look-ups, and the timers of all of them. What is
//! done for a client is asked for at the [gate](crate::gate).

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

/// Between two looks for FINs that nobody asks for.
const SWEEP: Duration = Duration::from_mins(1);

/// Connections of a listener that are taken in one turn.
const ARRIVALS: usize = 16;

/// What ends a wait besides sockets: the carrier, a look-up, the owner's descriptors.
const CARRIER: Source = Source(0);
const NAMES: Source = Source(1);
const OWNER: Source = Source(2);

/// A server that runs; see the [module](self).
pub struct Host<C> {
    pub(crate) server: Server,
    pub(crate) tcp: KernelTcp,
    pub(crate) carrier: C,
    pub(crate) gate: Gate,
    locals: Locals,
    names: Names,
    outboxes: HashMap<Connection, Outbox>,
    pub(crate) origin: Instant,
    /// Of whom nothing is heard for so long is asked whether it is there.
    silence: Duration,
    /// Before this instant nobody's time is over, nobody's ever if there is none. The server says
    /// when by going through all its clients: with 1000 of them that takes 13 us, as much as a
    /// turn, so it is asked when this has come and not each turn.
    watchdog: Option<Duration>,
    /// Before this instant nobody that is not read from has stood still for too long.
    standstill: Option<Duration>,
    acknowledgements: Acknowledgements,
    pub(crate) incidents: Incidents,
    /// When FINs are looked at that nobody asks for, if something happens then.
    sweep: Duration,
}

/// What should not happen, counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Incidents {
    /// Clients that were turned away.
    pub turned_away: u64,
    /// Connections that were reset because what came by them was no message.
    pub malformed: u64,
    /// Connections that were reset because nobody registered there.
    pub unregistered: u64,
    /// Times that a listener found no descriptor left.
    pub starved: u64,
}

impl<C: Carrier> Host<C> {
    /// A server without clients, at which whoever comes may do what a program of this host may.
    /// `carrier` takes them already.
    ///
    /// # Errors
    /// If the kernel has no descriptor left.
    pub fn new(settings: ServerSettings, carrier: C) -> io::Result<Self> {
        let mut anybody = Client::local("anybody");
        anybody.grant = resoa_protocol::server::Grant::of(&settings);
        anybody.buffers = u64::MAX;
        let mut policy = Policy::anybody(anybody);
        policy.most = settings.clients;
        Self::with_policy(settings, carrier, Arc::new(policy))
    }

    /// The same for those of a policy, who may do what it says; how many there may be is the
    /// policy's to say, too.
    ///
    /// # Errors
    /// If the kernel has no descriptor left.
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

    /// Another policy from now on. Clients that it does not have any more are reset; what others
    /// may do changes for what they do from now on. If there are more than it has room for, all
    /// that are here stay.
    pub fn reload(&mut self, policy: Arc<Policy>) {
        self.server.take_at_most(policy.most);
        for connection in self.gate.reload(policy) {
            self.turn_out(connection);
        }
        for (connection, visitor) in self.gate.visitors() {
            self.server.regrant(connection, visitor.client.grant.clone());
        }
    }

    /// The same, where FINs of far hosts are held. To be called before there are clients: their
    /// sockets would not be known to it.
    #[must_use]
    pub fn with_fin_hold(mut self, hold: FinHold) -> Self {
        self.tcp = self.tcp.with_fin_hold(hold);
        self
    }

    /// What holds FINs, and knows how many.
    #[must_use]
    pub fn fin_hold(&self) -> Option<&FinHold> {
        self.tcp.fin_hold()
    }

    /// What is guaranteed on this machine.
    #[must_use]
    pub fn capabilities(&self) -> Capabilities {
        self.tcp.capabilities()
    }

    /// Sockets of the kernel that clients have.
    #[must_use]
    pub fn sockets(&self) -> usize {
        self.tcp.sockets()
    }

    /// What all clients have done since the server began.
    #[must_use]
    pub fn counts(&self) -> Usage {
        self.gate.total()
    }

    /// What should not have happened.
    #[must_use]
    pub fn incidents(&self) -> Incidents {
        Incidents { starved: self.tcp.starvations(), ..self.incidents }
    }

    /// Lets [`turn`](Self::turn) end when this descriptor becomes readable, too, and say so:
    /// whoever runs the loop reads it.
    ///
    /// # Errors
    /// If it cannot be waited for.
    pub fn wait_for(&self, descriptor: BorrowedFd) -> io::Result<()> {
        self.tcp.wait_for(descriptor, OWNER)
    }

    /// Resets every socket, and every client's connection, which tells it so (E5).
    pub fn stop(&mut self) {
        for connection in self.server.connections() {
            self.turn_out(connection);
        }
    }

    /// Waits until something happens, at most for so long, and does what comes of it. Whether one
    /// of the owner's descriptors is readable.
    ///
    /// # Errors
    /// None that could be helped; epoll's.
    pub fn turn(&mut self, longest: Option<Duration>) -> io::Result<bool> {
        let now = self.origin.elapsed();
        let acknowledgements = self.acknowledgements_due();
        let deadlines =
            [acknowledgements, self.watchdog, self.standstill, self.gate.deadline(), self.names.deadline()];
        let next = deadlines.into_iter().flatten().min();
        let wait = next.map(|next| next.saturating_sub(now)).into_iter().chain(longest).min();
        let Happened { endpoints, sources } = self.tcp.wait(wait)?;
        let now = self.origin.elapsed();
        // What is said in this turn goes together at its end.
        self.carrier.gather();
        if sources.contains(&CARRIER) {
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

    /// What clients say.
    fn hear(&mut self, now: Duration) {
        let mut indications = Vec::new();
        self.carrier.poll(&mut indications);
        if !indications.is_empty() {
            // The time of whoever says something begins again, and that of who comes begins.
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

    /// A client wants to come.
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

    /// Whatever it is, it is no client of this version, and it has the client's key: nothing it
    /// says is worth the other clients' time.
    fn malformed(&mut self, connection: Connection) {
        self.incidents.malformed += 1;
        self.turn_out(connection);
    }

    /// A client has to go, with all that it has.
    fn turn_out(&mut self, connection: Connection) {
        let mut actions = Vec::new();
        self.server.disconnected(connection, &mut actions);
        actions.push(ServerAction::Reset(connection));
        self.carry_out(actions);
    }

    /// Nothing comes from there any more, and nothing goes there.
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

    /// Connections are taken one by one: after each the server says whether there is room for
    /// another (8.3).
    ///
    /// What is said of them is on its way at the end of a turn: more than a few would have the
    /// program wait for the first of them, and the kernel's queue would be full of those behind.
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

    /// In the order of asking: what comes of an action is behind what was already to be done.
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

    /// Asks the stack, if the client's policy lets it.
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
            // It was never made.
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

    /// Whether a client's policy lets this be done, and the host.
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
