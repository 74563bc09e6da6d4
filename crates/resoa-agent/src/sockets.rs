//! Programs' sockets: the state of their descriptors, our ends of the pairs, and the data flow
//! between these and the halves at the clients.
//!
//! | file | contents |
//! |---|---|
//! | `socket.rs` | a socket, and the forms of its descriptor |
//! | `stream.rs`, `listener.rs`, `datagrams.rs` | processing of each form |
//! | `end.rs`, `flight.rs`, `packets.rs`, `pairs.rs` | our ends, and their creation |
//! | `choice.rs` | choice of a socket's stack |
//! | `loose.rs` | detection of closed descriptors that have no end at the agent |
//!
//! A *pass* does everything that is possible for one socket. [`progress`](Sockets::progress) makes
//! one after each event of the socket's end or half. Resulting events of calls are queued at the
//! [associations](Associations::take_happened).

mod choice;
mod counts;
mod datagrams;
mod end;
mod flight;
mod listener;
mod loose;
mod names;
mod own_calls;
mod packets;
mod pairs;
mod socket;
mod stream;

use crate::associations::{Associations, Clients};
use crate::listening::Listening;
use crate::stack::{Half, Stack};
use counts::Counts;
use end::PATIENCE;
use flight::Weights;
use loose::Loose;
use names::Names;
use own_calls::{OwnCalls, Purpose};
use pairs::Pairs;
use resoa_calls::SocketId;
use resoa_protocol::message::{Half as Direction, Operation};
use resoa_protocol::schedule::Schedule;
use resoa_protocol::{CallId, Errno, SocketCall, Stage, Stream};
use rustc_hash::FxHashMap;
use rustix::event::epoll::EventFlags;
use socket::{Form, Found, Socket};
use std::io;
use std::path::Path;
use std::time::Duration;

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Sockets {
    table: FxHashMap<SocketId, Socket>,
    halves: FxHashMap<Half, SocketId>,
    names: Names,
    loose: Loose,
    pairs: Pairs,
    shared: Shared,
    /// Number of sockets that programs have closed since the agent started.
    closes: u64,
    /// Calls that waited for a close, and may return now.
    closed: Vec<CallId>,
}

/// State shared by the passes over all sockets.
#[derive(Debug)]
struct Shared {
    weights: Weights,
    counts: Counts,
    own: OwnCalls,
    /// Times at which sockets need a pass without an event.
    line: Schedule<SocketId, Duration>,
}

impl Sockets {
    /// Creates an empty table; programs' descriptors are connected to `pairs`.
    pub(crate) fn new(pairs: Listening) -> io::Result<Self> {
        Ok(Self {
            table: FxHashMap::default(),
            halves: FxHashMap::default(),
            names: Names::new()?,
            loose: Loose::new()?,
            pairs: Pairs(pairs),
            shared: Shared {
                weights: Weights::new()?,
                counts: Counts::default(),
                own: OwnCalls::default(),
                line: Schedule::default(),
            },
            closes: 0,
            closed: Vec::new(),
        })
    }

    /// Returns the path that programs' descriptors are connected to.
    pub(crate) fn pairs_path(&self) -> &Path {
        self.pairs.path()
    }

    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    pub(crate) fn counts(&self) -> &Counts {
        &self.shared.counts
    }

    /// Returns the number of sockets that programs have closed since the agent started.
    pub(crate) fn closes(&self) -> u64 {
        self.closes
    }

    /// Returns the socket of a half.
    pub(crate) fn of(&self, half: Half) -> Option<SocketId> {
        self.halves.get(&half).copied()
    }

    /// Returns the halves at a stack.
    pub(crate) fn halves(&self, stack: Stack) -> Vec<Half> {
        self.halves.keys().filter(|half| half.stack == stack).copied().collect()
    }

    /// Returns the half of a socket, if it has one.
    pub(crate) fn half_of(&self, id: SocketId) -> Option<Half> {
        self.table.get(&id)?.half
    }

    /// Returns the state of a socket's half; `None` if there is none.
    fn stream_of(&self, id: SocketId, clients: &Associations) -> Option<Stream> {
        clients.stream(self.half_of(id)?)
    }

    /// Checks a call that the client's half could execute, but the descriptor cannot.
    pub(crate) fn may(
        &self,
        id: SocketId,
        half: Half,
        what: &SocketCall,
        clients: &Associations,
    ) -> Result<(), Errno> {
        let stream = clients.stream(half).ok_or(Errno::EBADF)?;
        let form = self.table.get(&id).map(|socket| &socket.form);
        let is_spent = matches!(form, Some(Form::Loose { is_spent: true }));
        match what {
            // A pair that was refused cannot be connected again.
            SocketCall::Operation(Operation::Connect(_) | Operation::Listen { .. })
            | SocketCall::Open { .. }
                if is_spent && stream.stage == Stage::Unconnected && !stream.untold =>
            {
                Err(Errno::ECONNABORTED)
            }
            SocketCall::Accept if stream.pending == 0 && stream.stage == Stage::Listening => {
                Err(Errno::EAGAIN)
            }
            _ => Ok(()),
        }
    }

    /// Returns whether a `shutdown` only takes effect on the descriptor: the end of a stream's
    /// sending direction follows the data written there. Interposers send the request if nothing
    /// can be written, because the socket may be connecting.
    pub(crate) fn is_of_the_descriptor(
        &self,
        id: SocketId,
        half: Half,
        what: &SocketCall,
        clients: &Associations,
    ) -> bool {
        let form = self.table.get(&id).map(|socket| &socket.form);
        matches!((what, form), (SocketCall::Shutdown(Direction::Write), Some(Form::Stream(_))))
            && clients
                .stream(half)
                .is_some_and(|stream| stream.stage == Stage::Connected && !stream.send_shut)
    }

