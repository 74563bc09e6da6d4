//! The loop: calls, ends, the carrier, and timers.

use crate::association::Association;
use crate::call::Call;
use crate::choice::Local;
use crate::flight::Weights;
use crate::place::Listening;
use crate::settings::{AgentError, AgentSettings};
use crate::socket::{Form, Half, Socket};
use crate::stack::Stack;
use crate::status::Counts;
use crate::sweep::LIST;
use resoa_calls::{SocketId, SocketName};
use resoa_carrier::Carrier;
use resoa_protocol::{Action, CallId, Client, RsockId, Settings, SocketCall, Stream, Timers};
use rustc_hash::{FxHashMap, FxHashSet};
use rustix::event::Timespec;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::net::SocketType;
use rustix::process::{Uid, geteuid};
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What epoll says of the carrier to the server.
const CARRIER: u64 = 0;
/// The same of the one within this process.
pub(crate) const LOCAL: u64 = 3;
/// The same of the socket that calls come to.
pub(crate) const CALLS: u64 = 1;
/// The same of what the owner waits for.
const OWNER: u64 = 2;
/// Of a call, with its number; of an end, with that of its socket.
const CALL: u64 = 1 << 62;
const END: u64 = 1 << 63;
/// Events of one wait.
const EVENTS: usize = 256;
/// Ends that are seen to, and messages of the server that are, before somebody who calls is
/// answered. A program that accepts waits for each answer, and natively for none: behind all the
/// data of its other connections it would take in few new ones.
pub(crate) const BETWEEN_CALLS: usize = 16;

/// An agent; see [the crate](crate).
pub struct Agent {
    pub(crate) remote: Association,
    /// If there are rules for it.
    pub(crate) local: Option<Local>,
    /// How the halves of sockets are to be, at whatever server.
    pub(crate) of_clients: (Settings, Timers),
    pub(crate) epoll: OwnedFd,
    /// Where calls come to, and where ends of pairs are made.
    calls_at: Listening,
    pub(crate) pairs_at: Listening,
    /// No calls are taken before that: there was no descriptor for one.
    pub(crate) resting_until: Option<Duration>,
    pub(crate) calls: FxHashMap<CallId, Call>,
    /// Calls whose request was not there yet.
    pub(crate) asking: Vec<CallId>,
    pub(crate) sockets: FxHashMap<SocketId, Socket>,
    pub(crate) halves: FxHashMap<Half, SocketId>,
    /// Sockets of [`Form::Loose`].
    pub(crate) loose: FxHashSet<SocketId>,
    /// Sockets whose program may wait for more than is in flight, in the order in which that is to
    /// be done.
    pub(crate) slow: VecDeque<(Duration, SocketId)>,
    /// What has happened to ends, and is not seen to yet.
    heard: VecDeque<(SocketId, EventFlags)>,
    /// The stream that is seen to at the moment.
    pub(crate) progressing: Option<SocketId>,
    pub(crate) weights: Weights,
    /// Random: programs of others cannot guess names.
    pub(crate) number: u64,
    /// Random at first, and far from where the numbers are over ([`END`]): what a program asks of a
    /// socket of the agent that was here before must be no socket's of this one.
    pub(crate) last_socket: u64,
    pub(crate) last_call: u64,
    pub(crate) swept: Duration,
    /// The list of UNIX sockets that is looked through then: an agent that is confined opens no
    /// files.
    pub(crate) list: File,
    /// Who may call, beside root: the user that has started it.
    pub(crate) owner: Uid,
    /// Sockets that programs have closed since it started.
    pub(crate) closes: u64,
    pub(crate) counts: Counts,
    origin: Instant,
}

