//! The choice of a socket's stack by the first call that names a destination
//! ([rules](crate::LocalRules)).
//!
//! A half is created at its first use; before a choice it is at the default stack. If a later
//! choice is another stack, the half is closed. The new one gets the options that the program has
//! set. The choice of a socket that has an address of its own is final. Otherwise each `connect`
//! chooses again.

use super::Sockets;
use crate::associations::{Associations, Clients};
use crate::stack::{Half, Stack};
use resoa_calls::SocketId;
use resoa_protocol::message::Operation;
use resoa_protocol::{Errno, SocketCall, Stage};
use std::net::SocketAddr;

/// The choice of a socket, and the settings to repeat at another stack.
#[derive(Debug, Default)]
pub(super) struct Choice {
    /// `None` before a call has named a destination or an address.
    stack: Option<Stack>,
    /// It has an address of its own.
    pub(super) is_bound: bool,
    /// Options by level and name, in the order in which they were set.
    options: Vec<((i32, i32), Vec<u8>)>,
}

impl Choice {
    /// Returns the choice for an accepted connection.
    pub(super) fn made(stack: Stack) -> Self {
        Self { stack: Some(stack), ..Self::default() }
    }
}

impl Sockets {
    /// Returns the client's half of a socket for a call. Creates it if there is none.
    pub(crate) fn half(
        &mut self,
        id: SocketId,
        what: &SocketCall,
        clients: &mut Clients,
    ) -> Result<Half, Errno> {
        self.choose(id, what, clients);
        let half = match self.table.get(&id).ok_or(Errno::EBADF)?.half {
            Some(half) => half,
            None => self.make_half(id, clients)?,
        };
        if matches!(
            what,
            SocketCall::Operation(Operation::Bind(_) | Operation::Connect(_) | Operation::Listen { .. })
                | SocketCall::Open { .. }
        ) {
            self.count(id, half.stack);
        }
        Ok(half)
    }

    /// Makes the choice of a call, if the call determines one.
    fn choose(&mut self, id: SocketId, what: &SocketCall, clients: &mut Clients) {
        let (Some(stack), Some(socket)) = (clients.stack_for_call(what), self.table.get(&id)) else {
            return;
        };
        let is_used = || {
            let stream = socket.half.and_then(|half| clients.stream(half));
            stream.is_some_and(|stream| stream.stage != Stage::Unconnected || stream.untold)
        };
        if !socket.choice.is_bound && (socket.choice.stack.is_none() || !is_used()) {
            self.choose_stack(id, stack, clients);
        }
    }

    /// Makes the choice of a datagram to this destination.
    pub(super) fn choose_by_datagram(&mut self, id: SocketId, to: Option<SocketAddr>, clients: &mut Clients) {
        if !self.has_chosen(id, clients)
            && let Some(stack) = to.and_then(|to| clients.stack_to(to))
        {
            self.choose_stack(id, stack, clients);
        }
    }

    /// Returns whether a datagram would not change the choice.
    pub(super) fn has_chosen(&self, id: SocketId, clients: &Associations) -> bool {
        !clients.has_local_rules() || self.table.get(&id).is_none_or(|socket| socket.choice.stack.is_some())
    }

    fn choose_stack(&mut self, id: SocketId, stack: Stack, clients: &mut Clients) {
        let Some(socket) = self.table.get_mut(&id) else { return };
        socket.choice.stack = Some(stack);
        if let Some(other) = socket.half.take_if(|half| half.stack != stack) {
            self.halves.remove(&other);
            self.abandon(other, clients);
        }
    }

    /// Closes a half that no program uses.
    pub(crate) fn abandon(&mut self, half: Half, clients: &mut Clients) {
        clients.half(half).call(self.shared.own.next(), SocketCall::Close { may_wait: false });
    }

    /// Creates a half for a socket without one, and sets the program's options.
    fn make_half(&mut self, id: SocketId, clients: &mut Clients) -> Result<Half, Errno> {
        let socket = self.table.get_mut(&id).ok_or(Errno::EBADF)?;
        let stack = socket.choice.stack.unwrap_or_else(|| clients.default_stack());
        let half = clients.socket(stack, socket.create)?;
        self.halves.insert(half, id);
        socket.half = Some(half);
        for ((level, name), value) in socket.choice.options.clone() {
            let what = SocketCall::SetOptionAgain { level, name, value };
            clients.half(half).call(self.shared.own.next(), what);
        }
        Ok(half)
    }

    /// Stores an option that another stack would also need.
    pub(crate) fn remember_option(&mut self, id: SocketId, option: ((i32, i32), Vec<u8>)) {
        if let Some(socket) = self.table.get_mut(&id) {
            let options = &mut socket.choice.options;
            options.retain(|(other, _)| *other != option.0);
            options.push(option);
        }
    }

    /// Notes that the socket has an address of its own.
    pub(crate) fn remember_address(&mut self, id: SocketId) {
        if let Some(socket) = self.table.get_mut(&id) {
            socket.choice.is_bound = true;
        }
    }

    /// Counts a socket at its first use.
    pub(super) fn count(&mut self, id: SocketId, stack: Stack) {
        let counts = &mut self.shared.counts;
        if self.table.get_mut(&id).is_some_and(super::socket::Socket::is_first_use) {
            match stack {
                Stack::Remote => counts.carried += 1,
                Stack::Local => counts.local += 1,
            }
        }
    }
}
