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
    queue: VecDeque<Request>,
    last: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Outstanding {
    xid: Xid,
    request: Request,
    /// When the server is asked after it; none until the client has set the timer.
    deadline: Option<Duration>,
    timeout: Duration,
    unanswered: u32,
}

/// Purpose of a request, which determines how its answer is processed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Request {
    call: Option<CallId>,
    operation: Operation,
}

impl Requests {
    /// Gives up all requests. Returns the calls that wait for them.
    pub(super) fn abandon(&mut self) -> Vec<CallId> {
        let outstanding = self.outstanding.take().map(|outstanding| outstanding.request);
        outstanding.into_iter().chain(self.queue.drain(..)).filter_map(|request| request.call).collect()
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
    pub(super) fn request(&mut self, call: Option<CallId>, operation: Operation, out: &mut Vec<Action>) {
        self.requests.queue.push_back(Request { call, operation });
        self.next_request(out);
    }

    fn next_request(&mut self, out: &mut Vec<Action>) {
        if self.requests.outstanding.is_some() {
            return;
        }
        let Some(request) = self.requests.queue.pop_front() else { return };
        let operation = request.operation.clone();
        self.requests.last += 1;
        let xid = Xid(self.requests.last);
        self.requests.outstanding =
            Some(Outstanding { xid, request, deadline: None, timeout: Duration::ZERO, unanswered: 0 });
        let body = Body::Request { xid, create: self.creation(out), operation };
        out.push(Action::Send(Message { target: self.target, body }));
    }

    /// Returns whether the server was asked to connect, and has not answered.
    pub(super) fn has_asked_to_connect(&self) -> bool {
        let outstanding = self.requests.outstanding.as_ref();
        outstanding.is_some_and(|outstanding| matches!(outstanding.request.operation, Operation::Connect(_)))
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
        let Request { call, operation } = outstanding.request;
        match call {
            None => self.connected(outcome, out),
            Some(call) => self.answered(call, operation, outcome, out),
        }
        self.next_request(out);
        self.progress(now, out);
    }

    fn answered(
        &mut self,
        call: CallId,
        operation: Operation,
        outcome: Result<Reply, Errno>,
        out: &mut Vec<Action>,
    ) {
        let result = outcome.and_then(|reply| match (operation, reply) {
            (Operation::Bind(address), Reply::Local(local)) => {
                (self.local, self.bound) = (Some(local), Some(address));
                Ok(Value::Done)
            }
            (Operation::Listen { .. }, Reply::Local(local)) => {
                self.local = Some(local);
                self.state = State::Listening;
                Ok(Value::Done)
            }
            (Operation::Connect(_), Reply::Connected { local, peer }) => {
                (self.local, self.peer) = (Some(local), Some(peer));
                Ok(Value::Done)
            }
            (Operation::Disconnect, Reply::Done) => {
                // What `bind` has asked for is kept, and nothing that the stack has chosen
                // (`__udp_disconnect`).
                let is_any = |address: &SocketAddr| address.ip().is_unspecified() && address.port() == 0;
                (self.local, self.peer) = (self.bound.filter(|address| !is_any(address)), None);
                Ok(Value::Done)
            }
            (Operation::SetOption { level: SOL_IPV6, name: IPV6_ADDRFORM, .. }, _) => {
                self.become_version_4();
                Ok(Value::Done)
            }
            (Operation::SetOption { level, name, .. }, Reply::Value(value)) => {
                self.options.remember(level, name, value);
                Ok(Value::Done)
            }
            (Operation::GetOption { length, .. }, Reply::Value(mut value)) => {
                value.truncate(length as usize);
                Ok(Value::Option(value))
            }
            (Operation::Ioctl { .. }, Reply::Value(value)) => Ok(Value::Option(value)),
            (Operation::SetOption { .. } | Operation::Ioctl { .. }, Reply::Done) => Ok(Value::Done),
            _ => Err(Errno::EPROTO),
        });
        self.give_back(call, result, out);
    }
}
