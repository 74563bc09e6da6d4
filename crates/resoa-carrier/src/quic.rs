//! Messages over QUIC (RFC 9000): authenticated by the keys of both ends, and encrypted. A loss on
//! one socket does not delay other sockets.
//!
//! ```text
//!              ┌ control ─ introduction (Noise, bound to the TLS session), then: taken, room, the end
//!  connection ─┤
//!              └ lanes 0..255, each way ─ the messages of the sockets whose number ends so, each with its number and those it stays behind
//! ```
//!
//! * [`session`]: QUIC's settings and its TLS, which authenticates nobody. [`introduction`]:
//!   authentication, and why it is sound.
//! * [`outgoing`], [`incoming`], [`wire`]: messages in both directions. As with `udp:`, the sender
//!   decides for each message which others it must follow ([`order`](crate::order)), and the
//!   receiver enforces this ([`sequence`](crate::sequence)). Lanes only isolate losses. So there
//!   are few lanes, which stay open, and any number of sockets.
//! * [`link`]: a connection. [`socket`]: datagrams. [`turn`]: the pass of the loop, which connects
//!   the two.
//!
//! The protocol's state machine is quinn-proto, which has neither threads nor a runtime. Everything
//! happens in [`poll`](Carrier::poll), as with the other carriers.
//!
//! A client's address may change: the connection has an ID and goes on. A server keeps no state for
//! a client before the client has proved its address (QUIC's retry). After that it keeps at most
//! [`STRANGERS`](crate::tcp::STRANGERS) connections whose clients it does not know yet, at most
//! [`OF_ONE_SOURCE`](crate::tcp::OF_ONE_SOURCE) of one source. Each may take
//! [`INTRODUCTION`](crate::tcp::INTRODUCTION) at most, and send a few kilobytes at most. If there
//! is no room for a new one, a random one of them is dropped.

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
use crate::udp::{DATAGRAM, headers, route_mtu};
use crate::waiting::wait_for;
use crate::wake::Alarm;
use crate::{Allowed, Carrier};
use link::Link;
use quinn_proto::{ClientConfig, ConnectionHandle, Endpoint};
use resoa_protocol::lhp::{
    Connection, DisconnectReason, Handed, Indication, LastHop, Provider, Service, Statistics,
};
use rustix::fd::BorrowedFd;
use socket::Socket;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Bytes of messages, each plus a fixed cost, that are kept because the user does not take them or
/// an earlier message is missing.
const ROOM: u64 = 4 << 20;
/// Bytes waiting to be sent at which the carrier says stop.
const WAITING: usize = 1 << 20;
/// Lanes in each direction. This many sockets with consecutive numbers share none.
const LANES: usize = 256;
/// How long dropping this end waits for closed connections that still have data to deliver.
const LINGER: Duration = Duration::from_secs(1);
/// Receive calls before the user is told of the messages.
const LOOKS: usize = 8;

/// The lane of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Lane(usize);

impl Lane {
    /// Chooses the lane by the last byte of the socket's number.
    fn of(message: &[u8]) -> Self {
        Self(message.get(6).map_or(0, |&last| usize::from(last)))
    }
}

/// The role of an end.
#[derive(Debug)]
enum Role {
    Server { allowed: Allowed },
    Client { server: PublicKey, config: Box<ClientConfig> },
}

/// One end of the carrier; see the [module](self).
#[derive(Debug)]
pub struct Quic {
    alarm: Alarm,
    socket: Socket,
    endpoint: Endpoint,
    role: Role,
    key: Arc<SecretKey>,
    /// Connections by quinn's handle, which may be reused later; and the handles of those that our
    /// user knows.
    links: BTreeMap<ConnectionHandle, Link>,
    handles: HashMap<Connection, ConnectionHandle>,
    strangers: Strangers,
    origin: Instant,
    /// Connections to be dropped, whatever the other side may still send.
    forgotten: Vec<ConnectionHandle>,
    /// Connections that failed at once.
    failed: Vec<(Connection, DisconnectReason)>,
    last: u64,
    /// Whether messages are being collected, and whether there are any.
    gathers: bool,
    gathered: bool,
    /// Silence that counts as an outage.
    silence: Duration,
}

