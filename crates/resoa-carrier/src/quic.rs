//! Messages over QUIC (RFC 9000), in datagrams of UDP: verified by the keys of both ends, encrypted, and sockets do not wait for each other's losses.
//!
//! ```text
//!              ┌ control ─ introduction (Noise, bound to the TLS session), then: taken, room, the end
//!  connection ─┤
//!              └ lanes 0..255, each way ─ the messages of the sockets whose number ends so, each with its number and those it stays behind
//! ```
//!
//! * [`session`]: QUIC's settings and its TLS, which proves nobody. [`introduction`]: who is there, and why that is sound.
//! * [`outgoing`], [`incoming`], [`sequence`], [`wire`]: messages, there and back. In which order they may be passed on is decided by the sender, message by
//!   message, as `udp:` does it; a lane only keeps losses apart. So there are few lanes, they stay open, and any number of sockets.
//! * [`link`]: a connection. [`socket`]: datagrams.
//!
//! The protocol's machine is that of quinn (quinn-proto), which has neither threads nor a runtime: all happens in [`poll`](Carrier::poll), as with the other carriers.
//!
//! A client's address may change: the connection is known by its own name, and goes on. A server keeps nothing of a client before its address has been shown to be its
//! own (QUIC's retry), then at most [`STRANGERS`] of which it does not know who they are, each for at most [`INTRODUCTION`] and with at most a few
//! kilobytes; the oldest make room for new ones.

#[cfg(test)]
mod in_between;
mod incoming;
mod introduction;
mod link;
mod outgoing;
mod sequence;
mod session;
mod socket;
mod wire;

pub use session::Congestion;

use crate::keys::{PublicKey, SecretKey};
use crate::tcp::{INTRODUCTION, KeepAlive, STRANGERS};
use crate::{Allowed, Carrier, timer};
use link::{Link, Stage};
use quinn_proto::{
    ClientConfig, ConnectionHandle, DatagramEvent, Endpoint, EndpointEvent, Incoming, Transmit,
};
use resoa_protocol::lhp::{Connection, Ended, Handed, Indication, LastHop, Provider, Service, Statistics};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use socket::{Arrived, Socket};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Octets of messages, and what each takes beside, that are kept for a user who does not take them, or because something before them is missing.
const ROOM: u64 = 4 << 20;
/// Octets that wait to be sent before it says stop.
const WAITING: usize = 1 << 20;
/// Lanes each way: as many sockets, one after the other, share none.
const LANES: usize = 256;
/// How long an end that is given up waits for what its connections have still to deliver.
const LINGER: Duration = Duration::from_secs(1);
/// Looks at the socket before the user is told of what came by them.
const LOOKS: usize = 8;

/// The lane of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Lane(usize);

impl Lane {
    /// By the last octet of the socket's number.
    fn of(message: &[u8]) -> Self {
        Self(message.get(6).map_or(0, |&last| usize::from(last)))
    }
}

/// What an end is.
#[derive(Debug)]
enum Role {
    Server { allowed: Allowed },
    Client { server: PublicKey, config: Box<ClientConfig> },
}

/// An end; see the [module](self).
#[derive(Debug)]
pub struct Quic {
    epoll: OwnedFd,
    /// Ends a wait for what is nobody else's doing.
    bell: OwnedFd,
    /// Ends it when it is time.
    clock: OwnedFd,
    socket: Socket,
    endpoint: Endpoint,
    role: Role,
    key: Arc<SecretKey>,
    /// By quinn's name, which may be another's later; and that of those of which our user knows.
    links: BTreeMap<ConnectionHandle, Link>,
    handles: HashMap<Connection, ConnectionHandle>,
    /// Connections that are to be dropped, whatever the other side has still to say.
    forgotten: Vec<ConnectionHandle>,
    /// Connections that came to nothing at once.
    failed: Vec<Connection>,
    last: u64,
}

