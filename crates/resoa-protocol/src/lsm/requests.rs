//! Calls that wait for the server's answer. A socket has one at a time, and the others are queued
//! (6.1.3, I14, A10).
//!
//! A request is never repeated: the Last Hop Protocol delivers it, or ends. If its timer expires
//! while the link is healthy, the client asks the server whether it is still processing it
//! ([`Lsm::ask_after_request`]).

use super::options::{IPV6_ADDRFORM, SOL_IPV6};
use super::{Lsm, State};
use crate::calls::{Action, CallId, Value};
use crate::lhp::Statistics;
use crate::message::{Body, Control, Message, Operation, Reply};
use crate::settings::Timers;
use crate::{Errno, Xid};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

/// Requests of a socket.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Requests {
    outstanding: Option<Outstanding>,
    queue: VecDeque<(Purpose, Operation)>,
    last: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Outstanding {
    xid: Xid,
    purpose: Purpose,
    /// Time at which the server is asked about it; `None` until the client has set the timer.
    deadline: Option<Duration>,
    timeout: Duration,
    unanswered: u32,
}

/// Purpose of a request, which determines how its answer is processed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Purpose {
    Bind {
        call: CallId,
        address: SocketAddr,
    },
    /// Calls that wait for a connection are in a queue of their own.
    Connect,
    ConnectDatagram(CallId),
    Disconnect(CallId),
    Listen(CallId),
    SetOption {
        call: CallId,
        level: i32,
        name: i32,
    },
    GetOption {
        call: CallId,
        length: u32,
    },
    Ioctl(CallId),
}

impl Purpose {
    fn call(&self) -> Option<CallId> {
        match *self {
            Self::Connect => None,
            Self::ConnectDatagram(call)
            | Self::Disconnect(call)
            | Self::Listen(call)
            | Self::Ioctl(call)
            | Self::Bind { call, .. }
            | Self::SetOption { call, .. }
            | Self::GetOption { call, .. } => Some(call),
        }
    }
}

impl Requests {
    /// Gives up all requests. Returns the calls that wait for them.
    pub(super) fn abandon(&mut self) -> Vec<CallId> {
        let outstanding = self.outstanding.take().map(|outstanding| outstanding.purpose);
        let queued = self.queue.drain(..).map(|(purpose, _)| purpose);
        outstanding.into_iter().chain(queued).filter_map(|purpose| purpose.call()).collect()
    }

    pub(super) fn deadline(&self) -> Option<Duration> {
        self.outstanding.as_ref().and_then(|outstanding| outstanding.deadline)
    }
}

/// Outcome after the timer of a request has expired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// The link is not healthy, or the server was asked.
    Waiting,
    /// The server was asked the maximum number of times without an answer.
    GivenUp,
}

impl Lsm {
    pub(super) fn request(&mut self, purpose: Purpose, operation: Operation, out: &mut Vec<Action>) {
        self.requests.queue.push_back((purpose, operation));
        self.next_request(out);
    }

    fn next_request(&mut self, out: &mut Vec<Action>) {
        if self.requests.outstanding.is_some() {
            return;
        }
        let Some((purpose, operation)) = self.requests.queue.pop_front() else { return };
        self.requests.last += 1;
        let xid = Xid(self.requests.last);
        self.requests.outstanding =
            Some(Outstanding { xid, purpose, deadline: None, timeout: Duration::ZERO, unanswered: 0 });
        let body = Body::Request { xid, create: self.creation(out), operation };
        out.push(Action::Send(Message { target: self.target, body }));
    }

    /// Starts the timer of the current request, if it has none yet.
    pub(crate) fn start_request_timer(&mut self, timeout: Duration, now: Duration) {
        if let Some(outstanding) = &mut self.requests.outstanding
            && outstanding.deadline.is_none()
        {
            outstanding.timeout = timeout;
            outstanding.deadline = Some(now + timeout);
        }
    }

