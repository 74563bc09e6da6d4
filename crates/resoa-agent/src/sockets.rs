//! Programs' sockets: what their descriptors are, our ends of the pairs, and what flows between
//! these and the halves at the clients.
//!
//! | file | what |
//! |---|---|
//! | `socket.rs` | a socket, and the forms that its descriptor takes |
//! | `stream.rs`, `listener.rs`, `datagrams.rs` | what is done for each form |
//! | `end.rs`, `flight.rs`, `packets.rs`, `pairs.rs` | our ends, and how they come about |
//! | `choice.rs` | whose stack a socket uses |
//! | `loose.rs` | descriptors that are gone though no end says so |
//!
//! A *pass* does for one socket all that can be done; [`progress`](Sockets::progress) makes one,
//! after each event of its end or of its half. What follows for calls waits at the
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
    /// Sockets that programs have closed since the agent started.
    closes: u64,
    /// Calls that asked when `close` may return, and now it may.
    closed: Vec<CallId>,
}

/// What passes over sockets share.
#[derive(Debug)]
struct Shared {
    weights: Weights,
    counts: Counts,
    own: OwnCalls,
    /// When a socket is looked at though nothing happens to it.
    line: Schedule<SocketId, Duration>,
}

impl Sockets {
    /// No sockets yet; programs' descriptors are connected to `pairs`.
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

    /// Where programs' descriptors are connected to.
    pub(crate) fn pairs_path(&self) -> &Path {
        self.pairs.path()
    }

    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    pub(crate) fn counts(&self) -> &Counts {
        &self.shared.counts
    }

    /// Sockets that programs have closed since the agent started.
    pub(crate) fn closes(&self) -> u64 {
        self.closes
    }

    /// The socket of a half.
    pub(crate) fn of(&self, half: Half) -> Option<SocketId> {
        self.halves.get(&half).copied()
    }

    /// The halves at a stack.
    pub(crate) fn halves(&self, stack: Stack) -> Vec<Half> {
        self.halves.keys().filter(|half| half.stack == stack).copied().collect()
    }

    /// The half of a socket, if it has one.
    pub(crate) fn half_of(&self, id: SocketId) -> Option<Half> {
        self.table.get(&id)?.half
    }

    /// The state of a socket's half; `None` if there is none.
    fn stream_of(&self, id: SocketId, clients: &Associations) -> Option<Stream> {
        clients.stream(self.half_of(id)?)
    }

    /// What the descriptor cannot do though the client's half could.
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
            // A pair that was refused cannot be connected once more.
            SocketCall::Operation(Operation::Connect(_) | Operation::Listen { .. })
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

    /// Whether the descriptor alone says when this is: the end of a connection's writing half
    /// stands behind what was written there. It is asked for if nothing can be written at the
    /// moment, since it may be that the socket connects.
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

    /// Octets that the program has written and the client's half has not.
    pub(crate) fn in_pair(&self, id: SocketId) -> u32 {
        match self.table.get(&id).map(|socket| &socket.form) {
            Some(Form::Stream(stream)) => stream.in_pair() as u32,
            _ => 0,
        }
    }

    /// The program accepts: it has taken an octet of its listener's.
    pub(crate) fn claim(&mut self, id: SocketId, now: Duration) {
        if let Some(Form::Listener(listener)) = self.table.get_mut(&id).map(|socket| &mut socket.form) {
            listener.claim(now);
        }
    }

    /// An event of our end of a pair.
    pub(crate) fn at_end(&mut self, id: SocketId, events: EventFlags, clients: &mut Clients) {
        let name = self.names.of(id);
        if self.table.get_mut(&id).is_some_and(|socket| socket.heard(events, &name)) {
            self.progress(id, clients);
        }
    }

    /// Does all that can be done for a socket.
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

    /// When [`expire`](Self::expire) has something to do.
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

    /// Closes sockets whose descriptors nobody has.
    pub(crate) fn sweep(&mut self, clients: &mut Clients) {
        for id in self.loose.take_gone(&self.names, clients.now()) {
            if let Some(Form::Loose { .. }) = self.table.get(&id).map(|socket| &socket.form) {
                self.close(id, clients);
            }
        }
    }

    /// `close` of a descriptor of a socket that lingers: the call waits until the socket is gone.
    /// Returns whether it has to.
    pub(crate) fn wait_for_close(&mut self, id: SocketId, call: CallId, clients: &mut Clients) -> bool {
        let name = self.names.of(id);
        if self.table.get_mut(&id).is_some_and(|socket| socket.look(&name)) {
            self.progress(id, clients);
        }
        let socket = self.table.get_mut(&id).filter(|socket| socket.is_closing());
        socket.map(|socket| socket.closers.push(call)).is_some()
    }

    /// Calls of [`wait_for_close`](Self::wait_for_close) that may return.
    pub(crate) fn take_closed(&mut self) -> Vec<CallId> {
        std::mem::take(&mut self.closed)
    }

    /// A call has returned. Returns whether it is one of this table's own.
    pub(crate) fn returned(&mut self, call: CallId, clients: &mut Clients) -> bool {
        match self.shared.own.take(call) {
            Some(Purpose::Close(socket)) => self.forget(socket),
            Some(Purpose::Name(socket)) => self.named(socket, clients),
            None => return own_calls::is_own(call),
        }
        true
    }

    /// A number for a call whose result is of no interest.
    pub(crate) fn next_call(&mut self) -> CallId {
        self.shared.own.next()
    }

    /// Our end is closed with octets unread: the program sees a reset.
    fn cut_loose(&mut self, id: SocketId, now: Duration) {
        if let Some(socket) = self.table.get_mut(&id) {
            socket.form = Form::Loose { is_spent: true };
            self.loose.insert(id, now);
        }
    }

    /// The program has closed its last descriptor.
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

    /// Nothing is left of it here.
    fn forget(&mut self, id: SocketId) {
        let Some(socket) = self.table.remove(&id) else { return };
        if let Some(half) = socket.half {
            self.halves.remove(&half);
        }
        self.closed.extend(socket.closers);
    }
}