impl Quic {
    /// A server's end that takes these clients at this address, and proves that it has this key.
    ///
    /// # Errors
    /// If the address is not this host's, or in use.
    pub fn server(
        address: SocketAddr,
        key: &SecretKey,
        allowed: Allowed,
        keep_alive: KeepAlive,
        congestion: Congestion,
    ) -> io::Result<Self> {
        let socket = Socket::bind(address)?;
        let config = session::server(keep_alive, congestion)?;
        let endpoint = Endpoint::new(session::endpoint(), Some(config), !socket.may_fragment(), None);
        Self::new(socket, endpoint, Role::Server { allowed }, key)
    }

    /// A client's end at this address, most often an unspecified one of the server's family, that proves to have this key, to the server that has that one. The
    /// address to [connect](LastHop::connect) to is written as text, `192.0.2.1:4000` or `[2001:db8::1]:4000`.
    ///
    /// # Errors
    /// If the address is not this host's, or the kernel has no descriptor left.
    pub fn client(
        address: SocketAddr,
        key: &SecretKey,
        server: PublicKey,
        keep_alive: KeepAlive,
        congestion: Congestion,
    ) -> io::Result<Self> {
        let socket = Socket::bind(address)?;
        let config = Box::new(session::client(keep_alive, congestion)?);
        let endpoint = Endpoint::new(session::endpoint(), None, !socket.may_fragment(), None);
        Self::new(socket, endpoint, Role::Client { server, config }, key)
    }

