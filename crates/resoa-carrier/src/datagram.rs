//! The Link Layer Protocol over datagrams (`udp:`) and over frames of Ethernet (`ether:`), verified
//! and encrypted.
//!
//! [`packet`] has the layout of what is sent, [`peer`] a connection from its handshake to its end,
//! [`port`] and [`ether`] what it is sent by. This is the loop around them. Connections are known
//! by numbers of their own: whoever has the keys may send from another address, and is answered
//! there.
//!
//! A server keeps at most [`STRANGERS`] connections that have not proved to be there, at most
//! [`OF_ONE_SOURCE`] of one source, each for at most [`INTRODUCTION`]; which of them makes room for
//! a new one is left to chance. [`first`] says what it answers to a first message: nobody is kept
//! out by messages from addresses that are not their sender's.

mod end;
mod ether;
mod first;
mod forgotten;
mod packet;
mod peer;
mod port;
#[cfg(test)]
mod tests;

pub(crate) use forgotten::TICKET;

use crate::keys::{PublicKey, SecretKey};
use crate::llp::Silence;
use crate::strangers::Strangers;
pub use crate::strangers::{INTRODUCTION, OF_ONE_SOURCE, STRANGERS};
use crate::wake::{WHOLE, Wake};
use crate::{Allowed, Carrier};
pub use first::SUSPICIOUS;

use first::Desk;
use packet::Packet;
use peer::Peer;
use port::{Address, Port};
use resoa_protocol::lhp::Connection;
use resoa_protocol::schedule::Schedule;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Packets that are taken in one look.
const LOOK: usize = 512;
/// How long the end of this carrier waits for connections that were closed and are not through.
const FAREWELL: Duration = Duration::from_secs(1);

/// How an outage is found out, and a close is different from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeepAlive {
    /// Silence after which the other side is asked whether it is there.
    pub interval: Duration,
    /// Silence after which it is not.
    pub end: Duration,
}

impl Default for KeepAlive {
    /// Half a minute.
    fn default() -> Self {
        Self { interval: Duration::from_secs(10), end: Duration::from_secs(30) }
    }
}

enum Role {
    Client { server: PublicKey },
    Server(Box<Desk>),
}

/// An end; see the [module](self).
pub struct Datagrams {
    wake: Wake,
    /// When its clock rings.
    armed: Option<Duration>,
    port: Port,
    key: SecretKey,
    role: Role,
    silence: Silence,
    origin: Instant,
    peers: BTreeMap<Connection, Peer>,
    strangers: Strangers,
    /// To be looked at: something has come for them, or their user has said something. Nothing else
    /// is, of which there may be a thousand.
    due: BTreeSet<Connection>,
    /// When they are to be looked at, though nothing happens.
    schedule: Schedule<Connection, Duration>,
    /// By the number that the other side writes.
    numbers: HashMap<u32, Connection>,
    last: u64,
    /// Messages wait to go together, in the same packets as far as they fit; those of these
    /// connections, and how many octets.
    gathers: bool,
    gathered: Vec<Connection>,
    gathered_octets: usize,
    /// For what comes in.
    buffer: Vec<u8>,
}

impl Datagrams {
    /// A server's end that takes these clients at this address.
    ///
    /// # Errors
    /// If it is not this host's, or in use.
    pub fn udp_server(
        address: SocketAddr,
        key: &SecretKey,
        allowed: Allowed,
        keep_alive: KeepAlive,
    ) -> io::Result<Self> {
        Self::server(Port::udp(address)?, key, allowed, keep_alive)
    }

    /// A client's end for the server of this key, which is at an address of the family of `like`.
    /// The address to [connect](LastHop::connect) to is written as text, `192.0.2.1:4000` or
    /// `[2001:db8::1]:4000`.
    ///
    /// # Errors
    /// If the kernel has no descriptor left.
    pub fn udp_client(
        like: SocketAddr,
        key: &SecretKey,
        server: PublicKey,
        keep_alive: KeepAlive,
    ) -> io::Result<Self> {
        let any: SocketAddr = if like.is_ipv4() { ([0; 4], 0).into() } else { ([0_u16; 8], 0).into() };
        Self::new(Port::udp(any)?, key, Role::Client { server }, keep_alive)
    }

