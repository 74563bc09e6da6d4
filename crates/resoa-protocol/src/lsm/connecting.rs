//! `bind` and `connect`: the server knows what is free and who answers, so both wait for it
//! (6.2.3).
//!
//! `connect` succeeds only when the server's TCP is connected. What it says later to a program that
//! did not wait is Linux's, by measurement: the first `connect` after the end of an attempt tells
//! how that ended, the next one EISCONN or tries anew.

use super::Lsm;
use super::state::{Halves, State};
use super::waiting::Wait;
use crate::Errno;
use crate::calls::{Action, CallId, Cause, Stage, Value};
use crate::message::{Call, Family, Kind, Operation, Reply};
use std::net::SocketAddr;
use std::time::Duration;

impl Lsm {
    fn has_family_of(&self, address: &SocketAddr) -> Result<(), Errno> {
        let family = if address.is_ipv4() { Family::V4 } else { Family::V6 };
        match (self.create.family, family) {
            (own, given) if own == given => Ok(()),
            // An address of version 4 is shorter than one of version 6, which Linux looks at first.
            (Family::V6, _) => Err(Errno::EINVAL),
            _ => Err(Errno::EAFNOSUPPORT),
        }
    }

    /// Whether `connect` takes the address. A UDP of version 6 takes one of version 4 for the same
    /// as the mapped one (`__ip6_datagram_connect`); whether IPV6_V6ONLY lets it (EAFNOSUPPORT) its
    /// stack says.
    fn may_connect(&self, peer: &SocketAddr) -> Result<(), Errno> {
        let takes_both = self.create.kind != Kind::Stream && self.create.family == Family::V6;
        if takes_both { Ok(()) } else { self.has_family_of(peer) }
    }

    pub(super) fn bind(
        &mut self,
        call: CallId,
        address: SocketAddr,
        out: &mut Vec<Action>,
    ) -> Result<Option<Value>, Errno> {
        self.has_family_of(&address)?;
        // That an address is none of this host's a stack finds before it looks whether the socket
        // has one already.
        let is_bound = self.local.is_some() && address.ip().is_unspecified();
        if is_bound || self.state.stage() != Stage::Unconnected {
            return Err(Errno::EINVAL);
        }
        self.request(Some(call), Operation::Bind(address), out);
        Ok(None)
    }

    pub(super) fn connect(
        &mut self,
        call: CallId,
        peer: SocketAddr,
        now: Duration,
        out: &mut Vec<Action>,
    ) -> Result<Option<Value>, Errno> {
        self.may_connect(&peer)?;
        if self.create.kind != Kind::Stream {
            self.request(Some(call), Operation::Connect(peer), out);
            return Ok(None);
        }
        let again = matches!(self.state, State::Connecting { .. });
        match self.state {
            State::Unconnected => {
                self.request(None, Operation::Connect(peer), out);
                self.state = State::Connecting { source: None };
            }
            State::Connecting { .. } if self.nonblocking => return Err(Errno::EALREADY),
            State::Connecting { .. } | State::Refused | State::Connected { is_told: false, .. } => {}
            // Given up, and not as new again.
            State::Failed if self.peer.is_none() => return Err(Errno::ECONNABORTED),
            _ => return Err(Errno::EISCONN),
        }
        self.attempt_or_wait(call, Wait::Connect { again }, !self.nonblocking, now, out)
    }

    /// IPV6_ADDRFORM: a socket of version 6 that is connected to a host of version 4 is one of
    /// version 4 from now on, and its names are.
    pub(super) fn become_version_4(&mut self) {
        self.create.family = Family::V4;
        for name in [&mut self.local, &mut self.bound, &mut self.peer] {
            *name = name.map(|name| SocketAddr::new(name.ip().to_canonical(), name.port()));
        }
    }

    /// `getsockname`. The stack chooses the address when it begins to connect; who wants to know
    /// before there is an answer has the server asked, and the others have no message more.
    pub(super) fn local_name(
        &mut self,
        call: CallId,
        now: Duration,
        out: &mut Vec<Action>,
    ) -> Result<Option<Value>, Errno> {
        if self.state == (State::Connecting { source: None }) && !self.waits_for_name() {
            self.tell(Call::LocalAddress, out);
        }
        self.attempt_or_wait(call, Wait::Name, true, now, out)
    }

    pub(super) fn attempt_name(&self) -> Option<Result<Value, Errno>> {
        let name = match self.state {
            State::Connecting { source } => source?,
            _ => self.local.unwrap_or(self.wildcard()),
        };
        Some(Ok(Value::Address(name)))
    }

    pub(super) fn attempt_connect(&mut self) -> Option<Result<Value, Errno>> {
        match &mut self.state {
            State::Connecting { .. } => return None,
            State::Connected { is_told, .. } => {
                *is_told = true;
                return Some(Ok(Value::Done));
            }
            // The failure is told; the socket is as new.
            State::Refused => self.state = State::Unconnected,
            _ => {}
        }
        Some(Err(self.error.take().unwrap_or(Errno::ECONNABORTED)))
    }

    /// The server's answer to CONNECT.
    pub(super) fn connected(&mut self, outcome: Result<Reply, Errno>, out: &mut Vec<Action>) {
        if !matches!(self.state, State::Connecting { .. }) {
            return;
        }
        match outcome {
            Ok(Reply::Connected { local, peer }) => {
                (self.local, self.peer) = (Some(local), Some(peer));
                self.state = State::Connected { is_told: false, halves: Halves::default() };
                self.io(Cause::Connected, out);
            }
            other => {
                self.error = Some(other.err().unwrap_or(Errno::EPROTO));
                self.state = State::Refused;
                self.io(Cause::Error, out);
            }
        }
    }

    pub(super) fn disconnect(&mut self, call: CallId, out: &mut Vec<Action>) -> Result<Option<Value>, Errno> {
        if self.create.kind == Kind::Stream {
            if self.state.stage() == Stage::Unconnected {
                return Ok(Some(Value::Done));
            }
            // Aborting a connection this way and using the socket again is not offered.
            return Err(Errno::EOPNOTSUPP);
        }
        self.request(Some(call), Operation::Disconnect, out);
        Ok(None)
    }
}
