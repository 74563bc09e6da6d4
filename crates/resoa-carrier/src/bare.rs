//! Messages in datagrams as they are, for hops whose link layer loses nothing and keeps the order:
//! the thesis's own setting, with its Link Layer Protocol below (resoa-evaluation 4.3).
//!
//! Nothing is sent again, authenticated or encrypted, and an outage is not noticed. A lost datagram
//! ends the delivery of messages for good, so a hop must not lose any.
//!
//! | first byte | datagram | rest |
//! |---|---|---|
//! | 0 | a client introduces itself | its identity |
//! | 1 | the server accepts it | |
//! | 2 | a part of a message, and more follow | its bytes |
//! | 3 | the last part | its bytes |
//! | 4 | the receiver's user has taken bytes | their number (4 bytes) |
//! | 5 | the end: closed | |
//! | 6 | the end: reset, or refused | |

use crate::Carrier;
use crate::udp::enlarge;
use crate::wake::Alarm;
use resoa_protocol::lhp::{
    Connection, DisconnectReason, Handed, Identity, Indication, LastHop, Provider, Service, Statistics,
};
use rustix::fd::{AsFd, BorrowedFd};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

/// Bytes that a user may have handed over before the other side's user has taken them. The kernel's
/// buffers at both ends have room for more.
const ROOM: usize = 1 << 20;
/// Bytes taken that are reported together.
const REPORT: usize = ROOM / 4;
/// Time after which a server that does not answer is unreachable.
const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes of UDP that fit into the Ethernet MTU, by IPv4 and by IPv6.
const FITS: [usize; 2] = [1500 - 20 - 8, 1500 - 40 - 8];

const HELLO: u8 = 0;
const WELCOME: u8 = 1;
const PART: u8 = 2;
const LAST: u8 = 3;
const TAKEN: u8 = 4;
const CLOSED: u8 = 5;
const RESET: u8 = 6;

/// One end of the carrier; see the [module](self).
pub struct Bare {
    alarm: Alarm,
    socket: UdpSocket,
    /// `None` for a server.
    identity: Option<Identity>,
    links: BTreeMap<Connection, Link>,
    last: u64,
    /// Datagrams for which the kernel has no room at the moment.
    waiting: VecDeque<(SocketAddr, Vec<u8>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Registered, and nothing more.
    Registered,
    /// The client waits for the server's answer since then.
    Asking(Instant),
    /// The server's user has not decided yet.
    Offered,
    Up,
    Gone,
}

#[derive(Debug)]
struct Link {
    stage: Stage,
    peer: Option<SocketAddr>,
    /// Bytes handed over that the other side's user has not taken, as far as known.
    in_flight: usize,
    /// Our user was told to stop.
    full: bool,
    /// Bytes that our user has taken since the last report.
    taken: usize,
    /// Whether our user wants messages.
    wanted: bool,
    /// The parts of a message that have arrived.
    parts: Vec<u8>,
    /// What our user will be told, in order.
    told: VecDeque<Indication>,
}

impl Link {
    fn new(stage: Stage, peer: Option<SocketAddr>) -> Self {
        let (parts, told) = (Vec::new(), VecDeque::new());
        Self { stage, peer, in_flight: 0, full: false, taken: 0, wanted: true, parts, told }
    }

    /// Ends the connection; our user is told after the messages that have arrived.
    fn end(&mut self, why: DisconnectReason) {
        if self.stage != Stage::Gone {
            self.stage = Stage::Gone;
            self.told.push_back(Indication::Disconnected(why));
        }
    }
}

impl Bare {
    /// Creates a server's end at this address.
    ///
    /// # Errors
    /// If the address is not a local one, or in use.
    pub fn server(address: SocketAddr) -> io::Result<Self> {
        Self::new(address, None)
    }

    /// Creates a client's end for a server whose address has the family of `like`.
    ///
    /// # Errors
    /// If the kernel has no file descriptor left.
    pub fn client(like: SocketAddr, identity: Identity) -> io::Result<Self> {
        let any: IpAddr =
            if like.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        Self::new((any, 0).into(), Some(identity))
    }

    fn new(address: SocketAddr, identity: Option<Identity>) -> io::Result<Self> {
        let socket = UdpSocket::bind(address)?;
        socket.set_nonblocking(true)?;
        enlarge(socket.as_fd());
        let (links, waiting) = (BTreeMap::new(), VecDeque::new());
        Ok(Self { alarm: Alarm::default(), socket, identity, links, last: 0, waiting })
    }

