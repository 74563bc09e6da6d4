//! Flow control towards clients: from which ones the server reads, and how long it waits for them.
//!
//! The server stops reading from a client that has too many bytes in flight, or that does not take
//! its messages, until that has changed. Other clients are still read from. The stop is the
//! server's doing and not the client's:
//!
//! * As long as something moves, by far hosts or by the client, its silence has no consequences.
//! * All its requests are delayed together, including the `close` of a socket whose far host takes
//!   nothing. If no far host takes anything for a while, the server aborts the socket with the most
//!   bytes outstanding (ENOBUFS) and reads from the client again. So one connection is lost where
//!   otherwise all would wait forever.

use super::Host;
use resoa_carrier::{Carrier, Outbox};
use resoa_policy::Refusal;
use resoa_protocol::lhp::Connection;
use resoa_protocol::{Errno, TcpAction, TcpEvent};
use std::time::Duration;

/// Messages that a client's carrier has not taken, above which the server stops reading from that
/// client: a client that sends requests has to receive the answers.
const UNHEARD: usize = 1024;
/// Time without progress of any far host after which the server reads from a client again. The
/// server's patience with silence applies if that is shorter.
const STANDSTILL: Duration = Duration::from_mins(1);

/// State of a client that is not read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stop {
    /// Time at which something has moved last.
    moved: Duration,
    /// Bytes that the far hosts have not acknowledged.
    outstanding: u64,
    /// Messages that the client has not taken.
    held: usize,
}

impl<C: Carrier> Host<C> {
    /// Decides whether a client is read from, after its outstanding bytes or messages have changed.
    pub(super) fn regulate(&mut self, connection: Connection) {
        let now = self.origin.elapsed();
        let held = self.untaken(connection);
        let Some(visitor) = self.gate.visitor(connection) else { return };
        let (most, outstanding) = (visitor.client.buffers, visitor.outstanding);
        let share = if visitor.stopped.is_some() { 2 } else { 1 };
        let is_too_much = outstanding > most / share || held > UNHEARD / share as usize;
        match (visitor.stopped, is_too_much) {
            (None, false) => {}
            (None, true) => {
                visitor.stopped = Some(Stop { moved: now, outstanding, held });
                self.gate.count(connection, Refusal::Buffers);
                self.carrier.receive(connection, false);
                let over = now + self.patience();
                self.standstill = Some(self.standstill.map_or(over, |standstill| standstill.min(over)));
            }
            (Some(before), true) => {
                let has_moved = outstanding < before.outstanding || held < before.held;
                let moved = if has_moved { now } else { before.moved };
                visitor.stopped = Some(Stop { moved, outstanding, held });
            }
            (Some(_), false) => self.read_again(connection, now),
        }
    }

    /// Whether a client does not take its messages. Data with a window arrives only as far as the
    /// window goes. Datagrams have none, so they are lost as at any full buffer, however much space
    /// the client announces.
    pub(super) fn is_unheard(&self, connection: Connection) -> bool {
        self.untaken(connection) > UNHEARD
    }

    /// Number of messages to a client that its carrier has not taken. Datagrams, which may be lost,
    /// wait in the outbox and the others in the server.
    fn untaken(&self, connection: Connection) -> usize {
        self.server.held(connection) + self.outboxes.get(&connection).map_or(0, Outbox::waiting)
    }

    fn read_again(&mut self, connection: Connection, now: Duration) {
        if let Some(visitor) = self.gate.visitor(connection) {
            visitor.stopped = None;
            // The client's messages in the meantime have yet to be read.
            self.server.excuse(connection, now);
            self.carrier.receive(connection, true);
        }
    }

    fn patience(&self) -> Duration {
        STANDSTILL.min(self.silence)
    }

    /// Ends the wait of clients that are not read from because no far host takes anything: aborts
    /// the largest socket of each.
    pub(super) fn end_standstill(&mut self, now: Duration) {
        if self.standstill.is_none_or(|standstill| standstill > now) {
            return;
        }
        let patience = self.patience();
        let stopped = self.gate.visitors().filter_map(|(connection, visitor)| {
            let is_theirs = visitor.outstanding > visitor.client.buffers / 2;
            visitor.stopped.filter(|_| is_theirs).map(|stop| (connection, stop.moved + patience))
        });
        let (over, waiting): (Vec<_>, Vec<_>) = stopped.partition(|(_, deadline)| *deadline <= now);
        self.standstill = waiting.into_iter().map(|(_, deadline)| deadline).min();
        for (connection, _) in over {
            if let Some(endpoint) = self.gate.largest(connection) {
                let mut actions = Vec::new();
                self.act(endpoint, TcpAction::Abort, &mut actions);
                self.server.tcp(endpoint, TcpEvent::Failed(Errno::ENOBUFS), &mut actions);
                self.carry_out(actions);
            }
            self.read_again(connection, now);
        }
    }

