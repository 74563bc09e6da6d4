//! The agent that this process asks, and what its answers are to a call.

use libc::c_int;
use resoa_calls::{Agent, CallError, Request, Response, Started};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{BorrowedFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Null: not looked for yet; [`absent`]: there is none.
static AGENT: AtomicPtr<Agent> = AtomicPtr::new(ptr::null_mut());

fn absent() -> *mut Agent {
    ptr::dangling_mut()
}

/// The agent of the environment, as it was when the library was loaded.
pub fn known() -> Option<&'static Agent> {
    let mut known = AGENT.load(Ordering::Acquire);
    if known.is_null() {
        let found = Agent::of_environment().map_or(absent(), |agent| Box::into_raw(Box::new(agent)));
        // Who comes second keeps a few octets for nothing; a lock could be held over a `fork`.
        known = match AGENT.compare_exchange(ptr::null_mut(), found, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => found,
            Err(first) => first,
        };
    }
    // SAFETY: neither null nor absent, it was made by `Box::into_raw` and is never freed.
    (known != absent()).then(|| unsafe { &*known })
}

/// Asks, and waits for the answer whatever signals come: for calls that are over soon, and those that must not be lost half-way.
///
/// # Errors
/// The call's own, ENETDOWN without an agent, EMFILE or ENFILE if there is no descriptor to ask by.
pub fn ask(request: &Request, descriptor: Option<c_int>) -> Result<(Response, Option<OwnedFd>), c_int> {
    let started = start(request, descriptor)?;
    let is_interrupted =
        || poll(&mut [PollFd::new(&started, PollFlags::IN)], None) == Err(rustix::io::Errno::INTR);
    while is_interrupted() {}
    answer(started)
}

/// The same for calls that a signal interrupts (EINTR). One whose handler has SA_RESTART does not, except in calls that have a limit of time
/// (signal(7)).
pub fn ask_interruptibly(
    request: &Request,
    descriptor: Option<c_int>,
    has_limit: bool,
) -> Result<(Response, Option<OwnedFd>), c_int> {
    let started = start(request, descriptor)?;
    // `recvmsg` is restarted, `poll` never is.
    if has_limit && poll(&mut [PollFd::new(&started, PollFlags::IN)], None) == Err(rustix::io::Errno::INTR) {
        return Err(libc::EINTR);
    }
    answer(started)
}

fn start(request: &Request, descriptor: Option<c_int>) -> Result<Started<'static>, c_int> {
    let agent = known().ok_or(libc::ENETDOWN)?;
    // SAFETY: only a number that was recognised comes here, so it is not -1; if the program closes it meanwhile the kernel says EBADF.
    let descriptor = descriptor.map(|number| unsafe { BorrowedFd::borrow_raw(number) });
    loop {
        match agent.start(request, descriptor) {
            // Before the request was sent, so nothing has happened.
            Err(CallError::Interrupted) => {}
            started => return started.map_err(|error| number(&error)),
        }
    }
}

fn answer(started: Started) -> Result<(Response, Option<OwnedFd>), c_int> {
    match started.answer().map_err(|error| number(&error))? {
        (Response::Failed(number), _) => Err(number),
        answer => Ok(answer),
    }
}

fn number(error: &CallError) -> c_int {
    match error {
        CallError::Interrupted => libc::EINTR,
        CallError::NoAgent { error, .. } => match error.raw_os_error() {
            Some(number @ (libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::EBADF)) => number,
            _ => libc::ENETDOWN,
        },
    }
}
