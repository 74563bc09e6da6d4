//! The turn to wait for the next call, which one thread has at a time.
//!
//! The thread keeps the turn while it answers calls that need no wait, so that no other thread has
//! to be woken. It passes the turn on before it waits for anything.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Number of idle threads that are kept.
const SPARE: usize = 8;

#[derive(Debug, Default)]
struct State {
    held: bool,
    waiting: usize,
}

/// The turn to wait for a call.
#[derive(Debug, Default)]
pub(crate) struct Baton {
    state: Mutex<State>,
    free: Condvar,
}

/// The thread that takes a turn which was passed on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// A thread that waits for it.
    Waiting,
    /// No thread: one has to be started.
    Nobody,
}

impl Baton {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing can panic while the lock is held.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the turn. `false` if enough threads already wait, so that this one may end.
    pub(crate) fn take(&self) -> bool {
        let mut state = self.state();
        if state.held && state.waiting >= SPARE {
            return false;
        }
        state.waiting += 1;
        while state.held {
            state = self.free.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.waiting -= 1;
        state.held = true;
        true
    }

    /// Passes the turn on.
    pub(crate) fn pass(&self) -> Next {
        let mut state = self.state();
        state.held = false;
        if state.waiting == 0 {
            return Next::Nobody;
        }
        self.free.notify_one();
        Next::Waiting
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::thread;

    /// One thread has the turn until it passes it on.
    #[test]
    fn one_at_a_time() {
        let baton = Arc::new(Baton::default());
        assert!(baton.take());
        assert_eq!(baton.pass(), Next::Nobody);
        assert!(baton.take());
        let other = Arc::clone(&baton);
        let waiting = thread::spawn(move || other.take());
        while baton.state().waiting == 0 {
            thread::yield_now();
        }
        assert!(baton.state().held);
        assert_eq!(baton.pass(), Next::Waiting);
        assert!(waiting.join().expect("it took the turn"));
        assert!(baton.state().held);
    }

    /// Superfluous threads end.
    #[test]
    fn few_stay() {
        let baton = Baton::default();
        assert!(baton.take());
        baton.state().waiting = SPARE;
        assert!(!baton.take());
    }
}
