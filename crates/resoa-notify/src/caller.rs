//! A call that is being answered: its waits, and how they end early.

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

/// Interval at which a waiting call checks for pending signals. Each check reads a file of `/proc`,
/// at a cost of about 16 us for each waiting call.
const LOOK: Duration = Duration::from_millis(20);
/// The longest interval, for calls that have waited for long. There may be many: a `recv` for each
/// connection.
const LATE_LOOK: Duration = Duration::from_millis(200);
/// Maximum time that a call may keep the turn while it waits for an answer from this host.
const AT_ONCE: Duration = Duration::from_millis(1);

/// Converts EMFILE to ENFILE: a limit of this process is not the program's limit, so the program
/// gets the error of the whole host.
pub(crate) fn of_host(error: i32) -> i32 {
    if error == libc::EMFILE { libc::ENFILE } else { error }
}

/// The events that end a wait early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    /// A signal, or the end of the caller.
    Interruptible,
    /// Only the end of the caller.
    Killable,
    /// None: the operation has begun and must be finished.
    Endless,
}

/// Reasons why a wait ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitEnd {
    /// The time limit.
    Time,
    /// A signal is pending for the caller: the call fails with this number.
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

/// The caller of a notified call.
pub(crate) struct Caller<'a> {
    pub(crate) notifier: &'a Arc<Notifier>,
    pub(crate) id: u64,
    pub(crate) target: Target,
    /// Whether this thread has the turn to wait for the next call.
    pub(crate) turn: &'a Cell<bool>,
}

impl Caller<'_> {
    /// Confirms that the caller still waits, so that data read from its memory is really the
    /// caller's.
    ///
    /// # Errors
    /// [`Stop::Gone`] if it does not wait any more.
    pub(crate) fn confirm(&self) -> Detour<()> {
        if self.notifier.listener.is_valid(self.id) { Ok(()) } else { Err(Stop::Gone) }
    }

    /// Lets another thread wait for the next call.
    pub(crate) fn pass_turn(&self) {
        if self.turn.replace(false) {
            self.notifier.pass();
        }
    }

    /// Waits for events of `descriptor`, or for an error or hang-up.
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
            // If another thread can take the signal, it does so at once or not at all.
            let pause = if shared { LOOK } else { until_next_look(began.elapsed()) };
            let left = until.map_or(pause, |until| until.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Err(WaitEnd::Time);
            }
            let mut descriptors =
                [PollFd::new(&descriptor, events), PollFd::new(self.target.end(), PollFlags::IN)];
            let looked_at = if patience == Patience::Endless { 1 } else { 2 };
            // A signal to this process makes no difference.
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
                // As in the kernel, a call with a time limit is not restarted: its limit would
                // start again, too.
                Pending::Own => return Err(WaitEnd::Signal(libc::EINTR)),
                // No thread has taken it since the last check. Another thread still may, and then
                // the kernel would not replace the number of a restart.
                Pending::Shared if shared => return Err(WaitEnd::Signal(libc::EINTR)),
                found => shared = found == Pending::Shared,
            }
        }
    }

    /// Sends a request to the agent and waits for the answer. `until` and `patience` also limit the
    /// call at the agent. Bytes of the answer are stored in `place`.
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

/// Returns the interval until the next check for signals, for a call that has waited this long.
fn until_next_look(waited: Duration) -> Duration {
    (waited / 8).clamp(LOOK, LATE_LOOK)
}

/// Returns whether the agent answers without its server. The exception is the name of a socket that
/// is connecting ([`AT_ONCE`]).
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

    /// Section 3.14: a signal is seen soon. After a long wait the delay is an eighth of the wait,
    /// but short enough that people do not notice.
    #[test]
    fn looks_become_rare() {
        let of = |ms| until_next_look(Duration::from_millis(ms)).as_millis();
        assert_eq!([of(0), of(160), of(800), of(1600), of(3_600_000)], [20, 20, 100, 200, 200]);
    }
}
