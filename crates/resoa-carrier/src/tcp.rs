//! Messages over a TCP connection, each behind its length (2 or 4 bytes): authenticated and
//! encrypted (`tcp:`), or neither (`plain:`).
//!
//! The client's first message is its identity. The server's first message is empty and says that it
//! accepts the client. `plain:` neither authenticates nor encrypts any of this. It is the baseline
//! of comparisons, and serves networks where that does not matter. With `tcp:`, a Noise handshake
//! comes first and provides the client's identity, and everything after it is in sealed records.
//!
//! A server keeps at most [`STRANGERS`] connections whose clients it does not know yet, at most
//! [`OF_ONE_SOURCE`] of one source. Each may take [`INTRODUCTION`] at most, and send a kilobyte at
//! most. If there is no room for a new one, a random one of them is reset.

pub(crate) mod backlog;
pub(crate) mod cover;
pub(crate) mod framing;
mod info;
mod link;
#[cfg(test)]
mod tests;
mod window;

use crate::keys::{PublicKey, SecretKey};
use crate::stage::{NOTHING_KNOWN, Stage};
use crate::strangers::{self, GAP, IN_A_PASS, Source, Strangers};
pub use crate::strangers::{INTRODUCTION, OF_ONE_SOURCE, STRANGERS};
use crate::wake::{Alarm, Edges, LISTENER};
use crate::{Allowed, Carrier};
use cover::Proof;
use link::{Link, Progress};
use resoa_protocol::lhp::{
    Connection, DisconnectReason, Handed, Identity, Indication, LastHop, Provider, Service, Statistics,
};
use resoa_protocol::schedule::Schedule;
use rustix::fd::{AsFd, BorrowedFd};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Bytes waiting to be sent at which the carrier says stop.
const ROOM: usize = 1 << 20;
/// Connections that wait in the kernel until the next pass, which may be a long one.
const BACKLOG: i32 = 1024;

/// Pause before accepting again after the kernel had no file descriptor left.
const PAUSE: Duration = Duration::from_millis(100);

/// Parameters that decide when an outage is detected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeepAlive {
    /// Silence before the first probe, and time between probes; whole seconds.
    pub interval: Duration,
    /// Number of unanswered probes after which the connection is considered dead. Data that stays
    /// unacknowledged for `interval` times `questions` has the same effect.
    pub questions: u32,
}

impl Default for KeepAlive {
    /// Returns parameters that detect an outage after half a minute.
    fn default() -> Self {
        Self { interval: Duration::from_secs(10), questions: 3 }
    }
}

/// One end of the carrier; see the [module](self).
#[derive(Debug)]
pub struct Tcp {
    /// Its timer is for strangers whose time is over, for closed connections whose peers do not
    /// react, and for accepting again after the kernel had no file descriptor left.
    edges: Edges,
    alarm: Alarm,
    listener: Option<TcpListener>,
    identity: Identity,
    proof: Proof,
    keep_alive: KeepAlive,
    links: BTreeMap<Connection, Link>,
    strangers: Strangers,
    origin: Instant,
    /// Connections to process in the next pass: their sockets are ready, or their user has asked
    /// for something that the next pass carries out. Others are not processed, because each costs a
    /// system call and there may be a thousand clients of which one is active.
    due: BTreeSet<Connection>,
    /// When connections must be processed even if nothing happens.
    schedule: Schedule<Connection, Instant>,
    last: u64,
    /// Whether messages are being collected, and the connections that have some.
    gathers: bool,
    gathered: Vec<Connection>,
}

impl Tcp {
    /// Creates a server's end at this address that accepts any client, without authentication.
    ///
    /// # Errors
    /// If the address is not a local one, or in use.
    pub fn server(address: SocketAddr, keep_alive: KeepAlive) -> io::Result<Self> {
        Self::listening(address, Proof::None, keep_alive)
    }

    /// Creates a server's end at this address that accepts these clients, and proves that it has
    /// this key.
    ///
    /// # Errors
    /// If the address is not a local one, or in use.
    pub fn secure_server(
        address: SocketAddr,
        key: &SecretKey,
        allowed: Allowed,
        keep_alive: KeepAlive,
    ) -> io::Result<Self> {
        Self::listening(address, Proof::Server { key: Arc::new(key.clone()), allowed }, keep_alive)
    }

