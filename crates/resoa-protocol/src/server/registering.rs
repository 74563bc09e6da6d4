//! Registration, and the watchdog (6.4, 6.5.5).
//!
//! A client is identified by its key (A24). If it registers while it is still registered, it has
//! lost its sockets. They are reset, and it must try again afterwards.

use super::{Server, ServerAction};
use crate::lhp::Connection;
use crate::message::{Accepted, AddressMode, Control, Message, Refusal, VERSION};
use crate::settings::mutant;
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

/// What a registered client has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Lease {
    pub(super) address: IpAddr,
    /// The address is not shared.
    own: bool,
    /// The address is the client's own, not the server's.
    pub(super) foreign: bool,
    /// As it was granted at registration: later grants do not change it.
    pub(super) send_space: u32,
    pub(super) receive_space: u32,
}

impl Server {
    pub(super) fn register(
        &mut self,
        connection: Connection,
        (version, mode, receive_space, resume): (u8, AddressMode, u32, bool),
        out: &mut Vec<ServerAction>,
    ) {
        let answer = self.lease(connection, version, mode, resume, out).map(|address| {
            let foreign = matches!(mode, AddressMode::Brought(_));
            let (mut sockets, mut send_space) = (self.settings.sockets, self.settings.send_space);
            if let Some(peer) = self.peers.get_mut(&connection) {
                let own = peer.grant.addresses.shared != Some(address);
                (sockets, send_space) = (peer.grant.sockets, peer.grant.send_space);
                peer.lease = Some(Lease { address, own, foreign, send_space, receive_space });
            }
            Accepted { address, sockets, send_space }
        });
        self.send(connection, Message::control(Control::Registered(answer)), out);
    }

    fn lease(
        &mut self,
        connection: Connection,
        version: u8,
        mode: AddressMode,
        resume: bool,
        out: &mut Vec<ServerAction>,
    ) -> Result<IpAddr, Refusal> {
        if version != VERSION {
            return Err(Refusal::Version(VERSION));
        }
        if self.supersede(connection, out) {
            return Err(Refusal::StillRegistered { retry_after: self.settings.retry_after });
        }
        if resume {
            return Err(Refusal::NoResumption);
        }
        let leases = || self.peers.values().filter_map(|peer| peer.lease.as_ref());
        let taken: BTreeSet<_> = leases().filter(|lease| lease.own).map(|lease| lease.address).collect();
        let no_room = Refusal::Resources { alternative: self.settings.alternative.clone() };
        if leases().count() >= self.settings.clients {
            return Err(no_room);
        }
        let addresses =
            self.peers.get(&connection).map_or(&self.settings.addresses, |peer| &peer.grant.addresses);
        addresses.lease(mode, &taken).map_err(Refusal::Mode)?.ok_or(no_room)
    }

    /// Sets the most clients at the same time. Existing clients stay.
    pub fn take_at_most(&mut self, clients: usize) {
        self.settings.clients = clients;
    }

    /// Frees everything that the same client had before, and returns whether it had anything.
    fn supersede(&mut self, connection: Connection, out: &mut Vec<ServerAction>) -> bool {
        let Some(identity) = self.peers.get(&connection).map(|peer| &peer.identity) else { return false };
        let same = self.peers.iter().filter(|(_, peer)| peer.identity == *identity && peer.lease.is_some());
        let same: Vec<_> = same.map(|(&connection, _)| connection).collect();
        for &old in &same {
            self.unregister(old, out);
            if old != connection {
                out.push(ServerAction::Reset(old));
                self.peers.remove(&old);
            }
        }
        !same.is_empty()
    }

    fn unregister(&mut self, connection: Connection, out: &mut Vec<ServerAction>) {
        self.free_sockets(connection, out);
        if let Some(peer) = self.peers.get_mut(&connection) {
            peer.lease = None;
        }
    }

    pub(super) fn deregister(&mut self, connection: Connection, graceful: bool, out: &mut Vec<ServerAction>) {
        let done = !graceful || self.sockets(connection) == 0;
        if done {
            self.unregister(connection, out);
        }
        self.send(connection, Message::control(Control::Deregistered { done }), out);
    }

    /// Processes STILL_ALIVE. Only a question is answered (A3).
    pub(super) fn still_alive(&mut self, connection: Connection, reply: bool, out: &mut Vec<ServerAction>) {
        if !reply || mutant!(self.settings, StillAlivePingPong) {
            self.send(connection, Message::control(Control::StillAlive { reply: true }), out);
        }
    }

    /// Notes that something has arrived, so the client is alive.
    pub(super) fn heard(&mut self, connection: Connection, now: Duration) {
        if let Some(peer) = self.peers.get_mut(&connection) {
            (peer.heard, peer.probe) = (now, None);
        }
    }

    /// Notes that nothing was read from this connection until then, so that its silence before
    /// proves nothing.
    pub fn excuse(&mut self, connection: Connection, until: Duration) {
        if let Some(peer) = self.peers.get_mut(&connection)
            && peer.heard < until
        {
            (peer.heard, peer.probe) = (until, None);
        }
    }

    /// Returns when [`expire`](Self::expire) has something to do.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        let watchdog = self.settings.timers.watchdog;
        self.peers.values().map(|peer| peer.probe.unwrap_or(peer.heard + watchdog)).min()
    }

    /// Probes silent clients, and gives up those that have not answered (E9).
    pub fn expire(&mut self, now: Duration, out: &mut Vec<ServerAction>) {
        let timers = self.settings.timers;
        let connections: Vec<_> = self.peers.keys().copied().collect();
        for connection in connections {
            let Some(peer) = self.peers.get_mut(&connection) else { continue };
            match peer.probe {
                Some(deadline) if deadline <= now => {
                    self.disconnected(connection, out);
                    out.push(ServerAction::Reset(connection));
                }
                None if peer.heard + timers.watchdog <= now => {
                    peer.probe = Some(now + timers.reply);
                    self.send(connection, Message::control(Control::StillAlive { reply: false }), out);
                }
                _ => {}
            }
        }
    }
}
