//! Programs' calls: one connection each, from the request to the answer. Closing the connection
//! before the answer interrupts the call.

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

/// Pause before calls are accepted again after descriptors ran out.
const REST: Duration = Duration::from_millis(50);

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Calls {
    /// The socket that they connect to.
    listening: Listening,
    /// The user that has started the agent. Only this user and root may call.
    owner: Uid,
    table: FxHashMap<CallId, Call>,
    /// Calls whose request had not arrived yet.
    asking: Vec<CallId>,
    last: u64,
    /// No calls are accepted before this time, because descriptors ran out.
    resting_until: Option<Duration>,
}

/// A call in progress.
#[derive(Debug)]
struct Call {
    connection: OwnedFd,
    stage: CallStage,
}

#[derive(Debug)]
enum CallStage {
    /// Its request has not arrived, or was not read.
    Asking,
    /// It waits for its result.
    Waiting(Waiting),
    /// The result has arrived, and the answer is being prepared.
    Returned,
}

/// A request that has arrived.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) call: CallId,
    pub(crate) request: Request,
    /// The descriptor that came with it.
    pub(crate) descriptor: Option<OwnedFd>,
}

impl Calls {
    /// Starts to accept calls.
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

    /// Returns the path that calls connect to.
    pub(crate) fn path(&self) -> &Path {
        &self.listening.path
    }

    /// Returns the number of calls in progress.
    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    /// Takes the calls whose request had not arrived yet, for another [`hear`](Self::hear).
    pub(crate) fn take_asking(&mut self) -> Vec<CallId> {
        std::mem::take(&mut self.asking)
    }

    /// Accepts a call. `None` if there is none, or no descriptor for it; in the latter case none
    /// are accepted for a while.
    pub(crate) fn accept(&mut self, poller: &Poller, now: Duration) -> Option<CallId> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        loop {
            let connection = match accept_with(&self.listening.fd, flags) {
                Ok(connection) => connection,
                Err(Errno::INTR | Errno::CONNABORTED) => continue,
                Err(Errno::AGAIN) => return None,
                // No descriptor or no memory is left. The connections stay in the queue, and would
                // wake the loop all the time.
                Err(_) => {
                    self.resting_until = Some(now + REST);
                    poller.pause(Token::Calls, &self.listening.fd, true);
                    return None;
                }
            };
            // rustix's function is not used: it assumes that the process number is not 0. But it is
            // 0 for a caller outside this PID namespace.
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

    /// Returns when [`expire`](Self::expire) has something to do.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        self.resting_until
    }

    /// Resumes accepting calls after the pause.
    pub(crate) fn expire(&mut self, poller: &Poller, now: Duration) {
        if self.resting_until.take_if(|until| *until <= now).is_some() {
            poller.pause(Token::Calls, &self.listening.fd, false);
        }
    }

    /// Returns the request of a call, if it has arrived and was not read before.
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
            // The program has closed the connection or sent no valid request: dropping the
            // connection tells it.
            Ok(None) | Err(_) => drop(self.table.remove(&call)),
        }
        None
    }

    /// Makes a call wait for its result after its request was read.
    pub(crate) fn wait(&mut self, call: CallId, what: Waiting) {
        if let Some(call) = self.table.get_mut(&call) {
            call.stage = CallStage::Waiting(what);
        }
    }

    /// Watches the connection of a call, so that the loop notices its interruption. Calls that are
    /// already answered are not watched. If watching fails, the call cannot be interrupted but
    /// still completes.
    pub(crate) fn watch(&self, call: CallId, poller: &Poller) {
        if let Some(Call { connection, stage: CallStage::Waiting(_) }) = self.table.get(&call) {
            let _ = poller.watch(Token::Call(call), connection);
        }
    }

    /// Returns what a call waited for, now that its result has arrived. The call must be answered
    /// or wait again.
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

    /// Returns what an interrupted call waited for, if these events report an interruption. Calls
    /// that belong to no socket are dropped.
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

    /// Closes the connection of an interrupted call that continues.
    ///
    /// A call that waits for the server's answer cannot be interrupted, and has no receiver any
    /// more. Its connection would cause the same event repeatedly. The caller may wait for the end
    /// of the connection, to see that the agent knows.
    pub(crate) fn hang_up(&self, call: CallId, poller: &Poller) {
        if let Some(Call { connection, stage: CallStage::Waiting(_) }) = self.table.get(&call) {
            poller.forget(connection);
            let _ = shutdown(connection, Shutdown::Both);
        }
    }
}
