//! Messages over a TCP connection, each behind its length (2 octets or 4): verified and encrypted
//! (`tcp:`), or as they are (`plain:`).
//!
//! The client's first message is who it is, and the server's first is empty and says that it takes
//! the client. `plain:` verifies nothing of that and encrypts nothing: it is what others are
//! compared with, and for networks in which that does not matter. With `tcp:` a Noise handshake
//! comes before, who the client is comes of that, and all behind it is in sealed records.
//!
//! A server keeps at most [`STRANGERS`] connections of which it does not know yet who they are, at
//! most [`OF_ONE_SOURCE`] of one source, each for at most [`INTRODUCTION`] and with at most a
//! kilobyte of what it says; which of them makes room for a new one is left to chance.

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
use crate::wake::{WHOLE, Wake};
use crate::{Allowed, Carrier};
use cover::Proof;
use link::{Link, Progress};
use resoa_protocol::lhp::{
    Connection, Ended, Handed, Identity, Indication, LastHop, Provider, Service, Statistics,
};
use resoa_protocol::schedule::Schedule;
use rustix::fd::{AsFd, BorrowedFd};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Octets that wait to be sent before it says stop.
const ROOM: usize = 1 << 20;
/// Connections that wait in the kernel until the next look, which may be one that has much to do.
const BACKLOG: i32 = 1024;

/// Until a client is looked at again for whom there was no descriptor.
const PAUSE: Duration = Duration::from_millis(100);

/// How an outage is found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeepAlive {
    /// Silence after which the other side is asked whether it is there, and between two questions;
    /// whole seconds.
    pub interval: Duration,
    /// Questions without an answer, or as long without an acknowledgement of what was sent, after
    /// which it is not.
    pub questions: u32,
}

impl Default for KeepAlive {
    /// Half a minute.
    fn default() -> Self {
        Self { interval: Duration::from_secs(10), questions: 3 }
    }
}

/// An end; see the [module](self).
#[derive(Debug)]
pub struct Tcp {
    /// The clock is for strangers whose time is over, for those that have ended and do not hear of
    /// it, and for clients for whom there was no descriptor.
    wake: Wake,
    listener: Option<TcpListener>,
    identity: Identity,
    proof: Proof,
    keep_alive: KeepAlive,
    links: BTreeMap<Connection, Link>,
    strangers: Strangers,
    origin: Instant,
    /// To be looked at: their sockets have something, or their user has said something that the
    /// next look carries out. Nothing else is: a look costs a system call, and there may be a
    /// thousand clients of whom one says something.
    due: BTreeSet<Connection>,
    /// When they are to be looked at, though nothing happens; and what the clock is set for.
    schedule: Schedule<Connection, Instant>,
    armed: Option<Instant>,
    last: u64,
    /// Messages wait to go together; those of these connections.
    gathers: bool,
    gathered: Vec<Connection>,
}

impl Tcp {
    /// A server's end that takes anybody at this address, and verifies nothing.
    ///
    /// # Errors
    /// If it is not this host's, or in use.
    pub fn server(address: SocketAddr, keep_alive: KeepAlive) -> io::Result<Self> {
        Self::listening(address, Proof::None, keep_alive)
    }