impl Agent {
    /// An agent that takes calls from now on and will register at the server that `carrier` finds
    /// at `address`.
    ///
    /// # Errors
    /// If it cannot listen.
    pub fn new(
        settings: AgentSettings,
        carrier: impl Carrier<Error = io::Error> + 'static,
        address: Vec<u8>,
    ) -> Result<Self, AgentError> {
        let mut pairs = settings.listen.clone().into_os_string();
        pairs.push(".pairs");
        let calls_at = Listening::at(settings.listen, SocketType::SEQPACKET)?;
        let pairs_at = Listening::at(pairs.into(), SocketType::STREAM)?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(io::Error::from)?;
        epoll::add(&epoll, carrier.descriptor(), EventData::new_u64(CARRIER), EventFlags::IN)
            .map_err(io::Error::from)?;
        epoll::add(&epoll, &calls_at.fd, EventData::new_u64(CALLS), EventFlags::IN)
            .map_err(io::Error::from)?;
        let (number, before_first) = (random()?, random()? >> 2);
        let client = Client::new(settings.mode, settings.settings, settings.timers);
        let mut agent = Self {
            remote: Association::new(client, carrier, address),
            local: None,
            of_clients: (settings.settings, settings.timers),
            epoll,
            calls_at,
            pairs_at,
            resting_until: None,
            calls: FxHashMap::default(),
            asking: Vec::new(),
            sockets: FxHashMap::default(),
            halves: FxHashMap::default(),
            loose: FxHashSet::default(),
            slow: VecDeque::new(),
            heard: VecDeque::new(),
            progressing: None,
            weights: Weights::new()?,
            number,
            last_socket: before_first,
            last_call: 0,
            swept: Duration::ZERO,
            list: File::open(LIST)?,
            owner: geteuid(),
            closes: 0,
            counts: Counts::default(),
            origin: Instant::now(),
        };
        agent.register(Stack::Remote);
        Ok(agent)
    }