    /// Asks clients that were silent whether they are there, and gives them up if they do not
    /// answer (E9). Clients that the server does not read from are exempt while something moves.
    pub(super) fn ask_the_silent(&mut self, now: Duration) {
        if self.watchdog.is_none_or(|watchdog| watchdog > now) {
            return;
        }
        for (connection, visitor) in self.gate.visitors() {
            if let Some(stop) = visitor.stopped {
                self.server.excuse(connection, stop.moved);
            }
        }
        let mut actions = Vec::new();
        if self.server.deadline().is_some_and(|deadline| deadline <= now) {
            self.server.expire(now, &mut actions);
        }
        self.carry_out(actions);
        self.watchdog = self.server.deadline();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use resoa_carrier::memory::Memory;
    use resoa_protocol::lhp::{Identity, LastHop, Provider, Service};
    use resoa_protocol::message::{AddressMode, Body, Control, Create, Family, Operation, RsockType};
    use resoa_protocol::server::Addresses;
    use resoa_protocol::{Message, RsockId, ServerSettings, Target, Xid};
    use std::net::{Ipv4Addr, UdpSocket};

    /// Creates a server with one connected client, and returns the client's end, too.
    fn visited(settings: ServerSettings) -> (Host<Memory>, Memory, Connection) {
        let carrier = Memory::server(1 << 10).expect("descriptors");
        let mut client = carrier.client(Identity(vec![1])).expect("descriptors");
        let mut host = Host::new(settings, carrier).expect("descriptors");
        let link = client.register(Service::Reliable, Provider { id: 0, protocol: 0 }).expect("always");
        client.connect(link, &[]);
        while host.gate.visitors().next().is_none() {
            host.turn(Some(Duration::ZERO)).expect("epoll waits");
        }
        (host, client, link)
    }

    /// E9: a client that is not read from is not asked as long as something moves, and is not given
    /// up for an answer that was not read. When nothing moves any more, it is.
    #[test]
    fn a_client_that_is_not_read_from() {
        let mut settings = ServerSettings::new(Addresses::default());
        settings.timers.watchdog = Duration::from_hours(1);
        settings.timers.reply = Duration::from_mins(10);
        let (mut host, _client, _) = visited(settings);
        let minutes = Duration::from_mins;
        let mut look = |at: u64, moved: u64| {
            let visitors: Vec<_> = host.gate.visitors().map(|(connection, _)| connection).collect();
            for connection in visitors {
                let stop = Stop { moved: minutes(moved), outstanding: 1, held: 0 };
                host.gate.visitor(connection).expect("is here").stopped = Some(stop);
            }
            host.ask_the_silent(minutes(at));
            host.server.deadline()
        };
        assert_eq!(look(70, 50), Some(minutes(110)), "something has moved: it is not asked");
        assert_eq!(look(110, 50), Some(minutes(120)), "nothing has: it is");
        assert_eq!(look(120, 115), Some(minutes(175)), "its answer was not read, and something moves again");
        assert_eq!(look(175, 115), Some(minutes(185)));
        assert_eq!(look(185, 115), None, "it is given up");
        assert_eq!(host.gate.visitors().count(), 0);
    }

    /// Datagrams for a client that announces unlimited space and takes none do not fill the
    /// server's memory.
    #[test]
    fn datagrams_for_a_client_that_takes_none() {
        let (mut host, mut client, link) =
            visited(ServerSettings::new(Addresses::shared(Ipv4Addr::LOCALHOST.into())));
        let far = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback");
        let register =
            Control::Register { version: 1, mode: AddressMode::Any, receive_space: u32::MAX, resume: false };
        let create = Some(Create { family: Family::V4, kind: RsockType::Datagram });
        let operation = Operation::Connect(far.local_addr().expect("is bound"));
        let asks = Body::Request { xid: Xid(1), create, operation };
        let target = Target::Socket(RsockId(1));
        for message in [Message::control(register), Message { target, body: asks }] {
            let _ = client.send(link, &message.encode());
        }
        while host.sockets() == 0 {
            host.turn(Some(Duration::ZERO)).expect("epoll waits");
        }
        let near = host.tcp.local(resoa_protocol::Endpoint(1)).expect("is bound");
        let connection = host.gate.visitors().next().expect("is here").0;
        let mut most = 0;
        for _ in 0..2 * UNHEARD / 32 {
            // These few fit into the socket's buffer.
            for _ in 0..32 {
                far.send_to(&[1; 100], near).expect("loopback");
            }
            host.turn(Some(Duration::ZERO)).expect("epoll waits");
            most = most.max(host.untaken(connection));
        }
        assert!((UNHEARD..=UNHEARD + 1).contains(&most), "{most} messages wait");
        assert!(host.gate.visitor(connection).expect("is here").stopped.is_some());
    }
}