    /// A server's end that takes these clients at this address, and proves that it has this key.
    ///
    /// # Errors
    /// If the address is not this host's, or in use.
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
        // Again, since the standard library's queue is shorter.
        rustix::net::listen(&listener, BACKLOG)?;
        end.wake.watch(listener.as_fd(), WHOLE)?;
        end.listener = Some(listener);
        Ok(end)
    }

    /// A client's end that says who it is and proves nothing; the address to
    /// [connect](LastHop::connect) to is written as text, `192.0.2.1:4000` or `[2001:db8::1]:4000`.
    ///
    /// # Errors
    /// If the kernel has no descriptor left.
    pub fn client(identity: Identity, keep_alive: KeepAlive) -> io::Result<Self> {
        Self::new(identity, Proof::None, keep_alive)
    }

    /// A client's end that proves to have this key, to the server that has that one.
    ///
    /// # Errors
    /// If the kernel has no descriptor left.
    pub fn secure_client(key: &SecretKey, server: PublicKey, keep_alive: KeepAlive) -> io::Result<Self> {
        let proof = Proof::Client { key: Arc::new(key.clone()), server };
        Self::new(Identity(Vec::new()), proof, keep_alive)
    }

    fn new(identity: Identity, proof: Proof, keep_alive: KeepAlive) -> io::Result<Self> {
        let (wake, links) = (Wake::new()?, BTreeMap::new());
        let (gathers, gathered) = (false, Vec::new());
        Ok(Self {
            wake,
            listener: None,
            identity,
            proof,
            keep_alive,
            links,
            strangers: Strangers::default(),
            origin: Instant::now(),
            due: BTreeSet::new(),
            schedule: Schedule::default(),
            armed: None,
            last: 0,
            gathers,
            gathered,
        })
    }

    /// Where clients are taken.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.listener.as_ref()?.local_addr().ok()
    }

    fn next(&mut self) -> Connection {
        self.last += 1;
        Connection(self.last)
    }

    /// Takes those who have come, as many as may begin in a pass; whether there may be more. Tries
    /// again after a while if there is no descriptor left for somebody.
    fn take_clients(&mut self) -> bool {
        self.schedule.set(WHOLE, None);
        for _ in 0..IN_A_PASS {
            let Some(listener) = &self.listener else { return false };
            let (stream, from) = match listener.accept() {
                Ok(come) => come,
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => return false,
                    // Who has gone already.
                    ErrorKind::ConnectionAborted | ErrorKind::Interrupted => continue,
                    // That there is one again nobody says.
                    _ => {
                        self.schedule.set(WHOLE, Some(Instant::now() + PAUSE));
                        return false;
                    }
                },
            };
            let connection = self.next();
            let link = Link::accepted(stream, &self.proof, self.keep_alive);
            if let Ok(link) = link
                && link.descriptor().is_some_and(|fd| self.wake.watch(fd, connection).is_ok())
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

    /// Looks at a connection. Whether there may be more to read already.
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
            // It has had its time.
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

    /// It is to be looked at, though nothing has come for it.
    fn hurry(&mut self, connection: Connection) {
        self.due.insert(connection);
        self.wake.ring();
    }

    fn connect_to(&mut self, connection: Connection, address: &[u8]) -> io::Result<()> {
        let text = std::str::from_utf8(address).map_err(|_| io::ErrorKind::InvalidInput)?;
        let address: SocketAddr = text.parse().map_err(|_| io::ErrorKind::InvalidInput)?;
        let link = Link::connecting(address, &self.identity, &self.proof, self.keep_alive)?;
        if let Some(fd) = link.descriptor() {
            self.wake.watch(fd, connection)?;
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
            self.links.insert(connection, Link::ended(Ended::Unreachable));
        }
        // Its time begins with the first look.
        self.hurry(connection);
    }

    fn accept(&mut self, connection: Connection) {
        if let Some(link) = self.links.get_mut(&connection).filter(|link| link.stage == Stage::Offered) {
            link.stage = Stage::Up;
            link.send(b"", false);
            // From now on its window is looked at.
            self.hurry(connection);
        }
    }

    fn close(&mut self, connection: Connection) {
        if let Some(link) = self.links.get_mut(&connection) {
            link.close();
            // Its time begins with the next look.
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
        self.wake.descriptor()
    }

    fn poll(&mut self, happened: &mut Vec<(Connection, Indication)>) {
        self.due.extend(self.wake.take(Duration::ZERO));
        let now = Instant::now();
        self.strangers.pass(now.saturating_duration_since(self.origin));
        self.due.extend(self.schedule.all_due(now));
        let mut hurried = BTreeSet::new();
        while let Some(connection) = self.due.pop_first() {
            let is_more =
                if connection == WHOLE { self.take_clients() } else { self.look(connection, now, happened) };
            if is_more {
                hurried.insert(connection);
            }
        }
        let next = self.schedule.next();
        if let Some(next) = next.filter(|_| next != self.armed) {
            self.wake.set(next.saturating_duration_since(Instant::now()));
        }
        self.armed = next;
        if !hurried.is_empty() {
            self.due = hurried;
            self.wake.ring();
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
