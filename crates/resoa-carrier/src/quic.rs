//! Messages over QUIC (RFC 9000), in datagrams of UDP: verified by the keys of both ends,
//! encrypted, and sockets do not wait for each other's losses.
//!
//! ```text
//!              ┌ control ─ introduction (Noise, bound to the TLS session), then: taken, room, the end
//!  connection ─┤
//!              └ lanes 0..255, each way ─ the messages of the sockets whose number ends so, each with its number and those it stays behind
//! ```
//!
//! * [`session`]: QUIC's settings and its TLS, which proves nobody. [`introduction`]: who is there,
//!   and why that is sound.
//! * [`outgoing`], [`incoming`], [`wire`]: messages, there and back. In which order they may be
//!   passed on is decided by the sender ([`order`](crate::order)), message by message, and kept to
//!   by the receiver ([`sequence`](crate::sequence)), as `udp:` does it; a lane only keeps losses
//!   apart. So there are few lanes, they stay open, and any number of sockets.
//! * [`link`]: a connection. [`socket`]: datagrams. [`turn`]: what happens between the two.
//!
//! The protocol's machine is that of quinn (quinn-proto), which has neither threads nor a runtime:
//! all happens in [`poll`](Carrier::poll), as with the other carriers.
//!
//! A client's address may change: the connection is known by its own name, and goes on. A server
//! keeps nothing of a client before its address has been shown to be its own (QUIC's retry), then
//! at most [`STRANGERS`](crate::tcp::STRANGERS) of which it does not know who they are, at most
//! [`OF_ONE_SOURCE`](crate::tcp::OF_ONE_SOURCE) of one source, each for at most
//! [`INTRODUCTION`](crate::tcp::INTRODUCTION) and with at most a few kilobytes; which of them makes
//! room for a new one is left to chance.

#[cfg(feature = "fuzz")]
pub(crate) mod handshake;
#[cfg(test)]
mod in_between;
mod incoming;
mod introduction;
mod link;
mod outgoing;
mod session;
mod socket;
#[cfg(test)]
mod tests;
mod turn;
mod wire;

pub use session::Congestion;

use crate::keys::{PublicKey, SecretKey};
use crate::stage::{NOTHING_KNOWN, Stage};
use crate::strangers::Strangers;
use crate::tcp::KeepAlive;
use crate::wake::{WHOLE, Wake};
use crate::{Allowed, Carrier};
use link::Link;
use quinn_proto::{ClientConfig, ConnectionHandle, Endpoint};
use resoa_protocol::lhp::{Connection, Handed, Indication, LastHop, Provider, Service, Statistics};
use rustix::fd::BorrowedFd;
use socket::Socket;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Octets of messages, and what each takes beside, that are kept for a user who does not take them,
/// or because something before them is missing.
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
    wake: Wake,
    socket: Socket,
    endpoint: Endpoint,
    role: Role,
    key: Arc<SecretKey>,
    /// By quinn's name, which may be another's later; and that of those of which our user knows.
    links: BTreeMap<ConnectionHandle, Link>,
    handles: HashMap<Connection, ConnectionHandle>,
    strangers: Strangers,
    origin: Instant,
    /// Connections that are to be dropped, whatever the other side has still to say.
    forgotten: Vec<ConnectionHandle>,
    /// Connections that came to nothing at once.
    failed: Vec<Connection>,
    last: u64,
    /// Messages wait to go together; there are some.
    gathers: bool,
    gathered: bool,
    /// Silence that is an outage.
    silence: Duration,
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
        let endpoint = Endpoint::new(session::endpoint_of(key), Some(config), !socket.may_fragment(), None);
        Self::new(socket, endpoint, Role::Server { allowed }, key, keep_alive)
    }

    /// A client's end at this address, most often an unspecified one of the server's family, that
    /// proves to have this key, to the server that has that one. The address to
    /// [connect](LastHop::connect) to is written as text, `192.0.2.1:4000` or `[2001:db8::1]:4000`.
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
        Self::new(socket, endpoint, Role::Client { server, config }, key, keep_alive)
    }

    fn new(
        socket: Socket,
        endpoint: Endpoint,
        role: Role,
        key: &SecretKey,
        keep_alive: KeepAlive,
    ) -> io::Result<Self> {
        let wake = Wake::new()?;
        wake.watch(socket.descriptor(), WHOLE)?;
        Ok(Self {
            wake,
            socket,
            endpoint,
            role,
            key: Arc::new(key.clone()),
            links: BTreeMap::new(),
            handles: HashMap::new(),
            strangers: Strangers::default(),
            origin: Instant::now(),
            forgotten: Vec::new(),
            failed: Vec::new(),
            last: 0,
            gathers: false,
            gathered: false,
            silence: keep_alive.interval * keep_alive.questions,
        })
    }

    /// Its own address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.socket.address()
    }

    /// Connections of which something is kept, known or not.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.links.len()
    }

    /// Sends from another port from now on, as behind a translator of addresses that has forgotten
    /// us; the other side follows.
    ///
    /// # Errors
    /// If the kernel has no descriptor left.
    pub fn move_to_another_port(&mut self) -> io::Result<()> {
        let mut address = self.address();
        address.set_port(0);
        let socket = Socket::bind(address)?;
        self.wake.watch(socket.descriptor(), WHOLE)?;
        self.socket = socket;
        for link in self.links.values_mut() {
            // As after a change of the interface: the other side's word comes to nobody until it
            // has heard of us.
            link.quic.local_address_changed();
        }
        self.wake.ring();
        Ok(())
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
        let link = Link::client(connection, quic, Arc::clone(&self.key), *server, self.silence);
        self.handles.insert(connection, handle);
        self.links.insert(handle, link);
        Ok(())
    }
}

