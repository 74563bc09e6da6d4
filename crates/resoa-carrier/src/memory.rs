//! A carrier within one process: ordered, bounded, and able to simulate an outage. It serves tests,
//! and a client and a server in the same process.

use crate::Carrier;
use resoa_protocol::lhp::{
    Connection, DisconnectReason, Handed, Identity, Indication, LastHop, Provider, Service, Statistics,
};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The side that an end belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Client,
    Server,
}

/// Indications that wait for one side.
#[derive(Debug, Default)]
struct Inbox {
    waiting: VecDeque<Indication>,
    octets: usize,
    /// The other side was told to stop.
    full: bool,
    /// The user wants no messages at the moment.
    off: bool,
}

/// A connection.
#[derive(Debug)]
struct Link {
    identity: Identity,
    bell: Arc<OwnedFd>,
    /// Inboxes of the client and of the server.
    inboxes: [Inbox; 2],
    up: bool,
    /// The side that has unregistered it. The connection is forgotten when the other side has been
    /// told everything.
    left: Option<Side>,
}

/// State that all ends share.
#[derive(Debug)]
struct Network {
    capacity: usize,
    bell: Arc<OwnedFd>,
    listening: bool,
    last: u64,
    links: BTreeMap<Connection, Link>,
}

/// One end of the carrier; see the [module](self).
#[derive(Debug)]
pub struct Memory {
    network: Arc<Mutex<Network>>,
    side: Side,
    identity: Identity,
    bell: Arc<OwnedFd>,
}

