//! Local socket module: the client's half of one socket (6.1.1, 7.4.5).
//!
//! It decides everything that needs no server: whether a call is legal, whether it waits, and what
//! it returns. So a program gets its answer at once wherever a local stack would give one. Each
//! call is attempted. A call that has to wait is attempted again after each event, until it
//! completes, times out, or is interrupted by a signal.
//!
//! ```text
//!               connect              RESPONSE
//!  Unconnected ────────▶ Connecting ──────────▶ Connected ──error──▶ Failed
//!    │  ▲  ▲               │ refused               │ close
//!    │  │  └─ connect ─ Refused                    ├─ nothing left to send ──────────────▶ Closed
//!    │  └── shutdown ──┐                           ├─ data left ─▶ Orphan ── last CLOSE ──▶ Closed
//!    └──── listen ──▶ Listening                    └─ SO_LINGER ─▶ Lingering ─ all acked ─▶ Closed
//! ```

mod closing;
mod connecting;
mod corking;
mod listening;
mod options;
mod readiness;
mod receiving;
mod requests;
mod sending;
mod state;
mod streaming;
mod told;
mod transport;
mod undelivered;
mod waiting;

use crate::calls::{Action, CallId, Cause, Readiness, Signal, SocketCall, Value};
use crate::message::{Body, Call, Create, Message, Operation, RsockType, Update};
use crate::settings::Settings;
use crate::{Errno, RsockId, Target};
use listening::Child;
use options::Options;
use receiving::Receiving;
use requests::Requests;
use sending::Sending;
use state::{Remote, State};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;
use undelivered::Undelivered;
use waiting::Waiting;

pub(crate) use requests::Asked;
pub(crate) use sending::datagram_cost;

/// The client's half of a socket; see the [module](self).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Lsm {
    pub(crate) id: RsockId,
    /// The name of the socket at the server.
    pub(crate) target: Target,
    /// The name of the socket at the server before it was accepted.
    pub(crate) origin: Option<Target>,
    create: Create,
    settings: Settings,
    remote: Remote,
    state: State,
    local: Option<SocketAddr>,
    /// The address that the program passed to `bind`.
    bound: Option<SocketAddr>,
    peer: Option<SocketAddr>,
    /// Pending error, reported by the next call.
    error: Option<Errno>,
    nonblocking: bool,
    asynchronous: bool,
    sending: Sending,
    receiving: Receiving,
    waiting: VecDeque<Waiting>,
    requests: Requests,
    /// Connections of a listener that were not accepted yet.
    children: VecDeque<Child>,
    options: Options,
    /// Error queue of a datagram socket.
    undelivered: Undelivered,
    /// Readiness that was last reported.
    told: Readiness,
}

impl Lsm {
    /// Creates a socket. The server does not know of it before its first use (6.2.1, version 3).
    /// `remote_size` is the number of unacknowledged bytes that the server takes.
    pub(crate) fn new(id: RsockId, create: Create, remote_size: u32, settings: Settings) -> Self {
        let mut socket = Self {
            id,
            target: Target::Socket(id),
            origin: None,
            create,
            settings,
            remote: Remote::Unknown,
            state: State::new(create.kind),
            local: None,
            bound: None,
            peer: None,
            error: None,
            nonblocking: false,
            asynchronous: false,
            sending: Sending::new(settings.send_buffer, remote_size),
            receiving: Receiving::default(),
            waiting: VecDeque::new(),
            requests: Requests::default(),
            children: VecDeque::new(),
            options: Options::default(),
            undelivered: Undelivered::default(),
            told: Readiness::default(),
        };
        socket.told = socket.readiness();
        socket
    }