impl Quic {
    /// Creates a server's end at this address that accepts these clients, and proves that it has
    /// this key.
    ///
    /// # Errors
    /// If the address is not a local one, or in use.
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
        Ok(Self::new(socket, endpoint, Role::Server { allowed }, key, keep_alive))
    }

    /// Creates a client's end that proves it has `key`, to the server that has the key `server`.
    /// `address` is the local address, usually an unspecified one of the server's family.
    /// [Connect](LastHop::connect) to an address written as text: `192.0.2.1:4000` or
    /// `[2001:db8::1]:4000`.
    ///
    /// # Errors
    /// If the address is not a local one, or if the kernel has no file descriptor left.
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
        Ok(Self::new(socket, endpoint, Role::Client { server, config }, key, keep_alive))
    }

    fn new(socket: Socket, endpoint: Endpoint, role: Role, key: &SecretKey, keep_alive: KeepAlive) -> Self {
        Self {
            alarm: Alarm::default(),
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
        }
    }

    /// Returns the local address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.socket.address()
    }

    /// Returns the number of connections for which state is kept, whether the user knows of them or
    /// not.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.links.len()
    }

    /// Sends from another port from now on, as if a NAT had forgotten the old mapping. The other
    /// side follows.
    ///
    /// # Errors
    /// If the kernel has no file descriptor left.
    pub fn move_to_another_port(&mut self) -> io::Result<()> {
        let mut address = self.address();
        address.set_port(0);
        self.socket = Socket::bind(address)?;
        for link in self.links.values_mut() {
            // As after a change of the interface: packets of the other side reach nobody until it
            // has heard from us.
            link.quic.local_address_changed();
        }
        self.alarm.ring();
        Ok(())
    }

    fn next(&mut self) -> Connection {
        self.last += 1;
        Connection(self.last)
    }

    fn link(&mut self, connection: Connection) -> Option<&mut Link> {
        self.links.get_mut(self.handles.get(&connection)?)
    }

    fn connect_to(&mut self, connection: Connection, address: &[u8]) -> Result<(), DisconnectReason> {
        let Role::Client { server, config } = &self.role else { return Err(DisconnectReason::Unreachable) };
        let address = std::str::from_utf8(address).ok().and_then(|text| text.parse::<SocketAddr>().ok());
        let address = address.ok_or(DisconnectReason::Unreachable)?;
        if route_mtu(address).is_some_and(|mtu| mtu < DATAGRAM + headers(address)) {
            return Err(DisconnectReason::MtuTooSmall);
        }
        // TLS requires a name that it can parse. The name is not sent.
        let begun = self.endpoint.connect(Instant::now(), (**config).clone(), address, "lasthop");
        let (handle, quic) = begun.map_err(|_| DisconnectReason::Unreachable)?;
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
        // A previous connection of this number is over.
        self.reset(connection);
        if let Err(why) = self.connect_to(connection, address) {
            self.failed.push((connection, why));
        }
        self.alarm.ring();
    }

    fn accept(&mut self, connection: Connection) {
        if let Some(link) = self.link(connection) {
            link.accept();
            self.alarm.ring();
        }
    }

    fn close(&mut self, connection: Connection) {
        if let Some(link) = self.link(connection) {
            link.close(Instant::now());
            self.alarm.ring();
        }
    }

    fn reset(&mut self, connection: Connection) {
        if let Some(link) = self.link(connection) {
            link.reset(Instant::now());
            self.alarm.ring();
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
            self.alarm.ring();
        }
    }

    fn statistics(&self, connection: Connection) -> Statistics {
        let link = self.handles.get(&connection).and_then(|handle| self.links.get(handle));
        link.map_or(NOTHING_KNOWN, |link| link.statistics(Instant::now()))
    }
}

impl Carrier for Quic {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.descriptor()
    }

    fn deadline(&self) -> Option<Instant> {
        self.alarm.deadline()
    }

    fn poll(&mut self, happened: &mut Vec<(Connection, Indication)>) {
        self.turn(happened);
    }

    fn gather(&mut self) {
        self.gathers = true;
    }

    /// All messages handed over until the next pass are sent together, in that pass.
    fn flush(&mut self) {
        self.gathers = false;
        if std::mem::take(&mut self.gathered) {
            self.alarm.ring();
        }
    }
}

/// Runs a script of pieces of streams, for the fuzz target: the stream (255 is the control stream),
/// the length of the piece, and its bytes.
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
    /// Delivers what was handed over to closed connections, if that does not take long. The peers
    /// of all others are told, as far as one datagram does it.
    fn drop(&mut self) {
        let begin = Instant::now();
        while begin.elapsed() < LINGER && self.links.values().any(|link| link.stage == Stage::Closing) {
            self.poll(&mut Vec::new());
            wait_for(&[&*self], LINGER.saturating_sub(begin.elapsed()));
        }
        let now = Instant::now();
        for link in self.links.values_mut() {
            link.reset(now);
        }
        self.transmit(now);
    }
}