    /// Returns the local address.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.socket.local_addr().ok()
    }

    fn add(&mut self, link: Link) -> Connection {
        self.last += 1;
        let connection = Connection(self.last);
        self.links.insert(connection, link);
        connection
    }

    /// Sends a datagram after those that wait.
    fn put(&mut self, peer: SocketAddr, kind: u8, rest: &[u8]) {
        let mut datagram = Vec::with_capacity(1 + rest.len());
        datagram.push(kind);
        datagram.extend_from_slice(rest);
        self.waiting.push_back((peer, datagram));
        self.send_waiting();
    }

    fn send_waiting(&mut self) {
        while let Some((peer, datagram)) = self.waiting.front() {
            match self.socket.send_to(datagram, peer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return self.wait(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // What cannot be sent for another reason is lost, as on the way.
                Ok(_) | Err(_) => drop(self.waiting.pop_front()),
            }
        }
    }

    /// Ends a wait when the patience for a server ends, or when the kernel may take more.
    fn wait(&mut self) {
        let ends = self.links.values().filter_map(|link| match link.stage {
            Stage::Asking(since) => Some(since + PATIENCE),
            _ => None,
        });
        self.alarm.set_or_retry(ends.min(), !self.waiting.is_empty());
    }

    /// Ends a connection for the other side, which is told `kind`.
    fn leave(&mut self, connection: Connection, kind: u8) {
        let Some(link) = self.links.get_mut(&connection).filter(|link| link.stage != Stage::Gone) else {
            return;
        };
        link.stage = Stage::Gone;
        if kind == RESET {
            link.told.clear();
        }
        if let Some(peer) = link.peer {
            self.put(peer, kind, &[]);
        }
    }

    fn receive_all(&mut self) {
        let mut room = vec![0; 1 << 16];
        loop {
            match self.socket.recv_from(&mut room) {
                Ok((length, peer)) => self.came(peer, &room[..length]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // An ICMP error about an earlier datagram.
                Err(_) => {}
            }
        }
    }

    fn came(&mut self, peer: SocketAddr, datagram: &[u8]) {
        let Some((&kind, rest)) = datagram.split_first() else { return };
        let known = self.links.iter_mut().rev();
        let known = known.filter(|(_, link)| link.peer == Some(peer) && link.stage != Stage::Gone);
        let known = known.map(|(_, link)| link).next();
        if kind == HELLO {
            if let Some(known) = known {
                known.end(DisconnectReason::Reset);
            }
            if self.identity.is_none() {
                let mut link = Link::new(Stage::Offered, Some(peer));
                link.told.push_back(Indication::Connect { identity: Identity(rest.to_vec()) });
                self.add(link);
            }
            return;
        }
        let Some(link) = known else { return };
        match kind {
            WELCOME if matches!(link.stage, Stage::Asking(_)) => {
                link.stage = Stage::Up;
                link.told.push_back(Indication::Connected);
            }
            PART => link.parts.extend_from_slice(rest),
            LAST => {
                link.parts.extend_from_slice(rest);
                link.told.push_back(Indication::Data(std::mem::take(&mut link.parts)));
            }
            TAKEN => {
                let count = rest.try_into().map_or(0, u32::from_be_bytes);
                link.in_flight = link.in_flight.saturating_sub(count as usize);
                if link.full && link.in_flight < ROOM {
                    link.full = false;
                    link.told.push_back(Indication::On);
                }
            }
            CLOSED => link.end(DisconnectReason::Closed),
            RESET => link.end(DisconnectReason::Reset),
            _ => {}
        }
    }

    /// Passes on what a link's user is to be told; returns the bytes to report as taken.
    fn tell(connection: Connection, link: &mut Link, happened: &mut Vec<(Connection, Indication)>) -> u32 {
        if let Stage::Asking(since) = link.stage
            && since.elapsed() >= PATIENCE
        {
            link.end(DisconnectReason::Unreachable);
        }
        if link.wanted {
            for told in link.told.drain(..) {
                if let Indication::Data(message) = &told {
                    link.taken += message.len();
                }
                happened.push((connection, told));
            }
        } else {
            // Messages stay, and so does everything behind them except `On`.
            let is_message = |told: &Indication| matches!(told, Indication::Data(_));
            let before = link.told.iter().position(is_message).unwrap_or(link.told.len());
            happened.extend(link.told.drain(..before).map(|told| (connection, told)));
            let count = link.told.len();
            link.told.retain(|told| *told != Indication::On);
            happened.extend((link.told.len()..count).map(|_| (connection, Indication::On)));
        }
        if link.taken < REPORT { 0 } else { std::mem::take(&mut link.taken) as u32 }
    }
}

impl LastHop for Bare {
    type Error = io::Error;

    fn register(&mut self, _: Service, _: Provider) -> io::Result<Connection> {
        Ok(self.add(Link::new(Stage::Registered, None)))
    }

    fn unregister(&mut self, connection: Connection) -> io::Result<()> {
        self.reset(connection);
        self.links.remove(&connection);
        Ok(())
    }

    fn passive(&mut self, _: Connection) -> io::Result<()> {
        Ok(())
    }

    fn connect(&mut self, connection: Connection, address: &[u8]) {
        let server = str::from_utf8(address).ok().and_then(|text| text.parse().ok());
        let identity = self.identity.clone().unwrap_or(Identity(Vec::new()));
        let Some(link) = self.links.get_mut(&connection) else { return };
        let Some(server) = server else {
            link.end(DisconnectReason::Unreachable);
            return self.alarm.ring();
        };
        link.peer = Some(server);
        link.stage = Stage::Asking(Instant::now());
        self.put(server, HELLO, &identity.0);
        self.wait();
    }

    fn accept(&mut self, connection: Connection) {
        let Some(link) = self.links.get_mut(&connection).filter(|link| link.stage == Stage::Offered) else {
            return;
        };
        link.stage = Stage::Up;
        if let Some(peer) = link.peer {
            self.put(peer, WELCOME, &[]);
        }
    }

    fn close(&mut self, connection: Connection) {
        self.leave(connection, CLOSED);
    }

    fn reset(&mut self, connection: Connection) {
        self.leave(connection, RESET);
    }

    fn send(&mut self, connection: Connection, message: &[u8]) -> Handed {
        let link = self.links.get_mut(&connection).filter(|link| link.stage == Stage::Up);
        // It has ended, and the indication of that is still waiting.
        let Some((link, peer)) = link.and_then(|link| link.peer.map(|peer| (link, peer))) else {
            return Handed::Taken;
        };
        assert!(!link.full, "a message was handed over after the last that was to be taken");
        link.in_flight += message.len();
        link.full = link.in_flight >= ROOM;
        let handed = if link.full { Handed::TakenLast } else { Handed::Taken };
        let length = FITS[usize::from(peer.is_ipv6())] - 1;
        let mut parts = message.chunks(length).peekable();
        if message.is_empty() {
            self.put(peer, LAST, &[]);
        }
        while let Some(part) = parts.next() {
            self.put(peer, if parts.peek().is_some() { PART } else { LAST }, part);
        }
        handed
    }

    fn receive(&mut self, connection: Connection, wanted: bool) {
        if let Some(link) = self.links.get_mut(&connection) {
            link.wanted = wanted;
        }
        self.alarm.ring();
    }

    fn statistics(&self, connection: Connection) -> Statistics {
        let healthy = self.links.get(&connection).is_some_and(|link| link.stage == Stage::Up);
        Statistics { round_trip: None, healthy, retransmissions: 0 }
    }
}

impl Carrier for Bare {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn deadline(&self) -> Option<Instant> {
        self.alarm.deadline()
    }

    fn poll(&mut self, happened: &mut Vec<(Connection, Indication)>) {
        self.alarm.silence();
        self.send_waiting();
        self.receive_all();
        let mut reports = Vec::new();
        for (&connection, link) in &mut self.links {
            match (Self::tell(connection, link, happened), link.peer) {
                (0, _) | (_, None) => {}
                (taken, Some(peer)) => reports.push((peer, taken)),
            }
        }
        for (peer, taken) in reports {
            self.put(peer, TAKEN, &taken.to_be_bytes());
        }
        self.links.retain(|_, link| {
            let is_servers = self.identity.is_none();
            !(is_servers && link.stage == Stage::Gone && link.told.is_empty())
        });
        self.wait();
    }
}
