//! `bind` and `connect`. Both wait for the server, which knows the free addresses and the far
//! host's answer (6.2.3).
//!
//! `connect` succeeds only when the server's TCP is connected. Data of a call that connects and
//! sends at once (MSG_FASTOPEN) goes to the server together with the request to connect. If a
//! signal or SO_SNDTIMEO ends the wait of such a call, it returns the number of bytes: they may
//! still be sent, as natively with a cookie (`tcp_sendmsg_fastopen`).
//!
//! The results of later calls by a
//! program that did not wait are those of Linux, by measurement: the first `connect` after the end
//! of an attempt returns its outcome, the next one returns EISCONN or starts a new attempt.

use super::Lsm;
use super::state::{Halves, State};
use super::waiting::Wait;
use crate::Errno;
use crate::calls::{Action, CallId, Cause, Stage, Value};
use crate::message::{Call, Family, Operation, Reply, RsockType};
use std::net::SocketAddr;
use std::time::Duration;

impl Lsm {
    fn has_family_of(&self, address: &SocketAddr) -> Result<(), Errno> {
        let family = if address.is_ipv4() { Family::V4 } else { Family::V6 };
        match (self.create.family, family) {
            (own, given) if own == given => Ok(()),
            // An IPv4 address is shorter than an IPv6 one, and Linux checks the length first.
            (Family::V6, _) => Err(Errno::EINVAL),
            _ => Err(Errno::EAFNOSUPPORT),
        }
    }

    /// Checks whether `connect` accepts the address. An IPv6 UDP socket treats an IPv4 address like
    /// the mapped one (`__ip6_datagram_connect`). The server's stack decides whether IPV6_V6ONLY
    /// permits it (EAFNOSUPPORT).
    fn may_connect(&self, peer: &SocketAddr) -> Result<(), Errno> {
        let takes_both = self.create.kind != RsockType::Stream && self.create.family == Family::V6;
        if takes_both { Ok(()) } else { self.has_family_of(peer) }
    }

    pub(super) fn bind(
        &mut self,
        call: CallId,
        address: SocketAddr,
        out: &mut Vec<Action>,
    ) -> Result<Option<Value>, Errno> {
        self.has_family_of(&address)?;
        // A stack checks whether the address is one of its own before it checks whether the socket
        // is bound already. So only the server can refuse a specific address.
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
        first: &[u8],
        now: Duration,
        out: &mut Vec<Action>,
    ) -> Result<Option<Value>, Errno> {
        self.may_connect(&peer)?;
        if self.create.kind != RsockType::Stream {
            self.request(Some(call), Operation::Connect(peer), out);
            return Ok(None);
        }
        let again = matches!(self.state, State::Connecting { .. });
        let mut sent = 0;
        match self.state {
            State::Unconnected => {
                self.request(None, Operation::Connect(peer), out);
                self.state = State::Connecting { source: None };
                sent = first.len();
                self.sending.put(first, false);
                // Behind another request, the data waits for the answer to this one.
                if self.has_asked_to_connect() {
                    self.forward(out);
                }
            }
            State::Connecting { .. } if self.nonblocking => return Err(Errno::EALREADY),
            State::Connecting { .. } | State::Refused | State::Connected { is_told: false, .. } => {}
            // The attempt was given up by `shutdown`.
            State::Failed if self.peer.is_none() => return Err(Errno::ECONNABORTED),
            _ => return Err(Errno::EISCONN),
        }
        self.attempt_or_wait(call, Wait::Connect { again, sent }, !self.nonblocking, now, out)
    }

    /// Converts the socket to IPv4, including its names (IPV6_ADDRFORM of an IPv6 socket that is
    /// connected to an IPv4 host).
    pub(super) fn become_version_4(&mut self) {
        self.create.family = Family::V4;
        for name in [&mut self.local, &mut self.bound, &mut self.peer] {
            *name = name.map(|name| SocketAddr::new(name.ip().to_canonical(), name.port()));
        }
    }

    /// `getsockname`. The stack chooses the address when it starts to connect. A call before the
    /// answer to the connect makes the client ask the server; other calls cost no extra message.
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

    pub(super) fn attempt_connect(&mut self, sent: usize) -> Option<Result<Value, Errno>> {
        match &mut self.state {
            State::Connecting { .. } => return None,
            State::Connected { is_told, .. } => {
                *is_told = true;
                return Some(Ok(if sent > 0 { Value::Count(sent) } else { Value::Done }));
            }
            // The failure is reported now, and the socket is as new.
            State::Refused => self.state = State::Unconnected,
            _ => {}
        }
        Some(Err(self.error.take().unwrap_or(Errno::ECONNABORTED)))
    }

    /// Processes the server's answer to CONNECT.
    pub(super) fn connected(&mut self, outcome: Result<Reply, Errno>, out: &mut Vec<Action>) {
        if !matches!(self.state, State::Connecting { .. }) {
            return;
        }
        match outcome {
            Ok(Reply::Connected { local, peer }) => {
                (self.local, self.peer) = (Some(local), Some(peer));
                self.state = State::Connected { is_told: false, halves: Halves::default() };
                self.forward(out);
                self.io(Cause::Connected, out);
            }
            other => {
                self.sending.discard();
                self.error = Some(other.err().unwrap_or(Errno::EPROTO));
                self.state = State::Refused;
                self.io(Cause::Error, out);
            }
        }
    }

    pub(super) fn disconnect(&mut self, call: CallId, out: &mut Vec<Action>) -> Result<Option<Value>, Errno> {
        if self.create.kind == RsockType::Stream {
            if self.state.stage() == Stage::Unconnected {
                return Ok(Some(Value::Done));
            }
            // Aborting a connection this way and reusing the socket is not supported.
            return Err(Errno::EOPNOTSUPP);
        }
        self.request(Some(call), Operation::Disconnect, out);
        Ok(None)
    }
}
