//! `close` that lingers: the agent can say how it ends only once the descriptor is closed, and the
//! call must not return before.

use crate::caller::{Answer, Caller, Ended, Failure, Patience};
use crate::held::Held;
use resoa_calls::Request;
use rustix::fd::{AsFd, RawFd};
use std::fs::File;

/// Puts another file in the place of the descriptor, which closes it, waits, and lets the kernel
/// close that file. What was registered with epoll is lost by that, as by `close`.
pub(crate) fn close(caller: &Caller, held: Held, number: RawFd) -> Result<Answer, Failure> {
    if !held.lingers() {
        return Ok(Answer::Continue);
    }
    let Ok(nothing) = File::open("/dev/null") else { return Ok(Answer::Continue) };
    let socket = held.socket;
    if caller.notifier.listener.replace(caller.id, nothing.as_fd(), number).is_err() {
        return Ok(Answer::Continue);
    }
    // The last copy, if the program has no other.
    drop(held);
    let closed = Request::Closed(socket);
    match caller.ask_until(&closed, None, None, Patience::Interruptible) {
        Ok(Err(Ended::Gone)) => Err(Failure::Gone),
        // Over, or a signal came, or there is no agent: `close` has been successful in each case
        // (A5).
        _ => Ok(Answer::Continue),
    }
}
