//! Calls of programs: a connection each, from its request to its answer. One that is closed before
//! that interrupts its call.

mod arguments;
mod waiting;

pub(crate) use arguments::{create, socket_call};
pub(crate) use waiting::{Waiting, response};

use crate::listening::Listening;
use crate::poller::{Poller, Token};
use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::PeerCredentials;
use resoa_calls::{Request, Response, receive_request, respond};
use resoa_protocol::CallId;
use rustc_hash::FxHashMap;
use rustix::event::epoll::EventFlags;
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{Shutdown, SocketFlags, accept_with, shutdown};
use rustix::process::{Uid, geteuid};
use std::io;
use std::path::Path;
use std::time::Duration;

/// Until calls are taken again after there was no descriptor for one.
const REST: Duration = Duration::from_millis(50);

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Calls {
    /// Where they come to.
    listening: Listening,
    /// Who may call, beside root: the user that has started the agent.
    owner: Uid,
    table: FxHashMap<CallId, Call>,
    /// Calls whose request was not there yet.
    asking: Vec<CallId>,
    last: u64,
    /// No calls are taken before that: there was no descriptor for one.
    resting_until: Option<Duration>,
}

/// A call that is under way.
#[derive(Debug)]
struct Call {
    connection: OwnedFd,
    stage: CallStage,
}

#[derive(Debug)]
enum CallStage {
    /// Its request is not here yet, or was not looked at.
    Asking,
    /// It waits for what comes of it.
    Waiting(Waiting),
    /// That has come, and the answer is being made.
    Returned,
}

/// A request that has come.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) call: CallId,
    pub(crate) request: Request,
    /// The descriptor that came with it.
    pub(crate) descriptor: Option<OwnedFd>,
}

impl Calls {
    /// Takes calls from now on.
    pub(crate) fn new(listening: Listening, poller: &Poller) -> io::Result<Self> {
        poller.watch(Token::Calls, &listening.fd)?;
        Ok(Self {
            listening,
            owner: geteuid(),
            table: FxHashMap::default(),
            asking: Vec::new(),
            last: 0,
            resting_until: None,
        })
    }

    /// Where they come to.
    pub(crate) fn path(&self) -> &Path {
        &self.listening.path
    }

    /// Calls that are under way.
    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    /// Calls whose request was not there yet, to be [heard](Self::hear) once more.
    pub(crate) fn take_asking(&mut self) -> Vec<CallId> {
        std::mem::take(&mut self.asking)
    }

    /// Takes somebody who calls. `None` if there is nobody, or no descriptor for one: then none are
    /// taken for a while.
    pub(crate) fn accept(&mut self, poller: &Poller, now: Duration) -> Option<CallId> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        loop {
            let connection = match accept_with(&self.listening.fd, flags) {
                Ok(connection) => connection,
                Err(Errno::INTR | Errno::CONNABORTED) => continue,
                Err(Errno::AGAIN) => return None,
                // No descriptor is left, or no memory. They wait where they are, and would wake us
                // for nothing all the time.
                Err(_) => {
                    self.resting_until = Some(now + REST);
                    poller.pause(Token::Calls, &self.listening.fd, true);
                    return None;
                }
            };
            // Not rustix's, which takes the number of a process for one that is not 0: so it is if
            // the caller is outside this namespace of processes.
            let may = getsockopt(&connection, PeerCredentials)
                .is_ok_and(|peer| peer.uid() == self.owner.as_raw() || peer.uid() == 0);
            if may {
                self.last += 1;
                let call = CallId(self.last);
                self.table.insert(call, Call { connection, stage: CallStage::Asking });
                return Some(call);
            }
        }
    }

    /// When [`expire`](Self::expire) has something to do.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        self.resting_until
    }

    /// Calls are taken again when there was rest enough.
    pub(crate) fn expire(&mut self, poller: &Poller, now: Duration) {
        if self.resting_until.take_if(|until| *until <= now).is_some() {
            poller.pause(Token::Calls, &self.listening.fd, false);
        }
    }

    /// The request of a call, if it is there and was not heard before.
    pub(crate) fn hear(&mut self, call: CallId, is_new: bool, poller: &Poller) -> Option<Asked> {
        let Call { connection, stage: CallStage::Asking } = self.table.get(&call)? else { return None };
        match receive_request(connection) {
            Ok(Some((request, descriptor))) => return Some(Asked { call, request, descriptor }),
            Err(error)
                if error.kind() == io::ErrorKind::WouldBlock
                    && (!is_new || poller.watch(Token::Call(call), connection).is_ok()) =>
            {
                self.asking.push(call);
            }
            // It has gone, or speaks otherwise: it sees that nobody answers.
            Ok(None) | Err(_) => drop(self.table.remove(&call)),
        }
        None
    }

    /// Lets a call wait, whose request was heard.
    pub(crate) fn wait(&mut self, call: CallId, what: Waiting) {
        if let Some(call) = self.table.get_mut(&call) {
            call.stage = CallStage::Waiting(what);
        }
    }

    /// Lets the loop hear that a call is given up. What has its answer already is not watched.
    /// Without it a call is not interrupted, and comes to its end all the same.
    pub(crate) fn watch(&self, call: CallId, poller: &Poller) {
        if let Some(Call { connection, stage: CallStage::Waiting(_) }) = self.table.get(&call) {
            let _ = poller.watch(Token::Call(call), connection);
        }
    }

    /// What a call has waited for, which has come: it is to be answered, or to wait again.
    pub(crate) fn returned(&mut self, call: CallId) -> Option<Waiting> {
        let stage = &mut self.table.get_mut(&call)?.stage;
        match std::mem::replace(stage, CallStage::Returned) {
            CallStage::Waiting(what) => Some(what),
            other => {
                *stage = other;
                None
            }
        }
    }

    /// Answers a call.
    pub(crate) fn respond(&mut self, call: CallId, response: &Response, descriptor: Option<&OwnedFd>) {
        if let Some(Call { connection, .. }) = self.table.remove(&call) {
            let _ = respond(connection, response, descriptor.map(AsFd::as_fd));
        }
    }

    /// What a call waits for that is given up, if these events say so. A call of no socket is
    /// forgotten.
    pub(crate) fn given_up(&mut self, call: CallId, events: EventFlags) -> Option<&Waiting> {
        if !events.intersects(EventFlags::RDHUP | EventFlags::HUP) {
            return None;
        }
        if let CallStage::Waiting(Waiting::Resolve | Waiting::Closed) = self.table.get(&call)?.stage {
            self.table.remove(&call);
            return None;
        }
        match &self.table.get(&call)?.stage {
            CallStage::Waiting(what) => Some(what),
            CallStage::Asking | CallStage::Returned => None,
        }
    }

    /// Hangs up on a call that was given up and goes on. One that waits for the server's answer is
    /// not interrupted, and has nobody to tell it to. An event of its connection would come again
    /// and again. Who gave the call up may wait to see that this is known here: for the end of the
    /// connection.
    pub(crate) fn hang_up(&self, call: CallId, poller: &Poller) {
        if let Some(Call { connection, stage: CallStage::Waiting(_) }) = self.table.get(&call) {
            poller.forget(connection);
            let _ = shutdown(connection, Shutdown::Both);
        }
    }
}
