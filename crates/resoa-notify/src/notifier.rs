//! Receives notifications and answers each, on as many threads as there are waiting calls.

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

/// State shared by all threads.
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
    /// If no more threads can be started.
    pub(crate) fn start(self: &Arc<Self>) -> io::Result<()> {
        let notifier = Arc::clone(self);
        thread::Builder::new().name("notifier".into()).spawn(move || notifier.answer_calls()).map(drop)
    }

    /// Passes the turn on, to a new thread if none waits for it.
    pub(crate) fn pass(self: &Arc<Self>) {
        if self.baton.pass() == Next::Nobody {
            // If it cannot be started, the first thread that has answered its call takes the turn.
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
                // No process is left. The next thread finds the same.
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
        // If the caller has ended meanwhile, the answer is lost.
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

/// Returns a thread and a copy of its descriptor. If the descriptor cannot be copied, the kernel
/// continues the call: at worst it is a call on AF_UNIX, which reaches nobody.
fn seen(threads: &mut Threads, number: i32, descriptor: RawFd) -> Detour<(Target, OwnedFd)> {
    threads.descriptor(number, descriptor)?.map_err(|Unseen| Bypass::Foreign.into())
}

/// Runs `answer`, and turns a panic into EIO for this one call. The thread continues, and keeps the
/// turn if it has it. Otherwise this caller and all later ones would wait forever.
fn settled(answer: impl FnOnce() -> Detour) -> Detour {
    // A half-done step only affects its own call: remembered threads are checked again, and the
    // turn is a flag.
    catch_unwind(AssertUnwindSafe(answer)).unwrap_or(Err(Stop::Errno(libc::EIO)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A panic is an error of one call.
    #[test]
    fn a_mistake_has_an_answer() {
        assert!(matches!(settled(|| Ok(Answer::Value(3))), Ok(Answer::Value(3))));
        assert!(matches!(settled(|| Err(Stop::Gone)), Err(Stop::Gone)));
        assert!(matches!(settled(|| panic!("a mistake")), Err(Stop::Errno(libc::EIO))));
    }
}