    fn listening(address: SocketAddr, proof: Proof, keep_alive: KeepAlive) -> io::Result<Self> {
        let mut end = Self::new(Identity(Vec::new()), proof, keep_alive)?;
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        // A second `listen`, because the standard library's backlog is shorter.
        rustix::net::listen(&listener, BACKLOG)?;
        end.edges.watch(listener.as_fd(), LISTENER)?;
        end.listener = Some(listener);
        Ok(end)
    }

    /// Creates a client's end that states its identity without proof. [Connect](LastHop::connect)
    /// it to an address written as text: `192.0.2.1:4000` or `[2001:db8::1]:4000`.
    ///
    /// # Errors
    /// If the kernel has no file descriptor left.
    pub fn client(identity: Identity, keep_alive: KeepAlive) -> io::Result<Self> {
        Self::new(identity, Proof::None, keep_alive)
    }

    /// Creates a client's end that proves it has `key`, to the server that has the key `server`.
    ///
    /// # Errors
    /// If the kernel has no file descriptor left.
    pub fn secure_client(key: &SecretKey, server: PublicKey, keep_alive: KeepAlive) -> io::Result<Self> {
        let proof = Proof::Client { key: Arc::new(key.clone()), server };
        Self::new(Identity(Vec::new()), proof, keep_alive)
    }

    fn new(identity: Identity, proof: Proof, keep_alive: KeepAlive) -> io::Result<Self> {
        let (edges, links) = (Edges::new()?, BTreeMap::new());
        let (gathers, gathered) = (false, Vec::new());
        Ok(Self {
            edges,
            alarm: Alarm::default(),
            listener: None,
            identity,
            proof,
            keep_alive,
            links,
            strangers: Strangers::default(),
            origin: Instant::now(),
            due: BTreeSet::new(),
            schedule: Schedule::default(),
            last: 0,
            gathers,
            gathered,
        })
    }

    /// Returns the address where clients are accepted; `None` for a client's end.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.listener.as_ref()?.local_addr().ok()
    }

    fn next(&mut self) -> Connection {
        self.last += 1;
        Connection(self.last)
    }

    /// Accepts waiting clients, as many as may begin in a pass, and returns whether there may be
    /// more. If no file descriptor is left, it tries again after `PAUSE`.
    fn take_clients(&mut self) -> bool {
        self.schedule.set(LISTENER, None);
        for _ in 0..IN_A_PASS {
            let Some(listener) = &self.listener else { return false };
            let (stream, from) = match listener.accept() {
                Ok(come) => come,
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => return false,
                    // The client has gone already.
                    ErrorKind::ConnectionAborted | ErrorKind::Interrupted => continue,
                    // Nothing reports when a file descriptor becomes free again.
                    _ => {
                        self.schedule.set(LISTENER, Some(Instant::now() + PAUSE));
                        return false;
                    }
                },
            };
            let connection = self.next();
            let link = Link::accepted(stream, &self.proof, self.keep_alive);
            if let Ok(link) = link
                && link.descriptor().is_some_and(|fd| self.edges.watch(fd, connection).is_ok())
            {
                self.links.insert(connection, link);
                self.due.insert(connection);
                if let Some(leaves) = self.strangers.come(connection, Source::from(from), strangers::draw) {
                    self.reset(leaves);
                }
            }
        }
        true
    }

    /// Processes a connection, and returns whether there may be more to read already.
    fn look(
        &mut self,
        connection: Connection,
        now: Instant,
        happened: &mut Vec<(Connection, Indication)>,
    ) -> bool {
        let Some(link) = self.links.get_mut(&connection) else { return false };
        let mut indications = Vec::new();
        let mut progress = link.progress(&mut indications);
        let mut again = None;
        if progress != Progress::Over
            && link.is_to_be_reckoned()
            && let Some(source) = self.strangers.source(connection)
        {
            if self.strangers.may_begin(source, now.saturating_duration_since(self.origin)) {
                link.reckons = true;
                progress = link.progress(&mut indications);
            } else {
                again = Some(now + GAP);
            }
        }
        happened.extend(indications.into_iter().map(|indication| (connection, indication)));
        let introduction = (link.stage == Stage::Unknown).then(|| link.since + INTRODUCTION);
        if introduction.is_none() {
            self.strangers.gone(connection);
        }
        if progress == Progress::Over {
            self.remove(connection);
            return false;
        }
        if introduction.is_some_and(|over| over <= now) {
            // Its time is over.
            self.reset(connection);
            return false;
        }
        self.schedule.set(connection, link.deadline().into_iter().chain(introduction).chain(again).min());
        progress == Progress::Hurries
    }

    fn remove(&mut self, connection: Connection) -> Option<Link> {
        self.schedule.set(connection, None);
        self.strangers.gone(connection);
        self.links.remove(&connection)
    }

    /// Marks a connection for the next pass, although its socket reports nothing.
    fn hurry(&mut self, connection: Connection) {
        self.due.insert(connection);
        self.alarm.ring();
    }

    fn connect_to(&mut self, connection: Connection, address: &[u8]) -> io::Result<()> {
        let text = std::str::from_utf8(address).map_err(|_| io::ErrorKind::InvalidInput)?;
        let address: SocketAddr = text.parse().map_err(|_| io::ErrorKind::InvalidInput)?;
        let link = Link::connecting(address, &self.identity, &self.proof, self.keep_alive)?;
        if let Some(fd) = link.descriptor() {
            self.edges.watch(fd, connection)?;
        }
        self.links.insert(connection, link);
        Ok(())
    }
}

