//! Receives notifications and answers each, on as many threads as there are calls that wait.

use crate::baton::{Baton, Next};
use crate::call::Notified;
use crate::caller::Caller;
use crate::kernel::Listener;
use crate::target::{Target, Threads, Unseen};
use crate::{closing, data};
use libc::{seccomp_notif, seccomp_notif_resp};
use resoa_calls::Agent;
use resoa_calls::interposer::{Answer, Bypass, Detour, Socket, Stop, answer, create};
use rustix::fd::{AsFd, OwnedFd, RawFd};
use std::cell::Cell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

/// What all threads share.
#[derive(Debug)]
pub(crate) struct Notifier {
    pub(crate) listener: Listener,
    pub(crate) agent: Agent,
    baton: Baton,
}

impl Notifier {
    pub(crate) fn new(listener: Listener, agent: Agent) -> Arc<Self> {
        listener.wake_synchronously();
        Arc::new(Self { listener, agent, baton: Baton::default() })
    }

    /// Starts a thread that answers calls.
    ///
    /// # Errors
    /// If there are no threads left.
    pub(crate) fn start(self: &Arc<Self>) -> io::Result<()> {
        let notifier = Arc::clone(self);
        thread::Builder::new().name("notifier".into()).spawn(move || notifier.answer_calls()).map(drop)
    }

    /// Passes the turn on, to a new thread if nobody waits for it.
    pub(crate) fn pass(self: &Arc<Self>) {
        if self.baton.pass() == Next::Nobody {
            // Without it the turn is taken up by the first thread that has answered its call.
            let _ = self.start();
        }
    }

    fn answer_calls(self: &Arc<Self>) {
        let mut threads = Threads::default();
        let turn = Cell::new(false);
        loop {
            if !turn.get() {
                if !self.baton.take() {
                    return;
                }
                turn.set(true);
            }
            let Ok(Some(notification)) = self.listener.receive() else {
                // Nobody is left. The next one is told so, too.
                self.baton.pass();
                return;
            };
            self.answer(&notification, &mut threads, &turn);
        }
    }

    fn answer(self: &Arc<Self>, notification: &seccomp_notif, threads: &mut Threads, turn: &Cell<bool>) {
        let outcome = settled(|| self.outcome(notification, threads, turn));
        let id = notification.id;
        let sent = match outcome {
            Ok(Answer::Descriptor { descriptor, cloexec, .. }) => {
                match self.listener.give(id, descriptor, cloexec) {
                    Ok(number) => self.send(id, number.into(), 0, 0),
                    Err(error) => self.send(id, 0, error.raw_os_error().unwrap_or(libc::EMFILE), 0),
                }
            }
            Err(Stop::Bypass(_)) => self.send(id, 0, 0, libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32),
            Ok(Answer::Value(value)) => self.send(id, i64::try_from(value).unwrap_or(i64::MAX), 0, 0),
            Err(Stop::Errno(error)) => self.send(id, 0, error, 0),
            Err(Stop::Gone) => Ok(()),
        };
        // The caller has gone meanwhile: there is nobody to tell.
        drop(sent);
    }

    fn send(&self, id: u64, val: i64, error: i32, flags: u32) -> io::Result<()> {
        self.listener.send(seccomp_notif_resp { id, val, error: -error, flags })
    }

    fn outcome(
        self: &Arc<Self>,
        notification: &seccomp_notif,
        threads: &mut Threads,
        turn: &Cell<bool>,
    ) -> Detour {
        let number = notification.pid.cast_signed();
        let caller = |target| Caller { notifier: self, id: notification.id, target, turn };
        match Notified::of(&notification.data) {
            Notified::Socket { family, kind, protocol } => {
                create(&caller(threads.target(number)?), family, kind, protocol)
            }
            Notified::Close(descriptor) => {
                let (target, copy) = seen(threads, number, descriptor)?;
                closing::close(&caller(target), copy, descriptor)
            }
            Notified::On(descriptor, call) => {
                let (target, copy) = seen(threads, number, descriptor)?;
                let socket = Socket::of(copy.as_fd()).ok_or(Bypass::Foreign)?;
                let caller = caller(target);
                match answer(&caller, &socket, &call) {
                    Err(Stop::Bypass(Bypass::Stream)) => data::answer(&caller, &socket, &call),
                    outcome => outcome,
                }
            }
            Notified::Other => Err(Bypass::Foreign.into()),
        }
    }
}

/// A thread, and a copy of its descriptor. A call on what cannot be looked at is left to the
/// kernel: at worst it is one on AF_UNIX, and reaches nobody.
fn seen(threads: &mut Threads, number: i32, descriptor: RawFd) -> Detour<(Target, OwnedFd)> {
    threads.descriptor(number, descriptor)?.map_err(|Unseen| Bypass::Foreign.into())
}

/// What a call comes to if answering it fails by our own fault: EIO for this one. Its thread goes
/// on, with the turn if it has it: otherwise its caller would wait for ever, and after it every
/// other.
fn settled(answer: impl FnOnce() -> Detour) -> Detour {
    // What a step has left half done is its call's own. Threads that are remembered are looked at
    // again, and the turn is a flag.
    catch_unwind(AssertUnwindSafe(answer)).unwrap_or(Err(Stop::Errno(libc::EIO)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mistake of ours is an error of one call.
    #[test]
    fn a_mistake_has_an_answer() {
        assert!(matches!(settled(|| Ok(Answer::Value(3))), Ok(Answer::Value(3))));
        assert!(matches!(settled(|| Err(Stop::Gone)), Err(Stop::Gone)));
        assert!(matches!(settled(|| panic!("a mistake")), Err(Stop::Errno(libc::EIO))));
    }
}
