//! One pass of the user's loop: receives datagrams, processes connections, and sends datagrams.

use super::link::Link;
use super::socket::Arrived;
use super::{LOOKS, Quic, Role};
use crate::stage::Stage;
use crate::strangers::{INTRODUCTION, Source, draw};
use quinn_proto::{DatagramEvent, EndpointEvent, Incoming, Transmit};
use resoa_protocol::lhp::{Connection, Indication};
use std::sync::Arc;
use std::time::Instant;

impl Quic {
    /// Runs a pass. It does not block.
    pub(super) fn turn(&mut self, happened: &mut Vec<(Connection, Indication)>) {
        self.alarm.silence();
        let now = Instant::now();
        for (connection, why) in std::mem::take(&mut self.failed) {
            happened.push((connection, Indication::Disconnected(why)));
        }
        self.strangers.pass(now.saturating_duration_since(self.origin));
        self.receive(now);
        let strangers = self.end_introductions(now);
        for link in self.links.values_mut() {
            if link.quic.poll_timeout().is_some_and(|time| time <= now) {
                link.quic.handle_timeout(now);
            }
            let mut indications = Vec::new();
            link.progress(now, &mut indications);
            if !link.is_strange() {
                self.strangers.gone(link.name);
            }
            happened.extend(indications.into_iter().map(|indication| (link.name, indication)));
        }
        self.transmit(now);
        self.sweep();
        let timers = self.links.values_mut().filter_map(Link::deadline);
        let due = timers.chain(strangers).min();
        self.alarm.set_or_retry(due, self.socket.is_full());
    }

    /// Hands received datagrams to their connections.
    fn receive(&mut self, now: Instant) {
        let mut arrived = Vec::new();
        for _ in 0..LOOKS {
            if !self.socket.receive(&mut arrived) {
                break;
            }
        }
        for Arrived { from, to, ecn, octets } in arrived {
            let mut answer = Vec::new();
            match self.endpoint.handle(now, from, to, ecn, octets, &mut answer) {
                Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                    if let Some(link) = self.links.get_mut(&handle) {
                        link.quic.handle_event(event);
                        link.answered(now);
                    }
                }
                Some(DatagramEvent::NewConnection(incoming)) => self.take(incoming, now),
                Some(DatagramEvent::Response(transmit)) => self.respond(transmit, answer),
                None => {}
            }
        }
    }

    /// Sends a datagram that belongs to no connection. It is lost if there is no room for it.
    fn respond(&mut self, transmit: Transmit, octets: Vec<u8>) {
        if self.socket.is_free() {
            self.socket.send(transmit, octets);
        }
    }

    fn take(&mut self, incoming: Incoming, now: Instant) {
        let mut answer = Vec::new();
        let Role::Server { allowed } = &self.role else { return self.endpoint.ignore(incoming) };
        let allowed = allowed.clone();
        if !incoming.remote_address_validated() {
            // If a retry is not possible, there has been one, and the token belongs to another
            // address.
            if let Ok(transmit) = self.endpoint.retry(incoming, &mut answer) {
                self.respond(transmit, answer);
            }
            return;
        }
        let source = Source::from(incoming.remote_address());
        if !self.strangers.may_begin(source, now.saturating_duration_since(self.origin)) {
            // The client asks again, as if this had been lost.
            return self.endpoint.ignore(incoming);
        }
        match self.endpoint.accept(incoming, now, &mut answer, None) {
            Ok((handle, quic)) => {
                let connection = self.next();
                let link = Link::server(connection, quic, Arc::clone(&self.key), allowed, self.silence);
                self.handles.insert(connection, handle);
                self.links.insert(handle, link);
                if let Some(leaves) = self.strangers.come(connection, source, draw) {
                    self.turn_out(leaves, now);
                }
            }
            Err(error) => {
                if let Some(transmit) = error.response {
                    self.respond(transmit, answer);
                }
            }
        }
    }

    /// Gives up connections that have not been introduced in time; at a client, that of the server.
    /// Returns when the time of the next one is over.
    fn end_introductions(&mut self, now: Instant) -> Option<Instant> {
        let mut next: Option<Instant> = None;
        for link in self.links.values_mut().filter(|link| link.is_strange()) {
            let over = link.since + INTRODUCTION;
            if over <= now {
                link.give_up(now);
                self.strangers.gone(link.name);
            } else {
                next = Some(next.map_or(over, |next| next.min(over)));
            }
        }
        next
    }

    /// Drops a stranger to make room, without waiting for its connection to end.
    fn turn_out(&mut self, name: Connection, now: Instant) {
        let Some(handle) = self.handles.get(&name) else { return };
        if let Some(link) = self.links.get_mut(handle) {
            link.give_up(now);
        }
        self.forgotten.push(*handle);
    }

    /// Sends the datagrams of all connections, as far as the kernel takes them.
    pub(super) fn transmit(&mut self, now: Instant) {
        if !self.socket.is_free() {
            return;
        }
        for link in self.links.values_mut() {
            let batch = self.socket.batch(link.quic.stats().path.current_mtu);
            loop {
                let mut octets = Vec::new();
                let Some(transmit) = link.quic.poll_transmit(now, batch, &mut octets) else { break };
                if !self.socket.send(transmit, octets) {
                    link.sent(now);
                    return;
                }
            }
            link.sent(now);
        }
    }

    /// Exchanges events between connections and the endpoint, and forgets connections that have
    /// ended.
    fn sweep(&mut self) {
        let (endpoint, handles, strangers) = (&mut self.endpoint, &mut self.handles, &mut self.strangers);
        let mut is_told = false;
        for handle in self.forgotten.drain(..) {
            if let Some(link) = self.links.remove(&handle) {
                handles.remove(&link.name);
                strangers.gone(link.name);
                endpoint.handle_event(handle, EndpointEvent::drained());
            }
        }
        self.links.retain(|&handle, link| {
            while let Some(event) = link.quic.poll_endpoint_events() {
                if let Some(event) = endpoint.handle_event(handle, event) {
                    link.quic.handle_event(event);
                    is_told = true;
                }
            }
            let stays = link.stage != Stage::Gone || !link.quic.is_drained();
            if !stays && handles.get(&link.name) == Some(&handle) {
                handles.remove(&link.name);
                strangers.gone(link.name);
            }
            stays
        });
        if is_told {
            // Datagrams that result, for example with new connection IDs, are sent in the next
            // pass.
            self.alarm.ring();
        }
    }
}
