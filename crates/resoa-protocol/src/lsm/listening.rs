//! `listen` and `accept`. The server reports connections with all that the client needs to know, so
//! `accept` returns at once (6.2.3, version 4).
//!
//! The server creates its half of a connection before the client can give it a number. So until
//! `accept` it is named by its listener and incarnation.

use super::waiting::Wait;
use super::{Lsm, Remote, State};
use crate::calls::{Action, CallId, Cause, Value};
use crate::message::{Call, CloseState, Half, Operation, RsockType};
use crate::settings::mutant;
use crate::{Errno, Incarnation, RsockId, Target};
use std::net::SocketAddr;
use std::time::Duration;

/// A connection that was not accepted yet.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Child {
    incarnation: Incarnation,
    socket: RsockId,
    peer: SocketAddr,
}

impl Lsm {
    pub(super) fn listen(
        &mut self,
        call: CallId,
        backlog: u32,
        out: &mut Vec<Action>,
    ) -> Result<Option<Value>, Errno> {
        if self.create.kind != RsockType::Stream {
            return Err(Errno::EOPNOTSUPP);
        }
        match self.state {
            State::Listening => self.tell(Call::Listen { backlog }, out),
            // `listen` can fail on a socket without an address, or with one that others may share
            // (A8).
            State::Unconnected | State::Refused if self.local.is_none() || self.options.shares_address => {
                self.request(Some(call), Operation::Listen { backlog }, out);
                return Ok(None);
            }
            State::Unconnected | State::Refused => {
                self.tell(Call::Listen { backlog }, out);
                self.state = State::Listening;
            }
            _ => return Err(Errno::EINVAL),
        }
        Ok(Some(Value::Done))
    }

    pub(super) fn accept(
        &mut self,
        call: CallId,
        now: Duration,
        out: &mut Vec<Action>,
    ) -> Result<Option<Value>, Errno> {
        if self.create.kind != RsockType::Stream {
            return Err(Errno::EOPNOTSUPP);
        }
        self.attempt_or_wait(call, Wait::Accept, !self.nonblocking, now, out)
    }

    pub(super) fn attempt_accept(&mut self, out: &mut Vec<Action>) -> Option<Result<Value, Errno>> {
        if let Some(error) = self.error.take() {
            return Some(Err(error));
        }
        if self.state != State::Listening {
            return Some(Err(Errno::EINVAL));
        }
        let Child { incarnation, socket, peer } = self.children.pop_front()?;
        if !mutant!(self.settings, AcceptedOmitted) {
            self.tell(Call::Accepted { incarnation, socket }, out);
        }
        Some(Ok(Value::Accepted { socket, peer }))
    }

    /// Creates the half for a connection that arrived at this listener. Returns `None` if the
    /// socket does not listen any more.
    pub(crate) fn new_connection(
        &mut self,
        incarnation: Incarnation,
        socket: RsockId,
        local: SocketAddr,
        peer: SocketAddr,
    ) -> Option<Lsm> {
        if self.state != State::Listening {
            return None;
        }
        self.children.push_back(Child { incarnation, socket, peer });
        let mut child = Lsm::new(socket, self.create, self.sending.remote_size(), self.settings);
        child.inherit(&self.options, self.sending.buffer_size);
        child.target = Target::Child { listener: self.id, incarnation };
        child.origin = Some(child.target);
        child.remote = Remote::Made;
        child.state = State::accepted();
        (child.local, child.peer) = (Some(local), Some(peer));
        child.told = child.readiness();
        Some(child)
    }

    /// Wakes calls that wait for the connection of [`new_connection`](Self::new_connection).
    pub(crate) fn connection_queued(&mut self, now: Duration, out: &mut Vec<Action>) {
        self.io(Cause::Connected, out);
        self.progress(now, out);
    }

    /// Ends listening by `shutdown`. The socket can listen again. A port that the stack chose is
    /// released, and the next `listen` gets another one (`tcp_disconnect`).
    pub(super) fn stop_listening(&mut self, out: &mut Vec<Action>) {
        self.tell(Call::Shutdown { half: Half::Read, state: CloseState::Close }, out);
        self.state = State::Unconnected;
        if self.bound.is_none_or(|address| address.port() == 0) {
            self.local = None;
        }
    }

    /// Removes and returns the connections that cannot be accepted any more. The server has aborted
    /// its halves of them.
    pub(crate) fn unacceptable(&mut self) -> Vec<RsockId> {
        if self.state == State::Listening {
            return Vec::new();
        }
        self.children.drain(..).map(|child| child.socket).collect()
    }
}
