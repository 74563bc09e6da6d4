//! Host and service look-ups, executed by the server: the client needs no resolver of its own (6.2.6). They are nobody's socket: number 0, one at a time.

use super::Client;
use crate::calls::{Action, CallId, LookUp, Value};
use crate::message::{Body, Control, Message, Operation, Reply};
use crate::{Errno, RsockId, Target, Xid};
use std::collections::VecDeque;
use std::time::Duration;

/// Look-ups that are under way.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct LookUps {
    outstanding: Option<Outstanding>,
    queue: VecDeque<(CallId, LookUp)>,
    last: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Outstanding {
    xid: Xid,
    call: CallId,
    deadline: Duration,
    unanswered: u32,
}

impl LookUps {
    pub(super) fn deadline(&self) -> Option<Duration> {
        self.outstanding.as_ref().map(|outstanding| outstanding.deadline)
    }

    /// The calls that wait, which are given up.
    pub(super) fn abandon(&mut self) -> Vec<CallId> {
        let first = self.outstanding.take().map(|outstanding| outstanding.call);
        first.into_iter().chain(self.queue.drain(..).map(|(call, _)| call)).collect()
    }
}

impl Client {
    /// Looks up a host, a service or the name of an address.
    pub fn look_up(&mut self, call: CallId, query: LookUp, now: Duration, out: &mut Vec<Action>) {
        if self.limits().is_none() {
            out.push(Action::Return { call, result: Err(Errno::ENETDOWN) });
            return;
        }
        self.look_ups.queue.push_back((call, query));
        self.next_look_up(now, out);
    }

    fn next_look_up(&mut self, now: Duration, out: &mut Vec<Action>) {
        if self.look_ups.outstanding.is_some() {
            return;
        }
        let Some((call, query)) = self.look_ups.queue.pop_front() else { return };
        self.look_ups.last += 1;
        let xid = Xid(self.look_ups.last);
        let deadline = now + self.request_timeout();
        self.look_ups.outstanding = Some(Outstanding { xid, call, deadline, unanswered: 0 });
        let body = Body::Request { xid, create: None, operation: Operation::Resolve(query) };
        self.carry_out(Action::Send(Message { target: Target::Socket(RsockId::CLIENT), body }), out);
    }

    pub(super) fn looked_up(
        &mut self,
        xid: Xid,
        outcome: Result<Reply, Errno>,
        now: Duration,
        out: &mut Vec<Action>,
    ) {
        let Some(outstanding) = self.look_ups.outstanding.take_if(|outstanding| outstanding.xid == xid)
        else {
            return;
        };
        let result = outcome.and_then(|reply| match reply {
            Reply::Hosts(hosts) => Ok(Value::Hosts(hosts)),
            Reply::Name { host, service } => Ok(Value::Name { host, service }),
            Reply::Unresolved(why) => Ok(Value::Unresolved(why)),
            _ => Err(Errno::EPROTO),
        });
        out.push(Action::Return { call: outstanding.call, result });
        self.next_look_up(now, out);
    }

    /// As for the requests of sockets.
    pub(super) fn look_up_pending(&mut self, xid: Xid, pending: bool, now: Duration, out: &mut Vec<Action>) {
        if !pending {
            self.looked_up(xid, Err(Errno::ECONNRESET), now, out);
        } else if let Some(outstanding) = &mut self.look_ups.outstanding
            && outstanding.xid == xid
        {
            outstanding.unanswered = 0;
        }
    }

    pub(super) fn expire_look_up(&mut self, now: Duration, out: &mut Vec<Action>) {
        let timeout = self.request_timeout();
        let Some(outstanding) = &mut self.look_ups.outstanding else { return };
        if outstanding.deadline > now {
            return;
        }
        outstanding.deadline = now + timeout;
        if !self.statistics.healthy {
            return;
        }
        if outstanding.unanswered == self.timers.expiries {
            self.give_up(now, out);
            return;
        }
        outstanding.unanswered += 1;
        let control = Control::RequestPending(outstanding.xid);
        self.carry_out(Action::Send(Message::control(control)), out);
    }
}
