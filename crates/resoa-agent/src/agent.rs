//! The event loop, which connects calls, sockets and associations.

use crate::associations::{Associations, Happened, LocalRules};
use crate::calls::Calls;
use crate::listening::Listening;
use crate::poller::{EVENTS, Events, Poller, Token};
use crate::settings::{AgentError, AgentSettings};
use crate::sockets::Sockets;
use crate::stack::{Half, Stack};
use resoa_calls::{Connected, Response, SocketId, Status};
use resoa_carrier::Carrier;
use resoa_protocol::Target;
use rustix::event::epoll::EventFlags;
use rustix::fd::BorrowedFd;
use rustix::net::SocketType;
use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Number of ends or server messages that are processed before the next look for new calls. A
/// program that accepts waits for each answer, and natively it would not. If its calls waited
/// behind all data of its other connections, it would accept few new ones.
const BETWEEN_CALLS: usize = 16;
/// Maximum time for the server within this process to accept its client. This takes no time unless
/// the machine stalls.
const PATIENCE: Duration = Duration::from_secs(30);

/// An agent; see [the crate](crate).
pub struct Agent {
    pub(crate) poller: Poller,
    pub(crate) associations: Associations,
    pub(crate) calls: Calls,
    pub(crate) sockets: Sockets,
    /// Events of ends that are not processed yet.
    heard: VecDeque<(SocketId, EventFlags)>,
    origin: Instant,
}