fn bell() -> io::Result<Arc<OwnedFd>> {
    Ok(Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
}

fn ring(bell: &OwnedFd) {
    // If the counter is full, the bell has rung already.
    let _ = rustix::io::write(bell, &1_u64.to_ne_bytes());
}

impl Memory {
    /// Creates a server's end that accepts clients. An end of a connection says stop once
    /// `capacity` bytes wait at it.
    ///
    /// # Errors
    /// If the kernel has no file descriptor left.
    pub fn server(capacity: usize) -> io::Result<Self> {
        let bell = bell()?;
        let network =
            Network { capacity, bell: Arc::clone(&bell), listening: true, last: 0, links: BTreeMap::new() };
        let network = Arc::new(Mutex::new(network));
        Ok(Self { network, side: Side::Server, identity: Identity(Vec::new()), bell })
    }

    /// Creates a client's end for the same server.
    ///
    /// # Errors
    /// If the kernel has no file descriptor left.
    pub fn client(&self, identity: Identity) -> io::Result<Self> {
        Ok(Self { network: Arc::clone(&self.network), side: Side::Client, identity, bell: bell()? })
    }

    /// Ends a connection as an outage does: data in flight is lost, and both sides are told.
    pub fn cut(&mut self, connection: Connection) {
        self.network().end(connection, [Some(DisconnectReason::Unreachable); 2]);
    }

    fn network(&self) -> MutexGuard<'_, Network> {
        self.network.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn other(&self) -> Side {
        if self.side == Side::Client { Side::Server } else { Side::Client }
    }
}

impl Network {
    fn tell(&mut self, connection: Connection, side: Side, indication: Indication) {
        if let Some(link) = self.links.get_mut(&connection) {
            link.inboxes[side as usize].waiting.push_back(indication);
            ring(if side == Side::Client { &link.bell } else { &self.bell });
        }
    }

    /// Forgets connections that one side has unregistered and whose other side, `told`, has been
    /// told everything.
    fn forget(&mut self, told: Side) {
        let knows = |link: &Link| link.inboxes[told as usize].waiting.is_empty();
        self.links.retain(|_, link| link.left.is_none_or(|left| left == told || !knows(link)));
    }

    /// Ends a connection and drops what waits in both inboxes. Then tells each side for which there
    /// is a reason.
    fn end(&mut self, connection: Connection, why: [Option<DisconnectReason>; 2]) {
        let Some(link) = self.links.get_mut(&connection).filter(|link| link.up) else { return };
        link.up = false;
        for inbox in &mut link.inboxes {
            *inbox = Inbox::default();
        }
        for (side, why) in [Side::Client, Side::Server].into_iter().zip(why) {
            if let Some(why) = why {
                self.tell(connection, side, Indication::Disconnected(why));
            }
        }
    }
}

impl LastHop for Memory {
    type Error = io::Error;

    fn register(&mut self, _: Service, _: Provider) -> io::Result<Connection> {
        let mut network = self.network();
        network.last += 1;
        let connection = Connection(network.last);
        let (identity, bell) = (self.identity.clone(), Arc::clone(&self.bell));
        let link = Link { identity, bell, inboxes: Default::default(), up: false, left: None };
        network.links.insert(connection, link);
        Ok(connection)
    }

    fn unregister(&mut self, connection: Connection) -> io::Result<()> {
        self.reset(connection);
        let (side, other) = (self.side, self.other());
        if let Some(link) = self.network().links.get_mut(&connection) {
            link.left = Some(side);
        }
        self.network().forget(other);
        Ok(())
    }

    fn passive(&mut self, _: Connection) -> io::Result<()> {
        self.network().listening = true;
        Ok(())
    }

    fn connect(&mut self, connection: Connection, _: &[u8]) {
        let mut network = self.network();
        let listening = network.listening;
        let Some(link) = network.links.get_mut(&connection) else { return };
        let identity = link.identity.clone();
        link.up = true;
        if listening {
            network.tell(connection, Side::Server, Indication::Connect { identity });
        } else {
            network.end(connection, [Some(DisconnectReason::Reset), None]);
        }
    }

    fn accept(&mut self, connection: Connection) {
        let mut network = self.network();
        // It may have ended already, and the indication is still waiting.
        if network.links.get(&connection).is_some_and(|link| link.up) {
            network.tell(connection, Side::Client, Indication::Connected);
        }
    }

    fn reject(&mut self, connection: Connection) {
        self.network().end(connection, [Some(DisconnectReason::Reset), None]);
    }

    fn close(&mut self, connection: Connection) {
        let other = self.other();
        let mut network = self.network();
        if let Some(link) = network.links.get_mut(&connection).filter(|link| link.up) {
            link.up = false;
            // Messages handed over before this are ahead of it in the inbox.
            network.tell(connection, other, Indication::Disconnected(DisconnectReason::Closed));
        }
    }

    fn reset(&mut self, connection: Connection) {
        let mut why = [None; 2];
        why[self.other() as usize] = Some(DisconnectReason::Reset);
        self.network().end(connection, why);
    }

    fn send(&mut self, connection: Connection, message: &[u8]) -> Handed {
        let other = self.other();
        let mut network = self.network();
        let capacity = network.capacity;
        let Some(link) = network.links.get_mut(&connection).filter(|link| link.up) else {
            // It has ended, and the indication of that is still waiting.
            return Handed::Taken;
        };
        let inbox = &mut link.inboxes[other as usize];
        assert!(!inbox.full, "a message was handed over after the last that was to be taken");
        inbox.octets += message.len();
        let is_full = inbox.octets >= capacity;
        inbox.full |= is_full;
        network.tell(connection, other, Indication::Data(message.to_vec()));
        if is_full { Handed::TakenLast } else { Handed::Taken }
    }

    fn receive(&mut self, connection: Connection, wanted: bool) {
        let side = self.side;
        if let Some(link) = self.network().links.get_mut(&connection) {
            link.inboxes[side as usize].off = !wanted;
        }
        ring(&self.bell);
    }

    fn statistics(&self, connection: Connection) -> Statistics {
        let healthy = self.network().links.get(&connection).is_some_and(|link| link.up);
        Statistics { round_trip: Some(Duration::ZERO), healthy, retransmissions: 0 }
    }
}

impl Carrier for Memory {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    fn deadline(&self) -> Option<Instant> {
        None
    }

    fn poll(&mut self, happened: &mut Vec<(Connection, Indication)>) {
        let _ = rustix::io::read(&self.bell, &mut [0; 8]);
        let (side, other) = (self.side, self.other());
        let mut network = self.network();
        let mut emptied = Vec::new();
        for (&connection, link) in &mut network.links {
            if side == Side::Client && !Arc::ptr_eq(&link.bell, &self.bell) {
                continue;
            }
            let inbox = &mut link.inboxes[side as usize];
            if inbox.off {
                // Messages stay, and so does everything behind them except `On`.
                let is_message = |told: &Indication| matches!(told, Indication::Data(_));
                let before = inbox.waiting.iter().position(is_message).unwrap_or(inbox.waiting.len());
                happened.extend(inbox.waiting.drain(..before).map(|told| (connection, told)));
                let waiting = inbox.waiting.len();
                inbox.waiting.retain(|told| *told != Indication::On);
                happened.extend((inbox.waiting.len()..waiting).map(|_| (connection, Indication::On)));
                continue;
            }
            happened.extend(inbox.waiting.drain(..).map(|indication| (connection, indication)));
            inbox.octets = 0;
            if std::mem::take(&mut inbox.full) {
                emptied.push(connection);
            }
        }
        network.forget(side);
        for connection in emptied {
            network.tell(connection, other, Indication::On);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROVIDER: Provider = Provider { id: 1, protocol: 0 };

    fn pair(capacity: usize) -> (Memory, Memory, Connection) {
        let mut server = Memory::server(capacity).expect("descriptors");
        let mut client = server.client(Identity(vec![1])).expect("descriptors");
        let link = client.register(Service::Reliable, PROVIDER).expect("always");
        client.connect(link, b"");
        assert_eq!(told(&mut server), [Indication::Connect { identity: Identity(vec![1]) }]);
        server.accept(link);
        assert_eq!(told(&mut client), [Indication::Connected]);
        (client, server, link)
    }

    fn told(end: &mut Memory) -> Vec<Indication> {
        let mut happened = Vec::new();
        end.poll(&mut happened);
        happened.into_iter().map(|(_, indication)| indication).collect()
    }

    /// C26, C87: messages stay in order; a full inbox stops the sender, which goes on when the
    /// messages were taken; no message is lost.
    #[test]
    fn in_order_and_bounded() {
        let (mut client, mut server, link) = pair(3);
        assert_eq!(client.send(link, b"ab"), Handed::Taken);
        assert_eq!(client.send(link, b"c"), Handed::TakenLast);
        let data = [b"ab".to_vec(), b"c".to_vec()].map(Indication::Data);
        assert_eq!(told(&mut server), data);
        assert_eq!(told(&mut client), [Indication::On]);
        server.receive(link, false);
        assert_eq!(client.send(link, b"d"), Handed::Taken);
        assert_eq!(told(&mut server), []);
        server.receive(link, true);
        assert_eq!(told(&mut server), [Indication::Data(b"d".to_vec())]);
    }

    /// C26, C88: a side that wants no messages is still told that it may go on, and of an outage.
    /// It is told of a close after the messages.
    #[test]
    fn what_is_told_though_nothing_is_wanted() {
        let (mut client, mut server, link) = pair(1);
        client.receive(link, false);
        assert_eq!(server.send(link, b"a"), Handed::TakenLast);
        assert_eq!(client.send(link, b"b"), Handed::TakenLast);
        assert_eq!(told(&mut server), [Indication::Data(b"b".to_vec())]);
        assert_eq!(told(&mut client), [Indication::On]);
        server.close(link);
        assert_eq!(told(&mut client), []);
        client.receive(link, true);
        let closed = [Indication::Data(b"a".to_vec()), Indication::Disconnected(DisconnectReason::Closed)];
        assert_eq!(told(&mut client), closed);
        let (mut client, mut server, link) = pair(100);
        client.receive(link, false);
        assert_eq!(server.send(link, b"a"), Handed::Taken);
        server.cut(link);
        assert_eq!(told(&mut client), [Indication::Disconnected(DisconnectReason::Unreachable)]);
    }

    /// C88: a client that ends before the server accepts it is not told that it is connected.
    #[test]
    fn accepted_too_late() {
        let mut server = Memory::server(1).expect("descriptors");
        let mut client = server.client(Identity(vec![1])).expect("descriptors");
        let link = client.register(Service::Reliable, PROVIDER).expect("always");
        client.connect(link, b"");
        client.reset(link);
        server.accept(link);
        assert_eq!(told(&mut client), []);
    }

    /// C88: `close` takes effect after the messages that were sent; an outage and `reset` take
    /// effect before them.
    #[test]
    fn three_ends() {
        let (mut client, mut server, link) = pair(100);
        assert_eq!(client.send(link, b"a"), Handed::Taken);
        client.close(link);
        assert_eq!(
            told(&mut server),
            [Indication::Data(b"a".to_vec()), Indication::Disconnected(DisconnectReason::Closed)]
        );
        let (mut client, mut server, link) = pair(100);
        assert_eq!(client.send(link, b"a"), Handed::Taken);
        client.cut(link);
        assert_eq!(told(&mut server), [Indication::Disconnected(DisconnectReason::Unreachable)]);
        assert_eq!(told(&mut client), [Indication::Disconnected(DisconnectReason::Unreachable)]);
        let (mut client, mut server, link) = pair(100);
        server.reset(link);
        assert_eq!(told(&mut client), [Indication::Disconnected(DisconnectReason::Reset)]);
        assert_eq!(told(&mut server), []);
        assert_eq!(client.send(link, b"a"), Handed::Taken);
        assert_eq!(told(&mut server), []);
    }
}