    /// Asks the server about a request whose timer has expired, or gives up (6.5.3).
    pub(crate) fn ask_after_request(
        &mut self,
        link: &Statistics,
        timers: &Timers,
        now: Duration,
        out: &mut Vec<Action>,
    ) -> Asked {
        let Some(outstanding) = &mut self.requests.outstanding else { return Asked::Waiting };
        if outstanding.deadline.is_none_or(|deadline| deadline > now) {
            return Asked::Waiting;
        }
        outstanding.deadline = Some(now + outstanding.timeout);
        if !link.healthy {
            return Asked::Waiting;
        }
        if outstanding.unanswered == timers.expiries {
            return Asked::GivenUp;
        }
        outstanding.unanswered += 1;
        let control = Control::RequestPending(outstanding.xid);
        out.push(Action::Send(Message { target: self.target, body: Body::Control(control) }));
        Asked::Waiting
    }

    /// Processes the server's information that it is still processing a request, or does not know
    /// it. In the latter case both halves are dropped (A4). Returns whether the socket failed.
    pub(crate) fn request_pending(
        &mut self,
        xid: Xid,
        pending: bool,
        timers: &Timers,
        now: Duration,
        out: &mut Vec<Action>,
    ) -> bool {
        let Some(outstanding) =
            self.requests.outstanding.as_mut().filter(|outstanding| outstanding.xid == xid)
        else {
            return false;
        };
        if pending {
            outstanding.unanswered = 0;
            outstanding.timeout = (outstanding.timeout * 2).min(timers.request_longest);
            outstanding.deadline = Some(now + outstanding.timeout);
            return false;
        }
        self.lose(now, out);
        true
    }

    /// Processes the answer to a request.
    pub(crate) fn response(
        &mut self,
        xid: Xid,
        outcome: Result<Reply, Errno>,
        now: Duration,
        out: &mut Vec<Action>,
    ) {
        let Some(outstanding) = self.requests.outstanding.take_if(|outstanding| outstanding.xid == xid)
        else {
            return;
        };
        // The server has no half if it could not create one. The next use tries again (6.5.2).
        if outcome == Err(Errno::ENOBUFS) && self.local.is_none() && self.peer.is_none() {
            self.half_not_made();
        } else {
            self.options.told.clear();
        }
        match outstanding.purpose {
            Purpose::Connect => self.connected(outcome, out),
            purpose => self.answered(purpose, outcome, out),
        }
        self.next_request(out);
        self.progress(now, out);
    }

    fn answered(&mut self, purpose: Purpose, outcome: Result<Reply, Errno>, out: &mut Vec<Action>) {
        let Some(call) = purpose.call() else { return };
        let result = outcome.and_then(|reply| match (purpose, reply) {
            (Purpose::Bind { address, .. }, Reply::Local(local)) => {
                (self.local, self.bound) = (Some(local), Some(address));
                Ok(Value::Done)
            }
            (Purpose::Listen(_), Reply::Local(local)) => {
                self.local = Some(local);
                self.state = State::Listening;
                Ok(Value::Done)
            }
            (Purpose::ConnectDatagram(_), Reply::Connected { local, peer }) => {
                (self.local, self.peer) = (Some(local), Some(peer));
                Ok(Value::Done)
            }
            (Purpose::Disconnect(_), Reply::Done) => {
                // The address passed to `bind` is kept, and addresses that the stack chose are not
                // (`__udp_disconnect`).
                let is_any = |address: &SocketAddr| address.ip().is_unspecified() && address.port() == 0;
                (self.local, self.peer) = (self.bound.filter(|address| !is_any(address)), None);
                Ok(Value::Done)
            }
            (Purpose::SetOption { level: SOL_IPV6, name: IPV6_ADDRFORM, .. }, _) => {
                self.become_version_4();
                Ok(Value::Done)
            }
            (Purpose::SetOption { level, name, .. }, Reply::Value(value)) => {
                self.options.remember(level, name, value);
                Ok(Value::Done)
            }
            (Purpose::GetOption { length, .. }, Reply::Value(mut value)) => {
                value.truncate(length as usize);
                Ok(Value::Option(value))
            }
            (Purpose::Ioctl(_), Reply::Value(value)) => Ok(Value::Option(value)),
            (Purpose::SetOption { .. } | Purpose::Ioctl(_), Reply::Done) => Ok(Value::Done),
            _ => Err(Errno::EPROTO),
        });
        self.give_back(call, result, out);
    }
}