impl LastHop for Tcp {
    type Error = io::Error;

    fn register(&mut self, _: Service, _: Provider) -> io::Result<Connection> {
        Ok(self.next())
    }

    fn passive(&mut self, _: Connection) -> io::Result<()> {
        if self.listener.is_some() { Ok(()) } else { Err(io::ErrorKind::Unsupported.into()) }
    }

    fn connect(&mut self, connection: Connection, address: &[u8]) {
        if self.connect_to(connection, address).is_err() {
            self.links.insert(connection, Link::ended(DisconnectReason::Unreachable));
        }
        // Its timer starts in the first pass.
        self.hurry(connection);
    }

    fn accept(&mut self, connection: Connection) {
        if let Some(link) = self.links.get_mut(&connection).filter(|link| link.stage == Stage::Offered) {
            link.stage = Stage::Up;
            link.send(b"", false);
            // Its window is watched from now on.
            self.hurry(connection);
        }
    }

    fn close(&mut self, connection: Connection) {
        if let Some(link) = self.links.get_mut(&connection) {
            link.close();
            // Its timer starts in the next pass.
            self.hurry(connection);
        }
    }

    fn reset(&mut self, connection: Connection) {
        if let Some(link) = self.remove(connection) {
            link.reset();
        }
    }

    fn send(&mut self, connection: Connection, message: &[u8]) -> Handed {
        match self.links.get_mut(&connection) {
            Some(link) => {
                if !link.send(message, self.gathers) {
                    self.gathered.push(connection);
                }
                let handed = link.stop_at(ROOM);
                if link.broken.is_some() {
                    self.hurry(connection);
                }
                handed
            }
            None => Handed::Taken,
        }
    }

    fn receive(&mut self, connection: Connection, wanted: bool) {
        if let Some(link) = self.links.get_mut(&connection) {
            link.wanted = wanted;
        }
        self.hurry(connection);
    }

    fn statistics(&self, connection: Connection) -> Statistics {
        self.links.get(&connection).and_then(Link::statistics).unwrap_or(NOTHING_KNOWN)
    }
}

impl Carrier for Tcp {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.edges.as_fd()
    }

    fn deadline(&self) -> Option<Instant> {
        self.alarm.deadline()
    }

    fn poll(&mut self, happened: &mut Vec<(Connection, Indication)>) {
        self.alarm.silence();
        self.due.extend(self.edges.take());
        let now = Instant::now();
        self.strangers.pass(now.saturating_duration_since(self.origin));
        self.due.extend(self.schedule.all_due(now));
        let mut hurried = BTreeSet::new();
        while let Some(connection) = self.due.pop_first() {
            let is_more = if connection == LISTENER {
                self.take_clients()
            } else {
                self.look(connection, now, happened)
            };
            if is_more {
                hurried.insert(connection);
            }
        }
        self.alarm.set(self.schedule.next());
        if !hurried.is_empty() {
            self.due = hurried;
            self.alarm.ring();
        }
    }

    fn gather(&mut self) {
        self.gathers = true;
    }

    fn flush(&mut self) {
        self.gathers = false;
        for connection in std::mem::take(&mut self.gathered) {
            if let Some(link) = self.links.get_mut(&connection) {
                link.let_go();
                if link.broken.is_some() {
                    self.hurry(connection);
                }
            }
        }
    }
}
