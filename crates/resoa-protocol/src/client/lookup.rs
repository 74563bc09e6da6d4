//! Host and service look-ups, which the server executes, so that the client needs no resolver
//! (6.2.6).
//!
//! They belong to no socket and use number 0. A few run at the same time, told apart by their
//! `xid`. The thesis allows one request of a number at a time, but then a name whose servers do not
//! answer would delay all other look-ups.

use super::Client;
use crate::calls::{Action, CallId, Value};
use crate::message::{Body, Control, Message, Query, Reply};
use crate::{Errno, RsockId, Target, Xid};
use std::collections::VecDeque;
use std::time::Duration;

/// Look-ups in progress at the same time; others wait.
pub(crate) const AT_A_TIME: usize = 4;

/// Look-ups in progress, and those that wait.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct LookUps {
    outstanding: Vec<Outstanding>,
    queue: VecDeque<(CallId, Query)>,
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
        self.outstanding.iter().map(|outstanding| outstanding.deadline).min()
    }

    /// Gives up all look-ups, and returns their calls.
    pub(super) fn abandon(&mut self) -> Vec<CallId> {
        let asked = self.outstanding.drain(..).map(|outstanding| outstanding.call);
        asked.chain(self.queue.drain(..).map(|(call, _)| call)).collect()
    }
}

impl Client {
    /// Looks up a host, a service or the name of an address.
    pub fn look_up(&mut self, call: CallId, query: Query, now: Duration, out: &mut Vec<Action>) {
        if self.limits().is_none() {
            out.push(Action::Return { call, result: Err(Errno::ENETDOWN) });
            return;
        }
        self.look_ups.queue.push_back((call, query));
        self.next_look_up(now, out);
    }

    fn next_look_up(&mut self, now: Duration, out: &mut Vec<Action>) {
        if self.look_ups.outstanding.len() >= AT_A_TIME {
            return;
        }
        let Some((call, query)) = self.look_ups.queue.pop_front() else { return };
        self.look_ups.last += 1;
        let xid = Xid(self.look_ups.last);
        let deadline = now + self.request_timeout();
        self.look_ups.outstanding.push(Outstanding { xid, call, deadline, unanswered: 0 });
        let message = Message { target: Target::Socket(RsockId::CLIENT), body: Body::Resolve { xid, query } };
        self.carry_out(Action::Send(message), out);
    }

    pub(super) fn looked_up(
        &mut self,
        xid: Xid,
        outcome: Result<Reply, Errno>,
        now: Duration,
        out: &mut Vec<Action>,
    ) {
        let outstanding = &mut self.look_ups.outstanding;
        let Some(place) = outstanding.iter().position(|outstanding| outstanding.xid == xid) else { return };
        let outstanding = outstanding.remove(place);
        let result = outcome.and_then(|reply| match reply {
            Reply::Hosts(hosts) => Ok(Value::Hosts(hosts)),
            Reply::Name { host, service } => Ok(Value::Name { host, service }),
            Reply::Unresolved(why) => Ok(Value::Unresolved(why)),
            _ => Err(Errno::EPROTO),
        });
        out.push(Action::Return { call: outstanding.call, result });
        self.next_look_up(now, out);
    }

    /// Processes the server's answer to REQ_PENDING, as for the requests of sockets.
    pub(super) fn look_up_pending(&mut self, xid: Xid, pending: bool, now: Duration, out: &mut Vec<Action>) {
        if !pending {
            self.looked_up(xid, Err(Errno::ECONNRESET), now, out);
        } else if let Some(outstanding) =
            self.look_ups.outstanding.iter_mut().find(|outstanding| outstanding.xid == xid)
        {
            outstanding.unanswered = 0;
        }
    }

    pub(super) fn expire_look_up(&mut self, now: Duration, out: &mut Vec<Action>) {
        let timeout = self.request_timeout();
        let (is_healthy, expiries) = (self.statistics.healthy, self.timers.expiries);
        let mut asked = Vec::new();
        for outstanding in self.look_ups.outstanding.iter_mut().filter(|one| one.deadline <= now) {
            outstanding.deadline = now + timeout;
            if !is_healthy {
                continue;
            }
            if outstanding.unanswered == expiries {
                return self.give_up(now, out);
            }
            outstanding.unanswered += 1;
            asked.push(outstanding.xid);
        }
        for xid in asked {
            self.carry_out(Action::Send(Message::control(Control::RequestPending(xid))), out);
        }
    }
}