impl LastHop for Quic {
    type Error = io::Error;

    fn register(&mut self, _: Service, _: Provider) -> io::Result<Connection> {
        Ok(self.next())
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
        self.wake.ring();
    }

    fn accept(&mut self, connection: Connection) {
        if let Some(link) = self.link(connection) {
            link.accept();
            self.wake.ring();
        }
    }

    fn close(&mut self, connection: Connection) {
        if let Some(link) = self.link(connection) {
            link.close(Instant::now());
            self.wake.ring();
        }
    }

    fn reset(&mut self, connection: Connection) {
        if let Some(link) = self.link(connection) {
            link.reset(Instant::now());
            self.wake.ring();
        }
    }

    fn send(&mut self, connection: Connection, message: &[u8]) -> Handed {
        let Some(link) = self.link(connection) else { return Handed::Taken };
        let handed = link.send(message);
        self.gathered = true;
        if !self.gathers {
            self.flush();
        }
        handed
    }

    fn send_or_lose(&mut self, connection: Connection, message: &[u8], waited: Duration) -> Handed {
        let Some(link) = self.link(connection) else { return Handed::Taken };
        let handed = link.send_or_lose(message, waited, Instant::now());
        self.gathered = true;
        if !self.gathers {
            self.flush();
        }
        handed
    }

    fn receive(&mut self, connection: Connection, wanted: bool) {
        if let Some(link) = self.link(connection) {
            link.wanted = wanted;
            self.wake.ring();
        }
    }

    fn statistics(&self, connection: Connection) -> Statistics {
        let link = self.handles.get(&connection).and_then(|handle| self.links.get(handle));
        link.map_or(NOTHING_KNOWN, |link| link.statistics(Instant::now()))
    }
}

impl Carrier for Quic {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.wake.descriptor()
    }

    fn poll(&mut self, happened: &mut Vec<(Connection, Indication)>) {
        self.turn(happened);
    }

    fn gather(&mut self) {
        self.gathers = true;
    }

    /// They go with the next turn, which all that is handed over until then does.
    fn flush(&mut self) {
        self.gathers = false;
        if std::mem::take(&mut self.gathered) {
            self.wake.ring();
        }
    }
}

/// What stands on streams, by a script of pieces: the stream (255 is the control stream), how much
/// of it comes, and the octets.
#[cfg(feature = "fuzz")]
pub(crate) fn script(octets: &[u8]) {
    let (mut incoming, mut control, mut rest) = (incoming::Incoming::new(), Vec::new(), octets);
    while let Some((&[lane, count], behind)) = rest.split_first_chunk() {
        let (octets, behind) = behind.split_at(usize::from(count).min(behind.len()));
        rest = behind;
        if lane == u8::MAX {
            control.extend(octets);
            while let Ok(Some((_, length))) = wire::Frame::read(&control) {
                control.drain(..length);
            }
            continue;
        }
        let stream =
            quinn_proto::StreamId::new(quinn_proto::Side::Client, quinn_proto::Dir::Uni, (lane % 4).into());
        if incoming.heard(stream, octets).is_err() {
            return;
        }
        if lane & 4 == 0 {
            while incoming.take().is_some() {}
            let _ = incoming.report();
        }
    }
}

impl Drop for Quic {
    /// What was handed over to connections that are closed is delivered, if that does not take
    /// long. The other sides of the rest are told, as far as one datagram does it.
    fn drop(&mut self) {
        let begin = Instant::now();
        while begin.elapsed() < LINGER && self.links.values().any(|link| link.stage == Stage::Closing) {
            self.poll(&mut Vec::new());
            self.wake.take(LINGER.saturating_sub(begin.elapsed()));
        }
        let now = Instant::now();
        for link in self.links.values_mut() {
            link.reset(now);
        }
        self.transmit(now);
    }
}