impl Agent {
    /// Creates an agent that accepts calls from now on. It will register at the server that
    /// `carrier` finds at `address`.
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
        let calls = Listening::at(settings.listen, SocketType::SEQPACKET)?;
        let pairs = Listening::at(pairs.into(), SocketType::STREAM)?;
        let poller = Poller::new()?;
        let of_clients = (settings.settings, settings.timers);
        let mut agent = Self {
            associations: Associations::new(settings.mode, of_clients, carrier, address, &poller)?,
            calls: Calls::new(calls, &poller)?,
            sockets: Sockets::new(pairs)?,
            poller,
            heard: VecDeque::new(),
            origin: Instant::now(),
        };
        let now = agent.now();
        agent.associations.of_mut(Stack::Remote).register(now);
        agent.settle(now);
        Ok(agent)
    }

    /// Lets this host's own stack serve the destinations of `rules`, and returns once the agent is
    /// registered there. `carrier` leads to a server within this process that grants
    /// [`LocalRules::client`].
    ///
    /// # Errors
    /// If the kernel has no descriptors left, or the server does not answer.
    pub fn serve_locally(
        &mut self,
        rules: &LocalRules,
        carrier: impl Carrier<Error = io::Error> + 'static,
    ) -> Result<(), AgentError> {
        self.associations.add_local(rules, carrier, &self.poller)?;
        let now = self.now();
        self.associations.of_mut(Stack::Local).register(now);
        self.settle(now);
        let begin = Instant::now();
        while !self.associations.of(Stack::Local).is_registered() {
            if begin.elapsed() >= PATIENCE {
                return Err(io::Error::from(io::ErrorKind::TimedOut).into());
            }
            self.associations.of(Stack::Local).wait(PATIENCE);
            self.hear(Stack::Local, self.now());
        }
        Ok(())
    }

    /// Returns the path of the socket for calls.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.calls.path()
    }

    /// Returns the paths of UNIX sockets that the agent itself connects to: the listener for ends
    /// of pairs.
    #[must_use]
    pub fn connects_to(&self) -> Vec<PathBuf> {
        vec![self.sockets.pairs_path().to_owned()]
    }

    /// Makes [`turn`](Self::turn) return `true` when this descriptor of the owner is readable.
    ///
    /// # Errors
    /// If the kernel has no memory.
    pub fn wait_for(&self, descriptor: BorrowedFd) -> io::Result<()> {
        self.poller.watch(Token::Owner, descriptor)
    }

    /// Waits for events, at most for `longest`, and processes them. Returns whether a descriptor of
    /// the owner is readable.
    ///
    /// # Errors
    /// Errors of epoll, none of which can be recovered from.
    pub fn turn(&mut self, longest: Option<Duration>) -> io::Result<bool> {
        let now = self.now();
        let deadlines = [self.associations.deadline(), self.sockets.deadline(), self.calls.deadline()];
        let next = deadlines.into_iter().flatten().min().map(|next| next.saturating_sub(now));
        let wait = next.into_iter().chain(self.associations.time_left()).chain(longest).min();
        let events = self.poller.wait(wait)?;
        let now = self.now();
        self.associations.gather();
        // Events of sockets come before calls: a call after a `close` must find the socket closed.
        self.note(&events);
        self.at_ends(now);
        let mut is_owners = false;
        for (token, flags) in events.iter() {
            match token {
                Token::Carrier(stack) => self.hear(stack, now),
                Token::Calls => self.take_calls(now),
                Token::Call(call) => self.at_call(call, flags, now),
                Token::Owner => is_owners = true,
                Token::End(_) => {}
            }
        }
        for stack in self.associations.due() {
            self.hear(stack, now);
        }
        self.associations.expire(now);
        self.sockets.expire(&mut self.associations.at(now));
        self.calls.expire(&self.poller, now);
        self.settle(now);
        self.associations.flush();
        Ok(is_owners)
    }

    /// Ends the registration: gracefully if no socket is open. Otherwise sockets are reset (C08).
    pub fn stop(&mut self) {
        let now = self.now();
        self.sockets.sweep(&mut self.associations.at(now));
        self.settle(now);
        self.associations.of_mut(Stack::Remote).stop(now);
        self.settle(now);
    }

    /// Ends the carrier's connection at once, as a loss of the link does.
    pub fn cut(&mut self) {
        let now = self.now();
        self.associations.of_mut(Stack::Remote).cut(now);
        self.settle(now);
    }

    /// Returns whether the end after [`stop`](Self::stop) is complete.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.associations.of(Stack::Remote).is_over()
    }

    /// Returns the state of the agent.
    #[must_use]
    pub fn status(&self) -> Status {
        let counts = self.sockets.counts();
        Status {
            connected: self.connected(),
            made: counts.made,
            carried: counts.carried,
            local: counts.local,
            accepted: counts.accepted,
            open: self.sockets.len() as u64,
            octets: counts.octets,
            round_trip_us: self
                .associations
                .of(Stack::Remote)
                .round_trip()
                .map(|round_trip| round_trip.as_micros() as u64),
        }
    }

    /// Returns whether it is registered at the server: a part of [`status`](Self::status) that
    /// needs no system calls.
    #[must_use]
    pub fn connected(&self) -> Connected {
        self.associations.of(Stack::Remote).connected()
    }

    /// Processes the reports of a carrier.
    fn hear(&mut self, stack: Stack, now: Duration) {
        for (count, report) in (1..).zip(self.associations.of_mut(stack).poll()) {
            if count % BETWEEN_CALLS == 0 {
                self.take_calls(now);
            }
            let target = self.associations.of_mut(stack).hear(report, now);
            self.settle(now);
            if let Some(target) = target {
                self.progress_target(stack, target, now);
            }
        }
    }

    /// Processes a message for this target.
    fn progress_target(&mut self, stack: Stack, target: Target, now: Duration) {
        let socket = self.associations.of(stack).client().socket_of(target);
        let has_program = socket.is_some_and(|id| self.sockets.of(Half { stack, id }).is_some());
        // Messages for a connection that was not accepted yet concern its listener.
        let id = match target {
            Target::Child { listener, .. } if !has_program => Some(listener),
            _ => socket,
        };
        if let Some(id) = id {
            self.progress_half(Half { stack, id }, now);
        }
    }

    /// Queues the events of our ends of pairs.
    fn note(&mut self, events: &Events) {
        self.heard.extend(events.iter().filter_map(|(token, flags)| match token {
            Token::End(socket) => Some((socket, flags)),
            _ => None,
        }));
    }

    /// Processes the queued events of ends, and new calls in between.
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

    /// Processes all queued events of ends.
    pub(crate) fn settle_ends(&mut self, now: Duration) {
        while let Some((id, flags)) = self.heard.pop_front() {
            self.at_end(id, flags, now);
        }
    }

    /// Processes all events of ends up to now, because a call may have come after this turn's wait.
    /// Other events are not lost: epoll reports them again.
    pub(crate) fn hear_ends(&mut self, now: Duration) {
        self.settle_ends(now);
        // Each pass returns other events, until all have been returned.
        for _ in 0..=(self.sockets.len() + self.calls.len()) / EVENTS {
            let Ok(events) = self.poller.wait(Some(Duration::ZERO)) else { return };
            self.note(&events);
            self.settle_ends(now);
            if !events.may_be_cut() {
                return;
            }
        }
    }

    fn at_end(&mut self, id: SocketId, events: EventFlags, now: Duration) {
        self.sockets.at_end(id, events, &mut self.associations.at(now));
        self.settle(now);
    }

    /// Processes everything that is possible for a socket, and the consequences.
    pub(crate) fn progress(&mut self, id: SocketId, now: Duration) {
        self.sockets.progress(id, &mut self.associations.at(now));
        self.settle(now);
    }

    fn progress_half(&mut self, half: Half, now: Duration) {
        if let Some(id) = self.sockets.of(half) {
            self.progress(id, now);
        }
    }

    /// Processes the consequences of the last step, and theirs in turn, before the next step.
    pub(crate) fn settle(&mut self, now: Duration) {
        for stack in [Stack::Remote, Stack::Local] {
            for happened in self.associations.take_happened(stack) {
                match happened {
                    Happened::Returned { call, result } => self.returned(stack, call, result, now),
                    Happened::Ready(id) => self.progress_half(Half { stack, id }, now),
                    Happened::Lost => {
                        for half in self.sockets.halves(stack) {
                            self.progress_half(half, now);
                        }
                    }
                }
            }
        }
        for call in self.sockets.take_closed() {
            self.calls.respond(call, &Response::Done, None);
        }
    }

    fn now(&self) -> Duration {
        self.origin.elapsed()
    }
}
