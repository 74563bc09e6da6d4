//! The primitives of a carrier, and the pass of its loop.

use super::peer::Peer;
use super::{Datagrams, Role};
use crate::Carrier;
use crate::llp::Machine;
use crate::stage::NOTHING_KNOWN;
use crate::waiting::GATHERED;
use resoa_protocol::lhp::{
    Connection, DisconnectReason, Handed, Indication, LastHop, Provider, Service, Statistics,
};
use rustix::fd::BorrowedFd;
use std::io;
use std::time::{Duration, Instant};

impl Datagrams {
    /// Ends a connection with `how`. One without a machine is just removed, because its peer knows
    /// of no connection.
    fn end(&mut self, connection: Connection, how: impl FnOnce(&mut Machine)) {
        let now = self.now();
        match self.peers.get_mut(&connection).map(Peer::machine) {
            Some(Some(machine)) => how(machine),
            Some(None) => self.remove(connection),
            None => {}
        }
        self.pump(connection, now);
    }

    fn hand_over(&mut self, connection: Connection, octets: usize, how: impl FnOnce(&mut Machine)) -> Handed {
        let now = self.now();
        let Some(peer) = self.peers.get_mut(&connection) else { return Handed::Taken };
        let Some(machine) = peer.machine() else { return Handed::Taken };
        how(machine);
        self.gathered_octets += octets;
        if self.gathered.last() != Some(&connection) {
            self.gathered.push(connection);
        }
        if !self.gathers || self.gathered_octets >= GATHERED {
            self.let_go(now);
        }
        let is_full = self.peers.get_mut(&connection).is_some_and(Peer::fills_up);
        if is_full { Handed::TakenLast } else { Handed::Taken }
    }
}

impl LastHop for Datagrams {
    type Error = io::Error;

    fn register(&mut self, _: Service, _: Provider) -> io::Result<Connection> {
        Ok(self.next())
    }

    fn passive(&mut self, _: Connection) -> io::Result<()> {
        if matches!(self.role, Role::Server(_)) { Ok(()) } else { Err(io::ErrorKind::Unsupported.into()) }
    }

    fn connect(&mut self, connection: Connection, address: &[u8]) {
        let now = self.now();
        self.remove(connection);
        if self.connect_to(connection, address, now).is_none() {
            self.peers.insert(connection, Peer::over(DisconnectReason::Unreachable));
            self.alarm.ring();
        }
        self.pump(connection, now);
    }

    fn accept(&mut self, connection: Connection) {
        let now = self.now();
        if let Some(machine) = self.peers.get_mut(&connection).and_then(Peer::machine) {
            machine.accept();
        }
        self.pump(connection, now);
    }

    fn close(&mut self, connection: Connection) {
        let now = self.now();
        self.end(connection, |machine| machine.close(now));
    }

    fn reset(&mut self, connection: Connection) {
        self.end(connection, Machine::reset);
    }

    fn send(&mut self, connection: Connection, message: &[u8]) -> Handed {
        self.hand_over(connection, message.len(), |machine| machine.send(message))
    }

    fn send_or_lose(&mut self, connection: Connection, message: &[u8], waited: Duration) -> Handed {
        let handed_over = self.now().saturating_sub(waited);
        self.hand_over(connection, message.len(), |machine| machine.send_or_lose(message, handed_over))
    }

    fn receive(&mut self, connection: Connection, wanted: bool) {
        if let Some(peer) = self.peers.get_mut(&connection) {
            peer.wanted = wanted;
        }
        self.due.insert(connection);
        self.alarm.ring();
    }

    fn statistics(&self, connection: Connection) -> Statistics {
        self.peers.get(&connection).and_then(Peer::statistics).unwrap_or(NOTHING_KNOWN)
    }
}

impl Carrier for Datagrams {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.port.descriptor()
    }

    fn deadline(&self) -> Option<Instant> {
        self.alarm.deadline()
    }

    fn poll(&mut self, happened: &mut Vec<(Connection, Indication)>) {
        self.alarm.silence();
        let now = self.now();
        if self.port.is_full() {
            // Any connection may have had to wait for the kernel.
            self.due.extend(self.peers.keys());
        }
        self.port.flush();
        self.take_packets(now);
        let now = self.now();
        self.due.extend(self.schedule.all_due(now));
        for connection in std::mem::take(&mut self.due) {
            let Some(peer) = self.peers.get_mut(&connection) else { continue };
            if peer.poll(&mut self.port, now, |indication| happened.push((connection, indication))) {
                self.schedule.set(connection, peer.deadline());
            } else {
                self.remove(connection);
            }
        }
        self.wait();
    }

    fn gather(&mut self) {
        self.gathers = true;
    }

    fn flush(&mut self) {
        self.gathers = false;
        let now = self.now();
        self.let_go(now);
    }
}
