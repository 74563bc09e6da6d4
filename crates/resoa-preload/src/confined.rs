//! Programs that have confined themselves with a seccomp filter, installed by `prctl`. sshd does
//! this before it reads from an unauthenticated client.
//!
//! Such a filter may kill the process at any system call that the program does not make itself.
//! From then on the library passes these calls through unchanged: `close`, `shutdown` of a stream,
//! and the data calls that also work on files. It makes no other system calls with them: it checks
//! nothing, repairs nothing and does not ask the agent. The differences between AF_UNIX and TCP
//! (C109) then stay visible. A child inherits both the filter and this flag. After `exec` the flag
//! is lost.

use crate::real;
use libc::{c_int, c_ulong};
use std::sync::atomic::{AtomicBool, Ordering};

static CONFINED: AtomicBool = AtomicBool::new(false);

/// Returns whether this process has confined itself.
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