    fn new(socket: Socket, endpoint: Endpoint, role: Role, key: &SecretKey) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let clock = timer::new()?;
        let data = EventData::new_u64(0);
        epoll::add(&epoll, &bell, data, EventFlags::IN | EventFlags::ET)?;
        epoll::add(&epoll, &clock, data, EventFlags::IN | EventFlags::ET)?;
        epoll::add(&epoll, socket.descriptor(), data, EventFlags::IN | EventFlags::OUT | EventFlags::ET)?;
        Ok(Self {
            epoll,
            bell,
            clock,
            socket,
            endpoint,
            role,
            key: Arc::new(key.clone()),
            links: BTreeMap::new(),
            handles: HashMap::new(),
            forgotten: Vec::new(),
            failed: Vec::new(),
            last: 0,
        })
    }

    /// Its own address.
    ///
    /// # Errors
    /// None that could be helped.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.address()
    }

    /// Connections of which something is kept, known or not.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.links.len()
    }

    /// Sends from another port from now on, as behind a translator of addresses that has forgotten us; the other side follows.
    ///
    /// # Errors
    /// If the kernel has no descriptor left.
    pub fn move_to_another_port(&mut self) -> io::Result<()> {
        let mut address = self.address()?;
        address.set_port(0);
        let socket = Socket::bind(address)?;
        let edges = EventFlags::IN | EventFlags::OUT | EventFlags::ET;
        epoll::add(&self.epoll, socket.descriptor(), EventData::new_u64(0), edges)?;
        self.socket = socket;
        for link in self.links.values_mut() {
            // As after a change of the interface: the other side's word comes to nobody until it has heard of us.
            link.quic.local_address_changed();
        }
        self.ring();
        Ok(())
    }

    fn ring(&self) {
        // If the counter is full it has rung.
        let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
    }

    fn next(&mut self) -> Connection {
        self.last += 1;
        Connection(self.last)
    }

    fn link(&mut self, connection: Connection) -> Option<&mut Link> {
        self.links.get_mut(self.handles.get(&connection)?)
    }

    fn connect_to(&mut self, connection: Connection, address: &[u8]) -> io::Result<()> {
        let Role::Client { server, config } = &self.role else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        let text = std::str::from_utf8(address).map_err(|_| io::ErrorKind::InvalidInput)?;
        let address: SocketAddr = text.parse().map_err(|_| io::ErrorKind::InvalidInput)?;
        // The name is one that TLS could read, and is not sent.
        let begun = self.endpoint.connect(Instant::now(), (**config).clone(), address, "lasthop");
        let (handle, quic) = begun.map_err(io::Error::other)?;
        let link = Link::client(connection, quic, Arc::clone(&self.key), *server);
        self.handles.insert(connection, handle);
        self.links.insert(handle, link);
        Ok(())
    }

    /// Gives what has come to the connections that it is for. Whether there may be more.
    fn receive(&mut self, now: Instant) -> bool {
        let mut arrived = Vec::new();
        let mut hurries = true;
        for _ in 0..LOOKS {
            hurries = self.socket.receive(&mut arrived);
            if !hurries {
                break;
            }
        }
        for Arrived { from, to, ecn, octets } in arrived {
            let mut answer = Vec::new();
            match self.endpoint.handle(now, from, to, ecn, octets, &mut answer) {
                Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                    if let Some(link) = self.links.get_mut(&handle) {
                        link.quic.handle_event(event);
                        link.answered();
                    }
                }
                Some(DatagramEvent::NewConnection(incoming)) => self.take(incoming, now),
                Some(DatagramEvent::Response(transmit)) => self.respond(transmit, answer),
                None => {}
            }
        }
        hurries
    }

    /// What no connection says is lost if there is no room for it.
    fn respond(&mut self, transmit: Transmit, octets: Vec<u8>) {
        if self.socket.is_free() {
            self.socket.send(transmit, octets);
        }
    }

    fn take(&mut self, incoming: Incoming, now: Instant) {
        let mut answer = Vec::new();
        let Role::Server { allowed } = &self.role else { return self.endpoint.ignore(incoming) };
        let allowed = allowed.clone();
        if !incoming.remote_address_validated() {
            // What may not be asked to come again has been: its token is of another.
            if let Ok(transmit) = self.endpoint.retry(incoming, &mut answer) {
                self.respond(transmit, answer);
            }
            return;
        }
        match self.endpoint.accept(incoming, now, &mut answer, None) {
            Ok((handle, quic)) => {
                let connection = self.next();
                let link = Link::server(connection, quic, Arc::clone(&self.key), allowed);
                self.handles.insert(connection, handle);
                self.links.insert(handle, link);
            }
            Err(error) => {
                if let Some(transmit) = error.response {
                    self.respond(transmit, answer);
                }
            }
        }
    }

    /// Gives up those who have had their time to say who they are, and the oldest if there are too many; when the next has had its time. Of those that are too many not
    /// even that they were there is kept.
    fn bound_strangers(&mut self, now: Instant) -> Option<Instant> {
        let mut strangers: Vec<_> = self.links.iter_mut().filter(|(_, link)| link.is_strange()).collect();
        // In the order in which they came.
        strangers.sort_by_key(|(_, link)| link.since);
        let too_many = strangers.len().saturating_sub(STRANGERS);
        let overdue = strangers.iter().take_while(|(_, link)| now - link.since >= INTRODUCTION).count();
        let leave = too_many.max(overdue);
        for (_, link) in &mut strangers[..leave] {
            link.give_up(now);
        }
        self.forgotten.extend(strangers[..too_many].iter().map(|(handle, _)| **handle));
        strangers.get(leave).map(|(_, link)| link.since + INTRODUCTION)
    }

    /// Sends what all connections have to say, as far as the kernel takes it.
    fn transmit(&mut self, now: Instant) {
        if !self.socket.is_free() {
            return;
        }
        for link in self.links.values_mut() {
            let batch = self.socket.batch(link.quic.stats().path.current_mtu);
            loop {
                let mut octets = Vec::new();
                let Some(transmit) = link.quic.poll_transmit(now, batch, &mut octets) else { break };
                if !self.socket.send(transmit, octets) {
                    link.sent(now);
                    return;
                }
            }
            link.sent(now);
        }
    }

    /// Passes on what connections and the end have to tell each other, and forgets those that are gone.
    fn sweep(&mut self) {
        let (endpoint, handles) = (&mut self.endpoint, &mut self.handles);
        for handle in self.forgotten.drain(..) {
            if let Some(link) = self.links.remove(&handle) {
                handles.remove(&link.name);
                endpoint.handle_event(handle, EndpointEvent::drained());
            }
        }
        self.links.retain(|&handle, link| {
            while let Some(event) = link.quic.poll_endpoint_events() {
                if let Some(event) = endpoint.handle_event(handle, event) {
                    link.quic.handle_event(event);
                }
            }
            let stays = link.stage != Stage::Gone || !link.quic.is_drained();
            if !stays && handles.get(&link.name) == Some(&handle) {
                handles.remove(&link.name);
            }
            stays
        });
    }
}

