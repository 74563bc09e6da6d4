//! Whose stack a socket uses: chosen by what says first where it goes, and what was done before
//! that is done again there ([rules](crate::local)).
//!
//! Until then its half is at the server. The half that another choice needs is made when it is
//! used, gets the options that the program has set, and the first one is closed. A socket that has
//! an address of its own has chosen for good; one without, by each `connect`.

use crate::agent::{Agent, LOCAL};
use crate::association::Association;
use crate::call::Waiting;
use crate::local::{Chooser, LocalRules};
use crate::settings::AgentError;
use crate::socket::Half;
use crate::stack::Stack;
use resoa_calls::SocketId;
use resoa_carrier::Carrier;
use resoa_protocol::message::{AddressMode, Query};
use resoa_protocol::{Client, Errno, SocketCall, Stage};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// For the server within this process to take its client, in seconds; it takes no time unless the
/// machine does nothing at all.
const PATIENCE: i64 = 30;

/// This host's own stack; see the [module](self).
pub(crate) struct Local {
    pub(crate) association: Association,
    chooser: Chooser,
}

/// What a socket has chosen, and what has to be done again where it has.
#[derive(Debug, Default)]
pub(crate) struct Choice {
    /// `None` before anything has said where it goes.
    stack: Option<Stack>,
    /// It has an address of its own.
    pub(crate) is_bound: bool,
    /// Options by level and name, as they were set, in this order.
    options: Vec<((i32, i32), Vec<u8>)>,
}

impl Choice {
    /// Of a connection that was accepted.
    pub(crate) fn made(stack: Stack) -> Self {
        Self { stack: Some(stack), ..Self::default() }
    }
}

impl Agent {
    /// Has this host's own stack serve what the rules name: `carrier` leads to a server within this
    /// process that grants [`LocalRules::client`]. Returns once the agent is registered there.
    ///
    /// # Errors
    /// If the kernel has no descriptors left, or the server does not answer.
    pub fn serve_locally(
        &mut self,
        rules: &LocalRules,
        carrier: impl Carrier<Error = io::Error> + 'static,
    ) -> Result<(), AgentError> {
        let (settings, timers) = self.of_clients;
        let chooser = Chooser::new(rules);
        let client = Client::new(AddressMode::Shared, settings, timers);
        let association = Association::new(client, carrier, Vec::new());
        epoll::add(&self.epoll, association.carrier.descriptor(), EventData::new_u64(LOCAL), EventFlags::IN)
            .map_err(io::Error::from)?;
        self.local = Some(Local { association, chooser });
        self.register(Stack::Local);
        while !self.association(Stack::Local).is_registered() {
            let bell = self.association(Stack::Local).carrier.descriptor();
            let mut polled = [PollFd::new(&bell, PollFlags::IN)];
            let longest = Timespec { tv_sec: PATIENCE, tv_nsec: 0 };
            match poll(&mut polled, Some(&longest)) {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::TimedOut).into()),
                Ok(_) | Err(rustix::io::Errno::INTR) => self.hear(Stack::Local, self.now()),
                Err(error) => return Err(io::Error::from(error).into()),
            }
        }
        Ok(())
    }

    /// Whether sockets can be made: somewhere they could be used.
    pub(crate) fn has_a_stack(&self) -> bool {
        self.remote.is_registered() || self.local.is_some()
    }

    /// Before a call: whose stack it chooses, if it does.
    pub(crate) fn choose(&mut self, id: SocketId, what: &SocketCall, now: Duration) {
        let (Some(local), Some(socket)) = (&self.local, self.sockets.get(&id)) else { return };
        let stack = match what {
            SocketCall::Connect(to) => local.chooser.to(*to),
            SocketCall::Bind(address) => local.chooser.at(*address),
            SocketCall::Listen { .. } => Stack::Remote,
            _ => return,
        };
        let has_chosen = socket.choice.is_bound
            || socket.choice.stack.is_some()
                && self
                    .stream_of(id)
                    .is_some_and(|stream| stream.stage != Stage::Unconnected || stream.untold);
        if !has_chosen {
            self.choose_stack(id, stack, now);
        }
    }

    /// The same for a datagram that is sent there.
    pub(crate) fn choose_by_datagram(&mut self, id: SocketId, to: Option<SocketAddr>, now: Duration) {
        if let (Some(local), Some(to), false) = (&self.local, to, self.has_chosen(id)) {
            let stack = local.chooser.to(to);
            self.choose_stack(id, stack, now);
        }
    }

    /// Whether a datagram would not change anything.
    pub(crate) fn has_chosen(&self, id: SocketId) -> bool {
        self.local.is_none() || self.sockets.get(&id).is_none_or(|socket| socket.choice.stack.is_some())
    }

    fn choose_stack(&mut self, id: SocketId, stack: Stack, now: Duration) {
        let Some(socket) = self.sockets.get_mut(&id) else { return };
        socket.choice.stack = Some(stack);
        if let Some(other) = socket.half.take_if(|half| half.stack != stack) {
            self.halves.remove(&other);
            let call = self.next_call();
            self.call_half(other, call, SocketCall::Close { may_wait: false }, now);
        }
    }

    /// A half for a socket that has none, with the options that were set.
    pub(crate) fn make_half(&mut self, id: SocketId, now: Duration) -> Result<Half, Errno> {
        let is_up = self.remote.is_registered() || self.local.is_none();
        let socket = self.sockets.get(&id).ok_or(Errno::EBADF)?;
        let stack = socket.choice.stack.unwrap_or(if is_up { Stack::Remote } else { Stack::Local });
        let (create, options) = (socket.create, socket.choice.options.clone());
        let half = Half { stack, id: self.association_mut(stack).client.socket(create)? };
        self.halves.insert(half, id);
        if let Some(socket) = self.sockets.get_mut(&id) {
            socket.half = Some(half);
        }
        for ((level, name), value) in options {
            let call = self.next_call();
            self.call_half(half, call, SocketCall::SetOptionAgain { level, name, value }, now);
        }
        Ok(half)
    }

    /// A call has succeeded that another choice has to know of.
    pub(crate) fn remember(&mut self, what: &Waiting) {
        if self.local.is_none() {
            return;
        }
        let (Waiting::Set { socket, .. } | Waiting::Address { socket, .. }) = what else { return };
        let Some(choice) = self.sockets.get_mut(socket).map(|socket| &mut socket.choice) else { return };
        if let Waiting::Set { option, .. } = what {
            choice.options.retain(|(other, _)| *other != option.0);
            choice.options.push(option.clone());
        } else {
            choice.is_bound = true;
        }
    }

    /// Who looks a name up.
    pub(crate) fn stack_of(&self, query: &Query) -> Stack {
        self.local.as_ref().map_or(Stack::Remote, |local| local.chooser.of(query))
    }
}
