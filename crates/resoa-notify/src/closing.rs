//! `close` that lingers. The agent can report the end of a socket only after its descriptor is
//! closed, and `close` must not return before that.

use crate::caller::{Caller, Patience, WaitEnd};
use resoa_calls::interposer::{Answer, Bypass, Detour, Stop};
use resoa_calls::{Request, SHORT, SocketName};
use rustix::fd::{AsFd, OwnedFd, RawFd};
use rustix::net::sockopt::socket_linger;
use std::fs::File;

/// Replaces the descriptor by another file, which closes it; waits; and lets the kernel close that
/// file. Like `close`, this removes the descriptor from epoll.
pub(crate) fn close(caller: &Caller, copy: OwnedFd, number: RawFd) -> Detour<Answer> {
    let bypass = Err(Bypass::Close.into());
    let Some(SocketName { socket, .. }) = SocketName::of(&copy) else { return bypass };
    // With a linger time of 0, `close` aborts the connection and does not wait.
    if !matches!(socket_linger(&copy), Ok(Some(time)) if !time.is_zero()) {
        return bypass;
    }
    let Ok(nothing) = File::open("/dev/null") else { return bypass };
    if caller.notifier.listener.replace(caller.id, nothing.as_fd(), number).is_err() {
        return bypass;
    }
    // The last copy, if the program has no other.
    drop(copy);
    let closed = Request::Closed(socket);
    match caller.ask_until(&closed, None, None, Patience::Interruptible, &mut [0; SHORT]) {
        Ok(Err(WaitEnd::Gone)) => Err(Stop::Gone),
        // The wait is over, a signal came, or there is no agent. `close` has been successful in
        // each case (A5).
        _ => bypass,
    }
}