    /// Where calls come to.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.calls_at.path
    }

    /// UNIX sockets of its own that it connects to: the ends of pairs.
    #[must_use]
    pub fn connects_to(&self) -> Vec<PathBuf> {
        vec![self.pairs_at.path.clone()]
    }

    /// Lets [`turn`](Self::turn) return when a descriptor of the owner's is readable, and say so.
    ///
    /// # Errors
    /// If the kernel has no memory.
    pub fn wait_for(&self, descriptor: BorrowedFd) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, descriptor, EventData::new_u64(OWNER), EventFlags::IN)?)
    }

    /// Waits until something happens, at most for so long, and does what comes of it. Whether a
    /// descriptor of the owner's is readable.
    ///
    /// # Errors
    /// None that could be helped; epoll's.
    pub fn turn(&mut self, longest: Option<Duration>) -> io::Result<bool> {
        let now = self.now();
        let slow = self.slow.front().map(|&(at, _)| at);
        let local = self.local.as_ref().and_then(|local| local.association.deadline());
        let deadlines = [self.remote.deadline(), local, self.sweep_at(), slow, self.resting_until];
        let next = deadlines.into_iter().flatten().min().map(|next| next.saturating_sub(now));
        let wait = next.into_iter().chain(longest).min();
        let wait = wait.map(|wait| Timespec {
            tv_sec: wait.as_secs().cast_signed(),
            tv_nsec: wait.subsec_nanos().into(),
        });
        let events = self.events(wait.as_ref())?;
        let now = self.now();
        self.gather();
        // What happened to sockets before what was said of them: a call that follows a close must
        // find it closed.
        self.note(&events);
        self.at_ends(now);
        for event in &events {
            match event.data.u64() {
                CARRIER => self.hear(Stack::Remote, now),
                LOCAL => self.hear(Stack::Local, now),
                CALLS => self.take_calls(now),
                token if token & CALL != 0 && token & END == 0 => {
                    self.at_call(CallId(token & !CALL), event.flags, now);
                }
                _ => {}
            }
        }
        self.expire(now);
        self.flush();
        Ok(events.iter().any(|event| event.data.u64() == OWNER))
    }

    fn expire(&mut self, now: Duration) {
        self.expire_association(Stack::Remote, now);
        if self.local.is_some() {
            self.expire_association(Stack::Local, now);
        }
        self.expire_slow(now);
        self.expire_rest(now);
        if self.sweep_at().is_some_and(|at| at <= now) {
            self.sweep(now);
        }
    }

    /// What has happened, or happens within that time.
    fn events(&self, wait: Option<&Timespec>) -> io::Result<Vec<epoll::Event>> {
        let mut events = Vec::with_capacity(EVENTS);
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), wait) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(events),
            Err(error) => Err(error.into()),
        }
    }

    /// Events of our ends of pairs are to be seen to.
    fn note(&mut self, events: &[epoll::Event]) {
        let ends = events.iter().map(|event| (event.data.u64(), event.flags));
        self.heard.extend(
            ends.filter(|(token, _)| token & END != 0).map(|(token, flags)| (SocketId(token & !END), flags)),
        );
    }

    /// Sees to our ends of pairs, and between them to who calls.
    fn at_ends(&mut self, now: Duration) {
        let mut count = 0;
        while let Some((id, flags)) = self.heard.pop_front() {
            self.at_end(id, flags, now);
            count += 1;
            if count % BETWEEN_CALLS == 0 {
                self.take_calls(now);
            }
        }
    }

    /// Sees to all of them that it knows of.
    pub(crate) fn settle_ends(&mut self, now: Duration) {
        while let Some((id, flags)) = self.heard.pop_front() {
            self.at_end(id, flags, now);
        }
    }

    /// Hears what has happened to sockets until now: a call may have come after this turn has
    /// looked. What has happened else is said once more.
    pub(crate) fn hear_ends(&mut self, now: Duration) {
        self.settle_ends(now);
        // Each pass brings others, until all were there.
        for _ in 0..=(self.sockets.len() + self.calls.len()) / EVENTS {
            let Ok(events) = self.events(Some(&Timespec::default())) else { return };
            self.note(&events);
            self.settle_ends(now);
            if events.len() < EVENTS {
                return;
            }
        }
    }

    /// An event of our end of a pair.
    fn at_end(&mut self, id: SocketId, events: EventFlags, now: Duration) {
        let name = self.name(id);
        let Some(socket) = self.sockets.get_mut(&id) else { return };
        match &mut socket.form {
            Form::Stream { end, .. } | Form::Listener { end, .. } => {
                end.heard(events);
                end.settle_hang_up(&name);
            }
            Form::Datagram(packets) => packets.heard(events, &name),
            Form::Loose { .. } | Form::Closing => return,
        }
        self.progress(id, now);
    }

    /// What can be done for a socket is done: after each event of its end or of its half.
    pub(crate) fn progress(&mut self, id: SocketId, now: Duration) {
        match self.sockets.get(&id).map(|socket| &socket.form) {
            Some(Form::Stream { .. }) => self.progress_stream(id, now),
            Some(Form::Listener { .. }) => self.progress_listener(id, now),
            Some(Form::Datagram(_)) => self.progress_datagrams(id, now),
            Some(Form::Loose { .. } | Form::Closing) | None => {}
        }
    }

    /// The same, by its half.
    pub(crate) fn progress_half(&mut self, half: Half, now: Duration) {
        if let Some(&id) = self.halves.get(&half) {
            self.progress(id, now);
        }
    }

    /// How a half does; `None` if there is none.
    pub(crate) fn stream(&self, half: Half) -> Option<Stream> {
        self.association(half.stack).client.stream(half.id)
    }

    /// The same of a socket's.
    pub(crate) fn stream_of(&self, id: SocketId) -> Option<Stream> {
        self.stream(self.sockets.get(&id)?.half?)
    }

    /// Does something at a client, and what comes of it.
    pub(crate) fn at_client<T>(
        &mut self,
        stack: Stack,
        now: Duration,
        event: impl FnOnce(&mut Client, &mut Vec<Action>) -> T,
    ) -> T {
        let mut out = Vec::new();
        let result = event(&mut self.association_mut(stack).client, &mut out);
        self.carry_out(stack, out, now);
        result
    }

    /// The same at a half.
    pub(crate) fn at_half<T>(
        &mut self,
        half: Half,
        now: Duration,
        event: impl FnOnce(&mut Client, RsockId, &mut Vec<Action>) -> T,
    ) -> T {
        self.at_client(half.stack, now, |client, out| event(client, half.id, out))
    }

    /// A call at a socket's half.
    pub(crate) fn call_half(&mut self, half: Half, call: CallId, what: SocketCall, now: Duration) {
        self.at_half(half, now, |client, id, out| client.call(id, call, what, now, out));
    }

    /// Messages first, in the order in which they were decided on: what the other actions lead to
    /// is said behind them.
    fn carry_out(&mut self, stack: Stack, actions: Vec<Action>, now: Duration) {
        let mut others = Vec::with_capacity(actions.len());
        for action in actions {
            match action {
                Action::Send(message) => self.send(stack, &message),
                action => others.push(action),
            }
        }
        for action in others {
            match action {
                Action::Return { call, result } => self.returned(stack, call, result, now),
                Action::Ready { socket: id, .. } => self.progress_half(Half { stack, id }, now),
                Action::Connect => self.connect_carrier(stack),
                Action::Close => self.association_mut(stack).close(),
                Action::Reset => self.association_mut(stack).reset(),
                Action::Registration(registration) => self.registration(stack, registration, now),
                // Data goes over the descriptor, and so do the signals that it brings.
                Action::Signal { .. } | Action::Send(_) => {}
            }
        }
    }

    /// The program has closed its last descriptor.
    pub(crate) fn close(&mut self, id: SocketId, now: Duration) {
        let Some(socket) = self.sockets.get_mut(&id) else { return };
        self.closes += 1;
        socket.form = Form::Closing;
        self.loose.remove(&id);
        let Some(half) = socket.half else {
            self.forget(id);
            return;
        };
        let call = self.next_call();
        self.calls.insert(call, Call::Closing { socket: id });
        self.call_half(half, call, SocketCall::Close { may_wait: true }, now);
    }

    /// Nothing is left of it here.
    pub(crate) fn forget(&mut self, id: SocketId) {
        let Some(socket) = self.sockets.remove(&id) else { return };
        if let Some(half) = socket.half {
            self.halves.remove(&half);
        }
        for call in socket.closers {
            self.respond(call, &resoa_calls::Response::Done, None);
        }
    }

    /// Lets the loop hear of an end.
    pub(crate) fn watch(&self, id: SocketId, end: &impl AsFd) -> io::Result<()> {
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        Ok(epoll::add(&self.epoll, end.as_fd(), EventData::new_u64(END | id.0), flags)?)
    }

    /// The same of a call.
    pub(crate) fn watch_call(&self, call: CallId, connection: &OwnedFd) -> io::Result<()> {
        let flags = EventFlags::IN | EventFlags::RDHUP;
        Ok(epoll::add(&self.epoll, connection, EventData::new_u64(CALL | call.0), flags)?)
    }

    pub(crate) fn calls_descriptor(&self) -> &OwnedFd {
        &self.calls_at.fd
    }

    pub(crate) fn next_call(&mut self) -> CallId {
        self.last_call += 1;
        CallId(self.last_call)
    }

    pub(crate) fn next_socket(&mut self) -> SocketId {
        self.last_socket += 1;
        SocketId(self.last_socket)
    }

    pub(crate) fn name(&self, socket: SocketId) -> SocketName {
        SocketName { agent: self.number, socket }
    }

    pub(crate) fn now(&self) -> Duration {
        self.origin.elapsed()
    }
}

fn random() -> io::Result<u64> {
    let mut number = [0; 8];
    rustix::rand::getrandom(&mut number[..], rustix::rand::GetRandomFlags::empty())?;
    Ok(u64::from_ne_bytes(number))
}
