//! Calls that wait. They are attempted again after each event, until they complete, time out, or
//! are interrupted by a signal.

use super::receiving::Read;
use super::sending::Write;
use super::{Lsm, Remote, State};
use crate::calls::{Action, CallId, Value};
use crate::{Errno, message::RsockType};
use std::time::Duration;

/// A call that waits.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Waiting {
    pub(super) call: CallId,
    what: Wait,
    /// Deadline by SO_RCVTIMEO or SO_SNDTIMEO.
    deadline: Option<Duration>,
}

/// Event that a call waits for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Wait {
    Accept,
    /// `again`: another call has started the attempt. `sent`: bytes that went along with it.
    Connect {
        again: bool,
        sent: usize,
    },
    /// `getsockname` during a connect.
    Name,
    Read(Read),
    Write(Write),
}

/// Reason why a wait ends early.
#[derive(Clone, Copy)]
enum Cut {
    /// The call does not wait, or its time has expired.
    Time,
    Signal,
}

impl Wait {
    /// Returns the result of a call whose wait ends early: its progress so far, or an error.
    fn cut(self, why: Cut) -> Result<Value, Errno> {
        let error = match (why, &self) {
            (Cut::Signal, _) => Errno::EINTR,
            (Cut::Time, Wait::Connect { again: false, .. }) => Errno::EINPROGRESS,
            (Cut::Time, Wait::Connect { again: true, .. }) => Errno::EALREADY,
            (Cut::Time, _) => Errno::EAGAIN,
        };
        match self {
            Wait::Read(read) if !read.taken.is_empty() => Ok(Value::Bytes(read.taken)),
            Wait::Write(write) if write.done > 0 => Ok(Value::Count(write.done)),
            Wait::Connect { sent: sent @ 1.., .. } => Ok(Value::Count(sent)),
            _ => Err(error),
        }
    }
}

impl Lsm {
    /// Attempts a call. Returns its result, or `None` if it waits.
    pub(super) fn attempt_or_wait(
        &mut self,
        call: CallId,
        mut what: Wait,
        may_wait: bool,
        now: Duration,
        out: &mut Vec<Action>,
    ) -> Result<Option<Value>, Errno> {
        if let Some(result) = self.attempt(&mut what, now, out) {
            return result.map(Some);
        }
        if !may_wait {
            return what.cut(Cut::Time).map(Some);
        }
        let timeout = match what {
            Wait::Accept | Wait::Read(_) => self.options.receive_timeout,
            Wait::Connect { .. } | Wait::Write(_) => self.options.send_timeout,
            Wait::Name => None,
        };
        self.waiting.push_back(Waiting { call, what, deadline: timeout.map(|timeout| now + timeout) });
        Ok(None)
    }

    fn attempt(
        &mut self,
        what: &mut Wait,
        now: Duration,
        out: &mut Vec<Action>,
    ) -> Option<Result<Value, Errno>> {
        match what {
            Wait::Accept => self.attempt_accept(out),
            Wait::Connect { sent, .. } => self.attempt_connect(*sent),
            Wait::Name => self.attempt_name(),
            Wait::Read(read) => self.attempt_read(read, now, out),
            Wait::Write(write) if self.create.kind == RsockType::Stream => self.attempt_write(write, out),
            Wait::Write(write) => self.attempt_datagram(write, out),
        }
    }

    /// Returns whether a call waits for the address already.
    pub(super) fn waits_for_name(&self) -> bool {
        self.waiting.iter().any(|waiting| waiting.what == Wait::Name)
    }

    /// Attempts all waiting calls, and reports the readiness for `poll` if it has changed.
    pub(super) fn progress(&mut self, now: Duration, out: &mut Vec<Action>) {
        for _ in 0..self.waiting.len() {
            let Some(mut waiting) = self.waiting.pop_front() else { break };
            match self.attempt(&mut waiting.what, now, out) {
                Some(result) => self.give_back(waiting.call, result, out),
                None => self.waiting.push_back(waiting),
            }
        }
        let readiness = self.readiness();
        if readiness != self.told && !self.is_closed() {
            self.told = readiness;
            out.push(Action::Ready { socket: self.id, readiness });
        }
    }

    /// Ends the wait of a call because of a signal. An attempt to connect continues, and so does
    /// the delivery that a lingering `close` waited for. A call that waits for the server's answer
    /// is not interrupted, as it would not be with a local stack (3.14 of the specification).
    pub(crate) fn interrupt(&mut self, call: CallId, now: Duration, out: &mut Vec<Action>) {
        if let Some(index) = self.waiting.iter().position(|waiting| waiting.call == call)
            && let Some(waiting) = self.waiting.remove(index)
        {
            self.give_back(call, waiting.what.cut(Cut::Signal), out);
        } else if let State::Lingering { call: lingering, .. } = self.state
            && lingering == call
        {
            self.linger_no_longer(out);
        }
        self.progress(now, out);
    }

    /// Ends all waiting calls at the end of the socket.
    pub(super) fn cut_off(&mut self, error: Errno, out: &mut Vec<Action>) {
        while let Some(waiting) = self.waiting.pop_front() {
            self.give_back(waiting.call, Err(error), out);
        }
        for call in self.requests.abandon() {
            self.give_back(call, Err(error), out);
        }
    }

    /// Returns when [`expire`](Self::expire) has something to do.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        let waits = self.waiting.iter().filter_map(|waiting| waiting.deadline);
        let lingering = match self.state {
            State::Lingering { deadline, .. } => Some(deadline),
            _ => None,
        };
        let report = self.receiving.report_at.filter(|_| self.remote == Remote::Made);
        waits.chain(lingering).chain(report).chain(self.requests.deadline()).min()
    }

    /// Ends waits, lingering and the delay of a report that are due.
    pub(crate) fn expire(&mut self, now: Duration, out: &mut Vec<Action>) {
        let is_due = |waiting: &Waiting| waiting.deadline.is_some_and(|deadline| deadline <= now);
        while let Some(index) = self.waiting.iter().position(is_due)
            && let Some(waiting) = self.waiting.remove(index)
        {
            self.give_back(waiting.call, waiting.what.cut(Cut::Time), out);
        }
        if let State::Lingering { deadline, .. } = self.state
            && deadline <= now
        {
            self.linger_expired(out);
        }
        if self.remote == Remote::Made && self.receiving.report_at.is_some_and(|at| at <= now) {
            self.tell(crate::message::Call::Consumed, out);
        }
    }
}
