//! The loop of a server: one carrier, all sockets, and the timers of both.

use crate::Capabilities;
use crate::kernel::KernelTcp;
use resoa_carrier::{Carrier, Outbox};
use resoa_protocol::lhp::{Connection, Indication};
use resoa_protocol::message::{Query, Reply, Unresolved};
use resoa_protocol::{Endpoint, Message, Server, ServerAction, ServerSettings, TcpEvent};
use rustix::fd::BorrowedFd;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::time::{Duration, Instant};

/// Between two looks at what was acknowledged, while something changes: small against a round trip across the backbone.
const SHORTEST: Duration = Duration::from_millis(2);
/// The same while nothing does.
const LONGEST: Duration = Duration::from_millis(16);

/// A server that runs; see the [module](self).
pub struct Host<C> {
    server: Server,
    tcp: KernelTcp,
    carrier: C,
    outboxes: HashMap<Connection, Outbox>,
    origin: Instant,
    /// When acknowledgements are looked at, and how long after the last time.
    acknowledgements: (Duration, Duration),
}

impl<C: Carrier> Host<C> {
    /// A server without clients. `carrier` takes them already.
    ///
    /// # Errors
    /// If the kernel has no descriptor left.
    pub fn new(settings: ServerSettings, carrier: C) -> io::Result<Self> {
        let tcp = KernelTcp::new()?;
        tcp.wait_for(carrier.descriptor())?;
        let acknowledgements = (Duration::ZERO, SHORTEST);
        Ok(Self {
            server: Server::new(settings),
            tcp,
            carrier,
            outboxes: HashMap::new(),
            origin: Instant::now(),
            acknowledgements,
        })
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

    /// Lets [`turn`](Self::turn) end when this descriptor becomes readable, too: whoever runs the loop reads it.
    ///
    /// # Errors
    /// If it cannot be waited for.
    pub fn wait_for(&self, descriptor: BorrowedFd) -> io::Result<()> {
        self.tcp.wait_for(descriptor)
    }

    /// Resets every socket, and every client's connection, which tells it so (E5).
    pub fn stop(&mut self) {
        for connection in self.server.connections() {
            let mut actions = Vec::new();
            self.server.disconnected(connection, &mut actions);
            actions.push(ServerAction::Reset(connection));
            self.carry_out(actions);
        }
    }

    /// Waits until something happens, at most for so long, and does what comes of it.
    ///
    /// # Errors
    /// None that could be helped; epoll's.
    pub fn turn(&mut self, longest: Option<Duration>) -> io::Result<()> {
        let now = self.origin.elapsed();
        let (look, _) = self.acknowledgements;
        let look = self.tcp.awaits_acknowledgements().then_some(look);
        let next = self.server.deadline().into_iter().chain(look).min();
        let wait = next.map(|next| next.saturating_sub(now)).into_iter().chain(longest).min();
        let happened = self.tcp.wait(wait)?;
        let now = self.origin.elapsed();
        self.hear(now);
        for endpoint in happened {
            let mut events = Vec::new();
            self.tcp.look(endpoint, &mut events);
            self.tell(endpoint, events);
            self.accept(endpoint);
        }
        self.look_at_acknowledgements(now);
        let mut actions = Vec::new();
        if self.server.deadline().is_some_and(|deadline| deadline <= now) {
            self.server.expire(now, &mut actions);
        }
        self.carry_out(actions);
        Ok(())
    }

    /// What clients say.
    fn hear(&mut self, now: Duration) {
        let mut indications = Vec::new();
        self.carrier.poll(&mut indications);
        for (connection, indication) in indications {
            let mut actions = Vec::new();
            match indication {
                Indication::Connect { identity } => {
                    self.carrier.accept(connection);
                    self.outboxes.insert(connection, Outbox::default());
                    self.server.connected(connection, identity, now);
                }
                Indication::Data(octets) => {
                    // Octets that are no message come from no client of this version.
                    if let Ok(message) = Message::decode(&octets) {
                        self.server.message(connection, message, now, &mut actions);
                    }
                }
                Indication::Off => self.server.flow(connection, false, &mut actions),
                Indication::On => {
                    let outbox = self.outboxes.get_mut(&connection);
                    if outbox.is_none_or(|outbox| outbox.on(&mut self.carrier, connection)) {
                        self.server.flow(connection, true, &mut actions);
                    }
                }
                Indication::Disconnected(_) => {
                    self.outboxes.remove(&connection);
                    self.server.disconnected(connection, &mut actions);
                }
                Indication::Connected => {}
            }
            self.carry_out(actions);
        }
    }

    fn tell(&mut self, endpoint: Endpoint, events: Vec<TcpEvent>) {
        for event in events {
            let mut actions = Vec::new();
            self.server.tcp(endpoint, event, &mut actions);
            self.carry_out(actions);
        }
    }

    /// Connections are taken one by one: after each the server says whether there is room for another (8.3).
    fn accept(&mut self, listener: Endpoint) {
        while let Some(arrived) = self.tcp.accept(listener) {
            let mut actions = Vec::new();
            match self.server.incoming(listener, arrived.local, arrived.peer, &mut actions) {
                Some(endpoint) => {
                    if self.tcp.adopt(endpoint, arrived).is_err() {
                        self.server.tcp(
                            endpoint,
                            TcpEvent::Failed(resoa_protocol::Errno::ENOBUFS),
                            &mut actions,
                        );
                    }
                }
                None => arrived.reset(),
            }
            self.carry_out(actions);
        }
    }

    /// They cause no event of their own, see `stream`.
    fn look_at_acknowledgements(&mut self, now: Duration) {
        let (next, pause) = self.acknowledgements;
        if next > now {
            return;
        }
        let mut events = Vec::new();
        self.tcp.acknowledgements(&mut events);
        let pause = if events.is_empty() { (pause * 2).min(LONGEST) } else { SHORTEST };
        self.acknowledgements = (now + pause, pause);
        for (endpoint, event) in events {
            self.tell(endpoint, vec![event]);
        }
    }

    /// In the order of asking: what comes of an action is behind what was already to be done.
    fn carry_out(&mut self, actions: Vec<ServerAction>) {
        let mut queue = VecDeque::from(actions);
        let mut more = Vec::new();
        while let Some(action) = queue.pop_front() {
            match action {
                ServerAction::Send { connection, message } => self.send(connection, &message, &mut more),
                ServerAction::Tcp { endpoint, action } => {
                    let mut events = Vec::new();
                    self.tcp.act(endpoint, action, &mut events);
                    for event in events {
                        self.server.tcp(endpoint, event, &mut more);
                    }
                }
                ServerAction::Resolve { connection, xid, query } => {
                    self.server.resolved(connection, xid, Ok(resolve(&query)), &mut more);
                }
                ServerAction::Reset(connection) => {
                    self.outboxes.remove(&connection);
                    self.carrier.reset(connection);
                }
            }
            queue.extend(more.drain(..));
        }
    }

    fn send(&mut self, connection: Connection, message: &Message, more: &mut Vec<ServerAction>) {
        let Some(outbox) = self.outboxes.get_mut(&connection) else { return };
        if outbox.send(&mut self.carrier, connection, message.encode()) {
            self.server.flow(connection, false, more);
        }
    }
}

/// Numbers are found here. Names would have to be asked for without stopping the loop, which is not built: the program may try again.
fn resolve(query: &Query) -> Reply {
    match query {
        Query::Host { host, service, .. } => {
            match (host.parse(), service.parse::<u16>().or(if service.is_empty() { Ok(0) } else { Err(()) }))
            {
                (Ok(host), Ok(port)) => Reply::Hosts(vec![std::net::SocketAddr::new(host, port)]),
                _ => Reply::Unresolved(Unresolved::Again),
            }
        }
        Query::Address(_) => Reply::Unresolved(Unresolved::Again),
    }
}