impl LastHop for Quic {
    type Error = io::Error;

    fn register(&mut self, _: Service, _: Provider) -> io::Result<Connection> {
        Ok(self.next())
    }

    fn unregister(&mut self, connection: Connection) -> io::Result<()> {
        self.reset(connection);
        Ok(())
    }

    fn passive(&mut self, _: Connection) -> io::Result<()> {
        if matches!(self.role, Role::Server { .. }) { Ok(()) } else { Err(io::ErrorKind::Unsupported.into()) }
    }

    fn connect(&mut self, connection: Connection, address: &[u8]) {
        // One that was before is over.
        self.reset(connection);
        if self.connect_to(connection, address).is_err() {
            self.failed.push(connection);
        }
        self.ring();
    }

    fn accept(&mut self, connection: Connection) {
        if let Some(link) = self.link(connection) {
            link.accept();
            self.ring();
        }
    }

    fn reject(&mut self, connection: Connection) {
        self.reset(connection);
    }

    fn close(&mut self, connection: Connection) {
        if let Some(link) = self.link(connection) {
            link.close(Instant::now());
            self.ring();
        }
    }

    fn reset(&mut self, connection: Connection) {
        if let Some(link) = self.link(connection) {
            link.reset(Instant::now());
            self.ring();
        }
    }

    fn send(&mut self, connection: Connection, message: &[u8]) -> Handed {
        let Some(link) = self.link(connection) else { return Handed::Taken };
        let handed = link.send(message);
        self.ring();
        handed
    }

    fn receive(&mut self, connection: Connection, wanted: bool) {
        if let Some(link) = self.link(connection) {
            link.wanted = wanted;
            self.ring();
        }
    }

    fn statistics(&self, connection: Connection) -> Statistics {
        let none = Statistics { round_trip: None, healthy: false, retransmissions: 0 };
        let link = self.handles.get(&connection).and_then(|handle| self.links.get(handle));
        link.map_or(none, |link| link.statistics(Instant::now()))
    }
}

impl Carrier for Quic {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }

    fn poll(&mut self, happened: &mut Vec<(Connection, Indication)>) {
        // Edges are only what ends the wait: everything is looked at.
        let mut edges = Vec::with_capacity(8);
        let at_once = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
        let _ = epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut edges), Some(&at_once));
        let now = Instant::now();
        for connection in std::mem::take(&mut self.failed) {
            happened.push((connection, Indication::Disconnected(Ended::Unreachable)));
        }
        let hurries = self.receive(now);
        let strangers = self.bound_strangers(now);
        for link in self.links.values_mut() {
            if link.quic.poll_timeout().is_some_and(|time| time <= now) {
                link.quic.handle_timeout(now);
            }
            let mut indications = Vec::new();
            link.progress(now, &mut indications);
            happened.extend(indications.into_iter().map(|indication| (link.name, indication)));
        }
        self.transmit(now);
        self.sweep();
        let timers = self.links.values_mut().filter_map(|link| link.quic.poll_timeout());
        if let Some(next) = timers.chain(strangers).min() {
            timer::set(&self.clock, next.saturating_duration_since(Instant::now()));
        }
        if hurries {
            self.ring();
        }
    }
}

impl Drop for Quic {
    /// What was handed over to connections that are closed is delivered, if that does not take long. The other sides of the rest are told, as far as one
    /// datagram does it.
    fn drop(&mut self) {
        let begin = Instant::now();
        while begin.elapsed() < LINGER && self.links.values().any(|link| link.stage == Stage::Closing) {
            self.poll(&mut Vec::new());
            let wait = rustix::event::Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
            let _ = epoll::wait(
                &self.epoll,
                rustix::buffer::spare_capacity(&mut Vec::with_capacity(1)),
                Some(&wait),
            );
        }
        let now = Instant::now();
        for link in self.links.values_mut() {
            link.reset(now);
        }
        self.transmit(now);
    }
}
