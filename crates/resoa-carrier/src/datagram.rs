//! The Link Layer Protocol over datagrams (`udp:`) and over Ethernet frames (`ether:`),
//! authenticated and encrypted.
//!
//! [`packet`] has the layout of packets, [`peer`] a connection from its handshake to its end, and
//! [`port`] and [`ether`] the sockets. This module is the loop around them. A connection is
//! identified by a number: a peer that has the keys may send from another address, and is answered
//! there.
//!
//! A server keeps at most [`STRANGERS`] connections whose clients have not confirmed their presence
//! yet, at most [`OF_ONE_SOURCE`] of one source, and each for at most [`INTRODUCTION`]. If there is
//! no room for a new one, a random one of them is dropped. [`first`] describes the answers to first
//! messages: messages from forged addresses keep no client out.

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
use crate::waiting::wait_for;
use crate::wake::Alarm;
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

/// Packets after which a pass stops receiving.
const LOOK: usize = 512;
/// How long dropping this carrier waits for closed connections that still have data to send.
const FAREWELL: Duration = Duration::from_secs(1);

/// Parameters that decide when an outage is detected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeepAlive {
    /// Silence after which the other side is probed.
    pub interval: Duration,
    /// Silence after which the connection ends.
    pub end: Duration,
}

impl Default for KeepAlive {
    /// Returns parameters that detect an outage after half a minute.
    fn default() -> Self {
        Self { interval: Duration::from_secs(10), end: Duration::from_secs(30) }
    }
}

enum Role {
    Client { server: PublicKey },
    Server(Box<Desk>),
}

/// One end of the carrier; see the [module](self).
pub struct Datagrams {
    alarm: Alarm,
    port: Port,
    key: SecretKey,
    role: Role,
    silence: Silence,
    origin: Instant,
    peers: BTreeMap<Connection, Peer>,
    strangers: Strangers,
    /// Connections to process in the next pass: packets have arrived for them, or their user has
    /// called. Others are not processed, because there may be a thousand.
    due: BTreeSet<Connection>,
    /// When connections must be processed even if nothing happens.
    schedule: Schedule<Connection, Duration>,
    /// Connections by the number that the other side writes into its packets.
    numbers: HashMap<u32, Connection>,
    last: u64,
    /// Whether messages are being collected to share packets; the connections that have some, and
    /// how many bytes.
    gathers: bool,
    gathered: Vec<Connection>,
    gathered_octets: usize,
    /// Buffer for received packets.
    buffer: Vec<u8>,
}

impl Datagrams {
    /// Creates a server's end at this address that accepts these clients.
    ///
    /// # Errors
    /// If the address is not a local one, or in use.
    pub fn udp_server(
        address: SocketAddr,
        key: &SecretKey,
        allowed: Allowed,
        keep_alive: KeepAlive,
    ) -> io::Result<Self> {
        Self::server(Port::udp(address)?, key, allowed, keep_alive)
    }

    /// Creates a client's end for the server with this key. The server's address has the family of
    /// `like`. [Connect](resoa_protocol::lhp::LastHop::connect) to an address written as text:
    /// `192.0.2.1:4000` or `[2001:db8::1]:4000`.
    ///
    /// # Errors
    /// If the kernel has no file descriptor left.
    pub fn udp_client(
        like: SocketAddr,
        key: &SecretKey,
        server: PublicKey,
        keep_alive: KeepAlive,
    ) -> io::Result<Self> {
        let any: SocketAddr = if like.is_ipv4() { ([0; 4], 0).into() } else { ([0_u16; 8], 0).into() };
        Ok(Self::new(Port::udp(any)?, key, Role::Client { server }, keep_alive))
    }

    /// Creates a server's end at this interface that accepts these clients.
    ///
    /// # Errors
    /// If there is no such interface, or if this process may not use it (it needs CAP_NET_RAW).
    pub fn ether_server(
        interface: &str,
        key: &SecretKey,
        allowed: Allowed,
        keep_alive: KeepAlive,
    ) -> io::Result<Self> {
        Self::server(Port::ether(interface)?, key, allowed, keep_alive)
    }