    /// Carries out a call, or lets it wait. While the link `is_off`, messages without a bound on
    /// their number are held back.
    pub(crate) fn call(
        &mut self,
        call: CallId,
        what: SocketCall,
        is_off: bool,
        now: Duration,
        out: &mut Vec<Action>,
    ) {
        let result = match what {
            SocketCall::Operation(operation) => self.operation(call, operation, is_off, now, out),
            SocketCall::Open { peer, bytes } => self.connect(call, peer, &bytes, now, out),
            SocketCall::Accept => self.accept(call, now, out),
            SocketCall::Send { bytes, to, flags } => self.send(call, bytes, to, flags, now, out),
            SocketCall::Receive { length, flags } => self.receive(call, length, flags, now, out),
            SocketCall::Shutdown(half) => self.shutdown(half, now, out).map(Some),
            SocketCall::Close { may_wait } => Ok(self.close(call, may_wait, now, out)),
            SocketCall::SetOptionAgain { level, name, value } => {
                self.set_option(None, true, (level, name), value, out)
            }
            SocketCall::SetNonblocking(nonblocking) => {
                self.nonblocking = nonblocking;
                Ok(Some(Value::Done))
            }
            SocketCall::SetAsynchronous(asynchronous) => {
                self.asynchronous = asynchronous;
                Ok(Some(Value::Done))
            }
            SocketCall::LocalName => self.local_name(call, now, out),
            SocketCall::PeerName => self.peer_name().map(Some),
        };
        if let Some(result) = result.transpose() {
            self.give_back(call, result, out);
        }
        self.progress(now, out);
    }

    /// Carries out a call that the server may have to execute.
    fn operation(
        &mut self,
        call: CallId,
        operation: Operation,
        is_off: bool,
        now: Duration,
        out: &mut Vec<Action>,
    ) -> Result<Option<Value>, Errno> {
        match operation {
            Operation::Bind(address) => self.bind(call, address, out),
            Operation::Connect(peer) => self.connect(call, peer, &[], now, out),
            Operation::Disconnect => self.disconnect(call, out),
            Operation::Listen { backlog } => self.listen(call, backlog, out),
            Operation::SetOption { level, name, value } => {
                // The next connection of a listener inherits it. A far host that connects when the
                // program says so does not wait for us. A server that is lost is told nothing.
                let waits = self.state == State::Listening || is_off && !self.is_lost();
                self.set_option(Some(call), !waits, (level, name), value, out)
            }
            Operation::GetOption { level, name, length } => self.get_option(call, level, name, length, out),
            Operation::Ioctl { command, argument } => self.ioctl(call, command, argument, out),
        }
    }

    /// News of the server's half.
    pub(crate) fn update(&mut self, update: Update, now: Duration, out: &mut Vec<Action>) {
        // This answers an attempt to connect that was given up and had succeeded meanwhile.
        if self.remote == Remote::Unknown {
            return;
        }
        if self.state.is_closing() {
            self.update_closing(&update, out);
            return;
        }
        match update {
            Update::SendFreed(count) => {
                self.freed(count, out);
                self.io(Cause::Space, out);
            }
            Update::Data(bytes) => {
                self.receiving.arrived(&bytes);
                self.io(Cause::Data, out);
            }
            Update::Datagram { from, ancillary, bytes } => {
                self.receiving.datagram(from, ancillary, bytes);
                self.io(Cause::Data, out);
            }
            Update::Undelivered { to, ancillary, bytes } => {
                self.undelivered.arrived(to, ancillary, bytes);
                self.io(Cause::Error, out);
            }
            Update::Urgent { ahead } => {
                self.receiving.urgent(ahead);
                out.push(Action::Signal { socket: self.id, signal: Signal::Urgent });
            }
            // Messages keep their order, so all data before the FIN has arrived.
            Update::PeerClosed => {
                if let Some(halves) = self.state.halves_mut() {
                    halves.peer_ended = true;
                }
                self.tell(Call::FinDelivered, out);
                self.io(if self.state.send_shut() { Cause::Disconnected } else { Cause::PeerClosed }, out);
            }
            Update::SocketError(error) => self.fail(error, out),
            Update::StateClosed => self.fail(Errno::ECONNRESET, out),
            Update::LocalAddress(local) => match &mut self.state {
                State::Connecting { source } => *source = Some(local),
                _ => self.local = Some(local),
            },
            // The client creates a socket for each new connection. `AllAcknowledged` concerns only
            // a lingering socket.
            Update::NewConnection { .. } | Update::AllAcknowledged => {}
        }
        self.progress(now, out);
    }