    /// A server's end that takes these clients at this interface.
    ///
    /// # Errors
    /// If there is no such interface, or this process may not use it (it needs CAP_NET_RAW).
    pub fn ether_server(
        interface: &str,
        key: &SecretKey,
        allowed: Allowed,
        keep_alive: KeepAlive,
    ) -> io::Result<Self> {
        Self::server(Port::ether(interface)?, key, allowed, keep_alive)
    }

    /// A client's end for the server of this key. The address to [connect](LastHop::connect) to is
    /// written as text, `02:00:00:00:00:01`.
    ///
    /// # Errors
    /// As for [`Self::ether_server`].
    pub fn ether_client(
        interface: &str,
        key: &SecretKey,
        server: PublicKey,
        keep_alive: KeepAlive,
    ) -> io::Result<Self> {
        Self::new(Port::ether(interface)?, key, Role::Client { server }, keep_alive)
    }

    fn server(port: Port, key: &SecretKey, allowed: Allowed, keep_alive: KeepAlive) -> io::Result<Self> {
        Self::new(port, key, Role::Server(Box::new(Desk::new(allowed, key)?)), keep_alive)
    }

    fn new(port: Port, key: &SecretKey, role: Role, keep_alive: KeepAlive) -> io::Result<Self> {
        let wake = Wake::new()?;
        wake.watch(port.descriptor(), WHOLE)?;
        Ok(Self {
            wake,
            armed: None,
            port,
            key: key.clone(),
            role,
            silence: Silence { ask: keep_alive.interval, end: keep_alive.end },
            origin: Instant::now(),
            peers: BTreeMap::new(),
            strangers: Strangers::default(),
            due: BTreeSet::new(),
            schedule: Schedule::default(),
            numbers: HashMap::new(),
            last: 0,
            gathers: false,
            gathered: Vec::new(),
            gathered_octets: 0,
            buffer: vec![0; port::LOOK],
        })
    }

