//! A call that is being answered: what it waits for, and how the wait ends early.

use crate::notifier::Notifier;
use crate::signals::{Pending, RESTART, pending};
use crate::target::Target;
use resoa_calls::interposer::{Detour, Stop};
use resoa_calls::{Answered, CallError, Request};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd};
use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often a call that waits looks whether a signal does, too: each look reads a file of `/proc`,
/// which is about 16 us for each call that waits.
const LOOK: Duration = Duration::from_millis(20);
/// And how often one that has waited for long, of which there may be many: a `recv` of each
/// connection.
const LATE_LOOK: Duration = Duration::from_millis(200);
/// How long a call that is answered within this host keeps the turn.
const AT_ONCE: Duration = Duration::from_millis(1);

/// What this process lacks is not the program's limit: it is told as if the whole host had none
/// left.
pub(crate) fn of_host(error: i32) -> i32 {
    if error == libc::EMFILE { libc::ENFILE } else { error }
}

/// What ends a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    /// A signal, or the end of the caller.
    Interruptible,
    /// The end of the caller alone.
    Killable,
    /// Nothing: what was begun must be finished.
    Endless,
}

/// A wait that was over before what was waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitEnd {
    /// Its time was.
    Time,
    /// A signal waits for the caller: the call fails with this number.
    Signal(i32),
    /// The caller has ended.
    Gone,
}

impl From<WaitEnd> for Stop {
    fn from(ended: WaitEnd) -> Self {
        match ended {
            WaitEnd::Time => Self::Errno(libc::EAGAIN),
            WaitEnd::Signal(error) => Self::Errno(error),
            WaitEnd::Gone => Self::Gone,
        }
    }
}

/// Who called.
pub(crate) struct Caller<'a> {
    pub(crate) notifier: &'a Arc<Notifier>,
    pub(crate) id: u64,
    pub(crate) target: Target,
    /// Whether this thread has the turn to wait for the next call.
    pub(crate) turn: &'a Cell<bool>,
}

impl Caller<'_> {
    /// What was read of the caller is the caller's, since it still waits.
    ///
    /// # Errors
    /// If it does not.
    pub(crate) fn confirm(&self) -> Detour<()> {
        if self.notifier.listener.is_valid(self.id) { Ok(()) } else { Err(Stop::Gone) }
    }

    /// Lets another thread wait for the next call.
    pub(crate) fn pass_turn(&self) {
        if self.turn.replace(false) {
            self.notifier.pass();
        }
    }

    /// Waits for events of `descriptor`; errors and hang-ups are among them.
    pub(crate) fn wait(
        &self,
        descriptor: BorrowedFd,
        events: PollFlags,
        until: Option<Instant>,
        patience: Patience,
    ) -> Result<(), WaitEnd> {
        self.pass_turn();
        let began = Instant::now();
        let mut shared = false;
        loop {
            // Another thread that may take a signal does so at once, or not at all.
            let pause = if shared { LOOK } else { until_next_look(began.elapsed()) };
            let left = until.map_or(pause, |until| until.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Err(WaitEnd::Time);
            }
            let mut descriptors =
                [PollFd::new(&descriptor, events), PollFd::new(self.target.end(), PollFlags::IN)];
            let looked_at = if patience == Patience::Endless { 1 } else { 2 };
            // A signal to this process changes nothing.
            let _ = poll(&mut descriptors[..looked_at], Some(&span(left.min(pause))));
            if !descriptors[0].revents().is_empty() {
                return Ok(());
            }
            if patience == Patience::Endless {
                continue;
            }
            if !descriptors[1].revents().is_empty() || self.confirm().is_err() {
                return Err(WaitEnd::Gone);
            }
            if patience == Patience::Killable {
                continue;
            }
            match pending(&self.target.status()) {
                Pending::Own if until.is_none() => return Err(WaitEnd::Signal(RESTART)),
                // As the kernel: a call with a time limit does not start again, since the limit
                // would, too.
                Pending::Own => return Err(WaitEnd::Signal(libc::EINTR)),
                // Nobody has taken it since the last look. Another thread still may, so that the
                // kernel would not replace the number of a restart.
                Pending::Shared if shared => return Err(WaitEnd::Signal(libc::EINTR)),
                found => shared = found == Pending::Shared,
            }
        }
    }

    /// Asks the agent; `until` and `patience` end the call there, too. Octets of the answer are in
    /// `place`.
    pub(crate) fn ask_until<'a>(
        &self,
        request: &Request,
        descriptor: Option<BorrowedFd>,
        until: Option<Instant>,
        patience: Patience,
        place: &'a mut [u8],
    ) -> Detour<Result<Answered<'a>, WaitEnd>> {
        if !at_once(request) {
            self.pass_turn();
        }
        let lack = |error: CallError| Stop::Errno(of_host(error.number()));
        let started = self.notifier.agent.start(request, descriptor).map_err(lack)?;
        let is_answered = self.turn.get() && {
            let mut answer = [PollFd::new(&started, PollFlags::IN)];
            poll(&mut answer, Some(&span(AT_ONCE))).is_ok_and(|ready| ready > 0)
        };
        if !is_answered && let Err(ended) = self.wait(started.as_fd(), PollFlags::IN, until, patience) {
            return Ok(Err(ended));
        }
        Ok(Ok(started.answer_within(place).map_err(lack)?))
    }
}

/// How long a call that has waited for so long does not look.
fn until_next_look(waited: Duration) -> Duration {
    (waited / 8).clamp(LOOK, LATE_LOOK)
}

/// Whether the agent answers without asking its server; the name of a socket that connects is the
/// exception ([`AT_ONCE`]).
fn at_once(request: &Request) -> bool {
    matches!(
        request,
        Request::Socket { .. }
            | Request::Accept { .. }
            | Request::LocalName(_)
            | Request::PeerName(_)
            | Request::SeesData(_)
            | Request::TakeUndelivered(_)
    )
}

fn span(duration: Duration) -> Timespec {
    Timespec::try_from(duration).expect("less than a second")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Section 3.14: a signal is seen soon, and after a long wait by an eighth of it, but not later
    /// than people notice.
    #[test]
    fn looks_become_rare() {
        let of = |ms| until_next_look(Duration::from_millis(ms)).as_millis();
        assert_eq!([of(0), of(160), of(800), of(1600), of(3_600_000)], [20, 20, 100, 200, 200]);
    }
}