    /// Fails the connection: waiting calls end with the error, and only data that has arrived can
    /// still be read.
    fn fail(&mut self, error: Errno, out: &mut Vec<Action>) {
        self.error = Some(error);
        self.sending.discard();
        if self.create.kind == RsockType::Stream {
            self.state = State::Failed;
        }
        self.io(Cause::Error, out);
    }

    /// Fails the socket because the server is lost, or has been told that this half is gone.
    /// Nothing can be sent to it any more (E5, E8).
    pub(crate) fn lose(&mut self, now: Duration, out: &mut Vec<Action>) {
        self.remote = Remote::Unknown;
        self.options.told.clear();
        for call in self.requests.abandon() {
            self.give_back(call, Err(Errno::ECONNRESET), out);
        }
        if self.state.is_closing() {
            self.delivery_failed(Errno::ECONNRESET, out);
        } else {
            self.fail(Errno::ECONNRESET, out);
            self.state = State::Failed;
            self.progress(now, out);
        }
    }

    /// Notes that the server could not create its half for a call without an answer (6.5.2). The
    /// next use tries again.
    pub(crate) fn not_created(&mut self, now: Duration, out: &mut Vec<Action>) {
        self.half_not_made();
        self.error = Some(Errno::ENOBUFS);
        if self.state == State::Listening {
            self.state = State::Unconnected;
        }
        self.progress(now, out);
    }

    /// Notes that the server could not create its half.
    fn half_not_made(&mut self) {
        if self.remote == Remote::Made {
            self.remote = Remote::NotMade;
        }
    }

    /// Returns whether the socket failed and has nothing at the server.
    fn is_lost(&self) -> bool {
        self.state == State::Failed && self.remote != Remote::Made
    }

    /// Returns the number of connections that were not accepted yet.
    pub(crate) fn pending(&self) -> usize {
        self.children.len()
    }

    /// Returns whether nothing is left of the socket.
    pub(crate) fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    fn wildcard(&self) -> SocketAddr {
        use crate::message::Family;
        use std::net::{Ipv4Addr, Ipv6Addr};
        match self.create.family {
            Family::V4 => (Ipv4Addr::UNSPECIFIED, 0).into(),
            Family::V6 => (Ipv6Addr::UNSPECIFIED, 0).into(),
        }
    }

    fn peer_name(&self) -> Result<Value, Errno> {
        let is_connected = match self.state {
            State::Connected { halves, .. } => !halves.are_over(),
            _ => self.create.kind != RsockType::Stream,
        };
        // A UDP socket that is connected to port 0 has no peer (`inet_getname`).
        let peer = self.peer.filter(|peer| is_connected && peer.port() != 0);
        peer.map(Value::Address).ok_or(Errno::ENOTCONN)
    }

    /// Sends a call to the server, with the report of bytes read. The first message also creates
    /// the server's half.
    fn tell(&mut self, call: Call, out: &mut Vec<Action>) {
        let create = self.creation(out);
        let consumed = self.receiving.report();
        let body = Body::Call { create, consumed, call };
        out.push(Action::Send(Message { target: self.target, body }));
    }

    /// Returns the creation of the server's half if the server does not have one. If an earlier
    /// creation failed, the options that were sent with it are lost, so they are sent again first.
    fn creation(&mut self, out: &mut Vec<Action>) -> Option<Create> {
        if std::mem::replace(&mut self.remote, Remote::Made) == Remote::Made {
            return None;
        }
        let mut create = Some(self.create);
        for ((level, name), value) in self.options.told.clone() {
            let call = Call::SetOption { level, name, value };
            let body = Body::Call { create: create.take(), consumed: 0, call };
            out.push(Action::Send(Message { target: self.target, body }));
        }
        create
    }

    fn io(&self, cause: Cause, out: &mut Vec<Action>) {
        if self.asynchronous {
            out.push(Action::Signal { socket: self.id, signal: Signal::Io(cause) });
        }
    }

    fn give_back(&self, call: CallId, result: Result<Value, Errno>, out: &mut Vec<Action>) {
        debug_assert!(self.waiting.iter().all(|waiting| waiting.call != call), "a call that still waits");
        out.push(Action::Return { call, result });
    }
}