    /// Where clients are taken, over UDP.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.port.address()
    }

    /// Sends from another port from now on, as behind a translator of addresses that has forgotten
    /// us; the other side follows.
    ///
    /// # Errors
    /// If it is not over UDP, or the kernel has no descriptor left.
    pub fn move_to_another_port(&mut self) -> io::Result<()> {
        let mut address = self.address().ok_or(io::ErrorKind::Unsupported)?;
        address.set_port(0);
        let port = Port::udp(address)?;
        self.wake.watch(port.descriptor(), WHOLE)?;
        self.port = port;
        Ok(())
    }

    fn now(&self) -> Duration {
        self.origin.elapsed()
    }

    fn next(&mut self) -> Connection {
        self.last += 1;
        Connection(self.last)
    }

    /// A number by which the other side can address us, that nobody could have guessed. 0 is that
    /// of a connection which never was.
    fn number(&self) -> io::Result<u32> {
        loop {
            let mut octets = [0; 4];
            rustix::rand::getrandom(&mut octets, rustix::rand::GetRandomFlags::empty())?;
            let number = u32::from_ne_bytes(octets);
            if number != 0 && !self.numbers.contains_key(&number) {
                return Ok(number);
            }
        }
    }

    fn remove(&mut self, connection: Connection) {
        self.schedule.set(connection, None);
        self.strangers.gone(connection);
        if let Some(peer) = self.peers.remove(&connection) {
            self.numbers.remove(&peer.ours);
        }
    }

    /// What has come, up to a bound; whether there may be more.
    fn take_packets(&mut self, now: Duration) -> bool {
        self.strangers.pass(now);
        let mut buffer = std::mem::take(&mut self.buffer);
        let (mut found, mut count, mut more) = (Vec::new(), 0, true);
        while more && count < LOOK {
            // An error of a datagram that was sent before is told once, and nothing of those behind
            // it.
            more = self.port.receive(&mut buffer, &mut found).unwrap_or(true);
            count += found.len().max(1);
            for (place, from) in found.drain(..) {
                self.packet(&buffer[place], from, now);
            }
        }
        self.buffer = buffer;
        more
    }

    fn packet(&mut self, octets: &[u8], from: Address, now: Duration) {
        let Some(packet) = Packet::read(octets) else { return };
        match packet {
            Packet::First { theirs, cookie, first } => self.first(theirs, cookie, first, from, now),
            Packet::Known { ours, theirs, name } => {
                if !self.numbers.contains_key(&ours)
                    && let Role::Server(desk) = &mut self.role
                    && let Some(token) = desk.tokens.answer(ours, name, now)
                {
                    self.port.send(from, &Packet::Unknown { ours: theirs, token: &token }.octets());
                }
            }
            Packet::Answer { ours, .. }
            | Packet::Cookie { ours, .. }
            | Packet::Sealed { ours, .. }
            | Packet::Unknown { ours, .. } => {
                let Some(&connection) = self.numbers.get(&ours) else { return };
                if let Some(peer) = self.peers.get_mut(&connection) {
                    self.due.insert(connection);
                    peer.packet(&packet, from, self.port.rooms(), self.silence, now);
                    if !peer.is_stranger() {
                        self.strangers.gone(connection);
                    }
                }
            }
        }
    }

    fn connect_to(&mut self, connection: Connection, address: &[u8], now: Duration) -> Option<()> {
        let Role::Client { server } = self.role else { return None };
        let address = self.port.read_address(std::str::from_utf8(address).ok()?)?;
        let ours = self.number().ok()?;
        let peer = Peer::asking(ours, address, &self.key, server, self.silence, now)?;
        self.numbers.insert(ours, connection);
        self.peers.insert(connection, peer);
        Some(())
    }

    /// Sends what a connection has to send, and sees to it that the clock rings for what it has to
    /// do later.
    fn pump(&mut self, connection: Connection, now: Duration) {
        let Some(peer) = self.peers.get_mut(&connection) else { return };
        peer.transmit(&mut self.port, now);
        self.schedule.set(connection, peer.deadline());
        self.due.insert(connection);
        self.arm(self.schedule.next(), now);
    }

    /// Sends what has waited to go together.
    fn let_go(&mut self, now: Duration) {
        self.gathered_octets = 0;
        for connection in std::mem::take(&mut self.gathered) {
            self.pump(connection, now);
        }
    }

    fn arm(&mut self, due: Option<Duration>, now: Duration) {
        let Some(due) = due else { return };
        if self.armed.is_none_or(|armed| due < armed) {
            self.armed = Some(due);
            self.wake.set(due.saturating_sub(now));
        }
    }
}

impl Drop for Datagrams {
    /// The other sides of connections that are there are told that they are no more. For those that
    /// were closed it takes some time to send what is left.
    fn drop(&mut self) {
        for peer in self.peers.values_mut() {
            if !peer.is_closing()
                && let Some(machine) = peer.machine()
            {
                machine.reset();
            }
        }
        self.due.extend(self.peers.keys());
        let begin = Instant::now();
        loop {
            self.poll(&mut Vec::new());
            let left = FAREWELL.saturating_sub(begin.elapsed());
            if left.is_zero() || !self.peers.values().any(Peer::is_closing) {
                return;
            }
            self.wake.take(left);
        }
    }
}

/// A packet that was read, written again.
#[cfg(feature = "fuzz")]
pub(crate) fn read_again(octets: &[u8]) -> Option<Vec<u8>> {
    Packet::read(octets).map(|packet| packet.octets())
}
