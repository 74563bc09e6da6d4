//! A program that has confined itself: it took a filter of seccomp by `prctl`, as sshd does before
//! it hears a stranger.
//!
//! Such a filter may end the process at any call that the program does not make itself. So from
//! then on the calls of data that files have, too, and `close` and `shutdown` of a stream are made
//! as they are and no others beside them: nothing is looked at, repaired or asked of the agent, and
//! what AF_UNIX says instead of TCP (C109) remains. A child inherits both; after `exec` it is not
//! known any more.

use crate::real;
use libc::{c_int, c_ulong};
use std::sync::atomic::{AtomicBool, Ordering};

static CONFINED: AtomicBool = AtomicBool::new(false);

/// Whether this process has confined itself.
pub fn is_confined() -> bool {
    CONFINED.load(Ordering::Relaxed)
}

/// `prctl(2)`
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn prctl(
    option: c_int,
    second: c_ulong,
    third: c_ulong,
    fourth: c_ulong,
    fifth: c_ulong,
) -> c_int {
    let result = unsafe { real::prctl(option, second, third, fourth, fifth) };
    if option == libc::PR_SET_SECCOMP && result == 0 {
        CONFINED.store(true, Ordering::Relaxed);
    }
    result
}