    /// Creates a client's end for the server with this key.
    /// [Connect](resoa_protocol::lhp::LastHop::connect) to an address written as text:
    /// `02:00:00:00:00:01`.
    ///
    /// # Errors
    /// As for [`Self::ether_server`].
    pub fn ether_client(
        interface: &str,
        key: &SecretKey,
        server: PublicKey,
        keep_alive: KeepAlive,
    ) -> io::Result<Self> {
        Ok(Self::new(Port::ether(interface)?, key, Role::Client { server }, keep_alive))
    }

    fn server(port: Port, key: &SecretKey, allowed: Allowed, keep_alive: KeepAlive) -> io::Result<Self> {
        Ok(Self::new(port, key, Role::Server(Box::new(Desk::new(allowed, key)?)), keep_alive))
    }

    fn new(port: Port, key: &SecretKey, role: Role, keep_alive: KeepAlive) -> Self {
        Self {
            alarm: Alarm::default(),
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
        }
    }

    /// Returns the local UDP address, where a server accepts clients; `None` over Ethernet.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.port.address()
    }

    /// Sends from another port from now on, as if a NAT had forgotten the old mapping. The other
    /// side follows.
    ///
    /// # Errors
    /// If this end does not use UDP, or if the kernel has no file descriptor left.
    pub fn move_to_another_port(&mut self) -> io::Result<()> {
        let mut address = self.address().ok_or(io::ErrorKind::Unsupported)?;
        address.set_port(0);
        self.port = Port::udp(address)?;
        Ok(())
    }

    fn now(&self) -> Duration {
        self.origin.elapsed()
    }

    fn next(&mut self) -> Connection {
        self.last += 1;
        Connection(self.last)
    }

    /// Returns an unpredictable number by which the other side can address us. 0 is reserved for
    /// connections that never existed.
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

    /// Receives packets, up to a bound.
    fn take_packets(&mut self, now: Duration) {
        self.strangers.pass(now);
        let mut buffer = std::mem::take(&mut self.buffer);
        let (mut found, mut count, mut more) = (Vec::new(), 0, true);
        while more && count < LOOK {
            // The error of an earlier datagram is reported once, and says nothing about those
            // behind it.
            more = self.port.receive(&mut buffer, &mut found).unwrap_or(true);
            count += found.len().max(1);
            for (place, from) in found.drain(..) {
                self.packet(&buffer[place], from, now);
            }
        }
        self.buffer = buffer;
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
                    peer.packet(&packet, from, &self.port, self.silence, now);
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

    /// Sends what a connection has to send, and sets the timer for what it has to do later.
    fn pump(&mut self, connection: Connection, now: Duration) {
        let Some(peer) = self.peers.get_mut(&connection) else { return };
        peer.transmit(&mut self.port, now);
        self.schedule.set(connection, peer.deadline());
        self.due.insert(connection);
        self.wait();
    }

    /// Sends the messages that were collected.
    fn let_go(&mut self, now: Duration) {
        self.gathered_octets = 0;
        for connection in std::mem::take(&mut self.gathered) {
            self.pump(connection, now);
        }
    }

    /// Makes the next wait end for the next connection that has something to do.
    fn wait(&mut self) {
        let due = self.schedule.next().map(|due| self.origin + due);
        self.alarm.set_or_retry(due, self.port.is_full());
    }
}

impl Drop for Datagrams {
    /// Resets the connections that are open. For those that were closed, it waits a short time to
    /// send their remaining data.
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
            wait_for(&[&*self], left);
        }
    }
}

/// Reads a packet and writes it again.
#[cfg(feature = "fuzz")]
pub(crate) fn read_again(octets: &[u8]) -> Option<Vec<u8>> {
    Packet::read(octets).map(|packet| packet.octets())
}