    /// Returns the number of bytes that the program has written and the client's half does not have
    /// yet.
    pub(crate) fn in_pair(&self, id: SocketId) -> u32 {
        match self.table.get(&id).map(|socket| &socket.form) {
            Some(Form::Stream(stream)) => stream.in_pair() as u32,
            _ => 0,
        }
    }

    /// Notes an `accept`: the program has taken a byte of its listener.
    pub(crate) fn claim(&mut self, id: SocketId, now: Duration) {
        if let Some(Form::Listener(listener)) = self.table.get_mut(&id).map(|socket| &mut socket.form) {
            listener.claim(now);
        }
    }

    /// Processes an event of our end of a pair.
    pub(crate) fn at_end(&mut self, id: SocketId, events: EventFlags, clients: &mut Clients) {
        let name = self.names.of(id);
        if self.table.get_mut(&id).is_some_and(|socket| socket.heard(events, &name)) {
            self.progress(id, clients);
        }
    }

    /// Processes everything that is possible for a socket.
    pub(crate) fn progress(&mut self, id: SocketId, clients: &mut Clients) {
        let Some(socket) = self.table.get_mut(&id) else { return };
        let shared = &mut self.shared;
        let found = match (&mut socket.form, socket.half) {
            (Form::Stream(stream), Some(half)) => {
                stream.pass((id, &self.names.of(id)), &mut clients.half(half), shared)
            }
            (Form::Listener(listener), Some(half)) => match clients.stream(half) {
                Some(stream) => listener.pass(id, stream, shared, clients.now()),
                None => Found::Open,
            },
            (Form::Datagram(_), _) => self.pass_datagrams(id, clients),
            _ => return,
        };
        if let Some(half) = self.half_of(id) {
            clients.of_mut(half.stack).is_seen_to(half.id);
        }
        match found {
            Found::Open => {}
            Found::Closed => self.close(id, clients),
            Found::Failed => self.cut_loose(id, clients.now()),
        }
    }

    /// Returns when [`expire`](Self::expire) has something to do.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        self.shared.line.next().into_iter().chain(self.loose.deadline()).min()
    }

    /// Does what is due.
    pub(crate) fn expire(&mut self, clients: &mut Clients) {
        let now = clients.now();
        while let Some(id) = self.shared.line.due(now) {
            let again = match self.table.get_mut(&id).map(|socket| &mut socket.form) {
                Some(Form::Stream(stream)) => (!stream.grow(now)).then_some(now + PATIENCE),
                Some(Form::Listener(listener)) => {
                    listener.give_up_claims(&mut self.shared, now);
                    None
                }
                _ => None,
            };
            self.shared.line.set(id, again);
            if again.is_none() {
                self.progress(id, clients);
            }
        }
        if self.loose.deadline().is_some_and(|at| at <= now) {
            self.sweep(clients);
        }
    }

    /// Closes sockets without open descriptors.
    pub(crate) fn sweep(&mut self, clients: &mut Clients) {
        for id in self.loose.take_gone(&self.names, clients.now()) {
            if let Some(Form::Loose { .. }) = self.table.get(&id).map(|socket| &socket.form) {
                self.close(id, clients);
            }
        }
    }

    /// Makes a call wait until a lingering socket is closed, after the `close` of a descriptor.
    /// Returns whether it has to wait.
    pub(crate) fn wait_for_close(&mut self, id: SocketId, call: CallId, clients: &mut Clients) -> bool {
        let name = self.names.of(id);
        if self.table.get_mut(&id).is_some_and(|socket| socket.look(&name)) {
            self.progress(id, clients);
        }
        let socket = self.table.get_mut(&id).filter(|socket| socket.is_closing());
        socket.map(|socket| socket.closers.push(call)).is_some()
    }

    /// Takes the calls of [`wait_for_close`](Self::wait_for_close) that may return.
    pub(crate) fn take_closed(&mut self) -> Vec<CallId> {
        std::mem::take(&mut self.closed)
    }

    /// Processes the return of a call. Returns whether it is one of the agent's own.
    pub(crate) fn returned(&mut self, call: CallId, clients: &mut Clients) -> bool {
        match self.shared.own.take(call) {
            Some(Purpose::Close(socket)) => self.forget(socket),
            Some(Purpose::Name(socket)) => self.named(socket, clients),
            None => return own_calls::is_own(call),
        }
        true
    }

    /// Returns a number for a call whose result is not needed.
    pub(crate) fn next_call(&mut self) -> CallId {
        self.shared.own.next()
    }

    /// Closes our end with unread bytes, so that the program sees a reset.
    fn cut_loose(&mut self, id: SocketId, now: Duration) {
        if let Some(socket) = self.table.get_mut(&id) {
            socket.form = Form::Loose { is_spent: true };
            self.loose.insert(id, now);
        }
    }

    /// Closes a socket whose program has closed its last descriptor.
    fn close(&mut self, id: SocketId, clients: &mut Clients) {
        let Some(socket) = self.table.get_mut(&id) else { return };
        self.closes += 1;
        socket.form = Form::Closing;
        self.loose.remove(id);
        match socket.half {
            None => self.forget(id),
            Some(half) => {
                let call = self.shared.own.begin(Purpose::Close(id));
                clients.half(half).call(call, SocketCall::Close { may_wait: true });
            }
        }
    }

    /// Removes a socket.
    fn forget(&mut self, id: SocketId) {
        let Some(socket) = self.table.remove(&id) else { return };
        if let Some(half) = socket.half {
            self.halves.remove(&half);
        }
        self.closed.extend(socket.closers);
    }
}
